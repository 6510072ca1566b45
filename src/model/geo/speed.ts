// Metres per second between fixes, and the order statistics that the thresholds are made of.
import { distance, type LatLon } from './distance.ts';

/** A position at a time. */
export interface Fix extends LatLon {
  /** s since the epoch */
  ts: number;
}

/** Speed from `a` to `b`, m/s; 0 when no time passed. */
export function speedBetween(a: Fix, b: Fix): number {
  const seconds = b.ts - a.ts;
  return seconds > 0 ? distance(a, b) / seconds : 0;
}

/** Speed at each fix since the one before; the first is 0. */
export function speedsAlong(fixes: readonly Fix[]): number[] {
  return fixes.map((fix, i) => (i === 0 ? 0 : speedBetween(fixes[i - 1]!, fix)));
}

/** The `q` quantile (0 to 1) by linear interpolation; NaN for no values. */
export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = new Float64Array(values).sort();
  const position = (sorted.length - 1) * q;
  const below = Math.floor(position);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below]! + (position - below) * (sorted[above]! - sorted[below]!);
}

/** The median; NaN for no values. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
