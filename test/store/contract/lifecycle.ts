// Contract: erasing, counting, reopening and closing.
import { expect, it } from 'vitest';
import type { Collection, Store } from '../../../src/store/store.ts';
import type { Use } from './kit.ts';
import { battery, entry, filledPerson, fix, newId, newPerson, noRows, numbers, Person, rejects, same } from './kit.ts';

const entries = { usercache: 3, errors: 3, timeseries: 2 };
const filled: Record<Collection, number> = { users: 1, tokens: 1, profiles: 1, documents: 1, trips: 1, ...entries };

export function lifecycleTests(use: Use): void {
  it('reports its engine, its size and the free space if known, and answers a ping', async () => {
    await use.store.ping();
    expect(await use.store.version()).toMatch(/^(SQLite|MongoDB) \d+\.\d+\.\d+/);
    await filledPerson(use.store, `${newId()}@example.org`);
    const { bytes, free } = await use.store.disk();
    expect(bytes).toBeGreaterThan(0);
    expect(free === null || free > 0).toBe(true);
  });

  it('erase removes the user from every collection, as counts shows, and no other user', async () => {
    const { store } = use;
    const email = `${newId()}@example.org`;
    const [gone, stays] = [await filledPerson(store, email), await filledPerson(store, `${newId()}@example.org`)];
    expect(await store.counts(gone.id)).toEqual(filled);
    expect(await store.erase(gone.id, { keepRecord: true })).toEqual(filled);
    expect(await store.counts(gone.id)).toEqual({ ...noRows, users: 1 });
    await expect(gone.put([fix(5)])).rejects.toMatchObject({ code: 'MOBILITY_USER_UNKNOWN' });
    expect((await store.users.byEmail(email))?.uuid).toBe(gone.id);
    expect(await store.erase(gone.id)).toEqual({ ...noRows, users: 1 });
    expect(await store.counts(gone.id)).toEqual(noRows);
    expect(await store.erase(gone.id)).toEqual(noRows);
    expect(await store.unfinished()).toEqual([]);
    expect(await store.counts(stays.id)).toEqual(filled);
    const { users, profiles, leases } = store;
    const left = [users.byEmail(email), users.byUuid(gone.id), profiles.get(gone.id), leases.get(gone.id)];
    expect(await Promise.all(left)).toEqual([null, null, null, null]);
    expect(await store.pipeline.withWork([gone.id], 4e9)).toEqual(new Set());
    expect((await store.users.register(email, { uuid: gone.id, now: 2 })).created).toBe(true);
    expect(await gone.put([fix(5), fix(1)])).toEqual(['inserted', 'inserted']);
  });

  use.it('erase removes any number of rows', async (user) => {
    await user.put(numbers(0, 12_000).map((ts) => entry(battery, ts)));
    expect((await use.store.erase(user.id)).usercache).toBe(12_000);
    expect(await use.store.counts(user.id)).toEqual(noRows);
  });

  it('all data are there after reopening', async () => {
    const opened = await use.open();
    const user = await filledPerson(opened.store, 'somebody@example.org');
    const before = [await user.content(), await opened.store.leases.get(user.id)];
    await opened.store.close();
    const again = await opened.reopen();
    same([await user.on(again).content(), await again.leases.get(user.id)], before);
    expect(again.address).toBe(opened.store.address);
    await again.close();
  });

  it('close finishes running calls, including calls that fail', async () => {
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

  it('after close every method fails because the store is closed, and a second close does nothing', async () => {
    const opened = await use.open();
    await opened.store.close();
    await opened.store.close();
    const methods = methodsOf(opened.store);
    expect(methods.length).toBeGreaterThan(45);
    for (const [name, call] of methods) {
      await expect(call(), name).rejects.toMatchObject({ code: 'MOBILITY_STORE_CLOSED' });
    }
    await opened.store.close();
  });
}

/** Every method of a store but `close`, by name. */
function methodsOf(store: Store): [string, () => Promise<unknown>][] {
  const { close: _, ...parts } = store;
  return Object.entries(parts).flatMap(([name, part]): [string, () => Promise<unknown>][] => {
    if (typeof part === 'function') return [[name, part as never]];
    if (typeof part !== 'object' || part === null) return [];
    return Object.entries(part).map(([method, call]) => [`${name}.${method}`, call as never]);
  });
}
