import { plainMode } from '../model/modes.ts';
import type { TransitLine, Trip } from '../model/trip.ts';
import { metresBy } from '../model/trip-fields.ts';

export const modeText = (sensedMode: string): string => plainMode(sensedMode).replaceAll('_', ' ');

export function lineText(line: TransitLine | undefined): string {
  return line === undefined ? '' : `${lineName(line)}, ${line.agency}, from ${line.from_stop}`;
}

export const lineName = ({ route_short_name, route_long_name, route_id }: TransitLine): string =>
  route_short_name || route_long_name || route_id;

export function modeTotals(trips: readonly Trip[]): { sensed_mode: string; metres: number }[] {
  const sections = trips.flatMap((trip) => trip.sections);
  const named = new Map(sections.map(({ sensed_mode }) => [modeText(sensed_mode), sensed_mode]));
  return [...metresBy(sections, ({ sensed_mode }) => modeText(sensed_mode))]
    .sort(([, a], [, b]) => b - a)
    .map(([mode, metres]) => ({ sensed_mode: named.get(mode)!, metres }));
}
