// One user through the pipeline and all users through it: leases, failures and reports.
import { describe, expect, it } from 'vitest';
import { MobilityError } from '../../src/model/mobility-error.ts';
import { runAll } from '../../src/pipeline/run-all.ts';
import { type PipelineOptions, runPipeline, stages } from '../../src/pipeline/run-pipeline.ts';
import type { Store } from '../../src/store/store.ts';
import { failingAt } from '../server/kit.ts';
import { chainOf, derived, memoryLog, put } from '../support/diary.ts';
import { commute } from '../support/pushes.ts';
import { newStore, newUser, useStore } from '../support/store.ts';

const clock = 1_700_000_000;
const store = useStore({ now: () => clock });

const day = commute(0);
const options = (more: Partial<PipelineOptions> = {}): PipelineOptions => ({
  log: memoryLog(),
  now: () => clock,
  ...more,
});

async function userWithDay(): Promise<string> {
  const user = await newUser(store);
  await put(store, user, day);
  return user;
}

describe('a run', () => {
  it('reports every stage in order, with its figures', async () => {
    const user = await userWithDay();
    const seen: string[] = [];
    const report = await runPipeline(store, user, options({ onStage: (stage) => seen.push(stage) }));
    expect(report.status).toBe('done');
    expect(seen).toEqual(['move to long term', 'analyse trips', 'documents']);
    expect(report.stages.map((s) => s.stage)).toEqual(stages.map((s) => s.name));
    expect(report.stages.map((s) => s.counts)).toEqual([
      { moved: day.length, inserted: day.length, updated: 0, unchanged: 0, unknown_keys: 0, set_aside: 0, faults: 0 },
      { locations: 82, links: 2, trips: 2, added: 2, removed: 0, changed: 0, days_changed: 1 },
      { days: 1, written: 1, unchanged: 0, removed: 0 },
    ]);
    expect(await store.pipeline.get(user)).toMatchObject({ changed: null, documents_due: false, last_error: null });
    expect(await store.leases.get(user)).toBeNull();
  });

  it('names the user in each of its log lines, and no coordinates', async () => {
    const user = await userWithDay();
    const log = memoryLog();
    await runPipeline(store, user, { ...options(), log });
    expect(log.lines.length).toBeGreaterThan(8);
    expect(log.lines.filter((line) => !line.includes(`UUID ${user}`))).toEqual([]);
    expect(log.lines.filter((line) => /\b52\.\d|\b13\.4\d/.test(line))).toEqual([]);
  });

  it('on a user of another run reports that it is busy', async () => {
    const user = await userWithDay();
    const reports = await Promise.all([
      runPipeline(store, user, options({ owner: 'anna' })),
      runPipeline(store, user, options({ owner: 'bert' })),
    ]);
    expect(reports.map((r) => r.status).sort()).toEqual(['busy', 'done']);
    const busy = reports.find((r) => r.status === 'busy')!;
    expect(busy.message).toMatch(/^(anna|bert) works on this user; its lease ends in 60 s unless renewed$/);
    expect(busy.busy_until).toBe(clock + 60);
    expect(await chainOf(store, user)).toHaveLength(2);
  });
});

describe('a run that fails', () => {
  it('reports the reason, keeps stored data, and the next run continues', async () => {
    const user = await userWithDay();
    const broken = failingAt('documents.apply', new MobilityError('MOBILITY_STORE_FULL', 'no room left'))(store);
    const log = memoryLog();
    const report = await runPipeline(broken, user, { ...options(), log });
    expect(report).toMatchObject({ status: 'failed', message: 'no room left' });
    expect(report.stages.map((s) => s.stage)).toEqual(['move to long term', 'analyse trips']);
    expect(log.lines.some((line) => line.startsWith(`ERROR UUID ${user}: pipeline failed: `))).toBe(true);
    expect((await store.pipeline.get(user)).last_error).toBe('MOBILITY_STORE_FULL: no room left');
    expect(await store.leases.get(user)).toBeNull();
    expect((await runPipeline(store, user, options())).status).toBe('done');
    expect((await derived(store, user)).documents).toHaveLength(1);
    expect((await store.pipeline.get(user)).last_error).toBeNull();
  });

  it('never throws, not even when the store is closed', async () => {
    const gone = failingAt('pipeline.withWork', new MobilityError('MOBILITY_STORE_UNAVAILABLE', 'gone'))(store);
    expect(await runPipeline(gone, 'nobody', options())).toMatchObject({ status: 'failed', message: 'gone' });
  });
});

it('of all users those with work are done, and one failure stops no other user', async () => {
  const own = await newStore();
  const users = await Promise.all(
    ['1', '2', '3'].map((c) => newUser(own, `${c.repeat(8)}-0000-4000-8000-000000000000`)),
  );
  for (const user of users.slice(0, 2)) await put(own, user, day);
  const move: Store['usercache']['move'] = async (user, ...rest) => {
    if (user === users[0]) throw new Error('poisoned user');
    return own.usercache.move(user, ...rest);
  };
  const failing = { ...own, usercache: { ...own.usercache, move } };
  const report = await runAll(failing, options());
  expect(report).toMatchObject({ users: 3, done: 1, nothing_new: 1, busy: 0, failed: 1 });
  expect(report.failures).toMatchObject([{ user_id: users[0], message: 'poisoned user' }]);
  expect(await runAll(own, options())).toMatchObject({ done: 1, nothing_new: 2, failed: 0 });
  expect(await runAll(own, options())).toMatchObject({ done: 0, nothing_new: 3, failed: 0, failures: [] });
});
