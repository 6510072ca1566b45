// The days of a person: trips, observed time with its reasons, labels and flags.
//
//   trips      |--1--|         |--2 --|--|                               |--3--|
//   days       Monday                 | Tuesday              | Wednesday
//   result     trips 1 and 2; 24 h    | no trips; 24 h       | trip 3; 24 h      h moving, staying and unobserved

import { plainMode } from '../model/modes.ts';
import { addDays, day, localDay, startOfDay, type TimeRange } from '../model/time.ts';
import type { Trip, TripRecord } from '../model/trip.ts';
import { estimatedOf } from '../model/trip-fields.ts';
import { refusalOf, type UserRecord } from '../model/user.ts';
import { heldTrips } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { type ChainStore, correctedTrips } from './corrections/corrected-trips.ts';
import { concernedTime, readCorrections } from './corrections/read-corrections.ts';
import { type Flagged, type FlaggedStay, flagDay, flagStay, flagTrip, type Mark } from './flags.ts';
import { type Labels, noLabels, readLabels } from './labels/load-labels.ts';
import type { LabelStore } from './labels/read-inputs.ts';
import { type ObservedDay, readObservedDays, type Unobserved } from './observed-time.ts';
import { readFlagInputs } from './read-flag-inputs.ts';

/** One local day. */
export interface Day {
  day: string;
  observed: ObservedDay;
  /** Links that start on the day, in order: corrected trips, and dropped ones. */
  records: TripRecord[];
  labels: Labels;
  flagged: Flagged[];
}

type Owner = Pick<UserRecord, 'uuid' | 'joined_ts'>;

/** The part of the store that days are derived from. */
export type DayStore = LabelStore & Pick<Store, 'pipeline' | 'usercache' | 'tokens'> & Pick<ChainStore, 'corrections'>;

/** The most days whose trips are in memory at one time. */
const daysAtOnce = 31;

/** Reading one day reads the trips of about this many days around it. A shorter history is read at once. */
const daysBeside = 6;

/** The first and last day that is shown. The days before and after them must be in the years 1 to 9999. */
const [firstShown, lastShown] = ['0002-01-01', '9998-12-31'];

/** First and last local day. A missing bound is the first or last day with data. */
export interface DayBounds {
  from?: string | undefined;
  to?: string | undefined;
}

/**
 * Reads all local days from the first to the last day with data, also days without trips. `now`: seconds since the
 * epoch. `beyond`: also days before the first and after the last day with data, up to `bounds`.
 */
export async function* everyDay(
  source: DayStore,
  user: Owner,
  bounds: DayBounds,
  now: number,
  beyond = false,
): AsyncGenerator<Day, undefined> {
  const state = await source.pipeline.get(user.uuid);
  const mostDays = bounds.from === undefined && bounds.to === undefined ? daysAtOnce : daysBeside;
  const isShort = state.observed !== null && state.observed.seen.ts - state.observed.from < mostDays * day;
  const store = {
    ...source,
    corrections: await readCorrections(source, user.uuid),
    pipeline: { ...source.pipeline, get: async () => state },
    ...(isShort && { trips: await heldTrips(source.trips, user.uuid) }),
  };
  const known = await readKnownRange(store, user.uuid, now);
  const within = known && {
    from: [known.from, bounds.from ?? known.from].sort()[1]!,
    to: [known.to, bounds.to ?? known.to].sort()[0]!,
  };
  const { from, to } = (beyond ? bounds : null) ?? within ?? {};
  if (from === undefined || to === undefined) return;
  const [first, last] = [from < firstShown ? firstShown : from, to > lastShown ? lastShown : to];
  const fixed = await readCauses(store, user, now);
  for (let from = first; from <= last; from = addDays(from, daysAtOnce)) {
    const to = [addDays(from, daysAtOnce - 1), last].sort()[0]!;
    let isKnown = false;
    for await (const one of readRange(store, user.uuid, { from, to, zone: known?.zone ?? 'UTC' }, fixed)) {
      isKnown ||= one.records.length > 0 || one.observed.moving_s + one.observed.staying_s > 0;
      yield one;
    }
    if (isKnown || beyond) continue;
    // A phone with a wrong clock may send trips centuries away: skip the years between.
    const next = await correctedTrips(store).next(user.uuid, startOfDay(to, 'UTC'));
    if (next !== null && next.day > addDays(to, 366)) from = addDays(next.day, -daysAtOnce);
  }
}

/** Reads the days of a range, also days without data. */
export async function readDays(
  store: DayStore,
  user: Owner,
  range: { from: string; to: string },
  now: number,
): Promise<Day[]> {
  const days: Day[] = [];
  for await (const day of everyDay(store, user, range, now, true)) days.push(day);
  return days;
}

async function* readRange(
  store: DayStore,
  userId: string,
  range: { from: string; to: string; zone: string },
  fixed: readonly Unobserved[],
): AsyncGenerator<Day, undefined> {
  const noon = (day: string): number => startOfDay(day, 'UTC') + 43_200; // time zones differ from UTC by 14 h at most
  const around = { from: noon(range.from) - 2 * day, to: noon(range.to) + 2 * day };
  const read = await readFlagInputs(store, userId, around);
  const inputs = { ...read, marks: [...read.marks, ...(await readContradictions(store, userId, around))] };
  const causes = [...fixed, ...read.clocks];
  const { days, links } = await readObservedDays(store, userId, { ...range, causes });
  const trips = links.filter(isTrip);
  const span = { from: trips[0]?.start_ts ?? 0, to: trips.at(-1)?.end_ts ?? 0 };
  const labels = trips.length > 0 ? await readLabels(store, userId, span, { isBounded: true }) : noLabels;
  const stays = findStays(trips);
  for (const observed of days) {
    const records = links.filter(({ day }) => day === observed.day);
    const own = records.filter(isTrip);
    const flagged = [
      ...flagDay(observed, own.length, inputs),
      ...own.flatMap(({ trip }) => [
        ...flagTrip(labels.stated(trip), inputs, labels).map((one) => inAnalysedMode(one, trip)),
        ...stays.filter(({ id }) => id === trip.end_place.id).flatMap((stay) => flagStay(stay, inputs)),
      ]),
    ];
    yield { day: observed.day, observed, records, labels, flagged };
  }
}

/** Sets the mode in a flag to the mode that the section had before labels, as in the records of the day. */
function inAnalysedMode(flagged: Flagged, { sections }: Trip): Flagged {
  const section = sections.find(({ id }) => id === flagged.id);
  return section === undefined ? flagged : { ...flagged, mode: plainMode(section.sensed_mode) };
}

const isTrip = (record: TripRecord): record is TripRecord & { trip: Trip } => record.trip !== null;

/** The stays between a trip and the next. */
function findStays(links: readonly (TripRecord & { trip: Trip })[]): FlaggedStay[] {
  return links.flatMap(({ trip, end_ts: from }, i) => {
    const next = links[i + 1];
    if (next === undefined) return [];
    const left = next.trip.start_place.id === trip.end_place.id ? next.start_ts : next.untracked?.start_ts;
    return [{ id: trip.end_place.id, from, to: Math.max(from, left ?? next.start_ts) }];
  });
}

/** The first and last local day with data, and the person's time zone; null without data. */
async function readKnownRange(
  store: DayStore,
  userId: string,
  now: number,
): Promise<{ from: string; to: string; zone: string } | null> {
  const { observed } = await store.pipeline.get(userId);
  if (observed === null) return null;
  const [begin, end] = [observed.from, Math.min(observed.seen.ts, now)];
  const first = await correctedTrips(store).next(userId, Number.NEGATIVE_INFINITY);
  const last = await correctedTrips(store).previous(userId, Number.POSITIVE_INFINITY);
  const [draft] = await correctedTrips(store).drafts(userId);
  const zones = first === null ? await store.timeseries.zonesAround(userId, begin) : null;
  const zone = (first ?? draft)?.trip?.start_zone ?? (zones?.before ?? zones?.after)?.zone ?? 'UTC';
  const from = localDay(Math.min(begin, first?.start_ts ?? begin), zone);
  const to = localDay(Math.max(end, last?.end_ts ?? end), last?.trip?.end_zone ?? zone);
  return { from, to, zone };
}

/** Causes of unobserved time that no entry shows: before the person joined, after they left, and in the future. */
async function readCauses({ tokens }: DayStore, { uuid, joined_ts }: Owner, now: number): Promise<Unobserved[]> {
  const held = await tokens.list(uuid);
  const refused = held.flatMap((token) => refusalOf(token, now)?.since ?? []);
  const hasLeft = held.length > 0 && refused.length === held.length;
  return [
    { from: now, to: Number.POSITIVE_INFINITY, reason: 'not yet' },
    ...(joined_ts === undefined
      ? []
      : [{ from: Number.NEGATIVE_INFINITY, to: joined_ts, reason: 'before joining' as const }]),
    ...(hasLeft ? [{ from: Math.max(...refused), to: now, reason: 'after leaving' as const }] : []),
  ];
}

/** Marks for corrections that later data contradict. */
async function readContradictions(store: DayStore, userId: string, range: TimeRange): Promise<Mark[]> {
  const found = (await correctedTrips(store).corrections(userId, range)).filter(
    ({ effect }) => effect === 'contradicted',
  );
  return found.map(({ correction }) => ({ flag: 'correction_contradicted', ...concernedTime(correction) }));
}

/** Figures of a day: counts, m and s. */
export function dayFigures({ observed, records }: Pick<Day, 'observed' | 'records'>) {
  const trips = records.flatMap(({ trip }) => trip ?? []);
  const sum = (pick: (trip: Trip) => number): number => trips.reduce((total, trip) => total + pick(trip), 0);
  return {
    trips: trips.length,
    duration_s: sum(({ duration }) => duration),
    distance_m: sum(({ distance }) => distance),
    estimated_m: sum(estimatedOf),
    draft: trips.some(({ draft }) => draft),
    ...observedFigures(observed),
    inferred_stay_s: observed.inferred_stay_s,
    moved_unobserved_m: observed.moved_unobserved_m,
  };
}

/**
 * s of a day: observed, not observed although recording was on (`silent_s`), and with recording off or excluded
 * (`off_s`). They sum to the length of the day.
 */
export const observedFigures = ({ moving_s, staying_s, unobserved_s, off_s }: ObservedDay) => ({
  observed_s: moving_s + staying_s,
  silent_s: unobserved_s - off_s,
  off_s,
});
