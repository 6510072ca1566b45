// The days of a person: trips, observed time with its reasons, labels and flags.
//
//   trips      |--1--|         |--2 --|--|                               |--3--|
//   days       Monday                 | Tuesday              | Wednesday
//   result     trips 1 and 2; 24 h    | no trips; 24 h       | trip 3; 24 h
import { plainMode } from '../model/modes.ts';
import { addDays, allTime, type DayRange, day, localDay, startOfDay, type TimeRange } from '../model/time.ts';
import type { BriefRecord, BriefTrip, TripRecord } from '../model/trip.ts';
import { estimatedOf } from '../model/trip-fields.ts';
import { refusalOf, type UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { type ChainStore, type CorrectedTrips, correctedTrips } from './corrections/corrected-trips.ts';
import { concernedTime, readCorrections } from './corrections/read-corrections.ts';
import { type Flagged, type FlaggedStay, flagDay, flagStay, flagTrip, type Mark } from './flags.ts';
import { type Labels, noLabels, readLabels } from './labels/load-labels.ts';
import type { LabelStore } from './labels/read-inputs.ts';
import { linksRange, type ObservedDay, observedDays, readStated, type Unobserved } from './observed-time.ts';
import { readFlagInputs } from './read-flag-inputs.ts';

export interface Day<Link extends BriefRecord = BriefRecord> {
  day: string;
  observed: ObservedDay;
  /** Links that start on the day, in order: corrected trips and dropped trips. */
  records: Link[];
  labels: Labels;
  flagged: Flagged[];
}

type Owner = Pick<UserRecord, 'uuid' | 'joined_ts'>;

export type DayStore = LabelStore & Pick<Store, 'pipeline' | 'usercache' | 'tokens'> & Pick<ChainStore, 'corrections'>;

type ReadLinks<Link> = (userId: string, range: TimeRange) => Promise<readonly Link[]>;

const daysAtOnce = 31; // the trips of at most this many days are in memory at one time

/** The days beside a shown day are read too, and must be in the years 1 to 9999. */
const [firstShown, lastShown] = ['0002-01-01', '9998-12-31'];

/** A missing bound is the first or last day with data. */
export type DayBounds = { from?: string | undefined; to?: string | undefined };

type AskedDays = [store: DayStore, user: Owner, bounds: DayBounds, now: number, beyond?: boolean];

/** Reads days, including days without trips. `beyond`: also days before the first and after the last data. */
export const everyDay = (...of: AskedDays) => daysWith((trips) => trips.briefs, ...of);

export const everyWholeDay = (...of: AskedDays) => daysWith((trips) => trips.around, ...of);

async function* daysWith<Link extends BriefRecord>(
  linksOf: (trips: CorrectedTrips) => ReadLinks<Link>,
  ...[source, user, bounds, now, beyond = false]: AskedDays
): AsyncGenerator<Day<Link>, undefined> {
  const state = await source.pipeline.get(user.uuid);
  const store = {
    ...source,
    corrections: await readCorrections(source, user.uuid),
    pipeline: { ...source.pipeline, get: async () => state },
  };
  const trips = correctedTrips(store);
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
    const range = { from, to, zone: known?.zone ?? 'UTC', fixed };
    for await (const one of readRange(store, user.uuid, range, linksOf(trips))) {
      isKnown ||= one.records.length > 0 || one.observed.moving_s + one.observed.staying_s > 0;
      yield one;
    }
    if (isKnown || beyond) continue;
    // A phone with a wrong clock may send trips centuries away: skip the years between.
    const next = await trips.next(user.uuid, startOfDay(to, 'UTC'));
    if (next !== null && next.day > addDays(to, 366)) from = addDays(next.day, -daysAtOnce);
  }
}

export async function readDays(store: DayStore, user: Owner, range: DayRange, now: number): Promise<Day<TripRecord>[]> {
  const days: Day<TripRecord>[] = [];
  for await (const day of everyWholeDay(store, user, range, now, true)) days.push(day);
  return days;
}

async function* readRange<Link extends BriefRecord>(
  store: DayStore,
  userId: string,
  { from, to, zone, fixed }: DayRange & { zone: string; fixed: readonly Unobserved[] },
  readLinks: ReadLinks<Link>,
): AsyncGenerator<Day<Link>, undefined> {
  // Local days begin and end within 26 h of noon in UTC, and a trip of the last day may end 24 h after it.
  const noon = (day: string): number => startOfDay(day, 'UTC') + 43_200;
  const around = { from: noon(from) - 2 * day, to: noon(to) + 2 * day };
  const read = await readFlagInputs(store, userId, around);
  const inputs = { ...read, marks: [...read.marks, ...(await readContradictions(store, userId, around))] };
  const causes = [...fixed, ...read.clocks];
  const links = await readLinks(userId, linksRange({ from, to }));
  const days = observedDays({ links, zone, causes, ...(await readStated(store, userId)) }, from, to);
  const trips = links.filter<Link & BriefTripLink>(isTrip);
  const span = { from: trips[0]?.start_ts ?? 0, to: trips.at(-1)?.end_ts ?? 0 };
  const labels = trips.length > 0 ? await readLabels(store, userId, span, { isBounded: true }) : noLabels;
  const stays = findStays(trips);
  for (const observed of days) {
    const records = links.filter(({ day }) => day === observed.day);
    const own = records.filter<Link & BriefTripLink>(isTrip);
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

/** Sets the mode in a flag to the mode before labels, as in the records of the day. */
function inAnalysedMode(flagged: Flagged, { sections }: BriefTrip): Flagged {
  const section = sections.find(({ id }) => id === flagged.id);
  return section === undefined ? flagged : { ...flagged, mode: plainMode(section.sensed_mode) };
}

type BriefTripLink = BriefRecord & { trip: BriefTrip };

const isTrip = <Link extends BriefRecord>(link: Link): link is Link & BriefTripLink => link.trip !== null;

function findStays(links: readonly BriefTripLink[]): FlaggedStay[] {
  return links.flatMap(({ trip, end_ts: from }, i) => {
    const next = links[i + 1];
    if (next === undefined) return [];
    const left = next.trip.start_place.id === trip.end_place.id ? next.start_ts : next.untracked?.start_ts;
    return [{ id: trip.end_place.id, from, to: Math.max(from, left ?? next.start_ts) }];
  });
}

async function readKnownRange(store: DayStore, userId: string, now: number) {
  const { observed } = await store.pipeline.get(userId);
  if (observed === null) return null;
  const [begin, end] = [observed.from, Math.min(observed.seen.ts, now)];
  const chain = correctedTrips(store);
  const first = await chain.next(userId, allTime.from);
  const last = await chain.previous(userId, allTime.to);
  const [draft] = await chain.drafts(userId);
  const zones = first ? null : await store.timeseries.zonesAround(userId, begin);
  const zone = (first ?? draft)?.trip?.start_zone ?? (zones?.before ?? zones?.after)?.zone ?? 'UTC';
  const from = localDay(Math.min(begin, first?.start_ts ?? begin), zone);
  const to = localDay(Math.max(end, last?.end_ts ?? end), last?.trip?.end_zone ?? zone);
  return { from, to, zone };
}

async function readCauses({ tokens }: DayStore, { uuid, joined_ts }: Owner, now: number): Promise<Unobserved[]> {
  const held = await tokens.list(uuid);
  const refused = held.flatMap((token) => refusalOf(token, now)?.since ?? []);
  const hasLeft = held.length > 0 && refused.length === held.length;
  const causes: Unobserved[] = [{ from: now, to: allTime.to, reason: 'not yet' }];
  if (joined_ts !== undefined) causes.push({ from: allTime.from, to: joined_ts, reason: 'before joining' });
  if (hasLeft) causes.push({ from: Math.max(...refused), to: now, reason: 'after leaving' });
  return causes;
}

async function readContradictions(store: DayStore, userId: string, range: TimeRange): Promise<Mark[]> {
  const all = await correctedTrips(store).corrections(userId, range);
  const contradicted = all.filter(({ effect }) => effect === 'contradicted');
  return contradicted.map(({ correction }) => ({ flag: 'correction_contradicted', ...concernedTime(correction) }));
}

export function dayFigures({ observed, records }: Pick<Day, 'observed' | 'records'>) {
  const trips = records.flatMap(({ trip }) => trip ?? []);
  const sum = (pick: (trip: BriefTrip) => number): number => trips.reduce((total, trip) => total + pick(trip), 0);
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

/** The three figures sum to the day. `off_s`: recording was off, or a correction excludes the time. */
export const observedFigures = ({ moving_s, staying_s, unobserved_s, off_s }: ObservedDay) => ({
  observed_s: moving_s + staying_s,
  silent_s: unobserved_s - off_s,
  off_s,
});
