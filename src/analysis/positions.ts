// Rounds lengths, speeds and positions of the diary to steps that are finer than any phone measures.
import type { Position } from '../model/trip.ts';

/** Makes a function that rounds to a number of decimals. It never returns minus zero, which JSON does not keep. */
function roundedTo(decimals: number): (value: number) => number {
  const scale = 10 ** decimals;
  return (value) => Math.round(value * scale) / scale + 0;
}

/** Metres, to the centimetre. */
export const metres = roundedTo(2);

/** Metres per second, to the millimetre. */
export const speed = roundedTo(3);

/** Degrees, to a centimetre on the ground. */
export const degrees = roundedTo(7);

/** `[longitude, latitude]` of a location. */
export const positionOf = (l: { latitude: number; longitude: number }): Position => [l.longitude, l.latitude];

/** The location of `[longitude, latitude]`. */
export const locationOf = ([longitude, latitude]: Position) => ({ latitude, longitude });
