// What the parts of the contract share: a store to use, short ways to make entries, and short ways to read everything.
import { deepStrictEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { dataTime, type Entry } from '../../../src/model/entry.ts';
import type { ErrorCode } from '../../../src/model/errors.ts';
import type { JsonObject } from '../../../src/model/json.ts';
import type {
  EntryPage,
  EntryQuery,
  ErrorRow,
  Judge,
  Lease,
  Moved,
  PipelineState,
  PutResult,
  Store,
} from '../../../src/store/store.ts';

/** A store of an engine, new and empty. */
export interface Opened {
  store: Store;
  /** Opens another store on the same data, whether the first is still open or not. Whoever calls it closes it. */
  reopen(): Promise<Store>;
  /** Closes the first store if that is still to do, and removes the data. */
  dispose(): Promise<void>;
}

/** What each part of the contract works with: one store for its tests, and new ones on demand. */
export interface Use {
  readonly store: Store;
  readonly opened: Opened;
  open(): Promise<Opened>;
}

/** A UUID that nobody has. */
export function newId(): string {
  return randomUUID();
}

/** Registers a user whom nobody else has: tests share a store and must not meet. */
export async function newUser(store: Store): Promise<string> {
  const uuid = newId();
  await store.users.register(`${uuid}@example.org`, { uuid, now: 1 });
  return uuid;
}

export const location = 'background/location';
export const battery = 'background/battery';
export const incident = 'manual/incident';

/** Numbers from `from` up to, and without, `to`. */
export function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** An entry with the metadata of a phone. */
export function entry(key: string, write_ts: number, data: JsonObject = {}, metadata: JsonObject = {}): Entry {
  return { metadata: { key, write_ts, type: 'sensor-data', platform: 'android', ...metadata }, data };
}

/** A location entry written at `ts`, with `ts` as its data time. */
export function fix(ts: number, data: JsonObject = {}, metadata: JsonObject = {}): Entry {
  return entry(location, ts, { ts, latitude: 48.5, longitude: 9.05, ...data }, metadata);
}

/** Fails unless both are the same to the last bit: -0 is not 0, and no field more or less. */
export function same<T>(found: T, expected: T): void {
  deepStrictEqual(found, expected);
}

/** Fails unless the promise rejects with the code. */
export async function rejects(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await expect(promise).rejects.toMatchObject({ name: 'MobilityError', code });
}

// ---------------------------------------------------------------- leases

/** A lease on the user that lasts as long as any test. */
export async function leaseOn(store: Store, user: string, owner = 'test'): Promise<Lease> {
  const result = await store.leases.acquire(user, owner, 600);
  if (!('lease' in result)) throw new Error(`expected a free user, found a lease of ${result.heldBy.owner}`);
  return result.lease;
}

/** Works on the user under a lease and releases it. */
export async function leased<T>(store: Store, user: string, work: (lease: Lease) => Promise<T>): Promise<T> {
  const lease = await leaseOn(store, user);
  try {
    return await work(lease);
  } finally {
    await store.leases.release(lease);
  }
}

export function mergeState(store: Store, user: string, fields: Partial<PipelineState>): Promise<void> {
  return leased(store, user, (lease) => store.pipeline.merge(user, fields, lease));
}

// ---------------------------------------------------------------- entries on their way

/** Stores entries in the usercache. `now` is early: entries written much later than it wait for their time. */
export async function put(store: Store, user: string, entries: Entry[], now = 1_000): Promise<PutResult[]> {
  return store.usercache.put(user, { entries, unusable: [] }, now);
}

/** Accepts every entry, with the data time of its payload. */
export const accept: Judge = ({ data }) => ({ ts: dataTime(data) });

/** Refuses every entry. */
export function refuse(reason = 'bad_value', message = 'expected a number'): Judge {
  return () => ({ reason, message });
}

/** Later than any entry of a test was written. */
export const never = 1e13;

/** Moves all entries that may be processed at time `at`, in pages of `limit`; returns what the pages did together. */
export async function moveAll(
  store: Store,
  user: string,
  judge = accept,
  { at = never, limit = 5_000 } = {},
): Promise<Moved> {
  return leased(store, user, async (lease) => {
    const all = await store.usercache.move(user, { at, limit }, lease, judge);
    while (all.more) {
      const { moved, failed, inserted, updated, unchanged, marked, more } = await store.usercache.move(
        user,
        { at, limit },
        lease,
        judge,
      );
      all.moved.push(...moved);
      all.failed.push(...failed);
      all.inserted += inserted;
      all.updated += updated;
      all.unchanged += unchanged;
      const [a, b] = [all.marked.changed, marked.changed];
      const changed = a && b ? { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) } : (a ?? b);
      all.marked = { changed, documents: all.marked.documents || marked.documents };
      all.more = more;
    }
    return all;
  });
}

/** Puts the entries and moves all that waits to the timeseries. */
export async function moveIn(store: Store, user: string, entries: Entry[], now = 1_000): Promise<Moved> {
  await put(store, user, entries, now);
  return moveAll(store, user);
}

/** Puts the entries and lets each fail its conversion at time `now`. */
export async function putFailed(store: Store, user: string, entries: Entry[], now = 1_000, reason = 'bad_value') {
  await put(store, user, entries, now);
  const keys = new Set(entries.map((one) => one.metadata.key));
  const judge: Judge = (one) => (keys.has(one.metadata.key) ? { reason, message: 'expected a number' } : accept(one));
  return moveAll(store, user, judge, { at: now });
}

// ---------------------------------------------------------------- reading

export interface Finder {
  find(user: string, query: EntryQuery): Promise<EntryPage>;
}

/** All entries of a query, following `next`; each page is checked to be bounded. */
export async function findAll(where: Finder, user: string, query: EntryQuery): Promise<Entry[]> {
  return (await findRows(where, user, query)).map((row) => row.entry);
}

/** The same, each entry with its first receipt. */
export async function findRows(
  where: Finder,
  user: string,
  query: EntryQuery,
): Promise<{ entry: Entry; received_ts: number }[]> {
  const all: { entry: Entry; received_ts: number }[] = [];
  let { after } = query;
  for (let pages = 0; pages < 10_000; pages++) {
    const page = await where.find(user, after === undefined ? query : { ...query, after });
    expect(page.entries.length).toBeLessThanOrEqual(query.limit);
    all.push(...page.entries.map((one, i) => ({ entry: one, received_ts: page.received_ts[i]! })));
    if (page.next === null) return all;
    after = page.next;
  }
  throw new Error('the pages of find have no end');
}

/** Every waiting entry by write time, then key. */
export async function waiting(store: Store, user: string, limit = 1_000): Promise<Entry[]> {
  return findAll(store.usercache, user, { time: 'write_ts', limit });
}

/** Every entry of the timeseries by write time, then key. */
export async function stored(store: Store, user: string, limit = 1_000): Promise<Entry[]> {
  return findAll(store.timeseries, user, { time: 'write_ts', limit });
}

/** The errors of a user, by id. */
export async function errorsOf(store: Store, user: string): Promise<ErrorRow[]> {
  return store.errors.list(user, { limit: 1_000 });
}
