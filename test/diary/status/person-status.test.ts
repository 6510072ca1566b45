// The status of people, derived from their calls and entries, and the cost of its figures.
import { beforeEach, expect, it } from 'vitest';
import { everyStatus, readStatus } from '../../../src/diary/status/all-statuses.ts';
import type { PersonStatus } from '../../../src/diary/status/person-status.ts';
import { putBatch } from '../../../src/intake/put-batch.ts';
import { silentLog } from '../../../src/log/log.ts';
import type { Entry } from '../../../src/model/entry.ts';
import { MobilityError } from '../../../src/model/mobility-error.ts';
import { runPipeline } from '../../../src/pipeline/run-pipeline.ts';
import { emptyFigures } from '../../../src/store/empty-figures.ts';
import type { Store } from '../../../src/store/store.ts';
import { allOf } from '../../support/all-of.ts';
import { newStore, newUser } from '../../support/store.ts';

const day = 86_400;
const start = 1_700_000_000; // when newUser registers
let store: Store;
let user: string;
let clock: number;
beforeEach(async () => {
  store = await newStore({ now: () => clock });
  user = await newUser(store);
  clock = start;
});

const now = (): number => clock;
const usersWith = (figures: unknown) => ({ users: { figures } as unknown as Store['users'] });
const entry = (key: string, ts: number, data = {}): Entry => ({
  metadata: { key, platform: 'android', write_ts: ts },
  data: { ts, ...data },
});
const where = { latitude: 52, longitude: 13, accuracy: 5, altitude: 0, fmt_time: '' };
const location = (ts: number): Entry => entry('background/location', ts, { ...where, loc_time: ts });
const charge = { battery_level_pct: 50, battery_status: 2, android_health: 2 };
const battery = (ts: number): Entry => entry('background/battery', ts, charge);
const push = (...entries: Entry[]) => putBatch(user, entries, { store, now });
const run = () => runPipeline(store, user, { log: silentLog, now });
const stand = async (): Promise<PersonStatus> => {
  const one = (await everyStatus(store, { now: clock }).next()).value;
  expect(one).toEqual(await readStatus(store, (await store.users.byUuid(user))!, { now: clock }));
  return one!;
};
const wordsOf = ({ state, since, broken }: PersonStatus) => [state, since, broken && `${broken.link}: ${broken.code}`];
const status = async () => wordsOf(await stand());
/** The status after a push and a run. */
const statusAfter = async (...entries: Entry[]) => {
  await push(...entries);
  await run();
  return status();
};
const inOrder = ['in_order', null, null];

it('a person with a damaged row is behind, and others are listed as usual', async () => {
  const ben = await newUser(store);
  const { figures } = store.users;
  const damaged = new MobilityError('MOBILITY_STORE_DAMAGED', 'expected a whole row, found a damaged one');
  const users = Object.assign(Object.create(store.users) as Store['users'], {
    figures: async (which: Parameters<typeof figures>[0]) => {
      if (!('uuid' in which) || which.uuid !== ben) throw damaged;
      return figures(which);
    },
  });
  const found = await allOf(everyStatus({ users }, { now: clock }));
  expect(Object.fromEntries(found.map((one) => [one.user.uuid, [...wordsOf(one), one.damage]]))).toEqual({
    [user]: ['behind', null, 'registered: damaged', damaged.message],
    [ben]: ['never_began', start, 'called: never_called', undefined],
  });
});

it('people are read 1,000 at a time, of one study or of all', async () => {
  const names = Array.from({ length: 2001 }, (_, i) => String(i).padStart(4, '0'));
  const people = names.map((uuid) => ({ uuid, user_email: 'x', update_ts: 1 }));
  const asked: unknown[] = [];
  const figures = async (which: { after: string; limit: number }) => {
    asked.push(which);
    const from = people.filter(({ uuid }) => uuid > which.after);
    return from.slice(0, 1000).map((person) => emptyFigures(person));
  };
  const found = await allOf(everyStatus(usersWith(figures), { now: clock, study: 'sunny' }));
  expect(found.map((one) => one.user.uuid)).toEqual(names);
  const page = { limit: 1000, study: 'sunny' };
  expect(asked).toEqual(['', '0999', '1999'].map((after) => ({ after, ...page })));
  people.length = 1000;
  asked.length = 0;
  await allOf(everyStatus(usersWith(figures), { now: clock }));
  expect(asked).toEqual(['', '0999'].map((after) => ({ after, limit: 1000 })));
});

it('a person without figures is damaged, and other errors end the reading', async () => {
  const record = (await store.users.byUuid(user))!;
  const empty = usersWith(async () => []);
  const gone = await readStatus(empty, record, { now: clock });
  expect(wordsOf(gone)).toEqual(['behind', null, 'registered: damaged']);
  expect(gone).not.toHaveProperty('damage');
  const closed = usersWith(() => Promise.reject(new Error('closed')));
  await expect(readStatus(closed, record, { now: clock })).rejects.toThrow('closed');
  await expect(everyStatus(closed, { now: clock }).next()).rejects.toThrow('closed');
});

it('each step of a status has the time of the put or the run that completed it, by both clocks', async () => {
  expect(await status()).toEqual(['never_began', start, 'called: never_called']);
  clock += 3600;
  await push(location(start + 60), battery(start + 70));
  clock += 60;
  await run();
  clock += 60;
  await push(battery(start + 80));
  const { chain, ...rest } = await stand();
  expect(chain).toEqual({
    registered: { ts: start },
    joined: { ts: null },
    called: { ts: clock },
    pushed: { ts: clock, phone_ts: start + 80 },
    stored: { ts: clock },
    located: { ts: start + 3600, phone_ts: start + 60 },
    moved: { ts: start + 3660 },
    converted: { ts: start + 3660 },
    analysed: { ts: start + 3660, phone_ts: expect.any(Number) },
    final: { ts: null, phone_ts: null },
    fetched: { ts: null },
  });
  expect(rest).toMatchObject({ state: 'in_order', since: null, broken: null, faults: 0, lag_s: 0 });
});

it('a clock that is ahead hides no other fault, and is reported while it lasts', async () => {
  expect(await statusAfter(location(start + 40 * day))).toEqual(['without_locations', start, 'stored: clock_ahead']);
  clock += 60;
  expect(await statusAfter(location(clock))).toEqual(inOrder);
  expect((await stand()).chain.located).toEqual({ ts: clock, phone_ts: clock });
  clock += 12 * day;
  expect(await status()).toEqual(['silent', start + 60, 'called: silent']);
});

it('a person whose entries are pending for long is behind since the first put after the last run, not since the run', async () => {
  await statusAfter(location(start));
  const first = start + day;
  for (let days = 1; days <= 3; days += 1) {
    expect(await status()).toEqual(inOrder);
    clock = start + days * day;
    await push(location(clock));
    if (days === 2) expect((await stand()).lag_s).toBe(day);
  }
  expect(await status()).toEqual(['behind', first, 'moved: not_run']);
  expect(await statusAfter()).toEqual(inOrder);
});
