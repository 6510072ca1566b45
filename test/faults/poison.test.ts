// One bad thing of every kind, in a batch, in a day and in a run over all: the rest comes out, and the bad thing is
// explained.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import type { SegmentedTrip } from '../../src/analysis/segmenter.ts';
import { checkEntry, unusableReasons } from '../../src/intake/check-entry.ts';
import { conversionReasons } from '../../src/intake/converters/convert.ts';
import { beyondBounds } from '../../src/intake/stated-times.ts';
import { createLineLog } from '../../src/log/line-log.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { JsonValue } from '../../src/model/json.ts';
import { jsonText } from '../../src/model/json-text.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import { fixtureNames, readFixture } from '../intake/converters/fixtures.ts';
import { unusable as unusableValues } from '../intake/unusable.ts';
import { tempFolder } from '../support/clean-up.ts';
import { newStore } from '../support/store.ts';
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

interface ErrorLine {
  entry: JsonValue;
  reason: string;
  message: string;
}

const reasonsOf = (errors: readonly { reason: string; count?: number }[]): string[] =>
  errors.flatMap(({ reason, count = 1 }) => Array<string>(count).fill(reason)).sort();

describe('poisoned entries of every kind in one batch', () => {
  const uuid = '0b2c6d1e-5a55-4c11-9f0e-3f4a5b6c7d8e';
  const [day] = pushesOf('ada', 'android', 1);

  it('cover every reason for a rejection', () => {
    expect(unusable.map(([reason]) => reason).sort()).toEqual(Object.keys(unusableReasons).sort());
    expect([...new Set(failing.map(({ reason }) => reason))].sort()).toEqual(Object.keys(conversionReasons).sort());
  });

  it('are rejected, listed and explained; the diary is the same as without them', async () => {
    const folder = tempFolder();
    const alone = await newStore();
    await alone.users.register('ada', { uuid, now: 1 });
    await alone.usercache.put(uuid, { entries: day!, unusable: [] }, 1);
    await runPipeline(alone, uuid, { log: createLineLog(silent), now: () => 4_000_000_000 });
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

    const reasons = [...unusable, ...failing.map(({ reason }) => [reason] as const)].map(([reason]) => reason).sort();
    const status = await run(['doctor', '--user', 'ada', '--json', '--store', folder]);
    expect(reasonsOf(JSON.parse(status.stdout).set_aside)).toEqual(reasons);
    const out = join(tempFolder(), 'export');
    await run(['export', '--user', 'ada', '--out', out, '--store', folder]);
    const text = await readFile(join(out, 'errors.jsonl'), 'utf8');
    const lines = text.split('\n').slice(0, -1);
    const errors = lines.map((line) => JSON.parse(line) as ErrorLine);
    expect(reasonsOf(errors)).toEqual(reasons);
    for (const { message } of errors) expect(message).toMatch(/expected .*, found |converter/);
    const kept = errors.map(({ entry }) => JSON.stringify(entry)).sort();
    expect(kept).toEqual(bad.map((one) => JSON.stringify(one)).sort());

    const recovery = await run(['recover-errors', '--json', '--store', folder]);
    expect(recovery.code).toBe(3);
    expect(JSON.parse(recovery.stdout)).toMatchObject({ users: [{ tried: bad.length, recovered: 0 }] });
    expect(reasonsOf(JSON.parse(recovery.stdout).users[0].remaining)).toEqual(reasons);
    const { errors: _listed, ...found } = JSON.parse(await withStore(folder, (store) => everythingOf(store, uuid)));
    expect(found).toEqual(expected);
  });
});

const silent = { level: 'error' as const, threadId: 'test', zone: 'UTC', now: () => 1, emit: () => {} };

// ---------------------------------------------------------------- a trip

describe('a poisoned trip', () => {
  it('is left out and explained, and the other trips of its day and of other days are returned', {}, async () => {
    const store = await newStore();
    const logged: string[] = [];
    const log = createLineLog({ ...silent, level: 'debug', emit: (lines) => logged.push(lines.text()) });
    const options = { log, now: () => 1_710_400_000 };
    const fill = async (name: string): Promise<string> => {
      const { user } = await store.users.register(name, { now: 1 });
      for (const entries of pushesOf('ada', 'android', 2)) {
        await store.usercache.put(user.uuid, { entries, unusable: [] }, 1);
      }
      return user.uuid;
    };
    const tripsOf = async (userId: string) =>
      (await store.trips.chain(userId, { limit: 1000 })).filter((link) => link.trip !== null);
    try {
      const whole = await fill('whole');
      await runPipeline(store, whole, options);
      const all = await tripsOf(whole);
      const poisoned = all[2]!;
      expect(all.filter((link) => link.day === poisoned.day).length).toBeGreaterThan(3);

      poison.chainTs = poisoned.chain_ts;
      const ada = await fill('ada');
      const report = await runPipeline(store, ada, options);
      expect(report.status).toBe('done');
      const problems = report.stages.flatMap((stage) => stage.problems ?? []);
      expect(problems).toEqual([`trip that begins at ${poisoned.chain_ts} left out: this trip is poison`]);
      expect(logged.join('\n')).toContain(`ERROR:test:UUID ${ada}: ${problems[0]}`);
      const rest = all.filter((link) => link !== poisoned).map((link) => link.chain_ts);
      expect((await tripsOf(ada)).map((link) => link.chain_ts)).toEqual(rest);
      expect(await store.documents.keys(ada)).toEqual(await store.documents.keys(whole));
    } finally {
      poison.chainTs = null;
    }
  });
});

// ---------------------------------------------------------------- a user

/** What can be wrong with one user alone: a row of theirs that cannot be read. */
const damages: Record<string, readonly [table: string, column: string]> = {
  'a waiting entry': ['batches', 'entries'],
  'a chunk of the timeseries': ['chunks', 'entries'],
  'a trip': ['trips', 'record'],
  'the pipeline state': ['accounts', 'state'],
};

describe('poisoned users in a run over all', () => {
  it('each fail alone, with name and reason, for damage in any row', async () => {
    const folder = tempFolder();
    const damaged = Object.keys(damages);
    const names = ['ada', ...damaged, 'cal'];
    const days = pushesOf('ben', 'ios', 2);
    const uuids = await fillStore(folder, Object.fromEntries(names.map((name) => [name, days.slice(0, 1)])));
    await withStore(folder, async (store) => {
      for (const name of names) {
        const uuid = uuids[name]!;
        await runPipeline(store, uuid, { log: createLineLog(silent), now: () => 1_710_400_000 });
        await store.usercache.put(uuid, { entries: days[1]!, unusable: [] }, 1);
      }
    });
    for (const [name, place] of Object.entries(damages)) changeRow(folder, uuids[name]!, place, garbage);

    const all = await run(['pipeline', '--all', '--json', '--store', folder]);
    expect(all, all.stdout + all.stderr).toMatchObject({ code: 3 });
    const report = JSON.parse(all.stdout);
    const failed = report.failures.map((user: { user_email: string }) => user.user_email);
    expect(failed.sort()).toEqual(damaged.sort());
    expect(report).toMatchObject({ users: 6, done: 2, failed: 4 });
    for (const { message } of report.failures) expect(message).toMatch(/\S/);
    await withStore(folder, async (store) => {
      for (const name of ['ada', 'cal']) {
        expect(await store.documents.keys(uuids[name]!)).toContain('diary/trips-2024-03-12');
      }
    });
  });
});
