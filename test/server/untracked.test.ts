// Untracked time that a caller reads: unobserved time between two trips, as the days have it.
import { beforeEach, expect, it } from 'vitest';
import { readObservedDays, unobservedWithin } from '../../src/diary/observed-time.ts';
import { chainAfter } from '../support/diary.ts';
import { t0 } from '../support/phone.ts';
import { android, pushed, pushedRide, pushedTransition } from '../support/pushes.ts';
import type { Untyped } from '../support/untyped.ts';
import { type Kit, openKit } from './kit.ts';

let kit: Kit;
let ada: string;
beforeEach(async () => {
  kit = await openKit({ now: () => t0 + 100 * hour });
  ada = (await kit.user('ada')).uuid;
});

const hour = 3600;
const off = (seconds: number) => pushedTransition(android, seconds, 'STOP_TRACKING', 'WAITING_FOR_TRIP_START');

/** To work, tracking off for some hours, home. */
const firstDay = [
  ...[...pushedRide(android, 0, 0), off(1500)],
  ...[...pushedRide(android, 5 * hour, 6000, -10), off(5 * hour + 1500)],
];
/** The same, no word from the phone for three days, and to work. */
const entries = [...firstDay, ...pushedRide(android, 77 * hour, 0)];

async function find(key: string, by = 'data.end_ts', from = 0, to = 5e9): Promise<Untyped[]> {
  const range = { start_time: from, end_time: to, key_list: [key], key_time: by };
  const { json } = await kit.post('/datastreams/find_entries/timestamp', { user: 'ada', ...range });
  return json.phone_data as Untyped[];
}

const timesOf = (entries: Untyped[]): unknown[] =>
  entries.map(({ data }) => [data.start_ts, data.end_ts, data.reason ?? null]);

it('unobserved time between two trips is untracked time, with the length and reasons of the days', async () => {
  const chain = await chainAfter(kit.store, ada, entries);
  const range = { from: chain[0]!.day, to: chain.at(-1)!.day };
  const { days } = await readObservedDays(kit.store, ada, range);
  const found = await find('analysis/cleaned_untracked');
  expect(found.map(({ data }) => data.reason)).toEqual(['tracking off', 'tracking off']);
  expect(timesOf(await find('analysis/confirmed_untracked'))).toEqual(timesOf(found));
  for (const [i, { data }] of found.entries()) {
    const [from, to] = [chain[i]!.end_ts, chain[i + 1]!.start_ts];
    const unobserved = days.reduce((sum, day) => sum + unobservedWithin(day, from, to), 0);
    expect(data.end_ts - data.start_ts).toBeCloseTo(unobserved, 6);
  }
});

it('a trip added in untracked time has untracked time before and after it, in any part of the trip chain', async () => {
  const add = { kind: 'add', start_ts: t0 + 2 * hour, end_ts: t0 + 3 * hour, mode: 'train' };
  await chainAfter(kit.store, ada, [...entries, pushed(android, 'manual/correction', 80 * hour, add)]);
  const off = (await find('analysis/cleaned_untracked')).filter(({ data }) => data.start_ts < t0 + 4 * hour);
  expect(off.map(({ data }) => [data.start_ts <= add.start_ts, data.reason])).toEqual([
    [true, 'tracking off'],
    [false, 'tracking off'],
  ]);
  const [first, second] = off.map(({ data }) => [data.start_ts, data.end_ts]);
  expect([first![1], second![0]]).toEqual([add.start_ts, add.end_ts]);
  const card = await find('analysis/cleaned_untracked', 'data.start_ts', first![0] - 1, first![0] + 1);
  expect(timesOf(card)).toEqual([[...first!, 'tracking off']]);
});

it('the present app gets a card of untracked time between the trips, and no stay twice', async () => {
  await chainAfter(kit.store, ada, entries);
  const cards = await find('analysis/composite_trip');
  const kinds = cards.map(({ metadata }) => metadata.origin_key.replace('analysis/confirmed_', ''));
  expect(kinds).toEqual(['trip', 'untracked', 'trip', 'untracked', 'trip']);
  const [there, gap, back] = cards.map(({ data }) => data);
  expect(gap.start_confirmed_place).toEqual(there.end_confirmed_place);
  expect(gap.end_confirmed_place).toEqual(back.start_confirmed_place);
  expect(gap).toMatchObject({ distance: 0, sections: [], locations: [], user_input: {}, additions: [] });
  expect(gap.start_ts).toBeGreaterThanOrEqual(there.end_ts);
  expect(gap.end_ts).toBeLessThanOrEqual(back.start_ts);
  const stays = await find('analysis/confirmed_place', 'metadata.write_ts');
  expect(new Set(stays.map(({ _id }) => _id.$oid)).size).toBe(stays.length);
  expect(stays).toHaveLength(4);
});

it('untracked time is found once in any division of the range, by data time and by write time', async () => {
  await chainAfter(kit.store, ada, entries);
  const all = await find('analysis/composite_trip');
  const cuts = [0, 1, 4, 6, 20, 50, 76.9, 77.05, 90].map((hours) => t0 + hours * hour);
  const parts: Untyped[] = [];
  for (const [i, from] of cuts.entries())
    parts.push(...(await find('analysis/composite_trip', 'data.end_ts', from, (cuts[i + 1] ?? 5e9) - 1e-3)));
  expect(parts).toEqual(all);
  expect(await find('analysis/composite_trip', 'metadata.write_ts')).toEqual(all);
});

it('time after the last trip is not untracked, since the app has drafts there', async () => {
  await chainAfter(kit.store, ada, firstDay);
  expect(await find('analysis/cleaned_untracked')).toHaveLength(1);
});

it('time at home by a correction is not untracked, and excluded time is', async () => {
  await chainAfter(kit.store, ada, entries);
  const gaps = await find('analysis/cleaned_untracked');
  const [{ start_ts, end_ts }, { start_ts: begin, end_ts: end }] = gaps.map(({ data }) => data);
  const excluded = { kind: 'set_aside', start_ts: begin + hour, end_ts: begin + 2 * hour };
  await chainAfter(kit.store, ada, [
    pushed(android, 'manual/correction', 80 * hour, { kind: 'at_home', start_ts, end_ts }),
    pushed(android, 'manual/correction', 81 * hour, excluded),
  ]);
  expect(timesOf(await find('analysis/cleaned_untracked'))).toEqual([
    [begin, begin + hour, 'tracking off'],
    [begin + hour, begin + 2 * hour, 'taken out'],
    [begin + 2 * hour, end, 'tracking off'],
  ]);
});

it('figures by day have the observed time of every day on request, and the other figures unchanged', async () => {
  await chainAfter(kit.store, ada, entries);
  const ask = async (metrics: object, more = {}) => {
    const days = { start_time: '2023-11-01', end_time: '2023-11-18', metric_list: metrics, ...more };
    return kit.post('/result/metrics/yyyy_mm_dd', { user: 'ada', ...days });
  };
  const count = { count: ['mode_confirm'] };
  const { observed, ...others } = (await ask({ ...count, observed: [] })).json as Untyped;
  expect(others).toEqual((await ask(count)).json);
  expect(observed.map(({ date }: Untyped) => date)).toEqual(['14', '15', '16', '17'].map((day) => `2023-11-${day}`));
  for (const { observed_s, silent_s, off_s } of observed) expect(observed_s + silent_s + off_s).toBeCloseTo(86_400, 6);
  expect(observed[1]).toEqual({ date: '2023-11-15', nUsers: 1, observed_s: 0, silent_s: 0, off_s: 86_400 });
  expect((await ask({ observed: [] }, { aggregate: true })).json).toEqual({});
});
