// The commands around the pipeline: on simulated days, through the command line as people type it.
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { putBatch } from '../../src/intake/put-batch.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { changeRow, garbage } from '../faults/kit.ts';
import { t0 } from '../support/phone.ts';
import { android, pushedMotions, pushedMove } from '../support/pushes.ts';
import { leaseOn, putDocument } from '../support/store.ts';
import type { Untyped } from '../support/untyped.ts';
import { freshProgram, type Program, putRejected } from './kit.ts';

const day = '2024-03-12';
const ada = 'sim-t-1@example.org';

/** A store with two people and a day of each, through the pipeline. */
async function prepared(): Promise<Program> {
  const program = await freshProgram();
  await program.run(['simulate', '--users', '2', '--from', day, '--seed', 't']);
  expect(await program.run(['pipeline', '--all'])).toMatchObject({ code: 0, stderr: '' });
  return program;
}

let shared: Program;
beforeAll(async () => {
  shared = await prepared();
});

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

describe('pipeline', () => {
  it('reports the stages of all users together, and reports a run without new entries', async () => {
    const { run, show } = await freshProgram();
    await run(['simulate', '--users', '2', '--from', day, '--seed', 't']);
    const first = await run(['pipeline', '--all']);
    expect(first.stdout).toMatch(/^ {2}move to long term +\d+\.\d\d s {2}moved 1,\d{3}, inserted/);
    expect(first.stdout).toMatch(
      /\n2 users: 2 done, 0 with nothing new, 1,\d{3} entries, \d days changed, in \d+\.\d\d s\nlongest: sim-t-[12]@example.org, \d+\.\d\d s\n$/,
    );
    await show(['pipeline', '--all'], /^2 users: nothing new, nothing written, in /);
    await show(['pipeline', '--user', ada], /^sim-t-1@example.org \(.{36}\): nothing new, nothing written\n$/);
  });

  it('ends with the failed user, the reason and the remedy, and with --quiet prints nothing else', async () => {
    const { run, show, json, address, withStore } = await freshProgram();
    await run(['simulate', '--users', '3', '--from', day, '--seed', 't']);
    const [broken] = await withStore((store) => store.users.list({ limit: 1 }));
    changeRow(address, broken!.uuid, ['batches', 'entries'], garbage);
    const reason = `${broken!.user_email} \\(${broken!.uuid}\\): failed.*: .*\n`;
    const next = `next: mobility doctor --user ${broken!.user_email}\n$`;
    const counts =
      '\n3 users: 2 done, 0 with nothing new, 1 failed, [\\d,]+ entries, 2 days changed, in .*\nlongest: .* s\n';
    await show(['pipeline', '--all'], new RegExp(`${counts}${reason}(?: .*\n)*${next}`), { code: 3 });
    await show(['pipeline', '--all', '--quiet'], new RegExp(`^${reason}(?: .*\n)*${next}`), { code: 3 });
    expect(await json('pipeline', '--all')).toMatchObject({
      failures: [{ user_email: broken!.user_email, message: expect.any(String) }],
      next: [`mobility doctor --user ${broken!.user_email}`],
    });
    await run(['erase', '--user', broken!.user_email, '--yes']);
    expect(await run(['pipeline', '--all', '--quiet'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it('and an erasure name the holder of the lease when another run holds the user, and change nothing', async () => {
    const { run, withUser, refuse } = await freshProgram();
    await run(['simulate', '--users', '1', '--from', day, '--seed', 't']);
    const counts = () => withUser(ada, (store, uuid) => store.counts(uuid));
    const before = await counts();
    await withUser(ada, (store, uuid) => store.leases.acquire(uuid, 'another run', 60));
    for (const command of [['pipeline'], ['erase', '--yes']])
      await refuse([...command, '--user', ada], /MOBILITY_LEASE_HELD: .*another run/, { code: 1 });
    expect(await counts()).toEqual(before);
  });
});

describe('days', () => {
  it('lists every day with trips, observed time and flags, or only those with flags', async () => {
    const { run, show, json, withUser } = await prepared();
    const one = ['days', '--user', ada];
    await show(
      one,
      /^sim-t-1@example.org {2}[A-Z]\w+\/\w+\n {2}2024-03-12 {2}\d trips {2}\d+\.\d km {2}observed \d+ h \d\d min\n/,
    );
    await withUser(ada, async (store, uuid) => {
      const [first] = await store.trips.byDay(uuid, { from: day, to: day });
      const { start_ts, end_ts, sections } = first!.trip!;
      const metadata = { write_ts: end_ts + 60, platform: 'android', time_zone: 'UTC' };
      // A correction counts before a label.
      const ride = sections.find(({ sensed_mode }) => !sensed_mode.endsWith('WALKING'))!;
      const corrected = { kind: 'mode', ts: ride.start_ts + 1, mode: 'train' };
      const entries = [
        { metadata: { ...metadata, key: 'manual/correction' }, data: corrected },
        { metadata: { ...metadata, key: 'manual/mode_confirm' }, data: { start_ts, end_ts, label: 'bike' } },
      ];
      await putBatch(uuid, entries, { store, now: () => 1_720_000_000 });
    });
    const { stdout, stderr } = await run([...one, '--flagged']);
    expect(stdout).toMatch(/\n {4}\d\d:\d\d-\d\d:\d\d trip: label contradicts\n$/);
    expect(stderr).toBe('1 day with flags\n');
    const { days } = await json('days', '--all', '--flagged');
    expect(days).toMatchObject([{ user_email: ada, day, flags: ['label_contradicts'], flagged: [{ of: 'trip' }] }]);
    expect(days[0].observed_s + days[0].silent_s + days[0].off_s).toBeCloseTo(86_400, 3);
  });
});

describe('diary', () => {
  it('shows times, places, modes and distances within 80 columns', async () => {
    const title = /^sim-t-1@example.org {2}Tuesday 12 March 2024 {2}[A-Z]\w+\/\w+/;
    const { stdout, stderr } = await shared.show(['diary', '--user', ada, '--day', day], title);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/\n {2}07:\d\d {2}● A {2}-?\d+\.\d{4}, -?\d+\.\d{4}\n/);
    expect(stdout).toMatch(/│ 07:\d\d-0[78]:\d\d {2}(walking|on foot) +\d{3} m {2}\d+ min\n/);
    expect(stdout).toMatch(/\d trips, \d+\.\d km( \(.* estimated\))?, .* on the way\n/);
    for (const line of stdout.split('\n')) expect([...line].length).toBeLessThanOrEqual(80);
  });

  it('prints with --json the trips as phones read them, and with --geojson flat features', async () => {
    const { run, json, folder } = shared;
    const one = ['diary', '--user', ada, '--day', day];
    const { trips } = await json(...one);
    expect(trips.length).toBeGreaterThan(2);
    expect(trips.every((trip: Untyped) => trip.type === 'FeatureCollection')).toBe(true);
    const file = join(folder, 'day.geojson');
    expect((await run([...one, '--geojson', file])).code).toBe(0);
    const flat = JSON.parse(await readFile(file, 'utf8'));
    expect(flat.features.every((feature: Untyped) => feature.type === 'Feature')).toBe(true);
    expect((await run([...one, '--geojson', '-'])).json()).toEqual(flat);
  });

  it('accepts names of days, and ranges', async () => {
    const { run } = shared;
    const now = Date.UTC(2024, 2, 13, 12) / 1000;
    const title = async (text: string) => (await run(['diary', '--user', ada, '--day', text], { now })).stdout;
    for (const text of ['yesterday', '-1', 'Tuesday', '2024-03-12'])
      expect(await title(text)).toMatch(/^sim-t-1@example.org {2}Tuesday 12 March 2024/);
    expect(await title('today')).toMatch(/^sim-t-1@example.org {2}2024-03-13: no trips/);
    // In Nairobi, where the phone is, the 14th has begun at 22:00 UTC.
    const late = await run(['diary', '--user', ada, '--day', 'today'], { now: now + 36_000 });
    expect(late.stdout).toContain('2024-03-14: no trips');
    const range = await title('tuesday..today');
    expect(range).toMatch(/^sim-t-1.*12 March[\s\S]*\n\nsim-t-1@example.org {2}2024-03-13: no trips/);
    for (const text of ['tomorrow', '2024-03-13..2024-03-12', '-1..', 'monday..tuesday..today', '+1'])
      expect([text, (await run(['diary', '--user', ada, '--day', text], { now })).code]).toEqual([text, 2]);
  });

  it('does not overwrite a file', async () => {
    const { folder, refuse } = shared;
    const file = join(folder, 'mine.geojson');
    await writeFile(file, 'mine');
    await refuse(['diary', '--user', ada, '--day', day, '--geojson', file], 'already exists');
    expect(await readFile(file, 'utf8')).toBe('mine');
    const page = ['diary', '--user', ada, '--all-days', '--html', file];
    await refuse(page, `cannot create the folder ${file}: it is a file`);
  });

  it('prints why a day is empty and what to do', async () => {
    const { run } = await freshProgram('eve');
    const empty = async (name: string) => (await run(['diary', '--user', name, '--day', day])).stderr;
    expect(await empty('eve')).toMatch(/has no trips yet/);
    await run(['simulate', '--users', '1', '--from', day, '--among-others', '--seed', 't']);
    expect(await empty(ada)).toMatch(/\d+ entries pending: run `mobility pipeline --user sim-t-1@example.org`/);
    const file = join(shared.folder, 'empty.geojson');
    const written = await run(['diary', '--user', ada, '--day', day, '--geojson', file]);
    expect(written.stderr).toMatch(/^0 trips written to .*\n\d+ entries pending: run `mobility pipeline/);
    const other = await shared.show(['diary', '--user', ada, '--day', '2024-03-20'], 'no trips');
    expect(other.stderr).toMatch(/from 2024-03-12 to 2024-03-12/);
  });
});

describe('status', () => {
  it('counts the trips of all users as an export does, without dropped ones', async () => {
    const { run, json, withUser } = await freshProgram('eve');
    await withUser('eve', async (store, uuid) => {
      // A walk of 95 m, which is too short for a trip.
      const walk = [
        ...pushedMove(android, { from: 0, to: 120, speed: 95 / 120 }),
        ...pushedMove(android, { from: 150, to: 900, east: 95 }),
        ...pushedMotions(android, 0, 120, 'walking'),
      ];
      await putBatch(uuid, walk, { store, now: () => t0 + 900 });
    });
    await run(['pipeline', '--all']);
    expect((await withUser('eve', (store, uuid) => store.counts(uuid))).trips).toBe(1);
    expect(await json('users', 'list', '--counts')).toMatchObject({ users: [{ trips: 0 }] });
  });

  it('shows no place of a user, by name and by UUID', async () => {
    const { run } = shared;
    const result = await run(['doctor', '--user', ada, '--json']);
    const { user_id: uuid, ...status } = result.json<Untyped>();
    expect(status).toMatchObject({ user_email: ada, state: 'in_order', waiting: { count: 0 }, lease: null });
    expect([status.set_aside, status.chain.final.phone_ts]).toEqual([[], expect.any(Number)]);
    expect(result.stdout).not.toMatch(/"observed"|longitude|coordinates/);
    const { stdout } = await run(['doctor', '--user', String(uuid)]);
    for (const link of ['registered', 'stored', 'located', 'final'])
      expect(stdout).toMatch(new RegExp(`^ok +${link} `, 'm'));
  });

  it('shows times beyond the calendar as numbers', async () => {
    const { run, show, withUser } = await freshProgram('ada');
    await withUser('ada', (store, uuid) =>
      store.usercache.put(uuid, { entries: [refusedEntry(1e300) as never], unusable: [] }, 1.7e9),
    );
    await show(['doctor', '--user', 'ada'], /moved .*pending 1, 1 of them for a later time/);
    await show(['users', 'list', '--counts'], / +1 +0 +0\n/);
    expect((await run(['export', '--user', 'ada', '--entries', '--from', day])).stdout).toBe('');
  });

  it('shows after an upgrade how many people and days the new analysis will derive again, as does a run at its start', async () => {
    const { run, show, json, withStore } = await freshProgram();
    await run(['simulate', '--users', '2', '--days', '2', '--from', '2024-03-01', '--seed', 't']);
    await run(['pipeline', '--all']);
    await withStore(async (store) => {
      for (const { uuid } of await store.users.list({ limit: 9 })) {
        const lease = await leaseOn(store, uuid);
        await store.pipeline.merge(uuid, { analysis_version: 'older' }, lease);
        await store.leases.release(lease);
      }
    });
    const waits = (of: string) => `the analysis changed: this run derives the trips of ${of} again\n`;
    const changed = 'the analysis changed: the next run derives the trips of 4 days of 2 people again; preview: ';
    await show(['status'], `${changed}\`mobility rebuild --all --dry-run\``);
    expect((await json('status')).run).toMatchObject({ outdated: 2, outdated_days: 4, with_work: 2 });
    expect((await run(['pipeline', '--user', ada])).stderr).toEqual(waits('2 days of 1 person'));
    expect((await show(['pipeline', '--all'], '1 done')).stderr).toEqual(waits('2 days of 1 person'));
    expect((await run(['pipeline', '--all'])).stderr).toBe('');
    expect((await run(['status'])).stdout).not.toContain('the analysis changed');
  });

  it('prints a summary of all users', async () => {
    expect(await shared.json('status')).toMatchObject({
      people: { all: 2, in_order: 2 },
      set_aside: [],
      run: { waiting: 0, with_work: 0, at_work: [] },
    });
    await shared.show(['status'], /^people +2: 2 in order\nrejected +nothing\n/);
  });
});

/** An entry that no converter takes. */
const refusedEntry = (writeTs: number): JsonObject => ({
  metadata: { key: 'background/location', write_ts: writeTs, platform: 'android', time_zone: 'UTC', type: 'message' },
  data: { ts: writeTs },
});

describe('recover-errors', () => {
  const reason = 'shape';

  it('exits with 0 without errors, with 3 while some remain, and changes nothing in a dry run', async () => {
    const { run, show, withUser } = await freshProgram('ada');
    await show(['recover-errors'], /^no errors\n$/);
    await withUser('ada', (store, uuid) =>
      store.usercache.put(uuid, { entries: [refusedEntry(1.7e9) as never], unusable: [] }, 1.7e9),
    );
    expect((await run(['pipeline', '--user', 'ada'])).code).toBe(0);
    const tried = /^ada: 1 error retried, 0 would be recovered; there are:\n {2}1 {2}background\/location/;
    await show(['recover-errors', '--dry-run'], tried);
    const wet = await run(['recover-errors', '--user', 'ada', '--json']);
    expect(wet.code).toBe(3);
    expect(wet.json()).toEqual({ users: [expect.objectContaining({ user_email: 'ada', tried: 1, recovered: 0 })] });
    await show(['doctor', '--user', 'ada'], /converted .*rejected 1/);
  });

  it('names the command that lists the keys if a mistyped flag selects no entry, as errors and export do', async () => {
    const { run } = await freshProgram('ada');
    const listed = /^0 entries matched: `mobility errors` without these flags lists /;
    for (const [args, note] of [
      ['recover-errors --reason shap', listed],
      ['recover-errors --key manual/survay --user ada', listed],
      ['errors --key manual/survay', listed],
      ['export --user ada --entries --key manual/survay', /^0 entries matched: docs\/keys.md lists the keys\n$/],
    ] as const) {
      const { stdout, stderr } = await run(args.split(' '));
      expect(stdout + stderr, args).toMatch(note);
    }
  });

  it('retries the errors of a key or reason, and shows unknown keys in one line each, without control characters', async () => {
    const { run, show, refuse, withUser } = await freshProgram('ada');
    await withUser('ada', async (store, uuid) => {
      const values = ['', 'red\u001b[31m\nben: 0 errors retried'].map((key) => ({ metadata: { key } }));
      await putRejected(store, uuid, values, { reason });
    });
    const listed =
      '  1  ""                                      shape\n  1  "red\\u001b[31m\\nben: 0 errors retried"  shape\n';
    const all = await run(['recover-errors', '--dry-run']);
    expect(all.stdout).toBe(`ada: 2 errors retried, 0 would be recovered; there are:\n${listed}`);
    const none = ['recover-errors', '--key', 'manual/survey', '--reason', 'wrong_type'];
    const { stdout } = await show(none, 'ada: 0 errors retried', { code: 3 });
    expect(stdout).toBe(`ada: 0 errors retried, 0 recovered; these remain:\n${listed}`);
    const shown = /("red.*")/.exec(all.stdout)![1]!;
    for (const key of [shown, JSON.parse(shown)])
      await show(['recover-errors', '--key', key, '--dry-run'], /^ada: 1 error retried/);
    await show(['recover-errors', '--reason', 'shape'], /^ada: 2 errors retried/m, { code: 3 });
    // An empty text would select every error.
    for (const flag of ['--key', '--reason'])
      await refuse(['recover-errors', flag, ''], 'Expected a text that is not empty');
  });

  it('continues with the other users when another process holds one user', async () => {
    const { run, withUser } = await freshProgram('ada', 'ben');
    for (const name of ['ada', 'ben']) await withUser(name, (store, uuid) => putRejected(store, uuid, [name]));
    await withUser('ada', (store, uuid) => store.leases.acquire(uuid, 'another run', 60));
    const { code, json } = await run(['recover-errors', '--json']);
    expect([code, json()]).toMatchObject([3, { users: { length: 2 } }]);
    const { users } = json<Untyped>();
    expect(users).toContainEqual(
      expect.objectContaining({ user_email: 'ada', failure: expect.stringMatching(/another run/) }),
    );
    expect(users).toContainEqual(expect.objectContaining({ user_email: 'ben', tried: 1 }));
  });
});

it('purge-keys shows which documents it would remove and why, then removes documents only', async () => {
  const { run, json, withUser } = await prepared();
  await withUser(ada, (store, uuid) => putDocument(store, uuid, { key: 'common-trips', write_ts: 1, data: {} }));
  const counts = () => withUser(ada, (store, uuid) => store.counts(uuid));
  const before = await counts();
  expect(await run(['purge-keys', '--all', '--dry-run'])).toMatchObject({
    stdout: 'sim-t-1@example.org  common-trips  not in the list of valid keys\n',
    stderr: '1 document would be removed\n',
  });
  expect(await json('purge-keys', '--user', ada)).toEqual({
    users: [expect.objectContaining({ user_email: ada, obsolete: [{ key: 'common-trips', why: expect.any(String) }] })],
  });
  expect(await counts()).toEqual({ ...before, documents: before.documents - 1 });
});

it('a preview of a rebuild lists changed days in a file, and refuses one that exists', async () => {
  const { show, refuse, folder } = shared;
  const csv = join(folder, 'changes.csv');
  const preview = ['rebuild', '--all', '--sample', '1', '--dry-run', '--csv', csv];
  await show(preview, /^1 user, nothing written, in .*\nwould change: 0 days of 0 users/);
  expect(await readFile(csv, 'utf8')).toMatch(/^user_id,user_email,day,added,removed,changed,mode,.*\n$/);
  await refuse(preview, 'already exists');
});

it('a command that is complete when the signal comes exits with 0', async () => {
  const onOutput = () => process.emit('SIGTERM', 'SIGTERM');
  for (const command of [
    ['backup', join(shared.folder, 'done')],
    ['rebuild', '--all'],
    ['export', '--all', '--out', join(shared.folder, 'archives')],
    ['export', '--all', '--format', 'csv', '--out', join(shared.folder, 'tables')],
    ['migrate', '--to', `sqlite:${join(shared.folder, 'copy')}`, '--from', shared.address],
  ]) {
    await shared.succeed(command, { onOutput });
  }
});

it('rebuild takes only people with trips in --zone, and changes nothing of an unchanged diary', async () => {
  const usersIn = async (zone: string) => (await shared.json('rebuild', '--all', '--zone', zone, '--dry-run')).users;
  const { stdout } = await shared.run(['diary', '--user', ada, '--day', day, '--json']);
  expect(await usersIn(/"timezone":"([^"]+)"/.exec(stdout.replace(/\s/g, ''))![1]!)).toBeGreaterThan(0);
  expect(await usersIn('Pacific/Auckland')).toBe(0);
  const unchanged = /in .*\nchanged: 0 days of 0 users: 0 trips added, 0 removed, 0 changed\n$/;
  const { stdout: done } = await shared.show(['rebuild', '--user', ada, '--from', day], unchanged);
  expect(done).toMatch(/^1 user, derived again, in /);
});

describe('export', () => {
  it('has every error, for any number of reads, and leaves no partial file', async () => {
    const { run, folder, withUser } = await freshProgram('ada');
    const values = Array.from({ length: 2101 }, (_, n) => ({ n }));
    await withUser('ada', (store, uuid) => putRejected(store, uuid, values));
    const out = join(folder, 'out');
    expect((await run(['export', '--user', 'ada', '--out', out])).code).toBe(0);
    expect(new Set(linesOf(await readFile(join(out, 'errors.jsonl'), 'utf8'))).size).toBe(2101);
    expect((await readdir(out)).filter((name) => /part|draft|tmp/.test(name))).toEqual([]);
  });

  it('refuses contradicting flags, an empty range of days, and names the flags that tables need', async () => {
    const { refuse } = await freshProgram('ada');
    const ofAda = ['export', '--user', 'ada'];
    for (const [args, message] of [
      [[...ofAda, '--entries', '--format', 'csv'], /option '--format.*cannot be used with option '--entries'/],
      [[...ofAda, '--entries', '--coarse', '500'], 'expected --format and --out with --coarse'],
      [ofAda, 'expected --out'],
      [[...ofAda, '--entries', '--trips'], 'cannot be used with'],
      [
        [...ofAda, '--trips', '--from', day, '--to', '2024-03-11'],
        `MOBILITY_USAGE: expected a day in --to that is not before --from, found --from ${day} and --to 2024-03-11\n`,
      ],
      [['report', '--from', '2024-03', '--to', '2024-02'], 'expected a month in --to that is not before --from, found'],
    ] as const)
      await refuse(args, message);
  });

  it('has -0 and numbers beyond the range of doubles as numbers', async () => {
    const { run, withUser } = await freshProgram('ada');
    const data = { zero: -0, far: Number.POSITIVE_INFINITY };
    await withUser('ada', async (store, uuid) => {
      const entries = [{ metadata: { key: 'a/b', write_ts: 1 }, data }];
      await store.usercache.put(uuid, { entries, unusable: [] }, 1);
    });
    const { stdout } = await run(['export', '--user', 'ada', '--entries']);
    expect((JSON.parse(stdout) as { data: object }).data).toEqual(data);
  });

  it('writes a folder that only its owner may read: entries, errors, documents, trips and user', async () => {
    const { json, folder } = shared;
    const out = join(folder, 'export');
    const { counts } = await json('export', '--user', ada, '--out', out);
    const read = (name: string) => readFile(join(out, name), 'utf8');
    const [entries, documents] = [linesOf(await read('entries.jsonl')), linesOf(await read('documents.jsonl'))];
    expect(entries.length).toBe(counts['entries.jsonl']);
    expect(JSON.parse(entries[0]!)).toHaveProperty('metadata.write_ts');
    expect(JSON.parse(documents[0]!)).toHaveProperty('key', `diary/trips-${day}`);
    expect(JSON.parse(await read('user.json'))).toMatchObject({
      user_email: ada,
      profile: { last_put_ts: expect.any(Number) },
    });
    const { features } = JSON.parse(await read('trips.geojson')) as { features: { id: string }[] };
    expect(new Set(features.map(({ id }) => id)).size).toBe(features.length);
    for (const path of [out, join(out, 'entries.jsonl')]) expect((await stat(path)).mode & 0o77).toBe(0);
  });

  it('selects by key and local day, both days included', async () => {
    const { run } = await freshProgram();
    await run(['simulate', '--users', '1', '--days', '3', '--from', day, '--seed', 't']);
    const entries = async (...flags: string[]) => {
      const { stdout } = await run(['export', '--user', ada, '--entries', ...flags]);
      return linesOf(stdout).map((line) => JSON.parse(line) as Untyped);
    };
    const all = await entries();
    const [first, rest] = [await entries('--to', day), await entries('--from', '2024-03-13', '--to', '2024-03-14')];
    expect(first.length + rest.length).toBe(all.length);
    expect(first.length).toBeGreaterThan(100);
    const two = await entries('--key', 'background/battery', '--key', 'config/consent');
    expect(new Set(two.map(({ metadata }) => metadata.key))).toEqual(new Set(['background/battery', 'config/consent']));
  });

  it('exports the one day that is --from and --to, and a user without data', async () => {
    const { json } = shared;
    const features = async (...flags: string[]) => (await json('export', '--trips', ...flags)).features.length;
    expect(await features('--user', ada, '--from', day, '--to', day)).toBeGreaterThan(0);
    const { run } = await freshProgram('eve');
    const none = { type: 'FeatureCollection', features: [] };
    expect((await run(['export', '--user', 'eve', '--trips'])).json()).toEqual(none);
  });
});

it('explain shows from when on a day is a draft, and what makes it final', async () => {
  const { run, show } = await freshProgram();
  await run(['simulate', '--users', '1', '--days', '2', '--from', '2024-03-01', '--seed', 't']);
  await run(['pipeline', '--all']);
  const explain = (of: string) => ['explain', '--user', ada, '--day', of];
  expect((await run(explain('2024-03-01'))).stdout).not.toContain('draft');
  await show(
    explain('2024-03-02'),
    /\ndraft since 2 March \d\d:\d\d: .*; it becomes final when the next trip, or one after it, has ended\n$/,
  );
});

describe('backup', () => {
  it('refuses the folder of the store and any in it, also behind a link, and writes nothing', async () => {
    const { run, address, folder, refuse } = await freshProgram('ada');
    await mkdir(join(address, 'empty'));
    await symlink(address, join(folder, 'link'));
    const before = await readdir(address);
    for (const way of ['.', 'empty', 'new', 'logs/a/b', '../link/new']) {
      const outside = /MOBILITY_STORE_ADDRESS: expected a folder outside the store .*: name another folder/;
      expect((await refuse(['backup', join(address, way)], outside)).stdout).toBe('');
    }
    for (const format of [['--format', 'csv'], []]) {
      await refuse(['export', '--all', ...format, '--out', join(address, 'new')], 'for the export');
    }
    expect([await readdir(address), await readdir(join(address, 'empty'))]).toEqual([before, []]);
    expect((await run(['backup', `${address}-copy`])).code).toBe(0);
  });

  it('makes a copy that is a store with the same content', async () => {
    const { run, folder } = shared;
    const copy = join(folder, 'backup');
    expect((await run(['backup', copy])).stdout).toMatch(/backup: \d+\.\d MiB, in \d/);
    const diary = async (...at: string[]) => (await run(['diary', '--user', ada, '--day', day, ...at])).stdout;
    expect(await diary('--store', copy)).toBe(await diary());
  });

  it('refuses a folder with files in it, a file, a missing store, and MongoDB', async () => {
    const { folder, refuse } = shared;
    await mkdir(join(folder, 'full'));
    await writeFile(join(folder, 'full', 'x'), '');
    const used = ['full', 'full/x', 'full/x/below'].map((name) => join(folder, name));
    for (const path of [...used, '/dev/null', '']) await refuse(['backup', path], 'MOBILITY_STORE_ADDRESS');
    expect(await readdir('..')).not.toContain('mobility.db'); // the empty name is not the folder above
    const target = join(folder, 'new');
    await refuse(['backup', target, '--store', join(folder, 'none')], 'MOBILITY_STORE_ADDRESS');
    await refuse(['backup', target, '--store', 'mongodb://localhost/x'], 'MOBILITY_UNSUPPORTED', { code: 1 });
  });
});

it('simulate pushes the same entries again without adding any, and ends yesterday by default', async () => {
  const { run, json } = await freshProgram();
  const args = 'simulate --users 2 --days 2 --seed x --platform ios --from'.split(' ').concat(day);
  const first = await json(...args);
  expect(first.to).toBe('2024-03-13');
  for (const { platform, entries, new: fresh } of first.users) expect([platform, fresh]).toEqual(['ios', entries]);
  expect((await json(...args)).users.map((user: Untyped) => user.new)).toEqual([0, 0]);
  const yesterday = await run(['simulate', '--users', '1', '--days', '2', '--json', '--seed', 'y', '--among-others'], {
    now: 1_710_288_000,
  });
  expect(yesterday.json()).toMatchObject({ from: '2024-03-11', to: '2024-03-12' });
});

describe('config', () => {
  it('names variables that look like settings and are not', async () => {
    const { run } = await freshProgram();
    const env = { MOBILITY_WORKRES: '3', MOBILITY_DEBUG: '', MOBILITY_WORKERS: '3' };
    expect((await run(['config'], { env })).stderr).toBe('not settings, ignored: MOBILITY_WORKRES\n');
    expect((await run(['config'], { env: { MOBILITY_WORKERS: '3' } })).stderr).toBe('');
  });

  it('shows each setting with its value and source', async () => {
    const { run } = await freshProgram();
    const shown = await run(['config', '--json', '--log-dir', 'here'], { env: { MOBILITY_PORT: '9000' } });
    for (const [variable, value, source] of [
      ['MOBILITY_PORT', 9000, 'variable'],
      ['MOBILITY_LOG_DIR', 'here', 'flag'],
      ['MOBILITY_HOST', '127.0.0.1', 'default'],
    ])
      expect(shown.json<Untyped>().settings).toContainEqual(expect.objectContaining({ variable, value, source }));
  });

  it('never shows a password', async () => {
    const { run } = await freshProgram();
    for (const address of [
      'mongodb://ada:s3cret@db.example.org/x?tls=true',
      'mongodb+srv://ada:s3cret%40@db.example.org/x',
      'mongodb://h/x?tlsCertificateKeyFilePassword=s3cret&authMechanismProperties=AWS_SESSION_TOKEN:s3cret&w=majority',
    ]) {
      const { stdout } = await run(['config'], { env: { MOBILITY_STORE: address } });
      expect(stdout).not.toContain('s3cret');
      expect(stdout).toMatch(/mongodb(\+srv)?:\/\//);
    }
  });
});
