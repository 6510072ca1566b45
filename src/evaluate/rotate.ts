// Rotates positions on the sphere by Rodrigues' formula. All distances stay the same.
import type { LatLon } from '../model/geo/distance.ts';

const radians = Math.PI / 180;

/** A rotation by `angle`, rad, around the line through `axis` and the centre of the earth. */
export function rotation(axis: LatLon, angle: number): (at: LatLon) => LatLon {
  const [kx, ky, kz] = vectorOf(axis);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return (at) => {
    const [x, y, z] = vectorOf(at);
    const along = (kx * x + ky * y + kz * z) * (1 - cos);
    const a = x * cos + (ky * z - kz * y) * sin + kx * along;
    const b = y * cos + (kz * x - kx * z) * sin + ky * along;
    const c = z * cos + (kx * y - ky * x) * sin + kz * along;
    return { latitude: Math.atan2(c, Math.hypot(a, b)) / radians, longitude: Math.atan2(b, a) / radians };
  };
}

function vectorOf({ latitude, longitude }: LatLon): [x: number, y: number, z: number] {
  const cosLat = Math.cos(latitude * radians);
  return [cosLat * Math.cos(longitude * radians), cosLat * Math.sin(longitude * radians), Math.sin(latitude * radians)];
}
