// Which users a run over all users processes, and its report.
import { expect, it } from 'vitest';
import { silentLog } from '../../src/log/log.ts';
import { MobilityError } from '../../src/model/mobility-error.ts';
import { type AllOptions, runAll } from '../../src/pipeline/run-all.ts';
import type { Store } from '../../src/store/store.ts';
import { put } from '../support/diary.ts';
import { leaseOn, newStore, newUser } from '../support/store.ts';

/** Lets the user's entries wait. */
const putSurvey = (store: Store, user: string, write_ts = 1_700_000_000) =>
  put(store, user, [{ metadata: { key: 'manual/survey', write_ts, platform: 'android' }, data: {} }], write_ts);

/** Marks the user's trips as derived by an older analysis. */
async function makeOutdated(store: Store, user: string): Promise<void> {
  const lease = await leaseOn(store, user, 'an older program');
  await store.pipeline.merge(user, { analysis_version: 'older' }, lease);
  await store.leases.release(lease);
}

/** A store with three users whose entries wait, by UUID. */
async function threeUsers(): Promise<{ store: Store; users: string[] }> {
  const store = await newStore();
  const users: string[] = [];
  for (const first of ['1', '7', 'd']) {
    const user = await newUser(store, `${first}0000000-0000-4000-8000-000000000000`);
    await putSurvey(store, user);
    users.push(user);
  }
  return { store, users };
}

/** Runs over all users; returns the processed users, in order. */
async function run(store: Store, more: Partial<AllOptions> = {}): Promise<string[]> {
  const met: string[] = [];
  const onUser: AllOptions['onUser'] = (report) => {
    met.push(report.user_id);
    more.onUser?.(report, met.length);
  };
  await runAll(store, { log: silentLog, now: () => 1_800_000_000, ...more, onUser });
  return met;
}

it('the report of any number of users has totals of the stages and the first 20 failures', async () => {
  const { store, users } = await threeUsers();
  for (let i = 0; i < 22; i++) {
    users.push(await newUser(store));
    await putSurvey(store, users.at(-1)!);
  }
  const stage = { stage: 'move', seconds: 0.5, counts: { moved: 2, inserted: 1 }, changes: [] };
  const report = await runAll(store, {
    log: silentLog,
    now: () => 1_800_000_000,
    run: async (user_id) => ({ user_id, status: 'failed', stages: [stage], seconds: 1, message: `not ${user_id}` }),
  });
  expect(report).toMatchObject({ users: 25, failed: 25, done: 0 });
  expect(report.stages).toMatchObject([{ stage: 'move', seconds: 12.5, counts: { moved: 50, inserted: 25 } }]);
  expect(report.failures).toHaveLength(20);
  expect(report.failures[0]!.stages[0]).not.toHaveProperty('changes');
});

it('a run with several users in parallel begins no user after the store became unreachable', async () => {
  const { store, users } = await threeUsers();
  const met: string[] = [];
  const gone = new MobilityError('MOBILITY_STORE_UNAVAILABLE', 'gone');
  const unreachable = { ...store, ping: () => Promise.reject(gone) };
  const run: AllOptions['run'] = async (user_id) => {
    met.push(user_id);
    return { user_id, status: 'failed', stages: [], seconds: 0 };
  };
  const all = runAll(unreachable, { log: silentLog, now: () => 1_800_000_000, parallel: 2, run });
  await expect(all).rejects.toThrow('gone');
  expect(met).toEqual(users.slice(0, 2));
});

it('after a stop no other user is begun, and the next run processes the others', async () => {
  const { store, users } = await threeUsers();
  const stop = new AbortController();
  expect(await run(store, { signal: stop.signal, onUser: () => stop.abort() })).toEqual(users.slice(0, 1));
  expect(await run(store)).toEqual(users.slice(1));
});

it('people with new data come first, then people with an old analysis, as many as fit into the time of a round', async () => {
  const { store, users } = await threeUsers();
  await run(store);
  for (const user of users) await makeOutdated(store, user);
  await putSurvey(store, users[2]!, 1_700_000_001);
  let clock = 1_800_000_000;
  const now = (): number => (clock += 1);
  expect(await run(store, { now, outdatedSeconds: 2 })).toEqual([users[2], users[0]]);
  expect(await run(store, { now, outdatedSeconds: 2 })).toEqual([users[1]]);
  const { users: all, nothing_new } = await runAll(store, { log: silentLog, now });
  expect([all, nothing_new]).toEqual([3, 3]);
});
