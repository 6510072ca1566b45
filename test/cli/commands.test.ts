// The commands around the pipeline: on simulated days, through the command line as people type it.
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { putBatch } from '../../src/intake/put-batch.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { collections } from '../../src/store/store.ts';
import { changeRow, garbage } from '../faults/kit.ts';
import { t0 } from '../support/phone.ts';
import { android, pushedMotions, pushedMove } from '../support/pushes.ts';
import { leaseOn, putDocument } from '../support/store.ts';
import type { Untyped } from '../support/untyped.ts';
import { freshProgram, type Program, setStage } from './kit.ts';

const day = '2024-03-12';
const [ada, ben] = ['sim-t-1@example.org', 'sim-t-2@example.org'];

/** A store with two people and a day of each, through the pipeline. */
async function prepared(): Promise<Program> {
  const program = await freshProgram();
  await program.run(['simulate', '--users', '2', '--from', day, '--seed', 't']);
  const { code, stderr } = await program.run(['pipeline', '--all']);
  expect([code, stderr]).toEqual([0, '']);
  return program;
}

let shared: Program;
beforeAll(async () => {
  shared = await prepared();
});

/** Every line of every log file, compressed or not. */
async function allLogs({ address }: Program): Promise<string> {
  const folder = join(address, 'logs');
  const files = await readdir(folder, { withFileTypes: true });
  const texts = files
    .filter((file) => file.isFile())
    .map(async ({ name }) => {
      const bytes = await readFile(join(folder, name));
      return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    });
  return (await Promise.all(texts)).join('');
}

const uuidOf = ({ withStore }: Program, name: string): Promise<string> =>
  withStore(async (store) => (await store.users.byEmail(name))!.uuid);

describe('pipeline', () => {
  it('reports the stages of all users together, and reports a run without new entries', async () => {
    const { run } = await freshProgram();
    await run(['simulate', '--users', '2', '--from', day, '--seed', 't']);
    const first = await run(['pipeline', '--all']);
    expect(first.stdout).toMatch(/^ {2}move to long term +\d+\.\d\d s {2}moved 1,\d{3}, inserted/);
    expect(first.stdout).toMatch(
      /\n2 users: 2 done, 0 with nothing new, 1,\d{3} entries, \d days changed, in \d+\.\d\d s\nlongest: sim-t-[12]@example.org, \d+\.\d\d s\n$/,
    );
    const second = await run(['pipeline', '--all']);
    expect([second.code, second.stdout]).toEqual([
      0,
      expect.stringMatching(/^2 users: nothing new, nothing written, in /),
    ]);
    const one = await run(['pipeline', '--user', ada]);
    expect(one.stdout).toMatch(/^sim-t-1@example.org \(.{36}\): nothing new, nothing written\n$/);
  });

  it('ends with the failed user, the reason and the remedy, and with --quiet prints nothing else', async () => {
    const { run, address, withStore } = await freshProgram();
    await run(['simulate', '--users', '3', '--from', day, '--seed', 't']);
    const [broken] = await withStore((store) => store.users.list({ limit: 1 }));
    changeRow(address, broken!.uuid, ['batches', 'entries'], garbage);
    const reason = `${broken!.user_email} \\(${broken!.uuid}\\): failed.*: .*\n`;
    const next = `next: mobility doctor --user ${broken!.user_email}\n$`;
    const { code, stdout } = await run(['pipeline', '--all']);
    expect([code, stdout]).toEqual([
      3,
      expect.stringMatching(
        new RegExp(
          `\n3 users: 2 done, 0 with nothing new, 1 failed, [\\d,]+ entries, 2 days changed, in .*\nlongest: .* s\n${reason}(?: .*\n)*${next}`,
        ),
      ),
    ]);
    const quiet = await run(['pipeline', '--all', '--quiet']);
    expect([quiet.code, quiet.stdout]).toEqual([3, expect.stringMatching(new RegExp(`^${reason}(?: .*\n)*${next}`))]);
    expect((await run(['pipeline', '--all', '--json'])).json()).toMatchObject({
      failures: [{ user_email: broken!.user_email, message: expect.any(String) }],
      next: [`mobility doctor --user ${broken!.user_email}`],
    });
    await run(['erase', '--user', broken!.user_email, '--yes']);
    expect(await run(['pipeline', '--all', '--quiet'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it('names the holder of the lease when another run holds the user', async () => {
    const { run, withUser, refuse } = await freshProgram();
    await run(['simulate', '--users', '1', '--from', day, '--seed', 't']);
    await withUser(ada, (store, uuid) => store.leases.acquire(uuid, 'another run', 60));
    await refuse(['pipeline', '--user', ada], /MOBILITY_LEASE_HELD: .*another run/, { code: 1 });
  });
});

describe('days', () => {
  it('lists every day with trips, observed time and flags, or only those with flags', async () => {
    const { run, withUser } = await prepared();
    const one = ['days', '--user', ada];
    expect((await run(one)).stdout).toMatch(
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
    const { days } = (await run(['days', '--all', '--flagged', '--json'])).json<{ days: Untyped[] }>();
    expect(days).toMatchObject([{ user_email: ada, day, flags: ['label_contradicts'], flagged: [{ of: 'trip' }] }]);
    expect(days[0].observed_s + days[0].silent_s + days[0].off_s).toBeCloseTo(86_400, 3);
  });
});

describe('diary', () => {
  it('shows times, places, modes and distances within 80 columns', async () => {
    const { code, stdout, stderr } = await shared.run(['diary', '--user', ada, '--day', day]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^sim-t-1@example.org {2}Tuesday 12 March 2024 {2}[A-Z]\w+\/\w+/);
    expect(stdout).toMatch(/\n {2}07:\d\d {2}● A {2}-?\d+\.\d{4}, -?\d+\.\d{4}\n/);
    expect(stdout).toMatch(/│ 07:\d\d-0[78]:\d\d {2}(walking|on foot) +\d{3} m {2}\d+ min\n/);
    expect(stdout).toMatch(/\d trips, \d+\.\d km( \(.* estimated\))?, .* on the way\n/);
    for (const line of stdout.split('\n')) expect([...line].length).toBeLessThanOrEqual(80);
  });

  it('prints with --json the trips as phones read them, and with --geojson flat features', async () => {
    const { run, folder } = shared;
    const { trips } = (await run(['diary', '--user', ada, '--day', day, '--json'])).json<{
      trips: { type: string; features: unknown[] }[];
    }>();
    expect(trips.length).toBeGreaterThan(2);
    expect(trips.every((trip) => trip.type === 'FeatureCollection')).toBe(true);
    const file = join(folder, 'day.geojson');
    expect((await run(['diary', '--user', ada, '--day', day, '--geojson', file])).code).toBe(0);
    const flat = JSON.parse(await readFile(file, 'utf8')) as { features: { type: string }[] };
    expect(flat.features.every((feature) => feature.type === 'Feature')).toBe(true);
    const piped = await run(['diary', '--user', ada, '--day', day, '--geojson', '-']);
    expect(piped.json()).toEqual(flat);
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
    await refuse(
      ['diary', '--user', ada, '--all-days', '--html', file],
      `cannot create the folder ${file}: it is a file`,
    );
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
    const other = await shared.run(['diary', '--user', ada, '--day', '2024-03-20']);
    expect([other.stdout, other.stderr]).toEqual([
      expect.stringContaining('no trips'),
      expect.stringMatching(/from 2024-03-12 to 2024-03-12/),
    ]);
  });
});

describe('status', () => {
  it('counts the trips of all users as an export does, without dropped ones', async () => {
    const { run, withStore, withUser } = await freshProgram('eve');
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
    const rows = await withStore(async (store) => store.counts((await store.users.byEmail('eve'))!.uuid));
    expect(rows.trips).toBe(1);
    const [eve] = (await run(['users', 'list', '--counts', '--json'])).json<{ users: JsonObject[] }>().users;
    expect(eve).toMatchObject({ trips: 0 });
  });

  it('shows no place of a user, by name and by UUID', async () => {
    const { run } = shared;
    const result = await run(['doctor', '--user', ada, '--json']);
    const { user_id: uuid, ...stand } = result.json<Record<string, JsonObject>>();
    expect(stand).toMatchObject({
      user_email: ada,
      state: 'in_order',
      waiting: { count: 0 },
      set_aside: [],
      lease: null,
    });
    expect(stand.chain!.final).toMatchObject({ phone_ts: expect.any(Number) });
    expect(result.stdout).not.toMatch(/"observed"|longitude|coordinates/);
    const { stdout } = await run(['doctor', '--user', String(uuid)]);
    for (const link of ['registered', 'stored', 'located', 'final'])
      expect(stdout).toMatch(new RegExp(`^ok +${link} `, 'm'));
  });

  it('shows times beyond the calendar as numbers', async () => {
    const { run, withUser } = await freshProgram('ada');
    await withUser('ada', (store, uuid) =>
      store.usercache.put(uuid, { entries: [refusedEntry(1e300) as never], unusable: [] }, 1.7e9),
    );
    expect((await run(['doctor', '--user', 'ada'])).stdout).toMatch(/moved .*pending 1, 1 of them for a later time/);
    expect((await run(['users', 'list', '--counts'])).stdout).toMatch(/ +1 +0 +0\n/);
    expect((await run(['export', '--user', 'ada', '--entries', '--from', day])).stdout).toBe('');
  });

  it('shows after an upgrade how many people and days the new analysis will derive again, as does a run at its start', async () => {
    const program = await freshProgram();
    const { run, withStore } = program;
    await run(['simulate', '--users', '2', '--days', '2', '--from', '2024-03-01', '--seed', 't']);
    await run(['pipeline', '--all']);
    const outdate = () =>
      withStore(async (store) => {
        for (const { uuid } of await store.users.list({ limit: 9 })) {
          const lease = await leaseOn(store, uuid);
          await store.pipeline.merge(uuid, { analysis_version: 'older' }, lease);
          await store.leases.release(lease);
        }
      });
    await outdate();
    const waits = (of: string) => `the analysis changed: this run derives the trips of ${of} again\n`;
    expect((await run(['status'])).stdout).toContain(
      'the analysis changed: the next run derives the trips of 4 days of 2 people again; preview: `mobility rebuild --all --dry-run`',
    );
    expect((await run(['status', '--json'])).json().run).toMatchObject({
      outdated: 2,
      outdated_days: 4,
      with_work: 2,
    });
    const one = await run(['pipeline', '--user', 'sim-t-1@example.org']);
    expect(one.stderr).toEqual(waits('2 days of 1 person'));
    const all = await run(['pipeline', '--all']);
    expect([all.stderr, all.stdout]).toEqual([waits('2 days of 1 person'), expect.stringContaining('1 done')]);
    expect((await run(['pipeline', '--all'])).stderr).toBe('');
    expect((await run(['status'])).stdout).not.toContain('the analysis changed');
  });

  it('prints a summary of all users', async () => {
    const all = (await shared.run(['status', '--json'])).json();
    expect(all).toMatchObject({
      people: { all: 2, in_order: 2 },
      set_aside: [],
      run: { waiting: 0, with_work: 0, at_work: [] },
    });
    expect((await shared.run(['status'])).stdout).toMatch(/^people +2: 2 in order\nrejected +nothing\n/);
  });
});

/** An entry that no converter takes. */
const refusedEntry = (writeTs: number): JsonObject => ({
  metadata: { key: 'background/location', write_ts: writeTs, platform: 'android', time_zone: 'UTC', type: 'message' },
  data: { ts: writeTs },
});

describe('recover-errors', () => {
  it('exits with 0 without errors, with 3 while some remain, and changes nothing in a dry run', async () => {
    const { run, withUser } = await freshProgram('ada');
    expect((await run(['recover-errors'])).stdout).toBe('no errors\n');
    await withUser('ada', (store, uuid) =>
      store.usercache.put(uuid, { entries: [refusedEntry(1.7e9) as never], unusable: [] }, 1.7e9),
    );
    expect((await run(['pipeline', '--user', 'ada'])).code).toBe(0);
    const dry = await run(['recover-errors', '--dry-run']);
    expect([dry.code, dry.stdout]).toEqual([
      0,
      expect.stringMatching(/^ada: 1 error retried, 0 would be recovered; there are:\n {2}1 {2}background\/location/),
    ]);
    const wet = await run(['recover-errors', '--user', 'ada', '--json']);
    expect([wet.code, wet.json()]).toEqual([
      3,
      { users: [expect.objectContaining({ user_email: 'ada', tried: 1, recovered: 0 })] },
    ]);
    expect((await run(['doctor', '--user', 'ada'])).stdout).toMatch(/converted .*rejected 1/);
  });

  it('retries no error if none has the given key or reason, and lists the present errors', async () => {
    const { run, withUser } = await freshProgram('ada');
    await withUser('ada', (store, uuid) =>
      store.usercache.put(uuid, { entries: [], unusable: [{ entry: 'x', reason: 'shape', message: 'm' }] }, 1),
    );
    const wrong = await run(['recover-errors', '--key', 'manual/survey', '--reason', 'wrong_type']);
    expect([wrong.code, wrong.stdout]).toEqual([
      3,
      'ada: 0 errors retried, 0 recovered; these remain:\n  1  (no key)  shape\n',
    ]);
    expect((await run(['recover-errors', '--reason', 'shape'])).stdout).toMatch(/^ada: 1 error retried/m);
  });

  it('names the command that lists the keys if a mistyped flag selects no entry, as errors and export do', async () => {
    const { run } = await freshProgram('ada');
    const shown = async (...args: string[]) => {
      const { stdout, stderr } = await run(args);
      return stdout + stderr;
    };
    const listed = /^0 entries matched: `mobility errors` without these flags lists /;
    expect(await shown('recover-errors', '--reason', 'shap')).toMatch(listed);
    expect(
      await shown('recover-errors', '--key', 'manual/survay', '--remove-before', 'today', '--user', 'ada'),
    ).toMatch(listed);
    expect(await shown('errors', '--key', 'manual/survay')).toMatch(listed);
    expect(await shown('export', '--user', 'ada', '--entries', '--key', 'manual/survay')).toBe(
      '0 entries matched: docs/keys.md lists the keys\n',
    );
  });

  it('removes errors before a day on request, of named users only', async () => {
    const { run, withUser } = await freshProgram('ada');
    await withUser('ada', async (store, uuid) => {
      const unusable = ['x', 'y'].map((entry) => ({ entry, reason: 'shape', message: 'm' }));
      await store.usercache.put(uuid, { entries: [], unusable }, Date.parse('2024-03-02T12:00:00Z') / 1000);
    });
    const remove = (day: string, ...flags: string[]) => run(['recover-errors', '--remove-before', day, ...flags]);
    expect((await remove('2024-03-03')).code).toBe(2);
    expect((await remove('2024-03-02', '--all')).stdout).toBe('no errors\n');
    expect((await remove('2024-03-03', '--all', '--dry-run')).stdout).toBe('ada: 2 errors would be removed\n');
    expect((await remove('2024-03-03', '--user', 'ada', '--json')).json()).toMatchObject({ users: [{ removed: 2 }] });
    expect((await run(['recover-errors'])).stdout).toBe('no errors\n');
  });

  it('shows unknown keys of phones in one line each, without control characters', async () => {
    const { run, withUser } = await freshProgram('ada');
    await withUser('ada', async (store, uuid) => {
      const unusable = ['', 'red\u001b[31m\nben: 0 errors retried'].map((key) => {
        return { entry: { metadata: { key } }, reason: 'shape', message: 'm' };
      });
      await store.usercache.put(uuid, { entries: [], unusable }, 1);
    });
    const listed =
      '  1  ""                                      shape\n  1  "red\\u001b[31m\\nben: 0 errors retried"  shape\n';
    const all = await run(['recover-errors', '--dry-run']);
    expect(all.stdout).toBe(`ada: 2 errors retried, 0 would be recovered; there are:\n${listed}`);
    const none = await run(['recover-errors', '--key', 'manual/survey', '--dry-run']);
    expect(none.stdout).toBe(`ada: 0 errors retried, 0 would be recovered; there are:\n${listed}`);
    const shown = /("red.*")/.exec(all.stdout)![1]!;
    for (const key of [shown, JSON.parse(shown)]) {
      const one = await run(['recover-errors', '--key', key, '--dry-run']);
      expect(one.stdout).toMatch(/^ada: 1 error retried/);
    }
  });

  it('refuses an empty key or reason, which would select every error', async () => {
    const { run } = await freshProgram('ada');
    for (const flag of ['--key', '--reason']) {
      const { code, stdout, stderr } = await run(['recover-errors', flag, '']);
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining('Expected a text that is not empty')]);
    }
  });

  it('continues with the other users when another process holds one user', async () => {
    const { run, withStore } = await freshProgram();
    await withStore(async (store) => {
      for (const name of ['ada', 'ben']) {
        const { user } = await store.users.register(name, { now: 1 });
        await store.usercache.put(
          user.uuid,
          { entries: [], unusable: [{ entry: name, reason: 'shape', message: 'no entry' }] },
          1,
        );
        if (name === 'ada') await store.leases.acquire(user.uuid, 'another run', 60);
      }
    });
    const { code, json } = await run(['recover-errors', '--json']);
    expect(code).toBe(3);
    const reports = json<{ users: { user_email: string; failure?: string; tried: number }[] }>().users;
    expect(reports.find((report) => report.user_email === 'ada')!.failure).toMatch(/another run/);
    expect(reports.find((report) => report.user_email === 'ben')!.tried).toBe(1);
  });
});

it('purge-keys shows which documents it would remove and why, then removes documents only', async () => {
  const program = await prepared();
  const { run, withStore } = program;
  const uuid = await uuidOf(program, ada);
  await withStore((store) => putDocument(store, uuid, { key: 'common-trips', write_ts: 1, data: {} }));
  const before = await withStore((store) => store.counts(uuid));
  const dry = await run(['purge-keys', '--all', '--dry-run']);
  expect([dry.stdout, dry.stderr]).toEqual([
    'sim-t-1@example.org  common-trips  not in the list of valid keys\n',
    '1 document would be removed\n',
  ]);
  expect((await run(['purge-keys', '--user', ada, '--json'])).json()).toEqual({
    users: [expect.objectContaining({ user_email: ada, obsolete: [{ key: 'common-trips', why: expect.any(String) }] })],
  });
  expect(await withStore((store) => store.counts(uuid))).toEqual({ ...before, documents: before.documents - 1 });
});

it('a preview of a rebuild lists changed days in a file, and refuses one that exists', async () => {
  const { run, folder } = shared;
  const csv = join(folder, 'changes.csv');
  const preview = ['rebuild', '--all', '--sample', '1', '--dry-run', '--csv', csv];
  expect((await run(preview)).stdout).toMatch(/^1 user, nothing written, in .*\nwould change: 0 days of 0 users/);
  expect(await readFile(csv, 'utf8')).toMatch(/^user_id,user_email,day,added,removed,changed,mode,.*\n$/);
  expect(await run(preview)).toMatchObject({ code: 2, stderr: expect.stringContaining('already exists') });
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

it('rebuild --zone takes only people with trips in that zone', async () => {
  const users = async (zone: string) =>
    (await shared.run(['rebuild', '--all', '--zone', zone, '--dry-run', '--json'])).json().users;
  const { stdout } = await shared.run(['diary', '--user', ada, '--day', day, '--json']);
  expect(await users(/"timezone":"([^"]+)"/.exec(stdout.replace(/\s/g, ''))![1]!)).toBeGreaterThan(0);
  expect(await users('Pacific/Auckland')).toBe(0);
});

it('rebuild of an unchanged diary changes nothing', async () => {
  const { code, stdout } = await shared.run(['rebuild', '--user', ada, '--from', day]);
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(
      /^1 user, derived again, in .*\nchanged: 0 days of 0 users: 0 trips added, 0 removed, 0 changed\n$/,
    ),
  ]);
});

describe('export', () => {
  it('has every error, for any number of reads, and leaves no partial file', async () => {
    const { run, folder, withUser } = await freshProgram('ada');
    const unusable = Array.from({ length: 2101 }, (_, n) => ({
      entry: { n },
      reason: 'no_metadata' as const,
      message: 'none',
    }));
    await withUser('ada', (store, uuid) => store.usercache.put(uuid, { entries: [], unusable }, 1));
    const out = join(folder, 'out');
    expect((await run(['export', '--user', 'ada', '--out', out])).code).toBe(0);
    const lines = (await readFile(join(out, 'errors.jsonl'), 'utf8')).trimEnd().split('\n');
    expect(new Set(lines).size).toBe(2101);
    expect((await readdir(out)).filter((name) => /part|draft|tmp/.test(name))).toEqual([]);
  });

  it('refuses a format for entries, and names the flags that tables need', async () => {
    const { run } = await freshProgram('ada');
    const refusal = async (...flags: string[]) =>
      (await run(['export', '--user', 'ada', '--entries', ...flags])).stderr;
    expect(await refusal('--format', 'csv')).toMatch(/option '--format.*cannot be used with option '--entries'/);
    expect(await refusal('--coarse', '500')).toContain('expected --format and --out with --coarse');
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
    const { run, folder } = shared;
    const out = join(folder, 'export');
    const { code, json } = await run(['export', '--user', ada, '--out', out, '--json']);
    const { counts } = json<{ counts: Record<string, number> }>();
    expect(code).toBe(0);
    const lines = async (name: string) =>
      (await readFile(join(out, name), 'utf8')).split('\n').filter((line) => line !== '');
    expect((await lines('entries.jsonl')).length).toBe(counts['entries.jsonl']);
    expect(JSON.parse((await lines('entries.jsonl'))[0]!)).toHaveProperty('metadata.write_ts');
    expect(JSON.parse((await lines('documents.jsonl'))[0]!)).toHaveProperty('key', `diary/trips-${day}`);
    expect(JSON.parse(await readFile(join(out, 'user.json'), 'utf8'))).toMatchObject({
      user_email: ada,
      profile: { last_put_ts: expect.any(Number) },
    });
    const trips = JSON.parse(await readFile(join(out, 'trips.geojson'), 'utf8')) as { features: { id: string }[] };
    expect(new Set(trips.features.map(({ id }) => id)).size).toBe(trips.features.length);
    expect((await stat(out)).mode & 0o77).toBe(0);
    expect((await stat(join(out, 'entries.jsonl'))).mode & 0o77).toBe(0);
  });

  it('selects by key and local day, both days included', async () => {
    const { run } = await freshProgram();
    await run(['simulate', '--users', '1', '--days', '3', '--from', day, '--seed', 't']);
    const entries = async (...flags: string[]) => {
      const { stdout } = await run(['export', '--user', ada, '--entries', ...flags]);
      return stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { metadata: { key: string } });
    };
    const all = await entries();
    const [first, rest] = [await entries('--to', day), await entries('--from', '2024-03-13', '--to', '2024-03-14')];
    expect(first.length + rest.length).toBe(all.length);
    expect(first.length).toBeGreaterThan(100);
    const keys = new Set(
      (await entries('--key', 'background/battery', '--key', 'config/consent')).map(({ metadata }) => metadata.key),
    );
    expect([...keys].sort()).toEqual(['background/battery', 'config/consent']);
  });

  it('exports the one day that is --from and --to, and refuses a --to before it', async () => {
    const { run, refuse } = await prepared();
    const tripsOf = (from: string, to: string) => run(['export', '--user', ada, '--trips', '--from', from, '--to', to]);
    expect((await tripsOf(day, day)).json<{ features: object[] }>().features.length).toBeGreaterThan(0);
    const { code, stderr } = await tripsOf(day, '2024-03-11');
    expect([code, stderr]).toEqual([
      2,
      `mobility: MOBILITY_USAGE: expected a day in --to that is not before --from, found --from ${day} and --to 2024-03-11\n`,
    ]);
    await refuse(
      ['report', '--from', '2024-03', '--to', '2024-02'],
      'expected a month in --to that is not before --from, found',
    );
  });

  it('exports a user without data, and refuses contradicting flags', async () => {
    const { run } = await freshProgram('eve');
    expect((await run(['export', '--user', 'eve', '--trips'])).json()).toEqual({
      type: 'FeatureCollection',
      features: [],
    });
    for (const flags of [[], ['--entries', '--trips'], ['--trips', '--from', day, '--to', '2024-01-01']]) {
      expect((await run(['export', '--user', 'eve', ...flags])).code).toBe(2);
    }
  });
});

interface ErasureReceipt {
  users: { user_email: string; uuid: string; removed: Record<string, number>; remaining: Record<string, number> }[];
  failed: { user_email: string; message: string }[];
  logs: { lines: number; left: unknown[] };
}

it('explain shows from when on a day is a draft, and what makes it final', async () => {
  const { run } = await freshProgram();
  await run(['simulate', '--users', '1', '--days', '2', '--from', '2024-03-01', '--seed', 'r']);
  await run(['pipeline', '--all']);
  const explained = (of: string) => run(['explain', '--user', 'sim-r-1@example.org', '--day', of]);
  expect((await explained('2024-03-01')).stdout).not.toContain('draft');
  expect((await explained('2024-03-02')).stdout).toMatch(
    /\ndraft since 2 March \d\d:\d\d: .*; it becomes final when the next trip, or one after it, has ended\n$/,
  );
});

describe('erase', () => {
  it('erases the members of a study, several users, or the names in a file, and no others', async () => {
    const program = await freshProgram();
    const { run, folder, withStore } = program;
    await run(['study', 'create', 'sunny']);
    await run(['study', 'tokens', 'sunny', '--count', '3']);
    for (const name of ['ada', 'ben', 'cem', 'dan']) await run(['users', 'add', name]);
    const file = join(folder, 'names.txt');
    await writeFile(file, 'cem\n\nada\n');
    const study = await run(['erase', '--study', 'sunny', '--yes', '--json']);
    expect([study.code, study.json<ErasureReceipt>().users.length]).toEqual([0, 3]);
    const several = await run(['erase', '--user', 'ben', '--user', 'eve', '--file', file], { tty: true, stdin: '4\n' });
    expect([several.code, several.stdout]).toEqual([0, expect.stringMatching(/nothing left of eve\nerased cem\n/)]);
    expect(several.stderr).toContain('eve is not registered: check the spelling');
    const left = await withStore((store) => store.users.list({ limit: 10 }));
    expect(left.map(({ user_email }) => user_email)).toEqual(['dan']);
    expect(await allLogs(program)).toMatch(/Erased 3 users: \d+ rows\n/);
    const none = await run(['erase', '--study', 'suny', '--yes']);
    expect([none.code, none.stderr]).toEqual([2, expect.not.stringContaining('nothing is left')]);
    expect((await run(['erase', '--yes'])).stderr).toContain('expected --user NAME, --study NAME or --file FILE');
  });

  it('of several users skips one whom another process holds, and ends with 3', async () => {
    const { run, withUser } = await freshProgram('ada', 'ben', 'cem');
    await withUser('ben', (store, uuid) => store.leases.acquire(uuid, 'a pipeline', 60));
    const names = ['--user', 'ada', '--user', 'ben', '--user', 'cem'];
    const { code, json } = await run(['erase', ...names, '--yes', '--json']);
    expect([code, json<ErasureReceipt>().failed]).toEqual([
      3,
      [expect.objectContaining({ user_email: 'ben', message: expect.stringContaining('a pipeline works') })],
    ]);
    expect(json<ErasureReceipt>().users.map(({ user_email }) => user_email)).toEqual(['ada', 'cem']);
  });

  it('removes all data of one user, proves it, and changes no other user', async () => {
    const program = await prepared();
    const { run, withStore } = program;
    const [uuid, other] = [await uuidOf(program, ada), await uuidOf(program, ben)];
    await run(['users', 'token', ada]);
    await withStore((store) => store.profiles.merge(uuid, { curr_platform: 'android' }));
    const before = await withStore((store) => store.counts(other));
    const { code, json } = await run(['erase', '--user', ada, '--yes', '--json']);
    const receipt = json<ErasureReceipt>();
    expect(code).toBe(0);
    expect(receipt.users).toMatchObject([{ user_email: ada, user_id: uuid }]);
    const { removed, remaining } = receipt.users[0]!;
    expect(Object.keys(removed).sort()).toEqual([...collections].sort());
    for (const name of ['users', 'tokens', 'profiles', 'documents', 'timeseries', 'trips'])
      expect([name, removed[name]! > 0]).toEqual([name, true]);
    expect(Object.values(remaining).every((count) => count === 0)).toBe(true);
    expect(await withStore((store) => store.counts(other))).toEqual(before);
    const logged = await allLogs(program);
    expect(logged).not.toContain(uuid);
    expect(logged).not.toContain(ada);
    expect(logged).toContain(other);
    expect(receipt.logs.lines).toBeGreaterThan(0);
    expect(receipt.logs.left).toEqual([]);
  });

  it('asks for confirmation, and without a terminal needs --yes', async () => {
    const { withStore, refuse } = await freshProgram('ada');
    await refuse(['erase', '--user', 'ada'], 'add --yes');
    expect(await withStore((store) => store.users.byEmail('ada'))).not.toBeNull();
  });

  it('erases only if the typed text is the name', async () => {
    const { run, withStore, refuse } = await freshProgram('ada');
    const { uuid } = (await withStore((store) => store.users.byEmail('ada')))!;
    const unusable = ['x', 'y', 'z'].map((entry) => ({ entry, reason: 'not_an_object', message: 'found a text' }));
    await withStore((store) => store.usercache.put(uuid, { entries: [], unusable }, 1));
    const wrong = await refuse(['erase', '--user', 'ada'], 'nothing was erased', { tty: true, stdin: 'yes\n' });
    expect(wrong.stderr).toContain('This removes ada and 4 rows permanently.');
    expect((await run(['erase', '--user', 'ada'], { tty: true, stdin: '' })).code).toBe(2);
    const erased = await run(['erase', '--user', 'ada'], { tty: true, stdin: 'ada\n' });
    expect([erased.code, erased.stdout]).toEqual([0, expect.stringMatching(/COLLECTION +REMOVED +LEFT\n/)]);
    expect(erased.stdout).toMatch(/errors +3 +0\n/);
    expect(await withStore((store) => store.users.byEmail('ada'))).toBeNull();
  });

  it('does not wait for a lease: a user whom another process holds is not erased', async () => {
    const program = await prepared();
    const uuid = await uuidOf(program, ada);
    await program.withStore((store) => store.leases.acquire(uuid, 'a pipeline', 60));
    await program.refuse(['erase', '--user', ada, '--yes'], /MOBILITY_LEASE_HELD: a pipeline works/, { code: 1 });
    expect((await program.withStore((store) => store.counts(uuid))).trips).toBeGreaterThan(0);
  });

  it('completes an erasure that was killed, and until then status names the user', async () => {
    const program = await freshProgram();
    const { user_id: uuid } = (await program.run(['users', 'add', 'ada', '--json'])).json<{ user_id: string }>();
    await program.withStore((store) => store.leases.acquire(uuid, 'erase', 300));
    await setStage(program.address, uuid, 'erasing');
    expect((await program.run(['status'])).stdout).toContain(`${uuid}: repeat the \`mobility erase\``);
    expect((await program.run(['users', 'add', 'ada'])).code).toBe(1);
    const { code, stderr } = await program.run(['erase', '--user', 'ada', '--yes']);
    expect([code, stderr]).toEqual([0, '']);
    expect((await program.run(['users', 'list', '--json'])).json()).toEqual({ users: [] });
  });
});

describe('backup', () => {
  it('refuses the folder of the store and any in it, also behind a link, and writes nothing', async () => {
    const { run, address, folder, refuse } = await freshProgram('ada');
    await mkdir(join(address, 'empty'));
    await symlink(address, join(folder, 'link'));
    const before = await readdir(address);
    for (const way of ['.', 'empty', 'new', 'logs/a/b', '../link/new']) {
      const { code, stdout, stderr } = await run(['backup', join(address, way)]);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/MOBILITY_STORE_ADDRESS: expected a folder outside the store .*: name another folder/);
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
    const diary = async (address?: string) =>
      (await run(['diary', '--user', ada, '--day', day, ...(address === undefined ? [] : ['--store', address])]))
        .stdout;
    expect(await diary(copy)).toBe(await diary());
  });

  it('refuses a folder with files in it, a missing store, and MongoDB', async () => {
    const { run, folder, refuse } = shared;
    const full = join(folder, 'full');
    await mkdir(full);
    await writeFile(join(full, 'x'), '');
    expect((await run(['backup', full])).code).toBe(2);
    expect((await run(['backup', join(folder, 'new'), '--store', join(folder, 'none')])).code).toBe(2);
    await refuse(['backup', join(folder, 'new'), '--store', 'mongodb://localhost/x'], 'MOBILITY_UNSUPPORTED', {
      code: 1,
    });
  });
});

describe('simulate', () => {
  it('pushes the same entries again without adding any', async () => {
    const { run } = await freshProgram();
    const args = 'simulate --users 2 --days 2 --seed x --platform ios --json --from'.split(' ').concat(day);
    const first = (await run(args)).json<{ to: string; users: { platform: string; entries: number; new: number }[] }>();
    expect(first.to).toBe('2024-03-13');
    for (const { platform, entries, new: fresh } of first.users) expect([platform, fresh]).toEqual(['ios', entries]);
    const second = (await run(args)).json<{ users: { new: number }[] }>();
    expect(second.users.map((user) => user.new)).toEqual([0, 0]);
  });

  it('ends yesterday by default', async () => {
    const { run } = await freshProgram();
    const result = await run(['simulate', '--users', '1', '--days', '2', '--json'], { now: 1_710_288_000 });
    expect(result.json()).toMatchObject({ from: '2024-03-11', to: '2024-03-12' });
  });
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
    const shown = (await run(['config', '--json', '--log-dir', 'here'], { env: { MOBILITY_PORT: '9000' } })).json<{
      settings: { variable: string; value: unknown; source: string }[];
    }>().settings;
    const of = (variable: string) => shown.find((setting) => setting.variable === variable);
    expect(of('MOBILITY_PORT')).toMatchObject({ value: 9000, source: 'variable' });
    expect(of('MOBILITY_LOG_DIR')).toMatchObject({ value: 'here', source: 'flag' });
    expect(of('MOBILITY_HOST')).toMatchObject({ value: '127.0.0.1', source: 'default' });
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
