/** m, mean radius. e-mission has the same value, so lengths agree. */
export const earthRadius = 6_371_000;

/** m per degree of latitude, rounded. The cells of stored places depend on this value. */
export const metresPerDegree = 111_195;

/** Degrees WGS84. */
export interface LatLon {
  latitude: number;
  longitude: number;
}

const radians = Math.PI / 180;

/** Great-circle distance (haversine), m. Differs from the ellipsoid by up to 0.6 %. */
export function distance(a: LatLon, b: LatLon): number {
  const sinLat = Math.sin(((b.latitude - a.latitude) * radians) / 2);
  const sinLon = Math.sin(((b.longitude - a.longitude) * radians) / 2);
  const h = sinLat * sinLat + Math.cos(a.latitude * radians) * Math.cos(b.latitude * radians) * sinLon * sinLon;
  return 2 * earthRadius * Math.asin(Math.sqrt(Math.min(1, h)));
}

/** True near 0, 0 in the sea south of Ghana, which receivers report if they have no position. */
export const isNowhere = ({ latitude, longitude }: LatLon): boolean =>
  Math.abs(latitude) < 1e-4 && Math.abs(longitude) < 1e-4;

/** Interpolates in degrees, the short way round the antimeridian. `share`: 0 to 1. */
export function between(a: LatLon, b: LatLon, share: number): LatLon {
  const longitude = shortWayRound(a.longitude + share * shortWayRound(b.longitude - a.longitude));
  return { latitude: a.latitude + share * (b.latitude - a.latitude), longitude };
}

/** Moves a longitude, or a difference of longitudes, into -180 to 180 degrees. */
export function shortWayRound(degrees: number): number {
  if (degrees > 180) return degrees - 360;
  return degrees < -180 ? degrees + 360 : degrees;
}
