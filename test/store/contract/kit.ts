// What the parts of the contract share: a store to use, short ways to make entries, and short ways to read everything.
import { deepStrictEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { unionOf } from '../../../src/model/dirty-range.ts';
import { dataTime, type Entry, type Identity } from '../../../src/model/entry.ts';
import type { JsonObject } from '../../../src/model/json.ts';
import type { ErrorCode } from '../../../src/model/mobility-error.ts';
import type { PipelineState } from '../../../src/model/pipeline-state.ts';
import { justAfter } from '../../../src/model/time.ts';
import type { TripRecord } from '../../../src/model/trip.ts';
import { entryPages, errorPages } from '../../../src/store/paging.ts';
import type { EntryQuery, ErrorRow, Judge, Lease, Moved, Store, UnusableEntry } from '../../../src/store/store.ts';
import { collections } from '../../../src/store/store.ts';
import { tempFolder } from '../../support/clean-up.ts';
import { leased, leaseOn, openStoreIn } from '../../support/store.ts';

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
  /** A test with as many new users as it takes. */
  it(title: string, test: (...people: Person[]) => Promise<unknown>): void;
  /** Opens another store on the same data, until the test ends. */
  another(): Promise<Store>;
  /** Makes calls simultaneously, by turns with the store and with another one on the same data. */
  atOnce<T>(count: number, call: (store: Store, i: number) => Promise<T>): Promise<T[]>;
  /** A new, empty store, until the test ends. */
  open(): Promise<Opened>;
}

/** The entry of the timeseries with an identity; null: there is none. */
export async function storedAt(store: Store, userId: string, { key, write_ts }: Identity): Promise<Entry | null> {
  const query = { time: 'write_ts', from: write_ts, to: justAfter(write_ts), keys: [key], limit: 2 } as const;
  const { entries } = await store.timeseries.find(userId, query);
  expect(entries.length).toBeLessThan(2);
  return entries[0] ?? null;
}

/** A UUID that no user has. */
export const newId = (): string => randomUUID();

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

/** Location entries written at `from` up to, and without, `to`. */
export function fixes(from: number, to: number, data: JsonObject = {}): Entry[] {
  return numbers(from, to).map((ts) => fix(ts, data));
}

/** Fails unless both are the same to the last bit: -0 is not 0, and no field more or less. */
export function same<T>(found: T, expected: T): void {
  deepStrictEqual(found, expected);
}

/** Fails unless the promise rejects with the code. */
export async function rejects(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await expect(promise).rejects.toMatchObject({ name: 'MobilityError', code });
}

/** Accepts every entry, with the data time of its payload. */
export const accept: Judge = ({ data }) => ({ ts: dataTime(data) });

/** Refuses every entry. */
export function refuse(reason = 'bad_value', message = 'expected a number'): Judge {
  return () => ({ reason, message });
}

/** Later than any entry of a test was written. */
export const never = 1e13;

/** Registers a new user for one test, since tests share a store. */
export async function newPerson(store: Store): Promise<Person> {
  const person = new Person(store, newId());
  await store.users.register(`${person.id}@example.org`, { uuid: person.id, now: 1 });
  return person;
}

/** A store in a new folder, with a user. */
export async function storeWithUser(): Promise<{ folder: string; store: Store; user: Person }> {
  const folder = tempFolder();
  const store = await openStoreIn(folder);
  return { folder, store, user: await newPerson(store) };
}

/** Registers a user with one row or more in every collection; a lease stays taken. */
export async function filledPerson(store: Store, email: string): Promise<Person> {
  const user = new Person(store, (await store.users.register(email, { now: 1 })).user.uuid);
  const { id } = user;
  await store.tokens.add({ hash: `${id}${id}`.replaceAll('-', ''), user_id: id, created_ts: 1, expires_ts: null });
  await store.profiles.merge(id, { a: 1 });
  await user.moveIn([fix(5), entry(battery, 6)]);
  await user.putFailed([fix(1), fix(2)]);
  const unusable = [{ entry: 1, reason: 'r', message: 'm' }];
  await store.usercache.put(id, { entries: [fix(3), fix(4), entry(battery, 1)], unusable }, 1);
  const lease = await user.lease();
  const document = { key: 'diary/trips-2016-05-17', write_ts: 1, data: {} };
  await store.documents.apply(id, { put: [document], remove: [] }, lease);
  const times = { chain_ts: 5, start_ts: 5, end_ts: 6, day: '2016-05-17', settled_ts: 1 };
  const link = { id: 'x', kind: 'trip', trip: {}, ...times } as unknown as TripRecord;
  await store.trips.apply(id, { put: [link], remove: [] }, {}, lease);
  return user;
}

/** The counts of a user without rows. */
export const noRows = Object.fromEntries(collections.map((name) => [name, 0]));

/** A user, and short ways to do in a store what concerns them. */
export class Person {
  readonly store: Store;
  readonly id: string;

  constructor(store: Store, id: string) {
    this.store = store;
    this.id = id;
  }

  /** The same user in another store on the same data. */
  on(store: Store): Person {
    return new Person(store, this.id);
  }

  /** Stores entries in the usercache. `now` is early: entries written much later than it wait for their time. */
  async put(entries: readonly Entry[], now = 1_000) {
    return (await this.store.usercache.put(this.id, { entries, unusable: [] }, now)).results;
  }

  async putUnusable(unusable: readonly UnusableEntry[], now: number) {
    return (await this.store.usercache.put(this.id, { entries: [], unusable }, now)).results;
  }

  /** Moves all entries that may be processed at time `at`, in pages of `limit`; returns what the pages did together. */
  moveAll(judge = accept, { at = never, limit = 5_000 } = {}): Promise<Moved> {
    return this.leased(async (lease) => {
      const all = await this.move(lease, judge, { at, limit });
      while (all.more) {
        const { moved, failed, dirty, more, ...counts } = await this.move(lease, judge, { at, limit });
        all.moved.push(...moved);
        all.failed.push(...failed);
        for (const name of ['inserted', 'updated', 'unchanged'] as const) all[name] += counts[name];
        const { changed, documents } = all.dirty;
        all.dirty = { changed: unionOf(changed, dirty.changed), documents: documents || dirty.documents };
        all.more = more;
      }
      return all;
    });
  }

  /** Moves one page of entries. */
  move(lease: Lease, judge = accept, { at = never, limit = 5_000 } = {}): Promise<Moved> {
    return this.store.usercache.move(this.id, { at, limit }, lease, judge);
  }

  /** Puts the entries and moves all that waits to the timeseries. */
  async moveIn(entries: readonly Entry[], now?: number): Promise<Moved> {
    await this.put(entries, now);
    return this.moveAll();
  }

  /** Puts the entries and lets each fail its conversion at time `now`. */
  async putFailed(entries: readonly Entry[], now = 1_000, reason = 'bad_value'): Promise<Moved> {
    await this.put(entries, now);
    const keys = new Set(entries.map((one) => one.metadata.key));
    return this.moveAll((one) => (keys.has(one.metadata.key) ? refuse(reason)(one) : accept(one)), { at: now });
  }

  /** Every waiting entry by write time, then key. */
  waiting(limit = 1_000): Promise<Entry[]> {
    return findAll(this.store.usercache, this.id, { time: 'write_ts', limit });
  }

  /** Every entry of the timeseries by write time, then key. */
  stored(limit = 1_000): Promise<Entry[]> {
    return findAll(this.store.timeseries, this.id, { time: 'write_ts', limit });
  }

  /** The errors of the user, by id, in pages of `limit`. */
  async errors(limit = 1_000): Promise<ErrorRow[]> {
    const all: ErrorRow[] = [];
    for await (const page of errorPages(this.store, this.id, { limit })) {
      expect(page.length).toBeLessThanOrEqual(limit);
      all.push(...page);
    }
    return all;
  }

  /** Takes errors back, unchanged or each with the entry that replaces it. */
  recover(errors: readonly ErrorRow[], entryOf?: (i: number) => Entry): Promise<number> {
    const back = errors.map((one, i) => ({ ...one, entry: entryOf?.(i) ?? (one.entry as unknown as Entry) }));
    return this.store.errors.recover(this.id, back);
  }

  /** What the store has of the user, without the lease and without times of writing. */
  async content() {
    const { store, id } = this;
    return {
      user: await store.users.byUuid(id),
      tokens: await store.tokens.list(id),
      profile: await store.profiles.get(id),
      waiting: await this.waiting(),
      errors: await this.errors(),
      documents: await store.documents.list(id),
      stored: await this.stored(),
      trips: await store.trips.chain(id, { limit: 100 }),
      state: await this.state(),
      counts: await store.counts(id),
    };
  }

  state(): Promise<PipelineState> {
    return this.store.pipeline.get(this.id);
  }

  /** A lease, which lasts as long as any test unless `seconds` are given. */
  lease(owner?: string, seconds?: number): Promise<Lease> {
    return leaseOn(this.store, this.id, owner, seconds);
  }

  leased<T>(work: (lease: Lease) => Promise<T>): Promise<T> {
    return leased(this.store, this.id, work);
  }

  mergeState(fields: Partial<PipelineState>): Promise<void> {
    return this.leased((lease) => this.store.pipeline.merge(this.id, fields, lease));
  }
}

export type Finder = Pick<Store['timeseries'], 'find'>;

/** All entries of a query, following `next`; each page is checked to be bounded. */
export async function findAll(where: Finder, user: string, query: EntryQuery): Promise<Entry[]> {
  return (await findRows(where, user, query)).map((row) => row.entry);
}

/** The same, each entry with its first receipt. */
export async function findRows(where: Finder, user: string, query: EntryQuery) {
  const all: { entry: Entry; received_ts: number }[] = [];
  for await (const { entries, received_ts } of entryPages(where, user, query)) {
    expect(entries.length).toBeLessThanOrEqual(query.limit);
    all.push(...entries.map((one, i) => ({ entry: one, received_ts: received_ts[i]! })));
  }
  return all;
}
