// Letters for the places of a day: the same letter where the person comes back to.
import type { Position } from '../model/trip.ts';

const samePlace = 150; // m

/** A function from a position to its letter: `A` for the first place, then `B`; after `Z` numbers. */
export function lettersOf(positions: readonly Position[]): (position: Position) => string {
  const places: Position[] = [];
  const indexOf = (position: Position): number => places.findIndex((place) => metresApart(place, position) < samePlace);
  for (const position of positions) if (indexOf(position) < 0) places.push(position);
  return (position) => {
    const index = indexOf(position);
    return index < 26 ? String.fromCharCode(65 + index) : String(index + 1);
  };
}

/** Accurate enough to decide whether two places are the same. */
function metresApart([lonA, latA]: Position, [lonB, latB]: Position): number {
  const dx = (((lonB - lonA + 540) % 360) - 180) * Math.cos((((latA + latB) / 2) * Math.PI) / 180);
  return Math.hypot(dx, latB - latA) * 111_195;
}
