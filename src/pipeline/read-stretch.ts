// Reads a stretch of a user's data and converts it for the analysis.
import {
  cleanEvents,
  cleanMotions,
  eventFields,
  type Motion,
  motionFields,
  type ObservedLocation,
  type PhoneEvent,
  type Ping,
  restOfPings,
  toEvent,
  toMotion,
} from '../analysis/clean/observations.ts';
import { lookAround, type Stretch } from '../analysis/segmenter.ts';
import { interpretEntry } from '../intake/converters/convert.ts';
import type { Entry } from '../model/entry.ts';
import { zoneAt } from '../model/geo/zone.ts';
import { keys } from '../model/keys.ts';
import { isPhone } from '../model/sources.ts';
import { justAfter } from '../model/time.ts';
import type { Carry } from '../model/trip.ts';
import { withFields } from '../model/with-fields.ts';
import { entryPages } from '../store/paging.ts';
import type { EntryQuery, Timeseries } from '../store/store.ts';
import { readLocations } from './read-locations.ts';

const pageSize = 5000; // entries per read

const motionKeys = [keys.activity, keys.motionActivity];

export interface StretchStore {
  timeseries: Pick<Timeseries, 'find' | 'zonesAround'>;
}

/**
 * Reads the data after the state `carry` (null: from the first data on). Stops after at least `size` and about
 * 2 * `size` usable locations at most, or at the end of the data. Also reads `lookAround` seconds before the state.
 */
export async function readStretch(
  store: StretchStore,
  userId: string,
  locationKey: string,
  carry: Carry | null,
  size: number,
): Promise<Stretch> {
  const from = carry?.resume_ts ?? -Number.MAX_VALUE;
  const pings: Ping[] = [];
  const reader = {
    timeseries: store.timeseries,
    userId,
    key: locationKey,
    zonesOf: (found: readonly ObservedLocation[]) => zonesOf(store, userId, found),
    onPing: (ping: Ping) => pings.push(ping),
  };
  const { locations, loadedUntil } = await readLocations(reader, { from: from - lookAround, countFrom: from, size });
  const complete = loadedUntil === Number.POSITIVE_INFINITY;
  const to = complete ? justAfter((locations.at(-1)?.ts ?? from) + lookAround) : loadedUntil;
  const eventsFrom = Math.min(from - lookAround, carry?.raw_place?.enter_ts ?? from);
  const eventsTo = complete ? Number.MAX_VALUE : loadedUntil;
  const motions = await readAll(store, userId, { keys: motionKeys, from: from - lookAround, to }, readMotion);
  if (pings.length > 0) motions.push(...restOfPings(pings, { locations, motions: cleanMotions(motions), loadedUntil }));
  return {
    locations,
    motions: cleanMotions(motions),
    events: cleanEvents(
      await readAll(store, userId, { keys: [keys.transition], from: eventsFrom, to: eventsTo }, readEvent),
    ),
    loadedUntil,
  };
}

const readMotion = (entry: Entry): Motion | null => toMotion(interpretEntry(entry, motionFields));
const readEvent = (entry: Entry): PhoneEvent | null => toEvent(interpretEntry(entry, eventFields));

async function readAll<T>(
  { timeseries }: StretchStore,
  userId: string,
  range: Pick<EntryQuery, 'keys' | 'from' | 'to'>,
  read: (entry: Entry) => T | null,
): Promise<T[]> {
  const all: T[] = [];
  const query = withFields(range, { time: 'ts', limit: pageSize } as const);
  for await (const { entries } of entryPages(timeseries, userId, query)) {
    for (const entry of entries) {
      const one = read(entry);
      if (one !== null) all.push(one);
    }
  }
  return all;
}

/**
 * Guesses the time zones of locations without a zone. A phone's location gets the zone of the user's nearest entry by
 * `write_ts`; of two equally near entries, the earlier counts. If no entry has a zone, the location gets the zone at
 * its coordinates. Locations of other apps and imports always get the zone at their coordinates, because they may be of
 * another time and place than the phone.
 */
async function zonesOf(
  store: StretchStore,
  userId: string,
  locations: readonly ObservedLocation[],
): Promise<(location: ObservedLocation) => string> {
  const guesses = new Map<number, string | null>();
  for (const { source, zoneGuessed, writeTs } of locations) {
    if (!zoneGuessed || !isPhone(source) || guesses.has(writeTs)) continue;
    guesses.set(writeTs, await nearestZone(store, userId, writeTs));
  }
  return (location) => (isPhone(location.source) ? guesses.get(location.writeTs) : null) ?? zoneAt(location);
}

async function nearestZone(store: StretchStore, userId: string, writeTs: number): Promise<string | null> {
  const { before, after } = await store.timeseries.zonesAround(userId, writeTs);
  if (!before || !after) return (before ?? after)?.zone ?? null;
  return writeTs - before.write_ts <= after.write_ts - writeTs ? before.zone : after.zone;
}
