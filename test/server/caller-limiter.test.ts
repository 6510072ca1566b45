// What the limiter of a process allows its callers, at the bounds of each limit.
import { expect, it } from 'vitest';
import { checkEntry } from '../../src/intake/check-entry.ts';
import type { Log } from '../../src/log/log.ts';
import type { UserRecord } from '../../src/model/user.ts';
import { CallerLimiter, type CallerLimits, callerLimits } from '../../src/server/caller-limits.ts';
import { Problem } from '../../src/server/problem.ts';
import type { Store } from '../../src/store/store.ts';

const now = 1_463_540_400;
const day = 86_400;
const mebibyte = 1024 * 1024;
const ada: UserRecord = { uuid: 'a', user_email: 'ada', update_ts: 1 };
/** A person who joined a study by its link and has not sent data for three days. */
const eve: UserRecord = { uuid: 'e', user_email: 'eve', update_ts: 1, joined_ts: now, study: 'sunny' };

const noLimits: CallerLimits = {
  ...{ callsPerMinute: 0, callsPerDay: 0, refusedPerMinute: 0, bytesPerMinute: 0, bytesPerDay: 0 },
  ...{ pendingEntries: 0, unknownKeys: 0, linesPerDay: 0, studyBytesPerDay: 0 },
};

function open(limits: Partial<CallerLimits> = {}, store = {} as Store) {
  const clock = { now: Math.ceil(now / day) * day };
  return { clock, limiter: new CallerLimiter({ ...noLimits, ...limits }, store, () => clock.now) };
}

/** The fields of the refusal; null: the call was not refused. */
async function refusalOf(call: () => unknown): Promise<object | null> {
  try {
    await call();
    return null;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { status, options } = error;
    return { status, ...options.members, after: options.headers?.['Retry-After'] };
  }
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

it('a new member may send 16 MiB a day, all new members of a study 2 GiB', async () => {
  const { limiter, clock } = open({ studyBytesPerDay: 40 * mebibyte });
  const send = (user: UserRecord, bytes: number) => refusalOf(() => limiter.countBytes(user, bytes));
  expect(await send(eve, 16 * mebibyte)).toBeNull();
  const most = { status: 429, limit: 'new_member_bytes_per_day', most: 16 * mebibyte, after: '86400' };
  expect([await send(eve, 1), await refusalOf(() => limiter.countCall(eve))]).toEqual([
    most,
    { ...most, limit: 'bytes_per_day' },
  ]);
  const other = (uuid: string) => ({ ...eve, uuid });
  expect([await send(other('b'), 16 * mebibyte), await send(other('c'), 8 * mebibyte)]).toEqual([null, null]);
  expect(await send(other('d'), 1)).toEqual({ ...most, limit: 'study_bytes_per_day', most: 40 * mebibyte });
  expect(await send({ ...other('d'), study: 'rainy' }, 1)).toBeNull();
  // The limits of new members end three days after their first entries.
  expect(await send({ ...eve, sent_ts: clock.now - 3 * day }, mebibyte)).toBeNull();
  expect(await send({ ...eve, sent_ts: clock.now - 3 * day + 1 }, 1)).toEqual(most);
  expect(await send(ada, 100 * mebibyte)).toBeNull();
  clock.now += day;
  expect(await send(eve, 16 * mebibyte)).toBeNull();
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
    usercache: { keys: async () => ['own/0', 'background/location'] },
    timeseries: { summary: async () => [{ key: 'own/1' }] },
  } as unknown as Store;
  const list = Array.from({ length: 101 }, (_, i) => entryOf(`own/${i}`, i));
  const found = await open({}, store).limiter.limitKeys(eve, [...list, entryOf('background/location', 1)]);
  const rejected = found.flatMap((one, i) => ('reason' in one ? [[i, one.reason, one.message]] : []));
  expect(rejected).toEqual([[100, 'too_many_keys', 'expected at most 100 unknown keys of one user, found one more']]);
  expect(await open({}, store).limiter.limitKeys(ada, list)).toBe(list);
});

it('a user may send 8 MiB of statements a day; entries that the store has do not count again', async () => {
  const find = async (_: string, { from }: { from: number }) => ({ entries: from === 7 ? ['known'] : [] });
  const store = { usercache: { find }, timeseries: { find: async () => ({ entries: [] }) } } as unknown as Store;
  const { limiter } = open({}, store);
  const text = (length: number) => ({ a: 'x'.repeat(length - '{"a":""}'.length) });
  const send = async (...list: ReturnType<typeof entryOf>[]) => {
    const { allowed, uncount } = await limiter.limitStatements(ada, list);
    return { uncount, reasons: allowed.map((one) => ('reason' in one ? one.reason : null)) };
  };
  const half = entryOf('manual/survey', 1, text(4 * mebibyte));
  const { uncount } = await send(half, half);
  uncount();
  expect((await send(half, entryOf('manual/survey', 2, text(4 * mebibyte - 8)))).reasons).toEqual([null, null]);
  expect((await send(entryOf('manual/survey', 3, text(9)))).reasons).toEqual(['too_many_statements']);
  const others = [entryOf('manual/survey', 7, text(9)), entryOf('own/a', 3, text(9)), checkEntry('no entry')];
  const { reasons } = await send(entryOf('manual/survey', 3, text(8)), ...others);
  expect(reasons).toEqual([null, null, null, 'not_an_object']);
  expect((await send(entryOf('manual/survey', 4))).reasons).toEqual(['too_many_statements']);
});

it('what was recorded about a caller is recorded again after a minute or the given time', () => {
  const { limiter, clock } = open();
  const may = (what: string, seconds?: number) => limiter.mayRecord('a', what, seconds);
  expect([may('x'), may('x'), may('y')]).toEqual([true, false, true]);
  clock.now += 59;
  expect([may('x'), may('x', 59)]).toEqual([false, true]);
  clock.now += 59;
  expect(may('x')).toBe(false);
  clock.now += 1;
  expect(may('x')).toBe(true);
});

it('the limiter remembers 20,000 callers and forgets the oldest', () => {
  const { limiter } = open();
  const names = Array.from({ length: 20_000 }, (_, i) => `caller ${i}`);
  for (const name of names) limiter.mayRecord(name, 'x');
  expect(names.slice(0, 2).map((name) => limiter.mayRecord(name, 'x'))).toEqual([false, false]);
  limiter.mayRecord('another', 'x');
  expect([limiter.mayRecord(names[1]!, 'x'), limiter.mayRecord(names[0]!, 'x')]).toEqual([false, true]);
});

it('the log may list as many entries of a caller as are left of the day', () => {
  const { limiter } = open({ linesPerDay: 5 });
  expect([2, 2, 9, 1].map((entries) => limiter.countLines('a', entries))).toEqual([5, 3, 1, 0]);
  expect(open({ linesPerDay: 0 }).limiter.countLines('a', 9)).toBe(Infinity);
});

it('a limit that a caller meets is in the log and in their profile, once a minute', async () => {
  const lines: string[] = [];
  const merged: unknown[] = [];
  const log = { write: (level: string, text: string) => lines.push(`${level} ${text}`) } as unknown as Log;
  const store = { profiles: { merge: async (...args: unknown[]) => void merged.push(args) } } as unknown as Store;
  const { limiter, clock } = open({ callsPerMinute: 1 }, store);
  const problem = new Problem(429, 'too many', { members: { limit: 'calls_per_minute', most: 1 } });
  for (let i = 0; i < 2; i += 1) limiter.report(problem, 'a', log);
  limiter.report(new Problem(429, 'too many', {}), 'a', log);
  expect(lines).toEqual([
    expect.stringMatching(/^WARNING .*UUID a: meets the limit calls_per_minute = 1$/),
    expect.stringMatching(/^WARNING .*UUID a: meets the limit open_calls$/),
  ]);
  expect(merged).toEqual([
    ['a', { last_limit: 'calls_per_minute', last_limit_ts: clock.now }],
    ['a', { last_limit: 'open_calls', last_limit_ts: clock.now }],
  ]);
});
