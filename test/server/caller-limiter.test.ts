// What the limiter of a process allows its callers, at the bounds of each limit.
import { expect, it, onTestFinished, vi } from 'vitest';
import { checkEntry } from '../../src/intake/check-entry.ts';
import type { UserRecord } from '../../src/model/user.ts';
import { CallerLimiter, type CallerLimits, callerLimits } from '../../src/server/caller-limits.ts';
import type { Store } from '../../src/store/store.ts';
import { refusalOf } from './kit.ts';

const now = 1_463_540_400;
const day = 86_400;
const mebibyte = 1024 * 1024;
const ada: UserRecord = { uuid: 'a', user_email: 'ada', update_ts: 1 };
/** A person who joined a study by its link and has not sent data for three days. */
const eve: UserRecord = { uuid: 'e', user_email: 'eve', update_ts: 1, joined_ts: now, study: 'sunny' };

const limitNames = Object.keys(callerLimits({ mibPerDay: 0, pendingEntries: 0 }));
const noLimits = Object.fromEntries(limitNames.map((name) => [name, 0])) as CallerLimits;

function open(limits: Partial<CallerLimits> = {}, store = {} as Store) {
  const clock = { now: Math.ceil(now / day) * day };
  return { clock, limiter: new CallerLimiter({ ...noLimits, ...limits }, store, () => clock.now) };
}

it('the limits of a caller by the settings', () => {
  expect(callerLimits({ mibPerDay: 2, pendingEntries: 7 })).toEqual({
    callsPerMinute: 3000,
    callsPerDay: 100_000,
    refusedPerMinute: 30,
    bytesPerMinute: 536_870_912,
    bytesPerDay: 2_097_152,
    pendingEntries: 7,
    unknownKeys: 1000,
    linesPerDay: 100_000,
    studyBytesPerDay: 2_147_483_648,
  });
});

it.each([
  ['no limit of the service', 0, 16 * mebibyte],
  ['a smaller limit', 5, 5],
  ['a larger limit', 99 * mebibyte, 16 * mebibyte],
])('the smaller limit holds for a new member: %s', async (_, bytesPerDay, most) => {
  const { limiter } = open({ bytesPerDay });
  limiter.countBytes(eve, most - 1);
  expect(await refusalOf(() => limiter.countCall(eve))).toBeNull();
  limiter.countBytes(eve, 1);
  expect(await refusalOf(() => limiter.countCall(eve))).toMatchObject({ limit: 'bytes_per_day', most });
});

it('a caller may have 64 open calls, and may try again 5 s after a refusal', async () => {
  const { limiter } = open();
  const ends = Array.from({ length: 64 }, () => limiter.openCall('a'));
  const another = (user = 'a') => refusalOf(() => limiter.openCall(user));
  expect(await another()).toEqual({ status: 429, limit: 'open_calls', most: 64, after: '5' });
  expect(await another('b')).toBeNull();
  ends[0]!();
  expect([await another(), (await another()) === null]).toEqual([null, false]);
});

it('pending and rejected entries are counted by the store at first, then every 10 s near the limit', async () => {
  let [pending, rejected, reads] = [4, 3, 0];
  const store = {
    usercache: {
      count: async () => {
        reads += 1;
        return pending;
      },
    },
    errors: { count: async () => rejected },
  } as unknown as Store;
  const { limiter, clock } = open({ pendingEntries: 10 }, store);
  const put = (more: number, user = ada) => refusalOf(() => limiter.countEntries(user, more));
  expect([await put(0), reads]).toEqual([null, 0]);
  expect([await put(3), reads]).toEqual([null, 1]);
  [pending, rejected] = [0, 0];
  const full = { status: 429, limit: 'waiting_entries', most: 10, after: '600' };
  clock.now += 9;
  expect([await put(1), reads]).toEqual([full, 1]);
  clock.now += 1;
  expect([await put(10), reads]).toEqual([null, 2]);
  expect([await put(1), reads]).toEqual([full, 2]);
  [pending, rejected] = [50_000, 0];
  expect(await refusalOf(() => open({}, store).limiter.countEntries(eve, 1))).toMatchObject({ most: 50_000 });
  pending -= 1;
  expect(await refusalOf(() => open({}, store).limiter.countEntries(eve, 1))).toBeNull();
  expect(await refusalOf(() => open({}, store).limiter.countEntries(ada, 1e9))).toBeNull();
});

const entryOf = (key: string, write_ts: number, data = {}) => checkEntry({ metadata: { key, write_ts }, data });

it('a new member may use 100 unknown keys, of which the store has some', async () => {
  const store = {
    usercache: { keys: async () => ['pending/0', 'background/location'] },
    timeseries: { summary: async () => [{ key: 'own/1' }] },
  } as unknown as Store;
  const list = Array.from({ length: 100 }, (_, i) => entryOf(`own/${i}`, i));
  const found = await open({}, store).limiter.limitKeys(eve, [...list, entryOf('background/location', 1)]);
  const rejected = found.flatMap((one, i) => ('reason' in one ? [[i, one.reason, one.message]] : []));
  expect(rejected).toEqual([[99, 'too_many_keys', 'expected at most 100 unknown keys of one user, found one more']]);
  expect(await open({}, store).limiter.limitKeys(ada, list)).toBe(list);
});

it('the keys of a person are read again after a minute, because another process may have erased the person', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const keys = vi.fn(async () => []);
  const store = { usercache: { keys }, timeseries: { summary: async () => [] } } as unknown as Store;
  const { limiter } = open({ unknownKeys: 5 }, store);
  for (const reads of [1, 1, 2]) {
    if (reads === 2) vi.advanceTimersByTime(60_000);
    await limiter.limitKeys(ada, [entryOf('name/of-ada', 1)]);
    expect(keys).toHaveBeenCalledTimes(reads);
  }
});

it('the limiter remembers 20,000 callers and forgets the oldest', () => {
  const { limiter } = open();
  const names = Array.from({ length: 20_000 }, (_, i) => `caller ${i}`);
  for (const name of names) limiter.mayRecord(name, 'x');
  expect(names.slice(0, 2).map((name) => limiter.mayRecord(name, 'x'))).toEqual([false, false]);
  limiter.mayRecord('another', 'x');
  expect([limiter.mayRecord(names[1]!, 'x'), limiter.mayRecord(names[0]!, 'x')]).toEqual([false, true]);
});
