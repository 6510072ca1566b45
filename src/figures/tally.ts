import { plainMode } from '../model/modes.ts';
import { localDateTime } from '../model/time.ts';
import type { BriefRecord, BriefTrip } from '../model/trip.ts';

export type Dimension = 'mode' | 'hour' | 'weekday' | 'zone' | 'cell';

export interface Figures {
  trips: number;
  metres: number;
  seconds: number;
}

export type PersonTally = Map<string, Figures>;

export const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

export const weekdayOf = (day: string): string => weekdays[(new Date(day).getUTCDay() + 6) % 7]!;

export const divisorOf = (by: Dimension, cell: string): string => (by === 'weekday' ? cell : 'all');

const gridStep = 0.01; // degrees; cells of the grid are about 1.1 km high

/** If `by` is `mode`, adds each section to the cell of its mode. Otherwise adds the trip to the cell of its start. */
export function addTrip(tally: PersonTally, { trip }: Pick<BriefRecord, 'trip'>, by: Dimension): void {
  if (trip === null) return;
  if (by === 'mode') {
    const modes = new Set<string>();
    for (const { sensed_mode, distance, duration } of trip.sections) {
      const mode = plainMode(sensed_mode);
      add(tally, mode, { trips: modes.has(mode) ? 0 : 1, metres: distance, seconds: duration });
      modes.add(mode);
    }
    return;
  }
  add(tally, cellOf(trip, by), { trips: 1, metres: trip.distance, seconds: trip.duration });
}

function cellOf({ start_ts, start_zone, start_loc }: BriefTrip, by: Exclude<Dimension, 'mode'>): string {
  const [longitude, latitude] = start_loc;
  if (by === 'zone') return start_zone;
  if (by === 'cell') return `${southWest(latitude)} ${southWest(longitude)}`;
  const { hour, weekday } = localDateTime(start_ts, start_zone);
  return by === 'hour' ? String(hour).padStart(2, '0') : weekdays[weekday]!;
}

const southWest = (degrees: number): string => (Math.floor(degrees / gridStep) * gridStep).toFixed(2);

export function add(tally: PersonTally, cell: string, { trips, metres, seconds }: Figures): void {
  const known = tally.get(cell) ?? { trips: 0, metres: 0, seconds: 0 };
  const sum = { trips: known.trips + trips, metres: known.metres + metres, seconds: known.seconds + seconds };
  tally.set(cell, sum);
}

export function compareCells(by: Dimension): (a: string, b: string) => number {
  if (by === 'weekday') return (a, b) => weekdays.indexOf(a) - weekdays.indexOf(b);
  return (a, b) => (a < b ? -1 : a > b ? 1 : 0);
}
