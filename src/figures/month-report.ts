import { readCorrections } from '../diary/corrections/read-corrections.ts';
import { noLabels, readLabels } from '../diary/labels/load-labels.ts';
import type { LabelStore } from '../diary/labels/read-inputs.ts';
import { readObservedDays } from '../diary/observed-time.ts';
import { idOf } from '../model/ids.ts';
import type { JsonObject } from '../model/json.ts';
import { addDays, day, daysOfMonth } from '../model/time.ts';
import { everyUser } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { startSlices } from '../util/slices.ts';
import { type Disclosed, disclose, type ObservedTimes } from './disclose.ts';
import {
  add,
  addTrip,
  compareCells,
  type Dimension,
  divisorOf,
  type Figures,
  type PersonTally,
  weekdayOf,
} from './tally.ts';

export interface MonthReport extends Disclosed {
  month: string; // `YYYY-MM`
  by: Dimension;
}

/** Days after the end of a month in which phones may still push entries of the month. */
export const daysToSettle = 7;

/** Two reports of an incomplete month would reveal the few people who sent data in between. */
export const isSettled = (month: string, today: string): boolean =>
  addDays(daysOfMonth(month).to, daysToSettle) < today;

export interface MonthFigures {
  month: string;
  by: Dimension;
  tallies: ReadonlyMap<string, PersonTally>;
  everybody: ReadonlyMap<string, Figures>; // all trips of each person, by UUID
  observed: ObservedTimes;
}

export interface PersonMonth {
  tally: PersonTally;
  /** The figures of all trips. A trip with several modes counts once. null: there are no trips. */
  all: Figures | null;
  observed: ReadonlyMap<string, number>;
}

/** A month as the store keeps it. The mode `all` has the sum of all trips. `key`: see `monthKey`. */
interface KeptMonth {
  key: string;
  tally: [mode: string, trips: number, metres: number, seconds: number][];
  observed: [weekday: string, seconds: number][];
}

/**
 * Returns a key that changes if kept figures are outdated. `config` of the study says which labels
 * mean which modes. Raise the number in `month 1` if this code derives other figures.
 */
export const monthKey = (config: JsonObject | null): string => idOf('month 1', JSON.stringify(config));

export function toKept(key: string, { tally, all, observed }: PersonMonth): JsonObject {
  const rows = [...tally, ...(all === null ? [] : [['all', all] as const])];
  const kept: KeptMonth = {
    key,
    tally: rows.map(([mode, { trips, metres, seconds }]) => [mode, trips, metres, seconds]),
    observed: [...observed],
  };
  return kept as unknown as JsonObject;
}

export function fromKept(key: string, value: JsonObject): PersonMonth | null {
  const kept = value as unknown as KeptMonth;
  if (kept.key !== key) return null;
  const tally: PersonTally = new Map(
    kept.tally.map(([mode, trips, metres, seconds]) => [mode, { trips, metres, seconds }]),
  );
  const all = tally.get('all') ?? null;
  tally.delete('all');
  return { tally, all, observed: new Map(kept.observed) };
}

/** Derives the figures from trips and labels. Ignores figures that the store keeps. */
export async function readPersonMonth(
  source: LabelStore & Pick<Store, 'pipeline'>,
  userId: string,
  month: string,
  by: Dimension,
): Promise<PersonMonth> {
  const store = { ...source, corrections: await readCorrections(source, userId) };
  const { from, to } = daysOfMonth(month);
  const { days, links } = await readObservedDays(store, userId, { from, to });
  const trips = links.flatMap(({ day, trip }) => (trip !== null && day >= from && day <= to ? [trip] : []));
  const span = { from: trips[0]?.start_ts ?? 0, to: trips.at(-1)?.end_ts ?? 0 };
  const labels = by === 'mode' && trips.length > 0 ? await readLabels(store, userId, span) : noLabels;
  const tally: PersonTally = new Map();
  const sums: PersonTally = new Map();
  for (const trip of trips) {
    addTrip(tally, { trip: labels.stated(trip) }, by);
    add(sums, 'all', { trips: 1, metres: trip.distance, seconds: trip.duration });
  }
  const observed = new Map<string, number>();
  for (const { day, moving_s, staying_s } of days)
    for (const cell of ['all', weekdayOf(day)]) observed.set(cell, (observed.get(cell) ?? 0) + moving_s + staying_s);
  return { tally, all: sums.get('all') ?? null, observed };
}

export async function readMonth(store: Store, month: string, by: Dimension, study?: string): Promise<MonthFigures> {
  const months = new Map<string, PersonMonth>();
  const slices = startSlices();
  for await (const { uuid, study: own } of everyUser(store)) {
    if (study !== undefined && own !== study) continue;
    if (slices.isOver()) await slices.next();
    months.set(uuid, await readPersonMonth(store, uuid, month, by));
  }
  return monthFigures(month, by, months);
}

export function monthFigures(month: string, by: Dimension, months: ReadonlyMap<string, PersonMonth>): MonthFigures {
  const tallies = new Map<string, PersonTally>();
  const everybody = new Map<string, Figures>();
  const observed = new Map<string, ReadonlyMap<string, number>>();
  for (const [userId, { tally, all, observed: own }] of months) {
    if (tally.size > 0) tallies.set(userId, tally);
    if (all !== null) everybody.set(userId, all);
    if (own.get('all')) observed.set(userId, own);
  }
  return { month, by, tallies, everybody, observed };
}

/** Months are complete and never overlap, so no difference of two reports reveals a person. */
export const monthReport = ({ month, by, tallies, ...whole }: MonthFigures, least: number): MonthReport => ({
  month,
  by,
  ...disclose(tallies, { by, least, occasion: month, ...whole }),
});

/** Exact figures can reveal what single people did. */
export interface ExactCell extends Figures {
  cell: string;
  people: number;
  /** km per observed day of a person; null: no time was observed. */
  km_per_day: number | null;
  /** The 95 % confidence interval of `km_per_day`; null: fewer than two people were observed. */
  km_range: readonly [from: number, to: number] | null;
  trips_per_day: number | null;
}

export function exactCells({ by, tallies, everybody, observed }: MonthFigures): ExactCell[] {
  const sums = new Map<string, Figures>();
  const people = new Map<string, number>();
  const count = (cell: string, figures: Figures): void => {
    add(sums, cell, figures);
    people.set(cell, (people.get(cell) ?? 0) + 1);
  };
  for (const tally of tallies.values()) for (const [cell, figures] of tally) count(cell, figures);
  const cells = [...sums.keys()].sort(compareCells(by));
  for (const figures of everybody.values()) count('all', figures);
  return [...cells, ...(everybody.size > 0 ? ['all'] : [])].map((cell) => {
    const figures = sums.get(cell)!;
    const divisor = divisorOf(by, cell);
    const own = [...observed].map(([userId, of]) => [userId, (of.get(divisor) ?? 0) / day] as const);
    const days = own.reduce((sum, [, each]) => sum + each, 0);
    const km = figures.metres / 1000 / days;
    const kmOf = (userId: string): number =>
      ((cell === 'all' ? everybody.get(userId) : tallies.get(userId)?.get(cell))?.metres ?? 0) / 1000;
    // Standard error of a ratio of sums over people (Cochran, Sampling Techniques, 2.11).
    const squares = own.reduce((sum, [userId, each]) => sum + (kmOf(userId) - km * each) ** 2, 0);
    const spread = own.length < 2 ? null : (1.96 * Math.sqrt((squares * own.length) / (own.length - 1))) / days;
    return {
      cell,
      people: people.get(cell)!,
      ...figures,
      trips_per_day: days > 0 ? figures.trips / days : null,
      km_per_day: days > 0 ? km : null,
      km_range: spread === null ? null : ([Math.max(0, km - spread), km + spread] as const),
    };
  });
}
