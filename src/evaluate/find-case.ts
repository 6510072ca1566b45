import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { segmenterWith } from '../analysis/segment.ts';
import { lookAround, type Segmenter } from '../analysis/segmenter.ts';
import { putBatch } from '../intake/put-batch.ts';
import { silentLog } from '../log/log.ts';
import type { Entry } from '../model/entry.ts';
import { keys } from '../model/keys.ts';
import { isPhone, sourceOf } from '../model/sources.ts';
import { day, type TimeRange } from '../model/time.ts';
import type { Trip } from '../model/trip.ts';
import { withoutExcluded } from '../pipeline/excluded-entries.ts';
import { runPipeline } from '../pipeline/run-pipeline.ts';
import { loadFeeds } from '../pipeline/transit-feeds.ts';
import { openStore } from '../store/open.ts';
import { everyEntry, everyLink } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { readInParts } from '../util/parts-of.ts';
import { type Bundle, type BundleSource, bundleKeys, compareTrips, makeBundle, type TripDifference } from './bundle.ts';
import { type CarriedEvidence, carriedTransit, recordEvidence } from './carried-transit.ts';
import { PackedEntries } from './packed-entries.ts';

/** Numbers of trips before and after the day that a case includes. They are tried in this order. */
const margins = [1, 2, 4, 8, 16];
const rotationsEach = 4; // tries for each margin: a rotation may change trips near a threshold
/**
 * Values of `reach`, the part of the possible turn and shift of a case, tried in this order. The
 * analysis depends on the latitude, so a small shift of the latitude changes fewer trips.
 */
const reaches = [1, 0.1];

type Day = Pick<BundleSource, 'day' | 'range' | 'trips'>;

type FoundCase = { bundle: Bundle; differences: TripDifference[] };

export async function findCase(
  store: Store,
  userId: string,
  day: Day,
  { now, signal }: { now: () => number; signal: AbortSignal },
): Promise<FoundCase> {
  const countDifferent = ({ differences }: FoundCase): number => differences.filter(({ isAlike }) => !isAlike).length;
  const feeds = await loadFeeds(store);
  let best: FoundCase | null = null;
  for (const reach of reaches) {
    for (const margin of margins) {
      const entries = await entriesAround(store, userId, day.range, margin);
      const transit: CarriedEvidence[] | null = feeds && [];
      if (transit !== null) {
        const segmenter = segmenterWith({}, recordEvidence(feeds!.evidence, transit));
        await runAlone(entries, { range: day.range, segmenter, now });
      }
      for (let rotation = 0; rotation < rotationsEach; rotation += 1) {
        signal.throwIfAborted();
        const bundle = makeBundle({ ...day, entries, transit, now: now(), random, reach });
        const { start_ts, end_ts } = bundle.truth.range;
        const segmenter = segmenterWith({}, transit && carriedTransit(bundle.truth.transit!));
        const range = { from: start_ts, to: end_ts };
        const trips = await runAlone(bundle.put.phone_to_server, { range, segmenter, now });
        const found = { bundle, differences: compareTrips(day.trips, trips, bundle) };
        if (best === null || countDifferent(found) < countDifferent(best)) best = found;
        if (countDifferent(best) === 0) return best;
      }
    }
  }
  return best!;
}

const batchSize = 1000;
const random = (): number => randomBytes(6).readUIntBE(0, 6) / 2 ** 48;

export async function readTripsWithin(store: Store, userId: string, { from, to }: TimeRange): Promise<Trip[]> {
  const trips: Trip[] = [];
  for await (const { trip } of everyLink(store, userId, { from: from - 7 * day, to: to + day }))
    if (trip !== null && trip.start_ts < to && trip.end_ts > from) trips.push(trip);
  return trips;
}

async function entriesAround(store: Store, userId: string, range: TimeRange, margin: number): Promise<PackedEntries> {
  let [from, to] = [range.from, range.to];
  for (let i = 0; i < margin; i += 1) {
    from = (await store.trips.previous(userId, from))?.chain_ts ?? -Number.MAX_VALUE;
    const next = await store.trips.next(userId, to);
    to = next === null ? Number.MAX_VALUE : Math.max(next.chain_ts, next.settled_ts ?? Number.MAX_VALUE);
  }
  const { locations_from, set_aside } = await store.pipeline.get(userId);
  const query = { keys: bundleKeys, time: 'ts', from: from - lookAround, to: to + lookAround, limit: 5000 } as const;
  const entries = new PackedEntries();
  for await (const entry of everyEntry(withoutExcluded(store.timeseries, set_aside), userId, query))
    if (entry.metadata.key !== keys.location || locations_from !== keys.filteredLocation || !isPhone(sourceOf(entry)))
      entries.add(entry);
  return entries;
}

async function runAlone(
  entries: Iterable<Entry>,
  { range, segmenter, now }: { range: TimeRange; segmenter: Segmenter; now: () => number },
): Promise<Trip[]> {
  const folder = await mkdtemp(join(tmpdir(), 'mobility-case-'));
  const store = await openStore(`sqlite:${folder}`);
  try {
    const { user } = await store.users.register('case', { now: now() });
    for await (const batch of readInParts(entries, batchSize)) await putBatch(user.uuid, batch, { store, now });
    await runPipeline(store, user.uuid, { log: silentLog, now, segmenter });
    return await readTripsWithin(store, user.uuid, range);
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}
