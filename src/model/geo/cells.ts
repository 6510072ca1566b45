// A grid over the earth whose cells are about as wide as they are tall.
import { type LatLon, metresPerDegree } from './distance.ts';

/** True if the latitudes alone are more than `metres` apart. Cheaper than `distance`. */
export const isFarNorth = (a: LatLon, b: LatLon, metres: number): boolean =>
  Math.abs(a.latitude - b.latitude) * metresPerDegree > metres;

export function cellMiddle({ latitude, longitude }: LatLon, size: number): LatLon {
  const tall = size / metresPerDegree;
  const middle = (Math.floor(latitude / tall) + 0.5) * tall;
  const wide = tall / Math.max(0.01, Math.cos((middle * Math.PI) / 180));
  return {
    latitude: Math.min(90, Math.max(-90, middle)),
    longitude: (Math.floor(longitude / wide) + 0.5) * wide,
  };
}
