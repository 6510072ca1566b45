// Reads one stretch of a user's data, bounded in size, in the form that the analysis takes.

import { lookAround } from '../analysis/look-around.ts';
import type { Location, Motion, PhoneEvent } from '../analysis/observations.ts';
import { cleanEvents, cleanLocations, cleanMotions, type ZoneOf } from '../analysis/observe.ts';
import { meaningOf } from '../converters/convert.ts';
import { zoneAt } from '../geo/zone.ts';
import type { Entry } from '../model/entry.ts';
import { keys } from '../model/keys.ts';
import { isTimeZone, justAfter } from '../model/time.ts';
import type { Carry } from '../model/trip.ts';
import { entryPages } from '../store/pages.ts';
import type { Timeseries } from '../store/store.ts';

/** Entries read at a time. */
const pageSize = 5000;

/** The 2015 key of motion readings stands beside today's. */
const motionKeys = ['background/activity', keys.motionActivity];

export interface Stretch {
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
 * Data from `carry` on, with `size` usable locations, up to twice as many, or all there are; before them what the analysis looks
 * back at.
 */
export async function readStretch(
  store: StretchStore,
  userId: string,
  locationKey: string,
  carry: Carry | null,
  size: number,
): Promise<Stretch> {
  const from = carry?.resume_ts ?? -Number.MAX_VALUE;
  const earlier = await readLocationsBefore(store, userId, locationKey, from);
  const { locations, loadedUntil } = await readLocations(store, userId, locationKey, from, size);
  const complete = loadedUntil === Number.POSITIVE_INFINITY;
  const to = complete ? justAfter((locations.at(-1)?.ts ?? from) + lookAround) : loadedUntil;
  const eventsFrom = Math.min(from - lookAround, carry?.raw_place?.enter_ts ?? from);
  const eventsTo = complete ? Number.MAX_VALUE : loadedUntil;
  return {
    locations: [...earlier, ...locations],
    motions: await readInPages(store, userId, motionKeys, from - lookAround, to, cleanMotions),
    events: await readInPages(store, userId, [keys.transition], eventsFrom, eventsTo, cleanEvents),
    loadedUntil,
  };
}

/** What the analysis looks back at before `from`: it lies no farther than `lookAround` away. */
async function readLocationsBefore(
  store: StretchStore,
  userId: string,
  key: string,
  from: number,
): Promise<Location[]> {
  const parts: Location[][] = [];
  const query = { keys: [key], time: 'ts', from: from - lookAround, to: from, limit: pageSize } as const;
  for await (const page of entryPages(store.timeseries, userId, query)) {
    const entries = page.entries.map(meaningOf);
    parts.push(cleanLocations(entries, await zonesOf(store, userId, entries)));
  }
  return parts.flat();
}

/** Locations, cleaned page by page: what is unusable takes no memory. One time is never cut in two. */
async function readLocations(
  store: StretchStore,
  userId: string,
  key: string,
  from: number,
  size: number,
): Promise<Pick<Stretch, 'locations' | 'loadedUntil'>> {
  const locations: Location[] = [];
  let held: Entry[] = []; // of the last time seen, of which the next page may have more
  const query = { keys: [key], time: 'ts', from, limit: Math.min(pageSize, size) } as const;
  for await (const page of entryPages(store.timeseries, userId, query)) {
    const entries = [...held, ...page.entries.map(meaningOf)];
    const until = page.next === null ? Number.POSITIVE_INFINITY : page.next.time;
    const whole = entries.filter((entry) => (entry.data.ts as number) < until);
    locations.push(...cleanLocations(whole, await zonesOf(store, userId, whole)));
    if (locations.length >= size) return { locations, loadedUntil: until };
    held = entries.slice(whole.length);
  }
  return { locations, loadedUntil: Number.POSITIVE_INFINITY };
}

/** Reads a range whole, keeping only what `clean` makes of each page. Pages ascend, so the parts are in order. */
async function readInPages<T extends { ts: number }>(
  store: StretchStore,
  userId: string,
  of: string[],
  from: number,
  to: number,
  clean: (entries: Entry[]) => T[],
): Promise<T[]> {
  const parts: T[][] = [];
  const query = { keys: of, time: 'ts', from, to, limit: pageSize } as const;
  for await (const { entries } of entryPages(store.timeseries, userId, query)) {
    parts.push(clean(entries.map(meaningOf)));
  }
  return parts.flat();
}

/**
 * Zones of entries: their own; else that of the user's entry nearest in `write_ts`, the earlier of two equally near; else that of
 * the coordinate.
 */
async function zonesOf(store: StretchStore, userId: string, entries: readonly Entry[]): Promise<ZoneOf> {
  const guesses = new Map<number, string | null>();
  for (const { metadata } of entries) {
    if (isTimeZone(metadata.time_zone) || guesses.has(metadata.write_ts)) continue;
    guesses.set(metadata.write_ts, await nearestZone(store, userId, metadata.write_ts));
  }
  return ({ metadata, data }) => {
    if (isTimeZone(metadata.time_zone)) return { zone: metadata.time_zone, guessed: false };
    const zone = guesses.get(metadata.write_ts) ?? zoneAt(data as { latitude: number; longitude: number });
    return { zone, guessed: true };
  };
}

async function nearestZone(store: StretchStore, userId: string, writeTs: number): Promise<string | null> {
  const { before, after } = await store.timeseries.zonesAround(userId, writeTs);
  if (!before || !after) return (before ?? after)?.zone ?? null;
  return writeTs - before.write_ts <= after.write_ts - writeTs ? before.zone : after.zone;
}
