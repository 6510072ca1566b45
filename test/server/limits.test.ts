// The limits of a caller, and the metrics for monitoring.
import { beforeEach, expect, it } from 'vitest';
import { silentLog } from '../../src/log/log.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import type { AppParts } from '../../src/server/app-parts.ts';
import { storeFigures } from '../../src/server/store-figures.ts';
import type { Store } from '../../src/store/store.ts';
import { recoverErrors, removeErrors } from '../../src/upkeep/recover-user.ts';
import { packageVersion } from '../../src/util/program-version.ts';
import { interposedStore } from '../faults/interposed-store.ts';
import { countRejected } from '../support/store.ts';
import { androidLocation, config, countedCalls, type Kit, noLimits, now, openKit, signedIn } from './kit.ts';

let kit: Kit;
let clock: number;
let ada: string;

async function open(limits: AppParts['limits'], parts: Parameters<typeof openKit>[0] = {}): Promise<void> {
  clock = now;
  kit = await openKit({ limits: { ...noLimits, ...limits }, now: () => clock, ...parts });
  ada = (await kit.user('ada')).uuid;
  await kit.user('eve');
}
const put = (entries: unknown[], user?: string) => kit.put(entries, user);
const run = () => runPipeline(kit.store, ada, { log: silentLog, now: () => clock });

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
  const reports = () => kit.log.filter((line) => line.includes(`UUID ${ada}: meets the limit`));
  expect(reports()).toHaveLength(2);
  await expect
    .poll(() => kit.store.profiles.get(ada))
    .toMatchObject({ last_limit: 'bytes_per_minute', last_limit_ts: clock });
  clock += 60;
  await put([androidLocation(9, { note: 'x'.repeat(1024 * 1024) })]);
  await put([androidLocation(10)]);
  expect(reports()).toHaveLength(3);
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

it('rejected entries count like pending ones until an operator removes them', async () => {
  await open({ pendingEntries: 3 });
  expect((await put(['no', 'entry', 'here'])).json).toMatchObject({ rejected: 3 });
  expect((await put(['another'])).json).toMatchObject({ limit: 'waiting_entries', most: 3 });
  clock += 10; // from now on, as the store counts
  expect((await put([androidLocation(1)])).status).toBe(429);
  expect(await removeErrors(kit.store, ada, clock - 10)).toBe(0);
  expect(await removeErrors(kit.store, ada, clock + 1)).toBe(3);
  clock += 10;
  expect((await put([androidLocation(1)])).status).toBe(200);
});

const survey = (ts: number, length: number): JsonObject => ({
  metadata: { key: 'manual/trip_addition_input', platform: 'android', write_ts: ts },
  data: { start_ts: 1, end_ts: 2, label: 'x', xmlResponse: 'x'.repeat(length) },
});

it('labels that are sent again do not count for the limit of a day, and neither do failed puts', async () => {
  let isFull = true;
  const fail = (call: string): void => {
    if (isFull && call === 'usercache.put') throw new Error('disk full');
  };
  await open({}, { wrap: (store) => interposedStore(store, fail) });
  const seven = [1, 2, 3, 4, 5, 6, 7].map((ts) => survey(ts, 1_000_000));
  for (let n = 0; n < 3; n += 1) expect((await put(seven)).status).toBe(500);
  isFull = false;
  expect((await put(seven)).json).toEqual({ inserted: 7, updated: 0, rejected: 0 });
  for (let n = 0; n < 2; n += 1) expect((await put(seven)).json).toEqual({ inserted: 0, updated: 7, rejected: 0 });
  expect((await put([survey(9, 1_000_000)])).json).toMatchObject({ rejected: 1 });
});

it('pages of a person count as calls of their phones', async () => {
  await open({ callsPerMinute: 2 }, { config: { ...config, auth: 'token' } });
  const headers = await signedIn(kit.store, ada);
  const look = async () => (await kit.request('/me/data', { headers })).status;
  expect([await look(), await look(), await look()]).toEqual([200, 200, 429]);
});

it('an entry that was rejected for its key does not replace content that was accepted later when it is recovered', async () => {
  await open({ unknownKeys: 1 });
  const wider = await openKit({ store: kit.store, limits: { ...noLimits, unknownKeys: 10 }, now: () => clock });
  const entry = (key: string, v: string): JsonObject => ({ metadata: { key, write_ts: 1463501234 }, data: { v } });
  const push = async (to: Kit, ...entries: JsonObject[]): Promise<JsonObject> => {
    clock += 1;
    return (await to.put(entries)).json;
  };
  const contents = async (): Promise<unknown[]> =>
    (await kit.store.timeseries.find(ada, { keys: ['s/b', 's/c'], time: 'write_ts', limit: 9 })).entries;
  const recover = () => recoverErrors(kit.store, ada, { log: silentLog, now: () => clock });

  await push(kit, entry('s/a', 'a'));
  expect(await push(kit, entry('s/b', 'old'), entry('s/c', 'first'))).toMatchObject({ rejected: 2 });
  expect(await push(kit, entry('s/c', 'second'))).toMatchObject({ rejected: 1 });
  // A greater limit, and the phone pushes the entry again.
  expect(await push(wider, entry('s/b', 'new'))).toEqual({ inserted: 0, updated: 1, rejected: 0 });
  expect((await run()).status).toBe('done');
  expect(await countRejected(kit.store, ada)).toEqual([{ key: 's/c', reason: 'too_many_keys', count: 1 }]);
  expect(await recover()).toMatchObject({ tried: 1, recovered: 1, remaining: [] });
  expect(await contents()).toEqual([entry('s/b', 'new'), entry('s/c', 'second')]);
  // A key that was recovered is the user's from then on, also for a server that runs with the old limit.
  expect(await push(kit, entry('s/c', 'third'), entry('s/d', 'd'))).toEqual({ inserted: 0, updated: 1, rejected: 1 });
});

it('metrics count calls, entries and limits, and name no user', async () => {
  expect((await kit.request('/metrics')).status).toBe(404);
  await open({ callsPerMinute: 2 }, { metrics: countedCalls() });
  await put([androidLocation(1), androidLocation(1), {}]);
  for (let i = 0; i < 2; i += 1) await kit.post('/usercache/get', { user: 'ada' });
  const { status, headers, text } = await kit.request('/metrics');
  expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
  expect(headers.get('Content-Type')).toContain('text/plain');
  expect(headers.get('X-Request-Id')).toMatch(/^w1-\d+$/);
  for (const line of [
    'calls_total{handler="userCache.put",status="200",cause="none"} 1',
    'calls_total{handler="userCache.get",status="429",cause="limit"} 1',
    ...['inserted', 'updated', 'rejected'].map((verdict) => `entries_total{verdict="${verdict}"} 1`),
    'limits_met_total{limit="calls_per_minute"} 1',
    'users 2',
    'waiting_entries 1',
    'set_aside_entries{reason="metadata_missing"} 1',
  ])
    expect(text).toContain(`mobility_${line}\n`);
  expect(text).not.toMatch(new RegExp(`"ada"|${ada}`));
});

it('metrics show the state of the store: pending entries and their age, runs, delays of diaries, bytes on disk', async () => {
  const begun = clock;
  const eve = (await kit.store.users.byEmail('eve'))!.uuid;
  const figures = async (...names: string[]): Promise<(number | undefined)[]> => {
    const lines = (await storeFigures(kit.store, () => clock)()).split('\n');
    return names.map((name) => {
      const line = lines.find((one) => one.startsWith(`mobility_${name} `));
      return line === undefined ? undefined : Number(line.split(' ').at(-1));
    });
  };
  const pushBy = async (name: string, user: string, ts: number): Promise<void> => {
    await put([androidLocation(ts)], name);
    await expect.poll(() => kit.store.profiles.get(user)).toMatchObject({ last_put_ts: clock });
  };
  const [lag, doneRuns] = ['diary_lag_seconds{at="most"}', 'runs_last_hour{result="done"}'];
  expect(await figures(lag)).toEqual([0]);
  await pushBy('ada', ada, clock - 86_400);
  clock += 600;
  await pushBy('eve', eve, clock - 5);
  // The age since the receipt, for entries of any age.
  expect(await figures('waiting_entries', 'waiting_age_seconds', lag)).toEqual([2, 600, 600]);

  clock += 100;
  let runClock = clock;
  const now = () => runClock++; // a run takes some seconds
  expect((await runPipeline(kit.store, ada, { log: silentLog, now })).status).toBe('done');
  clock += 200;
  const took = (await kit.store.pipeline.get(ada)).last_run_ts! - begun;
  const others = ['waiting_entries', 'runs_last_hour{result="failed"}', 'diary_lag_seconds{at="median"}'];
  expect(await figures(doneRuns, lag, ...others)).toEqual([1, took, 1, 0, 300]);
  const versions = `version="${packageVersion()}",node="${process.version}",store="${await kit.store.version()}"`;
  expect(await figures(`build_info{${versions}}`)).toEqual([1]);
  const [seconds, bytes, free] = await figures('run_seconds{at="most"}', 'store_bytes', 'disk_free_bytes');
  expect([seconds! > 0, bytes! > 50_000, free! > 0]).toEqual([true, true, true]);
  clock += 3600;
  expect(await figures(doneRuns)).toEqual([0]);
});

it('readyz names a full disk, by a configurable limit', async () => {
  const disk = { bytes: 1, free: 50.5 * 1024 * 1024 };
  const wrap = (store: Store): Store => ({ ...store, disk: async () => disk });
  const ready = async (readyDiskMiB: number) => {
    const { request } = await openKit({ config: { ...config, readyDiskMiB }, wrap });
    expect((await request('/healthz')).status).toBe(200);
    return (await request('/readyz')).json;
  };
  expect(await ready(50)).toEqual({ status: 'ready' });
  const detail = 'expected at least 51 free MiB on the disk of the store, found 50';
  expect(await ready(51)).toMatchObject({ status: 503, check: 'disk_free_mib', limit: 51, found: 50, detail });
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
