// The limits of a caller, and the metrics for monitoring.

import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { correctedTrips } from '../../src/diary/corrections/corrected-trips.ts';
import { checkEntry } from '../../src/intake/check-entry.ts';
import { silentLog } from '../../src/log/log.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { tokenHash } from '../../src/model/user.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import type { AppParts } from '../../src/server/app-parts.ts';
import { countCalls } from '../../src/server/call-metrics.ts';
import { CallerLimiter, callerLimits } from '../../src/server/caller-limits.ts';
import { storeFigures } from '../../src/server/store-figures.ts';
import type { Store } from '../../src/store/store.ts';
import { recoverErrors, removeErrors } from '../../src/upkeep/recover-user.ts';
import { packageVersion } from '../../src/util/program-version.ts';
import { androidLocation, config, type Kit, noLimits, now, openKit } from './kit.ts';

let kit: Kit;
let clock: number;
let ada: string;

async function open(limits: AppParts['limits'], auth = config.auth): Promise<void> {
  clock = now;
  kit = await openKit({ config: { ...config, auth }, limits: { ...noLimits, ...limits }, now: () => clock });
  ada = (await kit.user('ada')).uuid;
  await kit.user('eve');
}
const put = (entries: unknown[], user = 'ada') => kit.post('/usercache/put', { user, phone_to_server: entries });

beforeEach(() => open({}));

it('calls and bytes per minute are limited per caller, who can try again after the minute', async () => {
  await open({ callsPerMinute: 3, bytesPerMinute: 1024 * 1024 });
  for (let i = 0; i < 3; i += 1) expect((await put([androidLocation(i)])).status).toBe(200);
  const refused = await put([androidLocation(9)]);
  expect(refused.json).toMatchObject({ status: 429, code: 'MOBILITY_LIMIT', limit: 'calls_per_minute', most: 3 });
  const seconds = Number(refused.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  expect((await put([androidLocation(1)], 'eve')).status).toBe(200);
  expect(await kit.store.usercache.count(ada)).toBe(3);
  clock += seconds;
  expect((await put([androidLocation(9, { note: 'x'.repeat(1024 * 1024) })])).status).toBe(200);
  expect((await put([androidLocation(10)])).json).toMatchObject({ status: 429, limit: 'bytes_per_minute' });
  // Log and profile name who met which limit, once a minute.
  await put([androidLocation(10)]);
  expect(kit.log.filter((line) => line.includes(`UUID ${ada}: meets the limit`))).toHaveLength(2);
  await expect
    .poll(() => kit.store.profiles.get(ada))
    .toMatchObject({ last_limit: 'bytes_per_minute', last_limit_ts: clock });
});

it('calls and bytes per day are limited, and allowed again from the next day on', async () => {
  const midnight = Math.ceil(now / 86_400) * 86_400;
  const body = { note: 'x'.repeat(600 * 1024) };
  for (const [limits, data, limit] of [
    [{ callsPerDay: 2 }, {}, 'calls_per_day'],
    [{ bytesPerDay: 1024 * 1024 }, body, 'bytes_per_day'],
  ] as const) {
    await open(limits);
    for (const [i, time] of [midnight - 400, midnight - 300].entries()) {
      clock = time;
      expect((await put([androidLocation(i, data)])).status).toBe(200);
    }
    clock = midnight - 100;
    const refused = await put([androidLocation(3)]);
    expect(refused.json).toMatchObject({ status: 429, limit });
    expect(refused.headers.get('retry-after')).toBe('100');
    clock = midnight;
    expect((await put([androidLocation(3)])).status).toBe(200);
  }
});

it('a caller whose bodies are refused repeatedly is refused without reading them until the minute ends', async () => {
  await open({ refusedPerMinute: 30 });
  const bad = () => kit.post('/usercache/put', { user: 'ada' });
  for (let i = 0; i < 30; i += 1) expect((await bad()).status).toBe(400);
  expect((await bad()).json).toMatchObject({ status: 429, limit: 'refused_per_minute' });
  expect((await put([androidLocation(1)], 'eve')).status).toBe(200);
  clock += 60;
  expect((await put([androidLocation(1)])).status).toBe(200);
});

it('entries beyond the limit of pending entries are refused until some are moved', async () => {
  await open({ pendingEntries: 3 });
  expect((await put([androidLocation(1), androidLocation(2)])).status).toBe(200);
  expect((await put([androidLocation(3), androidLocation(4)])).json).toMatchObject({
    limit: 'waiting_entries',
    most: 3,
  });
  expect((await put([androidLocation(3)])).status).toBe(200);
  await runPipeline(kit.store, ada, { log: silentLog, now: () => clock });
  clock += 10;
  expect((await put([androidLocation(4), androidLocation(5)])).status).toBe(200);
});

it('rejected entries count like pending ones until an operator removes them', async () => {
  await open({ pendingEntries: 3 });
  expect((await put(['no', 'entry', 'here'])).json).toMatchObject({ rejected: 3 });
  expect((await put(['another'])).json).toMatchObject({ limit: 'waiting_entries', most: 3 });
  clock += 10; // from now on, as the store counts
  expect((await put([androidLocation(1)])).status).toBe(429);
  expect(await removeErrors(kit.store, ada, { before: clock - 10 })).toBe(0);
  expect(await removeErrors(kit.store, ada, { before: clock + 1 })).toBe(3);
  clock += 10;
  expect((await put([androidLocation(1)])).status).toBe(200);
});

it('corrections beyond the limit of a person are rejected, also when they are sent again', async () => {
  const stated = (from: number, count: number, data: (ts: number) => JsonObject): JsonObject[] =>
    Array.from({ length: count }, (_, i) => {
      const ts = from + i;
      return { metadata: { key: 'manual/correction', platform: 'android', write_ts: ts }, data: data(ts) };
    });
  const drops = stated(1e9, 1001, (ts) => ({ kind: 'drop', ts: ts - 1000 }));
  expect((await put(drops)).json).toEqual({ inserted: 1000, updated: 0, rejected: 1 });
  expect((await put(drops)).json).toEqual({ inserted: 0, updated: 1000, rejected: 1 });
  await runPipeline(kit.store, ada, { log: silentLog, now: () => clock });
  expect((await put(drops.slice(-1))).json).toMatchObject({ rejected: 1 });
  expect(await kit.store.errors.summary(ada)).toEqual([
    { key: 'manual/correction', reason: 'too_many_corrections', count: 1 },
  ]);
  const undoing = stated(2e9 - 2000, 1001, (ts) => ({ kind: 'undo', of: ts - 1.9e9 }));
  expect((await put(undoing.slice(0, 1))).json).toMatchObject({ inserted: 1, rejected: 0 });
  expect((await put(undoing)).json).toMatchObject({ inserted: 999, updated: 1, rejected: 1 });
});

it('a person with the maximum number of corrections can undo any active one, and other entries do not count', async () => {
  const stated = (from: number, count: number, data: (ts: number) => JsonObject): JsonObject[] =>
    Array.from({ length: count }, (_, i) => {
      const ts = from + i;
      return { metadata: { key: 'manual/correction', platform: 'android', write_ts: ts }, data: data(ts) };
    });
  const run = () => runPipeline(kit.store, ada, { log: silentLog, now: () => clock });
  const wrong = stated(0.9e9, 1000, () => ({ kind: 'drop' }));
  await put([...wrong, ...stated(1e9, 500, (ts) => ({ kind: 'drop', ts }))]);
  await put(stated(1.1e9, 500, (ts) => ({ kind: 'undo', of: ts - 0.1e9 })));
  await run();
  expect((await put(stated(1.2e9, 1000, (ts) => ({ kind: 'drop', ts })))).json).toMatchObject({ rejected: 0 });
  await run();
  const [undo, more] = [
    stated(1.3e9, 1, () => ({ kind: 'undo', of: 1.2e9 })),
    stated(1.4e9, 1, (ts) => ({ kind: 'drop', ts })),
  ];
  expect((await put([...more, ...undo])).json).toEqual({ inserted: 1, updated: 0, rejected: 1 });
  await run();
  const effects = (await correctedTrips(kit.store).corrections(ada)).filter(({ effect }) => effect === 'undone');
  expect(effects).toHaveLength(501);
});

it('labels and surveys beyond the limit of a day are rejected, and no other entries', async () => {
  const note = (ts: number): JsonObject => ({
    metadata: { key: 'manual/trip_addition_input', platform: 'android', write_ts: ts },
    data: { start_ts: 1, end_ts: 2, label: 'x', xmlResponse: 'x'.repeat(4_000_000) },
  });
  expect((await put([1, 2, 3].map(note))).json).toEqual({ inserted: 2, updated: 0, rejected: 1 });
  expect((await put([note(4), androidLocation(9)])).json).toEqual({ inserted: 1, updated: 0, rejected: 1 });
  expect(await kit.store.errors.summary(ada)).toEqual([
    { key: 'manual/trip_addition_input', reason: 'too_many_statements', count: 2 },
  ]);
  clock += 86_400;
  expect((await put([note(3)])).json).toMatchObject({ rejected: 0 });
});

it('labels that are sent again do not count for the limit of a day, and neither do failed puts', async () => {
  let isFull = true;
  const wrap = (store: Store): Store => {
    const put: Store['usercache']['put'] = (...args) =>
      isFull ? Promise.reject(new Error('disk full')) : store.usercache.put(...args);
    return { ...store, usercache: { ...store.usercache, put } };
  };
  clock = now;
  kit = await openKit({ now: () => clock, wrap });
  ada = (await kit.user('ada')).uuid;
  const survey = (ts: number): JsonObject => ({
    metadata: { key: 'manual/trip_user_input', platform: 'android', write_ts: ts },
    data: { start_ts: 1, end_ts: 2, label: 'x', xmlResponse: 'x'.repeat(1_000_000) },
  });
  const seven = [1, 2, 3, 4, 5, 6, 7].map(survey);
  for (let n = 0; n < 3; n += 1) expect((await put(seven)).status).toBe(500);
  isFull = false;
  expect((await put(seven)).json).toEqual({ inserted: 7, updated: 0, rejected: 0 });
  for (let n = 0; n < 2; n += 1) expect((await put(seven)).json).toEqual({ inserted: 0, updated: 7, rejected: 0 });
  expect((await put([survey(9)])).json).toMatchObject({ rejected: 1 });
});

it('a caller may have 64 open calls', () => {
  const limiter = new CallerLimiter(callerLimits(config), {} as Store, () => clock);
  const leave = Array.from({ length: 64 }, () => limiter.openCall('ada'));
  expect(() => limiter.openCall('ada')).toThrow('at most 64 calls open at once');
  limiter.openCall('ben')();
  leave[0]!();
  expect(() => limiter.openCall('ada')()).not.toThrow();
});

it('pages of a person count as calls of their phones', async () => {
  await open({ callsPerMinute: 2 }, 'token');
  const cookie = 'x'.repeat(43);
  await kit.store.tokens.add({
    hash: tokenHash(cookie),
    user_id: ada,
    created_ts: now,
    expires_ts: null,
    kind: 'session',
  });
  const look = async () => (await kit.request('/me/data', { headers: { Cookie: `mobility-days=${cookie}` } })).status;
  expect([await look(), await look(), await look()]).toEqual([200, 200, 429]);
});

it('four pages of a caller are made at a time, and the next begins when one is finished', async () => {
  const limiter = new CallerLimiter(callerLimits(config), {} as Store, () => clock);
  const begun: (() => void)[] = [];
  const all = Array.from({ length: 6 }, () => limiter.waitForSlot('ada').then((done) => void begun.push(done)));
  await Promise.all(all.slice(0, 4));
  (await limiter.waitForSlot('ben'))();
  expect(begun.length).toBe(4);
  begun[0]!();
  await all[4];
  expect(begun.length).toBe(5);
  begun[1]!();
  await all[5];
  for (const done of begun.slice(2)) done();
  for (let i = 0; i < 4; i += 1) await limiter.waitForSlot('ada');
});

it('entries of unknown keys beyond the limit are rejected, and can be recovered', async () => {
  await open({ unknownKeys: 2 });
  const entry = (key: string, ts: number): JsonObject => ({ metadata: { key, write_ts: ts }, data: { a: 1 } });
  const pushed = ['a/1', 'a/2', 'a/3', 'a/1', 'manual/incident'].map((key, i) => entry(key, i + 1));
  expect((await put([...pushed, androidLocation(9)])).json).toEqual({ inserted: 5, updated: 0, rejected: 1 });
  expect(await kit.store.errors.summary(ada)).toEqual([{ key: 'a/3', reason: 'too_many_keys', count: 1 }]);
  // Another server of the same store counts what this one took.
  const other = new CallerLimiter({ ...callerLimits(config), unknownKeys: 2 }, kit.store, () => clock);
  const list = [checkEntry(entry('a/9', 20)), checkEntry(entry('a/1', 21))];
  const [third, first] = await other.limitKeys(await kit.user('ada'), list);
  expect([third, first]).toMatchObject([{ reason: 'too_many_keys' }, { metadata: { key: 'a/1' } }]);
  const report = await recoverErrors(kit.store, ada, { log: silentLog, now: () => clock });
  expect(report).toMatchObject({ recovered: 1 });
});

it('keys that a phone chose are dropped within a minute of their use: another process may have erased its person', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let reads = 0;
  const usercache = { ...kit.store.usercache, keys: async () => [`read/${reads++}`] };
  const limits = { ...callerLimits(config), unknownKeys: 5 };
  const limiter = new CallerLimiter(limits, { ...kit.store, usercache }, () => clock);
  const user = await kit.user('ada');
  const send = () => limiter.limitKeys(user, [checkEntry({ metadata: { key: 'name/of-ada', write_ts: 1 }, data: {} })]);
  await send();
  await send();
  expect(reads).toBe(1);
  vi.advanceTimersByTime(60_000);
  await send();
  expect(reads).toBe(2);
});

it('an entry that was rejected for its key does not replace content that was accepted later when it is recovered', async () => {
  await open({ unknownKeys: 1 });
  const wider = await openKit({ store: kit.store, limits: { ...noLimits, unknownKeys: 10 }, now: () => clock });
  const entry = (key: string, v: string, write_ts = 1463501234): JsonObject => ({
    metadata: { key, write_ts },
    data: { v },
  });
  const push = async (to: Kit, ...entries: JsonObject[]): Promise<JsonObject> => {
    clock += 1;
    return (await to.post('/usercache/put', { user: 'ada', phone_to_server: entries })).json;
  };
  const contents = async (): Promise<unknown[]> =>
    (await kit.store.timeseries.find(ada, { keys: ['s/b', 's/c'], time: 'write_ts', limit: 9 })).entries;
  const recover = () => recoverErrors(kit.store, ada, { log: silentLog, now: () => clock });

  await push(kit, entry('s/a', 'a'));
  expect(await push(kit, entry('s/b', 'old'), entry('s/c', 'first'))).toMatchObject({ rejected: 2 });
  expect(await push(kit, entry('s/c', 'second'))).toMatchObject({ rejected: 1 });
  // A greater limit, and the phone pushes the entry again.
  expect(await push(wider, entry('s/b', 'new'))).toEqual({ inserted: 0, updated: 1, rejected: 0 });
  expect((await runPipeline(kit.store, ada, { log: silentLog, now: () => clock })).status).toBe('done');
  expect(await kit.store.errors.summary(ada)).toEqual([{ key: 's/c', reason: 'too_many_keys', count: 1 }]);
  expect(await recover()).toMatchObject({ tried: 1, recovered: 1, remaining: [] });
  expect(await contents()).toEqual([entry('s/b', 'new'), entry('s/c', 'second')]);
  // A key that was recovered is the user's from then on, also for a server that runs with the old limit.
  expect(await push(kit, entry('s/c', 'third'), entry('s/d', 'd'))).toEqual({ inserted: 0, updated: 1, rejected: 1 });
});

it('an entry that was rejected for its key keeps its identity when it is recovered, for any time', async () => {
  await open({ unknownKeys: 1 });
  const microseconds = 1710000000123456;
  const entry = (key: string, write_ts: number): JsonObject => ({
    metadata: { key, write_ts },
    data: { ts: write_ts },
  });
  await put([entry('s/a', 1), entry('s/b', microseconds)]);
  await recoverErrors(kit.store, ada, { log: silentLog, now: () => 2 * microseconds });
  const found = await kit.store.timeseries.find(ada, { keys: ['s/b'], time: 'write_ts', limit: 9 });
  expect(found.entries).toEqual([entry('s/b', microseconds)]);
});

it('metrics count calls, entries and limits, and name no user', async () => {
  const { figures, registry } = countCalls();
  const metrics = { figures, text: () => registry.metrics() };
  const watched = await openKit({ limits: { callsPerMinute: 2 }, metrics });
  const { uuid } = await watched.user('ada');
  await watched.post('/usercache/put', { user: 'ada', phone_to_server: [androidLocation(1), androidLocation(1), {}] });
  await watched.post('/usercache/get', { user: 'ada' });
  await watched.post('/usercache/get', { user: 'ada' });
  const answer = await watched.request('/metrics');
  expect(answer.headers.get('X-Request-Id')).toMatch(/^w1-\d+$/);
  expect(answer.headers.get('Cache-Control')).toBe('no-store');
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')]);
  for (const line of [
    'mobility_calls_total{handler="userCache.put",status="200",cause="none"} 1',
    'mobility_calls_total{handler="userCache.get",status="429",cause="limit"} 1',
    'mobility_entries_total{verdict="inserted"} 1',
    'mobility_entries_total{verdict="updated"} 1',
    'mobility_entries_total{verdict="rejected"} 1',
    'mobility_limits_met_total{limit="calls_per_minute"} 1',
    'mobility_users 1',
    'mobility_waiting_entries 1',
    'mobility_set_aside_entries{reason="metadata_missing"} 1',
  ]) {
    expect(answer.text).toContain(line);
  }
  expect(answer.text).not.toMatch(new RegExp(`"ada"|${uuid}`));
  expect((await kit.request('/metrics')).status).toBe(404);
});

it('metrics show the state of the store: pending entries and their age, runs, delays of diaries, bytes on disk', async () => {
  const begun = clock;
  const eve = (await kit.store.users.byEmail('eve'))!.uuid;
  const figure = async (name: string): Promise<number | undefined> => {
    const text = await storeFigures(kit.store, () => clock)();
    const found = text.split('\n').find((one) => one.startsWith(`${name} `));
    return found === undefined ? undefined : Number(found.split(' ').at(-1));
  };
  expect(await figure('mobility_diary_lag_seconds{at="most"}')).toBe(0);
  await put([androidLocation(clock - 86_400)]);
  await expect.poll(() => kit.store.profiles.get(ada)).toMatchObject({ last_put_ts: clock });
  clock += 600;
  await put([androidLocation(clock - 5)], 'eve');
  await expect.poll(() => kit.store.profiles.get(eve)).toMatchObject({ last_put_ts: clock });
  expect(await figure('mobility_waiting_entries')).toBe(2);
  // The age since the receipt, for entries of any age.
  expect(await figure('mobility_waiting_age_seconds')).toBe(600);
  expect(await figure('mobility_diary_lag_seconds{at="most"}')).toBe(600);

  clock += 100;
  let runClock = clock;
  const now = () => runClock++; // a run takes some seconds
  expect((await runPipeline(kit.store, ada, { log: silentLog, now })).status).toBe('done');
  clock += 200;
  expect(await figure('mobility_waiting_entries')).toBe(1);
  expect(await figure('mobility_runs_last_hour{result="done"}')).toBe(1);
  expect(await figure('mobility_runs_last_hour{result="failed"}')).toBe(0);
  expect(await figure('mobility_run_seconds{at="most"}')).toBeGreaterThan(0);
  const took = (await kit.store.pipeline.get(ada)).last_run_ts! - begun;
  expect(await figure('mobility_diary_lag_seconds{at="most"}')).toBe(took);
  expect(await figure('mobility_diary_lag_seconds{at="median"}')).toBe(300);
  expect(await figure('mobility_store_bytes')).toBeGreaterThan(50_000);
  const versions = `version="${packageVersion()}",node="${process.version}",store="${await kit.store.version()}"`;
  expect(await figure(`mobility_build_info{${versions}}`)).toBe(1);
  expect(await figure('mobility_disk_free_bytes')).toBeGreaterThan(0);
  clock += 3600;
  expect(await figure('mobility_runs_last_hour{result="done"}')).toBe(0);
});

it('readyz names a full disk, by a configurable limit', async () => {
  const disk = { bytes: 1, free: 50.5 * 1024 * 1024 };
  const wrap = (store: Store): Store => ({ ...store, disk: async () => disk });
  const good = await openKit({ config: { ...config, readyDiskMiB: 50 }, wrap });
  expect((await good.request('/readyz')).json).toEqual({ status: 'ready' });

  const full = await openKit({ config: { ...config, readyDiskMiB: 51 }, wrap });
  const answer = await full.request('/readyz');
  expect(answer.json).toMatchObject({ status: 503, check: 'disk_free_mib', limit: 51, found: 50 });
  expect(answer.json.detail).toBe('expected at least 51 free MiB on the disk of the store, found 50');
  expect((await full.request('/healthz')).status).toBe(200);
});

it('the log lists a limited number of entries of a caller per day, and all are stored and counted', async () => {
  await open({ linesPerDay: 3 });
  const listed = (name: string) => kit.log.filter((one) => one.includes('Updated result') && one.includes(name)).length;
  const odd = { metadata: { key: 'x'.repeat(2000) }, data: {} };
  await put([androidLocation(1), androidLocation(2)]);
  expect((await put([androidLocation(3), odd, androidLocation(4)])).json).toMatchObject({ inserted: 2, rejected: 1 });
  await put([odd, odd]);
  expect(listed(ada)).toBe(3);
  expect(kit.log.filter((one) => one.includes('not listed = 2'))).toHaveLength(2);
  await put([androidLocation(5)], 'eve');
  clock += 86_400;
  await put([androidLocation(6)]);
  expect(listed('')).toBe(5);
});
