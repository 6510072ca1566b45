import { metres } from '../../analysis/positions.ts';
import type { Section } from '../../model/trip.ts';

/** Cuts a section at the first vertex from `ts` on. null: a part would last 0 s. */
export function cutSection(section: Section, ts: number, id: string): [Section, Section] | null {
  const { times, speeds, distances } = section;
  const vertex = times.findIndex((time) => time >= ts);
  const at = Math.min(vertex, times.length - 2);
  if (at < 1) return null;
  const first = { speeds: speeds.slice(0, at + 1), distances: distances.slice(0, at + 1) };
  const second = { speeds: [0, ...speeds.slice(at + 1)], distances: [0, ...distances.slice(at + 1)] };
  return [partOf(section, 0, at + 1, first), partOf({ ...section, id }, at, times.length, second)];
}

/** The vertices from `from` to `to`, exclusive, with their share of the estimated metres. */
function partOf(section: Section, from: number, to: number, steps: Pick<Section, 'speeds' | 'distances'>): Section {
  const { estimated = 0, ...rest } = section;
  const slice = <T>(list: readonly T[]): T[] => list.slice(from, to);
  const times = slice(section.times);
  const line = { coordinates: slice(section.coordinates), altitudes: slice(section.altitudes), times, ...steps };
  const [start_ts, end_ts] = [times[0]!, times.at(-1)!];
  const distance = metres(steps.distances.reduce((sum, one) => sum + one, 0));
  const own = section.distance > 0 ? metres((estimated * distance) / section.distance) : 0;
  const part = { ...rest, ...line, start_ts, end_ts, duration: end_ts - start_ts, distance };
  return own >= 1 ? { ...part, estimated: own } : part;
}
