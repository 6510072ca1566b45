// One bad thing of every kind, in a batch, a day and a run over all: the rest comes out, the bad thing is explained.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { SegmentedTrip } from '../../src/analysis/segmenter.ts';
import { checkEntry } from '../../src/intake/check-entry.ts';
import { beyondBounds } from '../../src/intake/stated-times.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { JsonValue } from '../../src/model/json.ts';
import { jsonText } from '../../src/model/json-text.ts';
import { fixtureNames, readFixture } from '../intake/converters/fixtures.ts';
import { unusable as unusableValues } from '../intake/unusable.ts';
import { tempFolder } from '../support/clean-up.ts';
import { chainAfter, chainOf, memoryLog, pipeline, put, putAndRun } from '../support/diary.ts';
import { newStore, newUser } from '../support/store.ts';
import type { Untyped } from '../support/untyped.ts';
import { changeRow, everythingOf, fillStore, garbage, pushesOf, withStore } from './kit.ts';
import { run, startServer, succeed } from './program.ts';

// A trip that cannot be built, chosen by its start.
const poison = vi.hoisted(() => ({ chainTs: null as number | null }));
vi.mock('../../src/analysis/trips/build-trip.ts', async (original) => {
  const actual = await original<typeof import('../../src/analysis/trips/build-trip.ts')>();
  const buildTrip = (userId: string, found: SegmentedTrip) => {
    if (found.first.ts === poison.chainTs) throw new RangeError('this trip is poison');
    return actual.buildTrip(userId, found);
  };
  return { ...actual, buildTrip };
});

// ---------------------------------------------------------------- entries

/** One of each kind that cannot be an entry. */
const unusable = [...new Map(unusableValues.map(([reason, , value]) => [reason as string, value]))];

/** One of each shape that is known not to convert, each with a different identity. */
const failing = fixtureNames('failing').flatMap((name, i) => {
  const { reason, in: pushed } = readFixture('failing', name);
  const writeTs = name.includes('write-ts') ? {} : { write_ts: 1_710_250_000 + i };
  const entry: Entry = { ...pushed, metadata: { ...pushed.metadata, ...writeTs } };
  const checked = checkEntry(entry as unknown as JsonValue);
  const isStored = isDeepStrictEqual(checked, entry) && beyondBounds(entry, Date.now() / 1000) === null;
  return isStored ? [{ reason, entry }] : []; // the others are corrected or rejected on receipt
});

const reasonsOf = (errors: readonly { reason: string; count?: number }[]): string[] =>
  errors.flatMap(({ reason, count = 1 }) => Array<string>(count).fill(reason)).sort();

it('poisoned entries of every kind in one batch are rejected, listed and explained; the diary is as without them', async () => {
  const uuid = '0b2c6d1e-5a55-4c11-9f0e-3f4a5b6c7d8e';
  const [day] = pushesOf('ada', 'android', 1);
  const folder = tempFolder();
  const alone = await newStore();
  await alone.users.register('ada', { uuid, now: 1 });
  await alone.usercache.put(uuid, { entries: day!, unusable: [] }, 1);
  await pipeline(alone, uuid);
  const { errors: _none, ...expected } = JSON.parse(await everythingOf(alone, uuid));

  await withStore(folder, (store) => store.users.register('ada', { uuid, now: 1 }));
  const bad = [...unusable.map(([, value]) => value), ...failing.map(({ entry }) => entry as unknown as JsonValue)];
  const batch = [...(day as unknown as JsonValue[])];
  for (const [i, one] of bad.entries()) batch.splice((i * 37) % batch.length, 0, one);
  const server = await startServer(folder);
  const answer = await server.post('/usercache/put', `{"user":"ada","phone_to_server":${jsonText(batch)}}`);
  await server.stop();
  expect(answer.status, answer.text).toBe(200);
  const counts = { inserted: day!.length + failing.length, updated: 0, rejected: unusable.length };
  expect(JSON.parse(answer.text)).toMatchObject(counts);

  const moved = await succeed(['pipeline', '--user', 'ada', '--json', '--store', folder]);
  expect(JSON.parse(moved.stdout).stages[0].counts).toMatchObject({ set_aside: failing.length });

  const reasons = [...unusable.map(([reason]) => reason), ...failing.map(({ reason }) => reason)].sort();
  const status = await run(['doctor', '--user', 'ada', '--json', '--store', folder]);
  expect(reasonsOf(JSON.parse(status.stdout).set_aside)).toEqual(reasons);
  const out = join(tempFolder(), 'export');
  await run(['export', '--user', 'ada', '--out', out, '--store', folder]);
  const lines = (await readFile(join(out, 'errors.jsonl'), 'utf8')).split('\n').slice(0, -1);
  const errors: Untyped[] = lines.map((line) => JSON.parse(line));
  expect(reasonsOf(errors)).toEqual(reasons);
  for (const { message } of errors) expect(message).toMatch(/expected .*, found |converter/);
  const textsOf = (values: unknown[]) => values.map((one) => JSON.stringify(one)).sort();
  expect(textsOf(errors.map(({ entry }) => entry))).toEqual(textsOf(bad));

  const recovery = await run(['recover-errors', '--json', '--store', folder]);
  expect(recovery.code).toBe(3);
  expect(JSON.parse(recovery.stdout)).toMatchObject({ users: [{ tried: bad.length, recovered: 0 }] });
  expect(reasonsOf(JSON.parse(recovery.stdout).users[0].remaining)).toEqual(reasons);
  const { errors: _listed, ...found } = JSON.parse(await withStore(folder, (store) => everythingOf(store, uuid)));
  expect(found).toEqual(expected);
});

// ---------------------------------------------------------------- a trip

it('a poisoned trip is left out and explained, and the other trips of its day and of other days are returned', async () => {
  const store = await newStore();
  const [whole, ada] = [await newUser(store), await newUser(store)];
  const days = pushesOf('ada', 'android', 2).flat();
  const all = (await chainAfter(store, whole, days)).filter(({ trip }) => trip !== null);
  const poisoned = all[2]!;
  expect(all.filter(({ day }) => day === poisoned.day).length).toBeGreaterThan(3);

  poison.chainTs = poisoned.chain_ts;
  onTestFinished(() => {
    poison.chainTs = null;
  });
  const log = memoryLog();
  const { status, stages } = await putAndRun(store, ada, days, { log });
  const problems = stages.flatMap((stage) => stage.problems ?? []);
  expect([status, problems]).toEqual([
    'done',
    [`trip that begins at ${poisoned.chain_ts} left out: this trip is poison`],
  ]);
  expect(log.lines).toContain(`ERROR UUID ${ada}: ${problems[0]}`);
  const rest = (await chainOf(store, ada)).filter(({ trip }) => trip !== null);
  expect(rest.map(({ chain_ts }) => chain_ts)).toEqual(all.flatMap((one) => (one === poisoned ? [] : one.chain_ts)));
  expect(await store.documents.keys(ada)).toEqual(await store.documents.keys(whole));
});

// ---------------------------------------------------------------- a user

/** What can be wrong with one user alone: a row of theirs that cannot be read. */
const damages = [
  ['batches', 'entries'],
  ['chunks', 'entries'],
  ['trips', 'record'],
  ['accounts', 'state'],
] as const;

it('poisoned users in a run over all fail alone, with name and reason, for damage in any row', async () => {
  const folder = tempFolder();
  const damaged = damages.map(([table]) => table);
  const names = ['ada', ...damaged, 'cal'];
  const days = pushesOf('ben', 'ios', 2);
  const uuids = await fillStore(folder, Object.fromEntries(names.map((name) => [name, days.slice(0, 1)])));
  await withStore(folder, async (store) => {
    for (const uuid of Object.values(uuids)) await putAndRun(store, uuid, []);
    for (const uuid of Object.values(uuids)) await put(store, uuid, days[1]!);
  });
  for (const place of damages) changeRow(folder, uuids[place[0]]!, place, garbage);

  const { code, stdout, stderr } = await run(['pipeline', '--all', '--json', '--store', folder]);
  expect(code, stdout + stderr).toBe(3);
  const { failures, ...report } = JSON.parse(stdout) as { failures: { user_email: string; message: string }[] };
  expect(failures.map(({ user_email }) => user_email).sort()).toEqual(damaged.toSorted());
  expect(report).toMatchObject({ users: 6, done: 2, failed: 4 });
  for (const { message } of failures) expect(message).toMatch(/\S/);
  await withStore(folder, async ({ documents }) => {
    for (const name of ['ada', 'cal']) expect(await documents.keys(uuids[name]!)).toContain('diary/trips-2024-03-12');
  });
});
