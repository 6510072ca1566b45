// Rounds lengths, speeds and positions of the diary to steps that are finer than any phone measures.
import type { Position } from '../model/trip.ts';

/** Makes a function that rounds to a number of decimals. It never returns minus zero, which JSON does not keep. */
function roundedTo(decimals: number): (value: number) => number {
  const scale = 10 ** decimals;
  return (value) => Math.round(value * scale) / scale + 0;
}

export const metres = roundedTo(2);
export const speed = roundedTo(3); // m/s
export const degrees = roundedTo(7); // a centimetre on the ground

export const positionOf = (l: { latitude: number; longitude: number }): Position => [l.longitude, l.latitude];

export const locationOf = ([longitude, latitude]: Position) => ({ latitude, longitude });
