// Reads one stretch of a user's data, bounded in size, in the form that the analysis takes.

import { isOfPhone } from '../analysis/choose-sources.ts';
import { lookAround } from '../analysis/look-around.ts';
import type { Location, Motion, PhoneEvent } from '../analysis/observations.ts';
import { cleanEvents, cleanMotions, type ZoneOf } from '../analysis/observe.ts';
import { meaningOf } from '../converters/convert.ts';
import { zoneAt } from '../geo/zone.ts';
import type { Entry } from '../model/entry.ts';
import { keys } from '../model/keys.ts';
import { isTimeZone, justAfter } from '../model/time.ts';
import type { Carry } from '../model/trip.ts';
import { withFields } from '../model/with-fields.ts';
import { entryPages } from '../store/pages.ts';
import type { EntryQuery, Timeseries } from '../store/store.ts';
import { eventFields, motionFields } from './observed-fields.ts';
import { readLocations } from './read-locations.ts';

/** Entries read at a time. */
const pageSize = 5000;

const motionKeys = [keys.activity, keys.motionActivity];

/** The observations of a stretch of time, each list ascending by `ts`. */
export interface ReadStretch {
  locations: Location[];
  motions: Motion[];
  events: PhoneEvent[];
  /** Complete for data times below this; infinite at the end of data. */
  loadedUntil: number;
}

/** The part of the store that a stretch is read from. */
export interface StretchStore {
  timeseries: Pick<Timeseries, 'find' | 'zonesAround'>;
}

/**
 * Data from `carry` on, with `size` usable locations, up to twice as many, or all there are; before them what the
 * analysis looks back at.
 */
export async function readStretch(
  store: StretchStore,
  userId: string,
  locationKey: string,
  carry: Carry | null,
  size: number,
): Promise<ReadStretch> {
  const from = carry?.resume_ts ?? -Number.MAX_VALUE;
  const reader = {
    timeseries: store.timeseries,
    userId,
    key: locationKey,
    zonesOf: (entries: readonly Entry[]) => zonesOf(store, userId, entries),
  };
  const { locations, loadedUntil } = await readLocations(reader, { from: from - lookAround, countFrom: from, size });
  const complete = loadedUntil === Number.POSITIVE_INFINITY;
  const to = complete ? justAfter((locations.at(-1)?.ts ?? from) + lookAround) : loadedUntil;
  const eventsFrom = Math.min(from - lookAround, carry?.raw_place?.enter_ts ?? from);
  const eventsTo = complete ? Number.MAX_VALUE : loadedUntil;
  return {
    locations,
    motions: await readInPages(
      store,
      userId,
      { keys: motionKeys, from: from - lookAround, to, fields: motionFields },
      cleanMotions,
    ),
    events: await readInPages(
      store,
      userId,
      { keys: [keys.transition], from: eventsFrom, to: eventsTo, fields: eventFields },
      cleanEvents,
    ),
    loadedUntil,
  };
}

/** Reads a range whole, keeping only what `clean` makes of each page. Pages ascend, so the parts are in order. */
async function readInPages<T extends { ts: number }>(
  store: StretchStore,
  userId: string,
  selection: Pick<EntryQuery, 'keys' | 'from' | 'to' | 'fields'>,
  clean: (entries: Entry[]) => T[],
): Promise<T[]> {
  const parts: T[][] = [];
  const query = withFields(selection, { time: 'ts', limit: pageSize } as const);
  for await (const { entries } of entryPages(store.timeseries, userId, query)) {
    parts.push(clean(entries.map(meaningOf)));
  }
  return parts.flat();
}

/**
 * Zones of entries: their own; else, of a phone's, that of the user's entry nearest in `write_ts`, the earlier of two
 * equally near; else that of the coordinate. Other apps and imports name none, and may tell of another time and place
 * than the phone does.
 */
async function zonesOf(store: StretchStore, userId: string, entries: readonly Entry[]): Promise<ZoneOf> {
  const guesses = new Map<number, string | null>();
  for (const entry of entries) {
    const { metadata } = entry;
    if (!isOfPhone(entry)) continue;
    if (isTimeZone(metadata.time_zone) || guesses.has(metadata.write_ts)) continue;
    guesses.set(metadata.write_ts, await nearestZone(store, userId, metadata.write_ts));
  }
  return (entry) => {
    const { metadata, data } = entry;
    if (isTimeZone(metadata.time_zone)) return { zone: metadata.time_zone, guessed: false };
    const zone =
      (isOfPhone(entry) ? guesses.get(metadata.write_ts) : null) ??
      zoneAt(data as { latitude: number; longitude: number });
    return { zone, guessed: true };
  };
}

async function nearestZone(store: StretchStore, userId: string, writeTs: number): Promise<string | null> {
  const { before, after } = await store.timeseries.zonesAround(userId, writeTs);
  if (!before || !after) return (before ?? after)?.zone ?? null;
  return writeTs - before.write_ts <= after.write_ts - writeTs ? before.zone : after.zone;
}
