// Writes geometry for other programs: WKT for CSV, WKB for Parquet. Degrees WGS84, longitude first.
import type { Position } from '../model/trip.ts';
import type { Geometry } from './columns.ts';

/** Seven decimals of a degree are about 1 cm. */
export const round = (x: number): number => Math.round(x * 1e7) / 1e7;
const pair = ([longitude, latitude]: Position): string => `${round(longitude)} ${round(latitude)}`;

/** A line needs at least two positions, so a single position is repeated. */
export function positionsOf(geometry: Geometry): readonly Position[] {
  if (geometry.type === 'Point') return [geometry.coordinates];
  const { coordinates } = geometry;
  return coordinates.length === 1 ? [coordinates[0]!, coordinates[0]!] : coordinates;
}

export const wkt = (geometry: Geometry): string =>
  `${geometry.type.toUpperCase()} (${positionsOf(geometry).map(pair).join(', ')})`;

export function wkb(geometry: Geometry): Uint8Array {
  const positions = positionsOf(geometry);
  const { type } = geometry;
  const [isPoint, ofPoints] = [type === 'Point', type === 'MultiPoint']; // each point of a MultiPoint has its own header
  const bytes = new Uint8Array((isPoint ? 5 : 9) + positions.length * (ofPoints ? 21 : 16));
  const view = new DataView(bytes.buffer);
  let at = 0;
  const header = (code: number): void => {
    view.setUint8(at, 1);
    view.setUint32(at + 1, code, true);
    at += 5;
  };
  header({ Point: 1, LineString: 2, MultiPoint: 4 }[type]);
  if (!isPoint) {
    view.setUint32(at, positions.length, true);
    at += 4;
  }
  for (const [longitude, latitude] of positions) {
    if (ofPoints) header(1);
    view.setFloat64(at, round(longitude), true);
    view.setFloat64(at + 8, round(latitude), true);
    at += 16;
  }
  return bytes;
}

export function geoJson(geometry: Geometry): object {
  const rounded = positionsOf(geometry).map(([longitude, latitude]) => [round(longitude), round(latitude)]);
  return { type: geometry.type, coordinates: geometry.type === 'Point' ? rounded[0] : rounded };
}
