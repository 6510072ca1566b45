// Step "smooth": a section's locations -> those that a jumping receiver made up.
import { distance } from '../geo/distance.ts';
import { quantile, speedBetween, speedsAlong } from '../geo/speed.ts';
import type { Location } from './observations.ts';

export interface SmoothOptions {
  /** A step is a jump when its speed is above Q3 + `spread` * IQR of the section's speeds (Tukey's far outliers: 3). */
  spread: number;
  /** m/s; no slower step is a jump, however even the rest is */
  slowestJump: number;
  /** m/s; a step faster than sound (dry air, 15 degrees C) is a jump in any case */
  fastest: number;
  /** An end of the section is cut off by a jump only when it has at most this share of its locations. */
  endShare: number;
}

export const smoothDefaults: SmoothOptions = { spread: 3, slowestJump: 3, fastest: 340.29, endShare: 0.2 };

/**
 * The locations without zigzags. Jumps cut the section into pieces. A piece goes when without it the way between its neighbours
 * takes no jump, and it is the smaller side; a piece at an end goes when it is small and only a jump leads to it. The first and
 * last location may be among those left out.
 */
export function smooth(locations: readonly Location[], options = smoothDefaults): Location[] {
  if (locations.length < 4) return [...locations];
  const speeds = speedsAlong(locations);
  const q1 = quantile(speeds, 0.25);
  const q3 = quantile(speeds, 0.75);
  const limit = Math.min(options.fastest, Math.max(options.slowestJump, q3 + options.spread * (q3 - q1)));
  const pieces = cutAtJumps(locations, speeds, limit);
  if (pieces.length === 1) return [...locations];
  return dropZigzags(pieces, limit, locations.length * options.endShare);
}

/** Locations without a jump between them, in runs that lay side by side or were joined when what lay between went. */
interface Piece {
  runs: Location[][];
  size: number;
  first: Location;
  last: Location;
}

function cutAtJumps(locations: readonly Location[], speeds: readonly number[], limit: number): Piece[] {
  const runs: Location[][] = [[]];
  locations.forEach((location, i) => {
    if (i > 0 && speeds[i]! > limit) runs.push([]);
    runs.at(-1)!.push(location);
  });
  return runs.map((run) => ({ runs: [run], size: run.length, first: run[0]!, last: run.at(-1)! }));
}

/** Takes out the smallest piece that can go, until none can; of equals the first. */
function dropZigzags(pieces: readonly Piece[], limit: number, endSize: number): Location[] {
  const kept = [...pieces];
  const judge = (i: number): number => (canGo(kept, i, limit, endSize) ? kept[i]!.size : Number.POSITIVE_INFINITY);
  const sizes = kept.map((_, i) => judge(i)); // of those that can go: judging is what takes time
  for (;;) {
    const worst = indexOfLeast(sizes);
    if (sizes[worst] === Number.POSITIVE_INFINITY) return kept.flatMap((piece) => piece.runs).flat();
    const before = kept[worst - 1];
    const after = kept[worst + 1];
    if (before && after) {
      kept.splice(worst - 1, 3, joined(before, after));
      sizes.splice(worst - 1, 2);
    } else {
      kept.splice(worst, 1);
      sizes.splice(worst, 1);
    }
    const changed = before && after ? worst - 1 : worst;
    for (let i = Math.max(0, changed - 1); i <= changed + 1 && i < kept.length; i += 1) sizes[i] = judge(i);
  }
}

function indexOfLeast(numbers: readonly number[]): number {
  let least = 0;
  for (let i = 1; i < numbers.length; i += 1) if (numbers[i]! < numbers[least]!) least = i;
  return least;
}

/** Into the larger of two: many small ones that join one after the other are not copied again and again. */
function joined(before: Piece, after: Piece): Piece {
  const { first } = before;
  const { last } = after;
  const size = before.size + after.size;
  if (before.runs.length < after.runs.length) {
    after.runs.unshift(...before.runs);
    return { runs: after.runs, size, first, last };
  }
  before.runs.push(...after.runs);
  return { runs: before.runs, size, first, last };
}

function canGo(pieces: readonly Piece[], i: number, limit: number, endSize: number): boolean {
  const piece = pieces[i]!;
  const before = pieces[i - 1];
  const after = pieces[i + 1];
  if (before && after) return piece.size < before.size + after.size && speedBetween(before.last, after.first) <= limit;
  const other = before ?? after;
  if (!other || piece.size > endSize || piece.size >= other.size) return false;
  const [from, to] = before ? [before.last, piece.first] : [piece.last, after!.first];
  // A fast step at an end may be a late first fix; only one that leads back on itself, or that nothing could make, is a jump.
  return speedBetween(from, to) > 3 * limit && distance(from, to) > 2 * Math.max(from.accuracy, to.accuracy, 50);
}
