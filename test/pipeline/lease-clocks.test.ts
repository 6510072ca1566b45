// Leases under clocks that jump either way: no user is blocked, for any clock at the time of the lease.
import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { silentLog } from '../../src/log/log.ts';
import type { Entry } from '../../src/model/entry.ts';
import { clockSlack } from '../../src/model/pipeline-state.ts';
import { type AllOptions, runAll } from '../../src/pipeline/run-all.ts';
import type { Store } from '../../src/store/store.ts';
import { put } from '../support/diary.ts';
import { runs } from '../support/lives.ts';
import { leaseOn, newStore, newUser } from '../support/store.ts';

const today = 1_800_000_000;
const [day, year] = [86_400, 366 * 86_400];
const term = 60;

const entry: Entry = { metadata: { key: 'manual/survey', write_ts: 1_700_000_000, platform: 'android' }, data: {} };

async function waitingUser(store: Store): Promise<string> {
  const user = await newUser(store);
  await put(store, user, [entry], today);
  return user;
}

/** A store by a clock that jumps, with a user whose entry waits. */
async function withClock() {
  const clock = { ts: today };
  const store = await newStore({ now: () => clock.ts });
  return { store, clock, user: await waitingUser(store) };
}

const onNoWait = (): never => {
  throw new Error('expected nobody to wait for');
};

const options = (more: Partial<AllOptions> = {}): AllOptions => ({ log: silentLog, now: () => today, ...more });

it.each([day, year])(
  'a run killed under a clock %d s ahead blocks no user after the clock is corrected',
  async (ahead) => {
    const { store, user, clock } = await withClock();
    clock.ts += ahead;
    await store.leases.acquire(user, 'dead', term);
    clock.ts -= ahead;
    expect(await store.leases.get(user)).toBeNull();
    expect(await runAll(store, options({ onWait: onNoWait }))).toMatchObject({ done: 1, busy: 0 });
  },
);

it('a running run whose clock goes back by a day cannot write after another run has the lease', async () => {
  const { store, user, clock } = await withClock();
  const first = await leaseOn(store, user, 'first', term);
  clock.ts -= day;
  const second = await leaseOn(store, user, 'second', term);
  await expect(store.leases.renew(first, term)).rejects.toMatchObject({ code: 'MOBILITY_LEASE_LOST' });
  expect(await store.leases.acquire(user, 'first', term)).toEqual({ heldBy: second });
});

it('a small correction of the clock ends no lease', async () => {
  const { store, user, clock } = await withClock();
  const heldBy = await leaseOn(store, user, 'first', term);
  clock.ts -= clockSlack - 1;
  expect(await store.leases.acquire(user, 'second', term)).toEqual({ heldBy });
});

it('after any jumps of the clock, the lease of a dead owner ends after one term at most', async () => {
  const { store, user, clock } = await withClock();
  const jump = fc.constantFrom(-year, -day, -3600, -30, -1, 0, 1, 30, 3600, day, year);
  const step = fc.record({ jump, renews: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      clock.ts = today;
      let lease = await leaseOn(store, user, 'dies', term);
      for (const { jump, renews } of steps) {
        clock.ts += jump;
        if (renews) lease = await store.leases.renew(lease, term);
      }
      const next = await store.leases.acquire(user, 'next', term);
      if ('heldBy' in next) clock.ts += term + clockSlack;
      await store.leases.release(await leaseOn(store, user, 'next', term));
    }),
    runs(60),
  );
});

it('a run waits at most one lease for a user of another run, even if the clock of this host is a year behind', async () => {
  const { store, user } = await withClock();
  await store.leases.acquire(user, 'works', term);
  const waits: [string | undefined, number][] = [];
  let waited = 0;
  const wait = async (seconds: number): Promise<void> => {
    waited += seconds;
  };
  const onWait: AllOptions['onWait'] = ({ message }, seconds) => void waits.push([message, seconds]);
  const report = await runAll(store, options({ now: () => today - year, wait, onWait }));
  expect(report).toMatchObject({ done: 0, busy: 1 });
  expect(waited).toBe(term + clockSlack);
  expect(waits).toEqual([[expect.stringMatching(/^works works on this user; its lease ends in 60 s/), term]]);
});

it('a user whose run ends within a moment is processed soon, and no wait is reported', async () => {
  const { store, user } = await withClock();
  const lease = await leaseOn(store, user, 'works', term);
  let waited = 0;
  const wait = async (seconds: number): Promise<void> => {
    waited += seconds;
    if (waited > 0.1) await store.leases.release(lease);
  };
  expect(await runAll(store, options({ wait, onWait: onNoWait }))).toMatchObject({ done: 1, busy: 0 });
  expect(waited).toBeLessThan(0.2);
});

it('waiting ends when the run is stopped, and leaves no listener at its signal', async () => {
  const { store, user } = await withClock();
  await store.leases.acquire(user, 'works', term);
  const stop = new AbortController();
  const onWait = () => stop.abort();
  expect(await runAll(store, options({ onWait, signal: stop.signal }))).toMatchObject({ done: 0, busy: 1 });
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
});

it('a run that waits for many users works on each of them', async () => {
  const { store, clock } = await withClock();
  for (let i = 0; i < 12; i++) await store.leases.acquire(await waitingUser(store), 'dead', term);
  const wait = async (seconds: number): Promise<void> => {
    clock.ts += seconds;
  };
  expect(await runAll(store, options({ wait }))).toMatchObject({ done: 13, busy: 0 });
});
