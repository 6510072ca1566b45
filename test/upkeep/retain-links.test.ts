// What `retain` records and removes, for links written down by hand: the bounds in time, and the state it leaves.
import { expect, it } from 'vitest';
import { shippedSegmenter } from '../../src/analysis/segment.ts';
import { type PipelineState, versionAt } from '../../src/model/pipeline-state.ts';
import type { Carry, TripRecord } from '../../src/model/trip.ts';
import type { Store } from '../../src/store/store.ts';
import { type RetainOptions, retain } from '../../src/upkeep/retain-user.ts';
import { memoryLog } from '../support/diary.ts';
import { chained, trip } from '../support/equator-trips.ts';
import { leaseOn, newStore, newUser } from '../support/store.ts';
import { words } from '../support/words.ts';

const day = 86_400;
const user = '0b2c6d1e-5a55-4c11-9f0e-3f4a5b6c7d8e';
const { version } = shippedSegmenter;
const place = (enter_ts: number) => ({ id: 'p', location: [0, 0], enter_ts }) as Carry['raw_place'];

/** A trip of 10 minutes on each of five days. The analysis resumes 1,000 s after each. The last is not settled. */
function linksWith(carries: Record<number, Partial<Carry>> = {}): TripRecord[] {
  const trips = [1, 2, 3, 4, 5].map((n) => {
    const start = n * day;
    const carry = { resume_ts: start + 1600, started: false, raw_place: null, place: null, ...carries[n] };
    const settled_ts = n === 5 ? null : start + 2600;
    return trip(`t${n}`, [{ times: [start, start + 600], easts: [0, 6000] }], { carry, settled_ts });
  });
  return chained(...trips);
}

async function open(links: readonly TripRecord[], state: Partial<PipelineState> = {}) {
  const store = await newStore();
  await newUser(store, user);
  const lease = await leaseOn(store, user);
  await store.trips.apply(user, { put: links, remove: [] }, { analysis_version: version, ...state }, lease);
  await store.leases.release(lease);
  const keys = words(`${sensed} own/stats manual/mode_confirm manual/correction`);
  const removed: string[] = [];
  const timeseries: Store['timeseries'] = Object.create(store.timeseries, {
    summary: { value: async () => keys.map((key) => ({ key })) },
    remove: {
      value: async (...[, which]: Parameters<Store['timeseries']['remove']>) => {
        removed.push(`${which.keys?.join(' ')} before ${which.before}`);
        return which.keys?.length ?? 0;
      },
    },
  });
  const watched: Store = Object.create(store, { timeseries: { value: timeseries } });
  const call = async (before: number, what: RetainOptions['what'], options: Partial<RetainOptions> = {}) => {
    removed.length = 0;
    const report = await retain(watched, user, { before, what, log: memoryLog(), now: () => 9 * day, ...options });
    const { retained } = await store.pipeline.get(user);
    const left = (await store.trips.chain(user, { limit: 9 })).map(({ id }) => id).join(' ');
    return { report, retained, left, removed: [...removed] };
  };
  return { store, call };
}

const sensed = 'background/location statemachine/transition stats/app';

it('raw removes what phones sensed before the data that the next link needs', async () => {
  const { call } = await open(linksWith());
  const { report, retained, left, removed } = await call(3.5 * day, 'raw');
  const until = 3 * day + 1600 - 2700; // 45 min before the time at which the analysis resumes after the third trip
  expect(removed).toEqual([`${sensed} before ${until}`]);
  expect(report).toEqual({ entries: 3, links: 0, errors: 0, raw_before: until, days_before: null });
  expect(left).toBe('t1 t2 t3 t4 t5');
  const bounds = { raw_before: until, days_before: null, versions: [{ until: 3 * day, version }] };
  expect(retained).toEqual({ chain_ts: 3 * day, carry: linksWith()[2]!.carry, ...bounds });
});

it.each<[string, Partial<Carry>, number]>([
  ['of the next links', { needs_from: 2 * day - 5000 }, 2 * day - 5000],
  ['of the place after the link', { raw_place: place(2 * day - 7000) }, 2 * day - 7000],
  ['45 minutes before the link ends', { needs_from: 2 * day, raw_place: place(2 * day + 600) }, 2 * day - 1100],
])('data are kept from the start %s', async (_, carry, expected) => {
  const { call } = await open(linksWith({ 2: carry }));
  expect((await call(2.5 * day, 'raw')).report.raw_before).toBe(expected);
});

it('days removes the links up to the last settled one, and their user input except corrections', async () => {
  const { call } = await open(linksWith());
  const { report, retained, left, removed } = await call(3.5 * day, 'days');
  expect(removed).toEqual([`manual/mode_confirm before ${3 * day + 600}`]);
  expect(report).toEqual({ entries: 1, links: 3, errors: 0, raw_before: null, days_before: 3 * day + 600 });
  expect([left, retained!.raw_before, retained!.days_before]).toEqual(['t4 t5', null, 3 * day + 600]);
});

it('both removes both, and a link that ends later stays', async () => {
  const links = linksWith();
  const long = { ...links[0]!, end_ts: 3 * day + 601 };
  const { call } = await open([long, ...links.slice(1)]);
  const { report, left, removed } = await call(3.5 * day, 'both');
  expect([report.entries, report.links, removed.length, left]).toEqual([4, 2, 2, 't1 t4 t5']);
});

it.each<[string, number, string | null]>([
  ['at the time of settling', 2 * day + 2600, 't1'],
  ['after it', 2 * day + 2601, 't2'],
  ['before any', day, null],
])('the last link is settled %s', async (_, before, last) => {
  const { call } = await open(linksWith());
  const { retained, report, removed } = await call(before, 'raw');
  expect(retained && `t${retained.chain_ts / day}`).toBe(last);
  if (last === null)
    expect([report, removed]).toEqual([{ entries: 0, links: 0, errors: 0, raw_before: null, days_before: null }, []]);
});

type Observed = PipelineState['observed'];
const seen = { ts: 6 * day, phone: 'waits', at: null, reports: 0, stay: null } as const;
const observed = { seen, silences: [{ from: 5, to: 6, reason: 'silent' }], zone: 'UTC' } as unknown as Observed;

it('without data since the limit everything is removed, and the analysis continues from the state of the phone', async () => {
  const { call } = await open(linksWith(), { observed });
  const { report, retained, left } = await call(6 * day + 1, 'both');
  expect(report).toMatchObject({ links: 5, raw_before: 6 * day + 1, days_before: 6 * day + 1 });
  expect([left, retained!.chain_ts]).toEqual(['', 5 * day]);
  expect(retained!.carry).toEqual({ ...linksWith()[4]!.carry, seen, silences: observed!.silences });
  const later = await open(linksWith(), { observed });
  expect((await later.call(6 * day, 'both')).retained!.chain_ts).toBe(4 * day);
});

it('a later call up to the same link keeps the state of the phone', async () => {
  const links = linksWith();
  const { call } = await open(links.with(4, { ...links[4]!, settled_ts: 5 * day + 2600 }), { observed });
  for (const before of [6 * day + 1, 6 * day])
    expect((await call(before, 'raw')).retained).toMatchObject({ chain_ts: 5 * day, carry: { seen } });
});

it('a second call keeps what was removed, and extends it', async () => {
  const { call } = await open(linksWith());
  const calls = [];
  const asked = { 2.5: 'raw', 3.5: 'days', 1.5: 'both', 4.5: 'raw' } as const;
  for (const [n, what] of Object.entries(asked)) calls.push(await call(Number(n) * day, what));
  const [earlier, later] = calls.slice(2);
  const raw = (n: number) => n * day + 1600 - 2700;
  const bounds = calls.map(({ retained: of }) => [of!.chain_ts / day, of!.raw_before, of!.days_before]);
  const days_before = 3 * day + 600;
  const third = [3, raw(2), days_before];
  expect(bounds).toEqual([[2, raw(2), null], third, third, [4, raw(4), days_before]]);
  expect(later!.retained!.versions).toEqual([{ until: 4 * day, version }]);
  expect(earlier!.left).toBe('t4 t5');
});

it('links that an earlier version derived keep it, and the present version counts once', async () => {
  const earlier = { chain_ts: day, carry: linksWith()[0]!.carry, raw_before: null, days_before: null };
  const old = { until: day, version: 'old' };
  const { store, call } = await open(linksWith(), { retained: { ...earlier, versions: [old] } });
  for (const n of [2, 3, 4])
    expect((await call((n + 0.5) * day, 'raw')).retained!.versions).toEqual([old, { until: n * day, version }]);
  const state = await store.pipeline.get(user);
  expect([1, 2, 4].map((n) => versionAt(state, n * day))).toEqual(['old', version, version]);
});

it('nothing is removed if the run before it fails', async () => {
  const { store, call } = await open(linksWith());
  const onStage = () => {
    throw new Error('out of reach');
  };
  await expect(call(3.5 * day, 'both', { reanalyseFrom: 0, onStage })).rejects.toThrow('out of reach');
  expect(await store.trips.chain(user, { limit: 9 })).toHaveLength(5);
});
