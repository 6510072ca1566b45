// Recovery: what the converters accept by now goes through the move again, the rest stays and is named.
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import type { JsonValue } from '../../src/model/json.ts';
import type { ErrorRow } from '../../src/store/store.ts';
import { recoverErrors } from '../../src/upkeep/recover-user.ts';
import { allEntries, chainAfter, derived, memoryLog, pipeline, put, putAndRun } from '../support/diary.ts';
import { android, pushed, pushedRide } from '../support/pushes.ts';
import { leaseOn, newUser, useStore } from '../support/store.ts';

const store = useStore();

const options = { log: memoryLog(), now: () => 1_800_000_000 };
const unknown = (seconds: number): Entry =>
  pushed({ ...android, platform: 'ios' }, 'background/activity', seconds, { ts: 1 });

/** Entries rejected as if by converters that did not know them yet. */
async function setAside(user: string, entries: readonly Entry[]): Promise<void> {
  await put(store, user, entries);
  const lease = await leaseOn(store, user);
  const refuse = () => ({ reason: 'no_converter', message: 'no converter' });
  await store.usercache.move(user, { at: 5e9, limit: 10_000 }, lease, refuse);
  await store.leases.release(lease);
}

it('recovers entries that now convert, once, and the next run adds them to the diary', async () => {
  const day = [...pushedRide(android, 0, 0), ...pushedRide(android, 20_000, 6000)];
  const other = await newUser(store);
  await chainAfter(store, other, day);
  const expected = await derived(store, other);
  await store.erase(other);
  const user = await newUser(store, other);
  await putAndRun(store, user, day.slice(0, 10));
  await setAside(user, day.slice(10));
  const report = await recoverErrors(store, user, options);
  const count = day.length - 10;
  expect(count).toBeGreaterThan(100); // more than one page
  expect(report).toEqual({ user_id: user, tried: count, recovered: count, rounds: 2, remaining: [] });
  await pipeline(store, user);
  expect(await derived(store, user)).toEqual(expected);
});

it('keeps entries that still do not convert as errors, and names them with the reason', async () => {
  const user = await newUser(store);
  await setAside(user, [unknown(1), unknown(2), ...pushedRide(android, 0, 0).slice(0, 3)]);
  const report = await recoverErrors(store, user, options);
  const remaining = [{ key: 'background/activity', reason: 'no_converter', count: 2 }];
  expect(report).toMatchObject({ tried: 5, recovered: 3, remaining });
  expect(await recoverErrors(store, user, options)).toMatchObject({ tried: 2, recovered: 0, rounds: 1, remaining });
});

it('counts an entry that is rejected meanwhile as tried and as recovered', async () => {
  const user = await newUser(store);
  await setAside(user, pushedRide(android, 0, 0).slice(0, 2));
  const late = await store.errors.list(user, { limit: 1 });
  await store.errors.remove(user, [late[0]!.id], Infinity);
  const get = async (id: string) => {
    await store.errors.put(user, late.splice(0)); // between the first and the second round
    return store.pipeline.get(id);
  };
  const busy = { ...store, pipeline: { ...store.pipeline, get } };
  expect(await recoverErrors(busy, user, options)).toMatchObject({ tried: 2, recovered: 2 });
});

it('selects by key or reason and keeps the others; a dry run changes nothing', async () => {
  const user = await newUser(store);
  const ride = pushedRide(android, 0, 0);
  await setAside(user, ride);
  const before = await derived(store, user);
  const dry = await recoverErrors(store, user, { ...options, dryRun: true });
  expect(dry).toMatchObject({ tried: ride.length, recovered: ride.length });
  expect(await derived(store, user)).toEqual(before);
  const some = await recoverErrors(store, user, { ...options, key: 'statemachine/transition' });
  expect(some).toMatchObject({ tried: 1, recovered: 1 });
  expect(await recoverErrors(store, user, { ...options, reason: 'other' })).toMatchObject({ tried: 0, recovered: 0 });
  expect((await store.counts(user)).timeseries).toBe(1);
});

describe('of errors without identity', () => {
  const study = (v: string, write_ts = 1_710_000_000): Entry => ({ metadata: { key: 's/b', write_ts }, data: { v } });
  const times = (ts: number) => ({ first_ts: ts, last_ts: ts, tries: 1, received_ts: ts });
  /** Set aside at `ts`, as programs did that kept no identity with entries of too many keys. */
  const unnamed = (id: string, entry: Entry, ts: number): ErrorRow => {
    const reason = { reason: 'too_many_keys', message: 'm' } as const;
    return { id, entry: entry as unknown as JsonValue, identity: null, ...reason, ...times(ts) };
  };

  it('recovers the content that arrived last', async () => {
    const user = await newUser(store);
    const rows = [unnamed('a', study('old'), 10), unnamed('b', study('new'), 20), unnamed('c', study('older'), 5)];
    await store.errors.put(user, rows);
    expect(await recoverErrors(store, user, options)).toMatchObject({ tried: 3, recovered: 1, remaining: [] });
    expect(await allEntries(store.timeseries, user)).toEqual([study('new')]);
  });

  it('does not correct times a second time', async () => {
    const user = await newUser(store);
    const microseconds = 1_710_000_000_123.456;
    await store.errors.put(user, [unnamed('a', study('v', microseconds), 10)]);
    const now = () => 2 * microseconds;
    expect(await recoverErrors(store, user, { ...options, now })).toMatchObject({ recovered: 1 });
    expect(await allEntries(store.timeseries, user)).toEqual([study('v', microseconds)]);
  });
});
