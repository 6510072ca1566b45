// Recovery: what the converters accept by now goes through the move again, the rest stays and is named.
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import { identityOf } from '../../src/model/entry.ts';
import { recoverErrors } from '../../src/upkeep/recover-errors.ts';
import { chainAfter, derived, memoryLog, pipeline, put } from '../support/diary.ts';
import { android, pushed, pushedRide } from '../support/pushes.ts';
import { newUser, useStore } from '../support/store.ts';

const store = useStore();

const options = { log: memoryLog(), now: () => 1_800_000_000 };
const unknown = (seconds: number): Entry =>
  pushed({ ...android, platform: 'ios' }, 'background/activity', seconds, { ts: 1 });

/** Entries set aside as if by converters that did not know them yet. */
async function setAside(user: string, entries: readonly Entry[], reason = 'no_converter'): Promise<void> {
  await put(store, user, entries);
  for (;;) {
    const rows = await store.usercache.read(user, { limit: 10_000 });
    if (rows.length === 0) return;
    const failed = rows.map(({ entry, revision }) => ({
      ...identityOf(entry),
      revision,
      reason,
      message: 'no converter',
    }));
    await store.usercache.settle(user, { moved: [], failed }, 1);
  }
}

describe('recovery', () => {
  it('puts back entries that now convert, once, and the next run adds them to the diary', async () => {
    const day = [...pushedRide(android, 0, 0), ...pushedRide(android, 20_000, 6000)];
    const twin = await newUser(store);
    await chainAfter(store, twin, day);
    const expected = await derived(store, twin);
    await store.erase(twin);
    const user = await newUser(store, twin);
    await put(store, user, day.slice(0, 90));
    await pipeline(store, user);
    await setAside(user, day.slice(90));
    const report = await recoverErrors(store, user, options);
    expect(report).toEqual({
      user_id: user,
      tried: day.length - 90,
      recovered: day.length - 90,
      rounds: 2,
      remaining: [],
    });
    await pipeline(store, user);
    expect(await derived(store, user)).toEqual(expected);
  });

  it('leaves entries that still fail where they are, and names them with the reason', async () => {
    const user = await newUser(store);
    await setAside(user, [unknown(1), unknown(2), ...pushedRide(android, 0, 0).slice(0, 3)]);
    const report = await recoverErrors(store, user, options);
    const remaining = [{ key: 'background/activity', reason: 'no_converter', count: 2 }];
    expect(report).toMatchObject({ tried: 5, recovered: 3, remaining });
    expect(await recoverErrors(store, user, options)).toMatchObject({ tried: 2, recovered: 0, rounds: 1, remaining });
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

  it('finds recoverable entries behind errors so large that they fill pages', async () => {
    const user = await newUser(store);
    const large = Array.from({ length: 18 }, (_, i) =>
      pushed(android, 'background/activity', i, { text: 'x'.repeat(3_000_000) }),
    );
    await setAside(user, large);
    await setAside(user, pushedRide(android, 0, 0));
    const report = await recoverErrors(store, user, options);
    expect(report.recovered).toBe(pushedRide(android, 0, 0).length);
    expect(report.tried).toBe(report.recovered + large.length);
  });

  it('skips a user whose pipeline is running', async () => {
    const user = await newUser(store);
    await store.leases.acquire(user, 'pipeline', 60);
    await expect(recoverErrors(store, user, options)).rejects.toMatchObject({ code: 'MOBILITY_LEASE_HELD' });
  });
});
