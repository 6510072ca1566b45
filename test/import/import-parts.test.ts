// What an import stores, counts and reports of sources that readers made up, without files.
import { expect, it } from 'vitest';
import type { Found, Naming, Part } from '../../src/import/import-format.ts';
import { type ImportOptions, importParts } from '../../src/import/import-source.ts';
import { SourceBroken } from '../../src/import/source-error.ts';
import { type CheckedEntry, isEntry } from '../../src/intake/check-entry.ts';
import { MobilityError } from '../../src/model/mobility-error.ts';
import type { UserRecord } from '../../src/model/user.ts';
import type { ErrorRow, Store } from '../../src/store/store.ts';
import { newStore } from '../support/store.ts';

const now = 2_000_000_000;
const ada: UserRecord = { uuid: '6a0d1f5e-8d0b-4a6e-9d9e-0c9f7a3b5c11', user_email: 'ada', update_ts: 1 };
const whom = { name: 'ada', user: ada };
const eve = { uuid: '6b0d1f5e-8d0b-4a6e-9d9e-0c9f7a3b5c11', user_email: 'eve' };
const none = { read: 0, stored: 0, known: 0, doubled: 0, set_aside: 0, left_behind: 0 };

function part(found: Iterable<Found>, more: Partial<Part> = {}): Part {
  const read = async function* () {
    yield* found;
  };
  return { name: 'a.x', format: 'x', size: null, names: 'none', read, ...more };
}

/** An entry whose JSON has `length` characters. */
function entry(write_ts: number, length = 0) {
  const made = { metadata: { key: 'own/a', write_ts }, data: { a: '' } };
  return { ...made, data: { a: 'x'.repeat(Math.max(0, length - JSON.stringify(made).length)) } };
}
type Owner = typeof eve | null;
const of = (write_ts: number, owner: Owner = null, length = 0): Found => ({ owner, entry: entry(write_ts, length) });

/** Imports for ada. Records the sizes of the batches that are stored. */
async function imported(found: Iterable<Found>, more: Partial<Part> = {}, options: Partial<ImportOptions> = {}) {
  const batches: number[] = [];
  const receipts: number[] = [];
  const known = new Set<number>();
  const put: ImportOptions['put'] = async (checked: readonly CheckedEntry[], times) => {
    batches.push(checked.length);
    receipts.push(...times.values());
    const entries = checked.filter((one) => isEntry(one));
    const before = known.size;
    for (const { metadata } of entries) known.add(metadata.write_ts);
    const inserted = known.size - before;
    return { inserted, updated: entries.length - inserted, rejected: checked.length - entries.length };
  };
  const all = { store: {} as Store, now: () => now, whom, put, ...options };
  const report = await importParts([part(found, more)], all);
  return { report, batches, receipts, problems: report.parts[0]?.problems };
}
const list = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

it.each([
  ['5,000 entries', 25_001, 0, [5000, 5000, 5000, 5000, 5000, 1]],
  ['1 MiB of characters', 11, 512 * 1024, [2, 2, 2, 2, 2, 1]],
  ['nearly 1 MiB', 3, 512 * 1024 - 1, [3]],
])('entries of one person are stored at %s', async (_, count, length, expected) => {
  const { batches, report } = await imported(list(count, (i) => of(i, null, length)));
  expect(batches).toEqual(expected);
  expect(report).toMatchObject({ ...none, read: count, stored: count });
});

it('a text counts with its own characters, an object with the characters of its JSON', async () => {
  const text = (i: number, length: number): Found => ({ owner: null, entry: JSON.stringify(entry(i, length)) });
  const half = 512 * 1024;
  for (const [first, second, batches] of [
    [half - 1, half - 1, [3]],
    [half, half, [2, 1]],
    [half, half - 1, [3]],
  ] as const)
    expect((await imported([text(1, first), text(2, second), of(3)])).batches).toEqual(batches);
});

it.each([
  ['20,000 entries', 20_001, 0, 20_001],
  ['fewer', 20_000, 0, 0],
  ['4 MiB of characters', 9, 512 * 1024, 9],
  ['exactly 4 MiB', 8, 512 * 1024, 0],
])('entries of all people in memory are stored beyond %s', async (_, count, length, expected) => {
  const store = await newStore();
  let stored = 0;
  const puts: number[] = [];
  const put: Store['usercache']['put'] = async (_, { entries }) => {
    stored += entries.length;
    return { results: entries.map(() => 'inserted'), noteError: null };
  };
  const people = list(10, (i) => ({ uuid: eve.uuid.replace('6b', `0${i}`), user_email: `eve ${i}` }));
  const read = function* () {
    for (let i = 0; i < count; i += 1) yield of(i, people[i % 10], length);
    puts.push(stored);
  };
  const watched = { ...store, usercache: { ...store.usercache, put } };
  const report = await importParts([part(read(), { names: 'people' })], { store: watched, now: () => now, whom: null });
  expect([puts, stored]).toEqual([[expected], count]);
  expect(report.users.map(({ read: own }) => own).reduce((sum, own) => sum + own, 0)).toBe(count);
});

it('each kind of thing is counted, and problems are named up to five', async () => {
  const unusable = { entry: 1, reason: 'not_an_object', message: 'x' };
  const { report, problems } = await imported([
    of(1),
    of(1),
    { owner: null, entry: 'no JSON' },
    { owner: null, entry: JSON.stringify(entry(2)) },
    { owner: null, unusable },
    { skipped: 'trips' },
    { unread: 'line 1' },
    ...list(5, (i): Found => ({ warning: `doubt ${i}`, kind: 'speeds' })),
  ]);
  expect(problems).toEqual(['line 1', 'doubt 0', 'doubt 1', 'doubt 2', 'doubt 3', 'and further problems']);
  expect(report.parts[0]!.problem_kinds).toEqual(['points', 'speeds']);
  expect(report).toMatchObject({ read: 7, stored: 2, known: 0, doubled: 1, set_aside: 3, left_behind: 1 });
  expect(report.users).toEqual([expect.objectContaining({ uuid: ada.uuid, registered: false, read: 5, stored: 2 })]);
});

it.each<[string, Found[], Partial<Part>, string[]]>([
  ['nothing', [], {}, ['expected recorded points, found none']],
  [
    'skipped parts only',
    [{ skipped: 'a' }],
    {},
    ['expected recorded points, found only data that are not imported: a'],
  ],
  ['nothing of a source with people', [], { names: 'people' }, []],
  ['a problem', [{ unread: 'line 1' }], {}, ['line 1']],
  ['a duplicate entry', [of(1), of(1)], {}, []],
])('a source with %s has these problems', async (_, found, more, expected) => {
  expect((await imported(found, more)).problems).toEqual(expected);
});

it('the time of the first receipt is kept, unless it is in the future', async () => {
  const at = (i: number, received_ts: number): Found => ({ owner: null, entry: entry(i), received_ts });
  const { receipts } = await imported([at(1, 7), at(2, now), at(3, now + 1), of(4)]);
  expect(receipts).toEqual([7, now]);
});

it.each([
  [null, [null, null]],
  [4000, [0.25, 0.5]],
  [500, [1, 1]],
  [0, [1, 1]],
])('progress is shown every 1,000 things, as a share of %s bytes', async (size, shares) => {
  const shown: [number, number | null][] = [];
  const read: Part['read'] = async function* ({ onBytes }) {
    for (let i = 0; i < 1999; i += 1) {
      if (i % 1000 === 0) onBytes(1000);
      yield { skipped: 'trips' };
    }
  };
  await imported([], { size, read }, { onProgress: (_, share, { read: sum }) => shown.push([sum, share]) });
  expect(shown).toEqual([
    [1000, shares[0]],
    [1999, shares[1]],
  ]);
});

it('a reader that fails ends its part only, and errors of the store end the import', async () => {
  const run = (error: Error) => {
    const read = async function* () {
      yield of(1);
      throw error;
    };
    const put = async ({ length }: readonly unknown[]) => ({ inserted: length, updated: 0, rejected: 0 });
    const parts = [part([], { read }), part([of(2)])];
    return importParts(parts, { store: {} as Store, now: () => now, whom, put });
  };
  const problemsOf = async (error: Error) => {
    const { parts, stored } = await run(error);
    return [stored, parts.map(({ problems, problem_kinds }) => [...problem_kinds, ...problems])];
  };
  expect(await problemsOf(new SourceBroken('cut off'))).toEqual([2, [['damaged', 'cut off'], []]]);
  expect(await problemsOf(new MobilityError('MOBILITY_USER_EXISTS', 'taken'))).toEqual([2, [['other', 'taken'], []]]);
  expect(await problemsOf(new TypeError('x is no function'))).toEqual([
    2,
    [['other', 'the program failed on this source: x is no function'], []],
  ]);
  await expect(run(new MobilityError('MOBILITY_STORE_FULL', 'full'))).rejects.toThrow('full');
});

it.each<[Found, Partial<Part>]>([
  [{ owner: { uuid: eve.uuid }, person: true }, { names: 'people' }],
  [of(1), {}],
  [{ owner: null, profile: {} }, {}],
  [{ owner: null, document: { key: 'analysis/made', write_ts: 5, data: {} } }, {}],
  [{ owner: null, error: { identity: null } as ErrorRow }, {}],
])('an import ends if the store fails on %o', async (found, more) => {
  const fail = async () => Promise.reject(new MobilityError('MOBILITY_STORE_FULL', 'full'));
  const store = {
    users: { byUuid: fail },
    usercache: { put: fail },
    profiles: { merge: fail },
    documents: { keys: async () => [], apply: fail },
    leases: { acquire: async () => ({ lease: {} }) },
    errors: { list: async () => [], put: fail },
  } as unknown as Store;
  const options = { store, now: () => now, whom: more.names === 'people' ? null : whom };
  await expect(importParts([part([found], more)], options)).rejects.toThrow('full');
});

it.each<[string, Naming, ImportOptions['whom'], string[]]>([
  ['all people', 'people', null, ['ada', 'eve']],
  ['one person by name', 'people', { name: 'eve', user: null }, ['eve']],
  ['one person by UUID', 'people', { name: eve.uuid.toUpperCase(), user: null }, ['eve']],
  ['an unknown person', 'people', { name: 'joe', user: null }, []],
  ['all UUIDs', 'uuids', null, ['ada', 'eve']],
  ['a new person', 'none', { name: 'joe', user: null, create: true }, ['joe']],
  ['a registered person', 'none', { name: 'ada', user: ada }, ['ada']],
])('an import for %s, of a source that names %s, gives data to %o', async (_, names, whom, expected) => {
  const people = names === 'none' ? [null] : [{ ...ada, update_ts: 5 }, eve];
  const found = people.flatMap((owner, i) => [i, i + 10].map((ts): Found => ({ owner, entry: entry(ts) })));
  for (const dryRun of [true, false]) {
    const store = await newStore();
    if (whom?.user != null) await store.users.register('ada', { uuid: ada.uuid, now: 1 });
    const report = await importParts([part(found, { names })], { store, now: () => now, whom, dryRun });
    const isNew = whom?.user == null;
    expect(report.users.map(({ user_email, registered, stored }) => [user_email, registered, stored])).toEqual(
      expected.map((name) => [name, isNew, 2]),
    );
    const users = await store.users.list({ limit: 9 });
    const registered = dryRun && isNew ? [] : expected;
    expect(users.map(({ user_email }) => user_email).sort()).toEqual(registered);
    if (names !== 'none' && !dryRun && whom === null)
      expect(users.map(({ update_ts }) => update_ts).sort((a, b) => a - b)).toEqual([5, now]);
  }
});

it('errors, documents and profiles are stored unless only entries are imported or nothing is', async () => {
  const row = { id: 'a'.repeat(24), entry: 1, identity: null, reason: 'not_an_object', message: 'x', tries: 1 };
  const error = { ...row, first_ts: 5, last_ts: 6, received_ts: 5 };
  const found: Found[] = [
    { owner: eve, person: true },
    { owner: eve, error },
    { owner: eve, error },
    { owner: eve, profile: { place: 'here' } },
    { owner: eve, document: { key: 'analysis/made', write_ts: 5, data: {} } },
  ];
  const run = async (options: Partial<ImportOptions>) => {
    const store = await newStore();
    await store.users.register('eve', { uuid: eve.uuid, now: 1 });
    const all = { store, now: () => now, whom: null };
    const report = await importParts([part(found, { names: 'people' })], { ...all, ...options });
    const { uuid } = eve;
    const profile = await store.profiles.get(uuid);
    const has = [await store.errors.count(uuid), profile?.place, await store.documents.keys(uuid)];
    expect('heldBy' in (await store.leases.acquire(uuid, 'next', 60))).toBe(false);
    return [report.read, report.set_aside, report.known, ...has];
  };
  expect(await run({})).toEqual([2, 1, 1, 1, 'here', ['analysis/made']]);
  expect(await run({ entriesOnly: true })).toEqual([0, 0, 0, 0, undefined, []]);
  expect(await run({ dryRun: true })).toEqual([2, 2, 0, 0, undefined, []]);
});
