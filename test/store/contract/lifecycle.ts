// Contract: erasing, counting, reopening and closing.
import { expect, it } from 'vitest';
import type { TripRecord } from '../../../src/model/trip.ts';
import { collections, type Store } from '../../../src/store/store.ts';
import { battery, entry, fix, newId, newPerson, numbers, type Opened, Person, rejects, same, type Use } from './kit.ts';

/** Every method of the parts of a store. A method that the interface gains is missing here until it is added. */
const methods: {
  [Part in keyof Store as Store[Part] extends object ? PartName<Part> : never]: Record<keyof Store[Part], true>;
} = {
  users: { register: true, byEmail: true, byUuid: true, list: true },
  tokens: { add: true, byHash: true, list: true, remove: true, touch: true },
  studies: { put: true, byName: true, list: true, enrol: true },
  profiles: { get: true, merge: true },
  usercache: { put: true, move: true, find: true, summary: true, keys: true, ahead: true },
  documents: { apply: true, get: true, list: true, keys: true },
  errors: { list: true, summary: true, takeBack: true, put: true },
  timeseries: { find: true, get: true, summary: true, zonesAround: true },
  trips: {
    chain: true,
    lastSettledBefore: true,
    byDay: true,
    days: true,
    next: true,
    previous: true,
    summary: true,
    spans: true,
    outlines: true,
    replace: true,
  },
  pipeline: { get: true, merge: true, withWork: true },
  leases: { acquire: true, renew: true, release: true, get: true },
};
type PartName<Part extends keyof Store> = Store[Part] extends (...args: never[]) => unknown ? never : Part;
const ownMethods: Record<Exclude<keyof Store, keyof typeof methods | 'address' | 'close'>, true> = {
  counts: true,
  erase: true,
  unfinished: true,
  ping: true,
  disk: true,
};

type AnyMethods = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** Gives a user one row or more in every collection; a lease stays taken. */
async function fill(store: Store, email: string): Promise<Person> {
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
  const link = { id: 'x', kind: 'dropped', chain_ts: 5, start_ts: 5, end_ts: 6, day: '2016-05-17', settled_ts: 1 };
  await store.trips.replace(id, { from: 0, to: 10 }, [link as unknown as TripRecord], {}, lease);
  return user;
}

const filled = {
  users: 1,
  tokens: 1,
  profiles: 1,
  usercache: 3,
  documents: 1,
  errors: 3,
  timeseries: 2,
  trips: 1,
};
const none = Object.fromEntries(collections.map((collection) => [collection, 0]));

export function lifecycleTests(use: Use): void {
  it('disk says what the store takes, and what is free, if that is known', async () => {
    await fill(use.store, `${newId()}@example.org`);
    const { bytes, free } = await use.store.disk();
    expect(bytes).toBeGreaterThan(0);
    expect(free === null || free > 0).toBe(true);
  });

  it('counts covers every collection', async () => {
    expect(await use.store.counts(newId())).toEqual(none);
    const user = await fill(use.store, `${newId()}@example.org`);
    expect(await use.store.counts(user.id)).toEqual(filled);
    expect(Object.keys(filled).sort()).toEqual([...collections].sort());
  });

  it('erase removes the user from every collection and no other user', async () => {
    const { store } = use;
    const email = `${newId()}@example.org`;
    const [gone, stays] = [await fill(store, email), await fill(store, `${newId()}@example.org`)];
    expect(await store.erase(gone.id)).toEqual(filled);
    expect(await store.counts(gone.id)).toEqual(none);
    expect(await store.erase(gone.id)).toEqual(none);
    expect(await store.counts(stays.id)).toEqual(filled);
    expect(await store.users.byEmail(email)).toBeNull();
    expect(await store.users.byUuid(gone.id)).toBeNull();
    expect(await store.profiles.get(gone.id)).toBeNull();
    expect(await store.leases.get(gone.id)).toBeNull();
    expect(await store.pipeline.withWork([gone.id], 4e9)).toEqual(new Set());
    expect((await store.users.register(email, { uuid: gone.id, now: 2 })).created).toBe(true);
    expect(await gone.put([fix(5), fix(1)])).toEqual(['inserted', 'inserted']);
  });

  use.it('erase copes with many rows', async (user) => {
    await user.put(numbers(0, 12_000).map((ts) => entry(battery, ts)));
    expect((await use.store.erase(user.id)).usercache).toBe(12_000);
    expect(await use.store.counts(user.id)).toEqual(none);
  });

  it('ping works', async () => {
    await use.store.ping();
  });

  it('all data are there after reopening', async () => {
    const opened = await use.open();
    const user = await fill(opened.store, 'somebody@example.org');
    const before = await contentOf(user);
    await opened.store.close();
    const again = await opened.reopen();
    same(await contentOf(user.on(again)), before);
    expect(again.address).toBe(opened.store.address);
    await again.close();
  });

  use.it('a write of one store is seen by another on the same data at once', async (user) => {
    const other = await use.another();
    await user.put([fix(1)]);
    same(await user.on(other).waiting(), [fix(1)]);
    await user.on(other).put([fix(2)]);
    same(await user.waiting(), [fix(1), fix(2)]);
  });

  it('close finishes running calls, those that fail too', async () => {
    const opened = await use.open();
    const user = await newPerson(opened.store);
    const puts = numbers(0, 20).map((ts) => user.put([fix(ts)]));
    const refused = rejects(new Person(opened.store, newId()).put([fix(1)]), 'MOBILITY_USER_UNKNOWN');
    const closes = [opened.store.close(), opened.store.close()];
    expect(await Promise.all(puts)).toEqual(puts.map(() => ['inserted']));
    await refused;
    await Promise.all(closes);
    const again = await opened.reopen();
    expect(await user.on(again).waiting()).toHaveLength(20);
    await again.close();
  });

  it('after close every method says that the store is closed, and a second close does nothing', async () => {
    const opened = await use.open();
    await opened.store.close();
    await opened.store.close();
    await everyMethodIsClosed(opened);
    await opened.store.close();
  });
}

async function everyMethodIsClosed({ store }: Opened): Promise<void> {
  const calls: [string, AnyMethods, string][] = [];
  for (const name of Object.keys(ownMethods)) calls.push([name, store as unknown as AnyMethods, name]);
  for (const [part, names] of Object.entries(methods)) {
    const object = (store as unknown as Record<string, AnyMethods>)[part]!;
    for (const name of Object.keys(names)) calls.push([`${part}.${name}`, object, name]);
  }
  for (const [label, object, name] of calls) {
    expect(object[name], label).toBeTypeOf('function');
    await rejects(object[name]!(), 'MOBILITY_STORE_CLOSED');
  }
}

async function contentOf(user: Person) {
  const { store } = user;
  return {
    user: await store.users.byUuid(user.id),
    tokens: await store.tokens.list(user.id),
    profile: await store.profiles.get(user.id),
    waiting: await user.waiting(),
    errors: await user.errors(),
    documents: await store.documents.list(user.id),
    timeseries: await user.stored(),
    trips: await store.trips.chain(user.id, { limit: 100 }),
    state: await store.pipeline.get(user.id),
    lease: await store.leases.get(user.id),
  };
}
