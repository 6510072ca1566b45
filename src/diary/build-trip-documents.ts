import { dataTime, type Entry } from '../model/entry.ts';
import { keys } from '../model/keys.ts';
import { versionAt } from '../model/pipeline-state.ts';
import { type DayRange, justAfter } from '../model/time.ts';
import type { TripRecord } from '../model/trip.ts';
import { rangeOfTrips } from '../model/trip-fields.ts';
import { everyEntry } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { addToList } from '../util/add-to-list.ts';
import { type ChainStore, correctedTrips } from './corrections/corrected-trips.ts';
import { type AfterTrip, type TripFeatureCollection, tripFeatures } from './trip-features.ts';

/** The stores of trips and entries. Without `usercache`, pending entries are ignored. */
export type DiaryStore = ChainStore & Pick<Store, 'pipeline'>;

/** Reads the trips that start on one local day, in order of time. */
export const readTripsOfDay = async (store: DiaryStore, userId: string, day: string) =>
  (await readTripsOfDays(store, userId, { from: day, to: day })).get(day) ?? [];

/**
 * Reads trips by local start day, both ends included; days without trips are absent. `last`: the
 * user's last trip, if known. `drafts`: also reads trips that have not ended.
 */
export async function readTripsOfDays(
  store: DiaryStore,
  userId: string,
  days: DayRange,
  { last = null, drafts = false }: { last?: TripRecord | null; drafts?: boolean } = {},
): Promise<Map<string, TripFeatureCollection[]>> {
  const trips = correctedTrips(store);
  const open = drafts ? (await trips.drafts(userId)).filter(({ day }) => day >= days.from && day <= days.to) : [];
  const records = [...(await trips.byDay(userId, days)), ...open].sort((a, b) => a.chain_ts - b.chain_ts);
  const following = await readFollowingTrips(store, userId, records, last);
  const incidents = await readIncidents(store, userId, records);
  const state = records.length === 0 ? null : await store.pipeline.get(userId);
  const byDay = new Map<string, TripFeatureCollection[]>();
  for (const [i, record] of records.entries()) {
    if (!record.trip) continue;
    const after = afterTrip(record, following[i] ?? null);
    const { start_ts, end_ts } = record.trip;
    const own = incidents.filter((incident) => timeOf(incident) >= start_ts && timeOf(incident) <= end_ts);
    const features = tripFeatures(record.trip, after, own, userId);
    const version = state && versionAt(state, record.chain_ts);
    if (version !== null) features.properties.analysis_version = version;
    addToList(byDay, record.day, features);
  }
  return byDay;
}

/**
 * Returns the trip after each record: the next record if it begins at the end place, otherwise the
 * next trip of the chain. At the date line, a trip of another day may be between two trips of a day.
 */
async function readFollowingTrips(
  store: DiaryStore,
  userId: string,
  records: readonly TripRecord[],
  last: TripRecord | null,
): Promise<(TripRecord | null)[]> {
  const following: (TripRecord | null)[] = [];
  for (const [i, { chain_ts, trip }] of records.entries()) {
    const next = records[i + 1];
    if (next?.trip && next.trip.start_place.id === trip?.end_place.id) following.push(next);
    else following.push(chain_ts === last?.chain_ts ? null : await correctedTrips(store).next(userId, chain_ts));
  }
  return following;
}

export function afterTrip(record: TripRecord, next: TripRecord | null): AfterTrip {
  if (!next?.trip) return { exit_ts: null, starting_trip: null };
  const stayed = next.trip.start_place.id === record.trip!.end_place.id;
  if (stayed) return { exit_ts: next.trip.start_ts, starting_trip: next.trip.id };
  return { exit_ts: Math.max(record.end_ts, next.untracked?.start_ts ?? next.trip.start_ts), starting_trip: null };
}

async function readIncidents(store: DiaryStore, userId: string, records: readonly TripRecord[]): Promise<Entry[]> {
  const trips = records.flatMap(({ trip }) => trip ?? []);
  if (trips.length === 0) return [];
  const { from, to } = rangeOfTrips(trips);
  const query = { keys: [keys.incident], time: 'ts', from, to: justAfter(to) } as const;
  const found = new Map<number, Entry>();
  // Read pending entries first: a run may move them to the timeseries between both reads.
  for (const part of [store.usercache, store.timeseries]) {
    if (part === undefined) continue;
    for await (const entry of everyEntry(part, userId, query)) {
      const { write_ts } = entry.metadata;
      if (!found.has(write_ts)) found.set(write_ts, entry);
    }
  }
  return [...found.values()].sort((a, b) => timeOf(a) - timeOf(b) || a.metadata.write_ts - b.metadata.write_ts);
}

const timeOf = ({ data }: Entry): number => dataTime(data) ?? NaN;
