// What the parts of the contract share: a store to use, short ways to make entries, and short ways to read everything.
import { deepStrictEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Entry, Identity } from '../../../src/model/entry.ts';
import type { ErrorCode } from '../../../src/model/errors.ts';
import type { JsonObject } from '../../../src/model/json.ts';
import type {
  EntryPage,
  EntryQuery,
  FailedEntry,
  Lease,
  PipelineState,
  PutResult,
  Store,
  TimeseriesChange,
  WaitingEntry,
  WaitingRef,
} from '../../../src/store/store.ts';

/** A store of a backend, new and empty. */
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

/** A UUID nobody has. */
export function newId(): string {
  return randomUUID();
}

/** Registers a user nobody else has: tests share a store and must not meet. */
export async function newUser(store: Store): Promise<string> {
  const uuid = newId();
  await store.users.register(`${uuid}@example.org`, { uuid, now: 1 });
  return uuid;
}

export const location = 'background/location';
export const battery = 'background/battery';
export const incident = 'manual/incident';

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

export async function put(store: Store, user: string, entries: Entry[], now = 1_000): Promise<PutResult[]> {
  return store.usercache.put(user, { entries, unusable: [] }, now);
}

/** Every waiting entry, in pages of `limit`. */
export async function waiting(store: Store, user: string, limit = 1_000): Promise<WaitingEntry[]> {
  const all: WaitingEntry[] = [];
  let after: Identity | undefined;
  for (;;) {
    const page = await store.usercache.read(user, after === undefined ? { limit } : { after, limit });
    if (page.length === 0) return all;
    expect(page.length).toBeLessThanOrEqual(limit);
    all.push(...page);
    const { key, write_ts } = page.at(-1)!.entry.metadata;
    after = { key, write_ts };
  }
}

export async function waitingEntries(store: Store, user: string): Promise<Entry[]> {
  return (await waiting(store, user)).map((row) => row.entry);
}

export function refOf({ entry, revision }: WaitingEntry): WaitingRef {
  return { key: entry.metadata.key, write_ts: entry.metadata.write_ts, revision };
}

export function failedOf(row: WaitingEntry, reason = 'bad_value', message = 'expected a number'): FailedEntry {
  return { ...refOf(row), reason, message };
}

/** Puts the entries and lets each fail its conversion. */
export async function putFailed(store: Store, user: string, entries: Entry[], now = 1_000, reason = 'bad_value') {
  await put(store, user, entries, now);
  const keys = new Set(entries.map((one) => one.metadata.key));
  const failed = (await waiting(store, user)).filter((row) => keys.has(row.entry.metadata.key));
  await store.usercache.settle(user, { moved: [], failed: failed.map((row) => failedOf(row, reason)) }, now);
}

export interface Finder {
  find(user: string, query: EntryQuery): Promise<EntryPage>;
}

/** All entries of a query, following `next`; each page is checked to be bounded. */
export async function findAll(where: Finder, user: string, query: EntryQuery): Promise<Entry[]> {
  const all: Entry[] = [];
  let after = query.after;
  for (let pages = 0; ; pages++) {
    const page = await where.find(user, after === undefined ? query : { ...query, after });
    expect(page.entries.length).toBeLessThanOrEqual(query.limit);
    all.push(...page.entries);
    if (page.next === null) return all;
    after = page.next;
    if (pages > 10_000) throw new Error('the pages of find have no end');
  }
}

/** A lease on the user that lasts as long as any test. */
export async function leaseOn(store: Store, user: string, owner = 'test'): Promise<Lease> {
  const result = await store.leases.acquire(user, owner, 600);
  if (!('lease' in result)) throw new Error(`expected a free user, found a lease of ${result.heldBy.owner}`);
  return result.lease;
}

/** Works on the user under a lease and gives it back. */
export async function leased<T>(store: Store, user: string, work: (lease: Lease) => Promise<T>): Promise<T> {
  const lease = await leaseOn(store, user);
  try {
    return await work(lease);
  } finally {
    await store.leases.release(lease);
  }
}

export function apply(store: Store, user: string, change: Partial<TimeseriesChange>) {
  return leased(store, user, (lease) => store.timeseries.apply(user, { put: [], remove: [], ...change }, lease));
}

export function mergeState(store: Store, user: string, fields: Partial<PipelineState>) {
  return leased(store, user, (lease) => store.pipeline.merge(user, fields, lease));
}

/** Fails unless the promise rejects with the code. */
export async function rejects(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await expect(promise).rejects.toMatchObject({ name: 'MobilityError', code });
}

export function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
