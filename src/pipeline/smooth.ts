// Stage "smooth": a section's locations -> those that a jumping receiver made up.
import { distance } from '../geo/distance.ts';
import { quantile, speedBetween, speedsAlong } from '../geo/speed.ts';
import type { Location } from './clean-locations.ts';

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
  return dropZigzags(pieces, limit, locations.length * options.endShare).flat();
}

function cutAtJumps(locations: readonly Location[], speeds: readonly number[], limit: number): Location[][] {
  const pieces: Location[][] = [[]];
  locations.forEach((location, i) => {
    if (i > 0 && speeds[i]! > limit) pieces.push([]);
    pieces.at(-1)!.push(location);
  });
  return pieces;
}

/** Takes out the smallest piece that can go, until none can. */
function dropZigzags(pieces: Location[][], limit: number, endSize: number): Location[][] {
  const kept = [...pieces];
  for (;;) {
    let worst = -1;
    for (let i = 0; i < kept.length; i += 1) {
      if (canGo(kept, i, limit, endSize) && (worst < 0 || kept[i]!.length < kept[worst]!.length)) worst = i;
    }
    if (worst < 0) return kept;
    const before = kept[worst - 1];
    const after = kept[worst + 1];
    kept.splice(worst, 1);
    if (before && after) kept.splice(worst - 1, 2, [...before, ...after]);
  }
}

function canGo(pieces: readonly Location[][], i: number, limit: number, endSize: number): boolean {
  const piece = pieces[i]!;
  const before = pieces[i - 1];
  const after = pieces[i + 1];
  if (before && after) {
    const rest = before.length + after.length;
    return piece.length < rest && speedBetween(before.at(-1)!, after[0]!) <= limit;
  }
  const other = before ?? after;
  if (!other || piece.length > endSize || piece.length >= other.length) return false;
  const [from, to] = before ? [before.at(-1)!, piece[0]!] : [piece.at(-1)!, after![0]!];
  // A fast step at an end may be a late first fix; only one that leads back on itself, or that nothing could make, is a jump.
  return speedBetween(from, to) > 3 * limit && distance(from, to) > 2 * Math.max(from.accuracy, to.accuracy, 50);
}
