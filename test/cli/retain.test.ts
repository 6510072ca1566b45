// `mobility retain`: old data go, and the days that stay do not change.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import { pipeline, put } from '../support/diary.ts';
import { t0 } from '../support/phone.ts';
import { android, pushedRide } from '../support/pushes.ts';
import type { Untyped } from '../support/untyped.ts';
import { freshProgram, type Program, putRejected, simulatedProgram } from './kit.ts';

const ada = ['--user', 'sim-r-1@example.org'];
const day = 86_400;
const user = '0b2c6d1e-5a55-4c11-9f0e-3f4a5b6c7d8e'; // ids depend on it
const now = 1_740_000_000; // 2025-02-19
const old = ['--older-than', '340d']; // 2024-03-16
const how = { now };

const simulated = () => simulatedProgram('--users 1 --days 30 --from 2024-03-01 --seed r', how);
/** What a call with `--yes` reports of the first of its people. */
const retained = async ({ run }: Program, what: string): Promise<Untyped> =>
  (await run(['retain', '--all', ...old, '--what', what, '--yes', '--json'], how)).json().users[0];
const daysOf = async ({ run }: Program, from = '2024-03-01'): Promise<string> =>
  (await run(['days', ...ada, '--day', `${from}..2024-03-31`, '--json'], how)).stdout;

/** A ride of each day, there and back in turns. */
const rideOf = (i: number): Entry[] => pushedRide(android, i * day, (i % 2) * 6000, i % 2 ? -10 : 10);

it('raw: sensed data are removed from every file, and later entries do not change the days', async () => {
  const program = await simulated();
  const { run, withStore, address, refuse } = program;
  const before = await daysOf(program);
  const uuid = (await program.json('users', 'list')).users[0].user_id;
  const at = Date.parse('2024-03-05T10:00:00Z') / 1000;
  const marked = (ts: number): Entry => ({
    metadata: { key: 'background/battery', write_ts: ts, platform: 'android', type: 'sensor-data', time_zone: 'UTC' },
    data: { ts, battery_level_pct: 50, note: `marked ${'x'.repeat(50)} secret` },
  });
  const label: Entry = {
    metadata: { key: 'manual/mode_confirm', write_ts: at, platform: 'android', type: 'message', time_zone: 'UTC' },
    data: { label: 'bike', start_ts: at, end_ts: at + 60 },
  };
  await withStore((store) => put(store, uuid, [marked(at), label], now));

  await refuse(['retain', ...ada, ...old, '--what', 'raw'], '--dry-run', how);
  const tried = await run(['retain', ...ada, ...old, '--what', 'raw', '--dry-run', '--json'], how);
  const done = await retained(program, 'raw');
  expect(tried.json().users).toEqual([done]);
  const { entries, raw_before } = done;
  expect(entries).toBeGreaterThan(1_000);
  expect(raw_before).toBeGreaterThan(now - 345 * day);
  expect(await daysOf(program)).toBe(before);
  for (const name of await readdir(address)) {
    // A file of SQLite beside the store may go when its last user does.
    const text = name.startsWith('mobility.db') ? await readFile(join(address, name), 'latin1').catch(() => '') : '';
    expect(text).not.toContain('secret');
  }
  await withStore(async (store) => {
    const query = { time: 'write_ts', to: raw_before - 86_400, limit: 999 } as const;
    const left = new Set((await store.timeseries.find(uuid, query)).entries.map(({ metadata }) => metadata.key));
    expect([...left].filter((key) => !key.startsWith('config/'))).toEqual(['manual/mode_confirm']);
    await put(store, uuid, [marked(at), ...pushedRide(android, at + 3_600 - t0, 0)], now); // it comes late
  });
  for (const command of ['pipeline', 'rebuild', 'recover-errors']) await run([command, '--all'], how);
  expect(await daysOf(program)).toBe(before);
  expect(await retained(program, 'raw')).toMatchObject({ raw_before });
  expect(await daysOf(program)).toBe(before);
});

it('raw: days without raw data change by corrections of their person, not by new ones of an operator', async () => {
  const program = await simulated();
  const { run } = program;
  const correct = (what: string, date: string, ...more: string[]) =>
    run(['correct', what, ...ada, ...(date === '' ? [] : ['--day', date]), ...more, '--json'], how);
  const { id } = (await correct('set-aside', '2024-03-04', '--by', 'helen')).json();
  await retained(program, 'raw');
  const before = await daysOf(program);
  const again = await correct('set-aside', '2024-03-06', '--by', 'helen');
  for (const { code, stderr } of [again, await correct('undo', '', '--id', id)])
    expect([code, stderr]).toEqual([2, expect.stringContaining('an earlier one, whose raw data were removed')]);
  expect(await daysOf(program)).toBe(before);
  expect((await correct('at-home', '2024-03-06')).code).toBe(0);
  expect(await daysOf(program)).not.toBe(before);
  expect((await correct('set-aside', '2024-03-25', '--by', 'helen')).code).toBe(0);
});

it('raw: the time to a first location that was removed is empty, not 0', async () => {
  const program = await simulated();
  await retained(program, 'raw');
  const out = join(program.folder, 'trips');
  await program.run(['export', ...ada, '--format', 'csv', '--kind', 'trips', '--out', out], how);
  const trips = parse(await readFile(join(out, 'trips.csv'), 'utf8'), { columns: true }) as Record<string, string>[];
  const inferred = trips.filter(({ start_rule }) => !['', 'location'].includes(start_rule!));
  const removed = inferred.filter(({ day }) => day! < '2024-03-10');
  expect(removed.length).toBeGreaterThan(20);
  expect(new Set(removed.map(({ start_inferred_s }) => start_inferred_s))).toEqual(new Set(['']));
  const kept = inferred.filter(({ day }) => day! > '2024-03-17');
  expect(kept.length).toBeGreaterThan(20);
  expect(kept.filter(({ start_inferred_s }) => start_inferred_s === '')).toEqual([]);
});

it('raw: the draft of a user without later data becomes a trip, which a rebuild keeps', async () => {
  const program = await freshProgram();
  await program.run(['users', 'add', 'ada', '--uuid', user]);
  const ride = rideOf(3);
  const cut = ride.filter(({ metadata }) => metadata.write_ts < ride[0]!.metadata.write_ts + 400);
  await program.withStore(async (store) => {
    await put(store, user, [...rideOf(0), ...cut]);
    await pipeline(store, user);
  });
  const days = async () => (await program.run(['days', '--user', 'ada', '--json'], how)).json().days;
  const before = await days();
  expect(before.filter(({ draft }: Untyped) => draft)).toHaveLength(1);
  await program.run(['retain', '--user', 'ada', '--older-than', '40d', '--what', 'raw', '--yes'], how);
  const expected = before.map((one: Untyped) => ({ ...one, draft: false }));
  expect(await days()).toEqual(expected);
  await program.run(['rebuild', '--user', 'ada'], how);
  expect(await days()).toEqual(expected);
});

it('both: old trips are removed with their labels, their time is excluded, and the audit log records it', async () => {
  const program = await simulated();
  const { run, withStore } = program;
  expect((await run(['correct', 'at-home', ...ada, '--day', '2024-03-06'], how)).code).toBe(0);
  const before = await daysOf(program, '2024-03-18');
  const dry = await run(['retain', '--all', ...old, '--what', 'raw', '--dry-run'], how);
  expect(dry.stdout).toMatch(/^sim-r-1@example.org +[\d,]+ +0 +0 +2024-03-\d\d UTC +-$/m);
  const { user_id: uuid, entries, errors, links } = await retained(program, 'both');
  await withStore(async (store) => {
    const left = (await store.timeseries.summary(uuid)).map(({ key }) => key);
    expect(left.filter((key) => key.startsWith('manual/'))).toEqual(['manual/correction']);
    const { days_before } = (await store.pipeline.get(uuid)).retained!;
    const chain = await store.trips.chain(uuid, { limit: 999 });
    expect(Math.min(...chain.map(({ end_ts }) => end_ts))).toBeGreaterThan(days_before!);
  });
  expect([entries > 1_000, errors, links > 10]).toEqual([true, 0, true]);
  expect(await daysOf(program, '2024-03-18')).toBe(before);
  await run(['rebuild', '--all'], how);
  expect(await daysOf(program, '2024-03-18')).toBe(before);
  const gone = JSON.parse(await daysOf(program)).days.find((one: Untyped) => one.day === '2024-03-10');
  expect(gone).toMatchObject({ trips: 0, off_s: day });
  await program.show(['audit'], /retain +.*done/);
  expect((await run(['retain', '--all', '--older-than', '3d', '--what', 'raw', '--yes'])).code).toBe(2);
});

// ---------------------------------------------------------------- what it prints, logs and refuses

/** Retains days of people with little data: ada has an old rejected value. */
async function withPeople(...names: string[]) {
  const program = await freshProgram(...names);
  await program.withUser('ada', (store, uuid) => putRejected(store, uuid, ['x'], { at: now - 31 * day }));
  return { ...program, args: (...more: string[]) => ['retain', '--older-than', '30d', ...more] };
}

it('the table has a row for each person, and the sum of their rows is printed and logged', async () => {
  const { args, run, logs, withUser } = await withPeople('ada', 'ben');
  const tried = await run(args('--all', '--what', 'both', '--dry-run'), how);
  const rows = [
    'NAME  ENTRIES  ERRORS  TRIPS  NO RAW DATA BEFORE  NO DAYS BEFORE',
    'ada         0       1      0  -                   -',
    'ben         0       0      0  -                   -',
  ];
  const linesOf = ({ stdout }: { stdout: string }) => stdout.split('\n').map((line) => line.trimEnd());
  expect([linesOf(tried).slice(0, 3).sort(), tried.code]).toEqual([[...rows].sort(), 0]);
  expect(tried.stderr).toContain('1 row of 2 users would be removed\n');
  expect(logs()).not.toContain('old row');
  const done = await run(args('--all', '--what', 'both', '--yes'), how);
  expect([done.code, linesOf(done)]).toEqual([0, linesOf(tried)]);
  expect(done.stderr).toContain('1 row of 2 users removed\n');
  expect(logs()).toContain('Removed 1 old row of 2 users');
  expect(await withUser('ada', (store, uuid) => store.errors.count(uuid))).toBe(0);
});

it('the JSON names the store, the limit, and each person with the removed rows', async () => {
  const { args, run, address } = await withPeople('ada');
  const { code, json } = await run(args('--user', 'ada', '--what', 'raw', '--dry-run', '--json'), how);
  const counts = { entries: 0, errors: 1, links: 0, raw_before: null, days_before: null };
  const users = [{ user_id: expect.any(String), user_email: 'ada', ...counts }];
  const report = { store: `sqlite:${address}`, before: now - 30 * day, what: 'raw', dry_run: true, users, failed: [] };
  expect([code, json()]).toEqual([0, report]);
});

it('a person whom a run holds is named, the others are processed, and the command ends with 3', async () => {
  const { args, refuse, withUser } = await withPeople('ada', 'ben');
  await withUser('ben', (store, uuid) => store.leases.acquire(uuid, 'pipeline 7 on host', 600));
  const command = args('--all', '--what', 'raw', '--yes');
  const { stdout } = await refuse(command, /^ben: .*pipeline 7 on host/m, { code: 3, now });
  expect([stdout.includes('ada'), stdout.includes('ben')]).toEqual([true, false]);
});

it.each([
  ['--all --what raw', 'expected --dry-run, which shows what would be removed, or --yes'],
  ['--all --what raw --yes --dry-run', 'cannot be used with'],
  ['--all --what trips --yes', 'Allowed choices are raw, days, both'],
  ['--all --yes', '--what'],
  ['--what raw --yes', '--all'],
])('%s is refused', async (words, message) => {
  const { args, refuse } = await withPeople('ada');
  await refuse(args(...words.split(' ')), message);
});
