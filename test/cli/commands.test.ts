// The commands around the pipeline: on simulated days, through the command line as people type it.
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { putBatch } from '../../src/intake/put-batch.ts';
import type { UserRecord } from '../../src/model/user.ts';
import type { Store } from '../../src/store/store.ts';
import { changeRow, garbage } from '../faults/kit.ts';
import { correction } from '../support/corrections.ts';
import { put } from '../support/diary.ts';
import { t0 } from '../support/phone.ts';
import { android, pushedMotions, pushedMove } from '../support/pushes.ts';
import { leaseOn, putDocument } from '../support/store.ts';
import type { Untyped } from '../support/untyped.ts';
import { freshProgram, type Program, putRejected, simulatedProgram } from './kit.ts';

const day = '2024-03-12';
const ada = 'sim-t-1@example.org';

/** A store with two people and a day of each, through the pipeline. */
const prepared = () => simulatedProgram(`--users 2 --from ${day} --seed t`);

let shared: Program;
beforeAll(async () => {
  shared = await prepared();
});

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');
const diaryOf = (name: string, on = day): string => `diary --user ${name} --day ${on}`;

describe('pipeline', () => {
  it('reports the stages of all users together, and reports a run without new entries', async () => {
    const { run, show } = await freshProgram();
    await run(`simulate --users 2 --from ${day} --seed t`);
    const { stdout } = await show('pipeline --all', /^ {2}move to long term +\d+\.\d\d s {2}moved 1,\d{3}, inserted/);
    const counts = /\n2 users: 2 done, 0 with nothing new, 1,\d{3} entries, \d days changed, in \d+\.\d\d s\n/;
    expect(stdout).toMatch(new RegExp(`${counts.source}longest: sim-t-[12]@example.org, \\d+\\.\\d\\d s\\n$`));
    await show('pipeline --all', /^2 users: nothing new, nothing written, in /);
    await show(`pipeline --user ${ada}`, /^sim-t-1@example.org \(.{36}\): nothing new, nothing written\n$/);
  });

  it('ends with the failed user, the reason and the remedy, and with --quiet prints nothing else', async () => {
    const { run, show, json, address, withStore } = await freshProgram();
    await run(`simulate --users 3 --from ${day} --seed t`);
    const [{ uuid, user_email }] = (await withStore((store) => store.users.list({ limit: 1 }))) as [UserRecord];
    changeRow(address, uuid, ['batches', 'entries'], garbage);
    const next = `mobility doctor --user ${user_email}`;
    const failure = `${user_email} \\(${uuid}\\): failed.*: .*\n(?: .*\n)*next: ${next}\n$`;
    const counts = '\n3 users: 2 done, 0 with nothing new, 1 failed, [\\d,]+ entries, 2 days changed, in .*\n';
    await show('pipeline --all', new RegExp(`${counts}longest: .* s\n${failure}`), { code: 3 });
    await show('pipeline --all --quiet', new RegExp(`^${failure}`), { code: 3 });
    const failures = [{ user_email, message: expect.any(String) }];
    expect(await json('pipeline --all')).toMatchObject({ failures, next: [next] });
    await run(`erase --user ${user_email} --yes`);
    expect(await run('pipeline --all --quiet')).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it('and an erasure name the holder of the lease when another run holds the user, and change nothing', async () => {
    const { run, withUser, refuse } = await freshProgram();
    await run(`simulate --users 1 --from ${day} --seed t`);
    const counts = () => withUser(ada, (store, uuid) => store.counts(uuid));
    const before = await counts();
    await withUser(ada, (store, uuid) => store.leases.acquire(uuid, 'another run', 60));
    for (const command of ['pipeline', 'erase --yes'])
      await refuse(`${command} --user ${ada}`, /MOBILITY_LEASE_HELD: .*another run/, { code: 1 });
    expect(await counts()).toEqual(before);
  });
});

describe('days', () => {
  it('lists every day with trips, observed time and flags, or only those with flags', async () => {
    const { run, show, json, withUser } = await prepared();
    const shown = /^ {2}2024-03-12 {2}\d trips {2}\d+\.\d km {2}observed \d+ h \d\d min\n/m;
    expect((await show(`days --user ${ada}`, shown)).stdout).toMatch(/^sim-t-1@example.org {2}[A-Z]\w+\/\w+\n/);
    const trips = await withUser(ada, (store, uuid) => store.trips.byDay(uuid, { from: day, to: day }));
    const { id, sections } = trips[0]!.trip!;
    const ride = sections.find(({ sensed_mode }) => !sensed_mode.endsWith('WALKING'))!;
    // A correction counts before a label.
    await run(`label --user ${ada} --trip ${id} --mode bike`);
    const isTrain = correction(ride.end_ts, { kind: 'mode', ts: ride.start_ts + 1, mode: 'train' });
    await withUser(ada, (store, uuid) => put(store, uuid, [isTrain]));
    const flagged = /\n {4}\d\d:\d\d-\d\d:\d\d trip: label contradicts\n$/;
    expect((await show(`days --user ${ada} --flagged`, flagged)).stderr).toBe('1 day with flags\n');
    const { days } = await json('days --all --flagged');
    expect(days).toMatchObject([{ user_email: ada, day, flags: ['label_contradicts'], flagged: [{ of: 'trip' }] }]);
    expect(days[0].observed_s + days[0].silent_s + days[0].off_s).toBeCloseTo(86_400, 3);
  });
});

describe('diary', () => {
  it('shows times, places, modes and distances within 80 columns', async () => {
    const title = /^sim-t-1@example.org {2}Tuesday 12 March 2024 {2}[A-Z]\w+\/\w+/;
    const { stdout, stderr } = await shared.show(diaryOf(ada), title);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/\n {2}07:\d\d {2}● A {2}-?\d+\.\d{4}, -?\d+\.\d{4}\n/);
    expect(stdout).toMatch(/│ 07:\d\d-0[78]:\d\d {2}(walking|on foot) +\d{3} m {2}\d+ min\n/);
    expect(stdout).toMatch(/\d trips, \d+\.\d km( \(.* estimated\))?, .* on the way\n/);
    for (const line of stdout.split('\n')) expect([...line].length).toBeLessThanOrEqual(80);
  });

  it('prints with --json the trips as phones read them, and with --geojson flat features', async () => {
    const { run, succeed, json, folder } = shared;
    const typesOf = (found: Untyped[]) => new Set(found.map(({ type }) => type));
    expect(typesOf((await json(diaryOf(ada))).trips)).toEqual(new Set(['FeatureCollection']));
    const file = join(folder, 'day.geojson');
    await succeed(`${diaryOf(ada)} --geojson ${file}`);
    const flat = JSON.parse(await readFile(file, 'utf8'));
    expect(typesOf(flat.features)).toEqual(new Set(['Feature']));
    expect((await run(`${diaryOf(ada)} --geojson -`)).json()).toEqual(flat);
  });

  it('accepts names of days, and ranges', async () => {
    const { show, refuse } = shared;
    const now = Date.UTC(2024, 2, 13, 12) / 1000;
    for (const text of ['yesterday', '-1', 'Tuesday', '2024-03-12'])
      await show(diaryOf(ada, text), /^sim-t-1@example.org {2}Tuesday 12 March 2024/, { now });
    await show(diaryOf(ada, 'today'), /^sim-t-1@example.org {2}2024-03-13: no trips/, { now });
    // In Nairobi, where the phone is, the 14th has begun at 22:00 UTC.
    await show(diaryOf(ada, 'today'), '2024-03-14: no trips', { now: now + 36_000 });
    const both = /^sim-t-1.*12 March[\s\S]*\n\nsim-t-1@example.org {2}2024-03-13: no trips/;
    await show(diaryOf(ada, 'tuesday..today'), both, { now });
    for (const text of ['tomorrow', '-1..', 'monday..tuesday..today', '+1'])
      await refuse(diaryOf(ada, text), 'Expected a day or a range of days A..B', { now });
    const reversed = 'Expected an end of the range that is not before 2024-03-13, found 2024-03-12.';
    await refuse(diaryOf(ada, 'today..2024-03-12'), reversed, { now });
  });

  it('does not overwrite a file', async () => {
    const { folder, refuse } = shared;
    const file = join(folder, 'mine.geojson');
    await writeFile(file, 'mine');
    await refuse(`${diaryOf(ada)} --geojson ${file}`, 'already exists');
    expect(await readFile(file, 'utf8')).toBe('mine');
    await refuse(`diary --user ${ada} --all-days --html ${file}`, `cannot create the folder ${file}: it is a file`);
  });

  it('prints why a day is empty and what to do', async () => {
    const { run, note, folder } = await freshProgram('eve');
    const pending = '\\d+ entries pending: run `mobility pipeline --user sim-t-1@example.org`';
    await note(diaryOf('eve'), /has no trips yet/);
    await run(`simulate --users 1 --from ${day} --among-others --seed t`);
    await note(diaryOf(ada), new RegExp(pending));
    const written = new RegExp(`^0 trips written to .*\n${pending}`);
    await note(`${diaryOf(ada)} --geojson ${join(folder, 'empty')}`, written);
    const other = await shared.show(diaryOf(ada, '2024-03-20'), 'no trips');
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
    const { run, show } = shared;
    const result = await run(`doctor --user ${ada} --json`);
    const { user_id: uuid, ...status } = result.json();
    const final = { phone_ts: expect.any(Number) };
    const inOrder = { state: 'in_order', waiting: { count: 0 }, lease: null, set_aside: [], chain: { final } };
    expect(status).toMatchObject({ user_email: ada, ...inOrder });
    expect(result.stdout).not.toMatch(/"observed"|longitude|coordinates/);
    const links = ['registered', 'stored', 'located', 'final'].map((link) => `^ok +${link} [^]*`);
    await show(`doctor --user ${uuid}`, new RegExp(links.join(''), 'm'));
  });

  it('shows times beyond the calendar as numbers', async () => {
    const { show, withUser } = await freshProgram('ada');
    await withUser('ada', (store, uuid) => putUnconvertible(store, uuid, 1e300));
    await show('doctor --user ada', /moved .*pending 1, 1 of them for a later time/);
    await show('users list --counts', / +1 +0 +0\n/);
    await show(`export --user ada --entries --from ${day}`, /^$/);
  });

  it('shows after an upgrade how many people and days the new analysis will derive again, as does a run at its start', async () => {
    const { show, note, json, withStore } = await simulatedProgram('--users 2 --days 2 --from 2024-03-01 --seed t');
    await withStore(async (store) => {
      for (const { uuid } of await store.users.list({ limit: 9 })) {
        const lease = await leaseOn(store, uuid);
        await store.pipeline.merge(uuid, { analysis_version: 'older' }, lease);
        await store.leases.release(lease);
      }
    });
    const waits = /^the analysis changed: this run derives the trips of 2 days of 1 person again\n$/;
    const changed = 'the analysis changed: the next run derives the trips of 4 days of 2 people again; preview: ';
    await show('status', `${changed}\`mobility rebuild --all --dry-run\``);
    expect((await json('status')).run).toMatchObject({ outdated: 2, outdated_days: 4, with_work: 2, waiting: 0 });
    for (const line of [`pipeline --user ${ada}`, 'pipeline --all']) await note(line, waits);
    await note('pipeline --all', /^$/);
    const { stdout } = await show('status', /^people +2: 2 in order\nrejected +nothing\n/);
    expect(stdout).not.toContain('the analysis changed');
    const run_ = { waiting: 0, with_work: 0, at_work: [] };
    expect(await json('status')).toMatchObject({ people: { all: 2, in_order: 2 }, set_aside: [], run: run_ });
  });
});

/** Puts an entry that no converter takes. */
function putUnconvertible(store: Store, uuid: string, write_ts: number, more = {}): Promise<unknown> {
  const metadata = { key: 'background/location', write_ts, platform: 'android', time_zone: 'UTC', type: 'message' };
  return store.usercache.put(uuid, { entries: [{ metadata, data: { ts: write_ts, ...more } }], unusable: [] }, 1.7e9);
}

it('errors shows the most common message of a group, and the number of others', async () => {
  const { show, succeed, withUser } = await freshProgram('ada');
  const entries = [{ latitude: 1 }, {}, {}];
  await withUser('ada', async (store, uuid) => {
    for (const [i, data] of entries.entries()) await putUnconvertible(store, uuid, 1.7e9 + i, data);
  });
  await succeed('pipeline --user ada');
  await show('errors', /^3 entries .*\n +\w+: data\.latitude: .*, and 1 other message\n/);
});

describe('recover-errors', () => {
  const reason = 'shape';

  it('exits with 0 without errors, with 3 while some remain, and changes nothing in a dry run', async () => {
    const { run, succeed, show, withUser } = await freshProgram('ada');
    await show('recover-errors', /^no errors\n$/);
    await withUser('ada', (store, uuid) => putUnconvertible(store, uuid, 1.7e9));
    await succeed('pipeline --user ada');
    const tried = /^ada: 1 error retried, 0 would be recovered; there are:\n {2}1 {2}background\/location/;
    await show('recover-errors --dry-run', tried);
    const { code, json } = await run('recover-errors --user ada --json');
    expect([code, json()]).toMatchObject([3, { users: [{ user_email: 'ada', tried: 1, recovered: 0 }] }]);
    await show('doctor --user ada', /converted .*rejected 1/);
  });

  it('names the command that lists the keys if a mistyped flag selects no entry, as errors and export do', async () => {
    const { run } = await freshProgram('ada');
    const listed = /^0 entries matched: `mobility errors` without these flags lists /;
    for (const [line, note] of Object.entries({
      'recover-errors --reason shap': listed,
      'recover-errors --key manual/survay --user ada': listed,
      'errors --key manual/survay': listed,
      'export --user ada --entries --key manual/survay': /^0 entries matched: docs\/keys.md lists the keys\n$/,
    })) {
      const { stdout, stderr } = await run(line);
      expect(stdout + stderr, line).toMatch(note);
    }
  });

  it('retries the errors of a key or reason, and shows unknown keys in one line each, without control characters', async () => {
    const { run, show, refuse, withUser } = await freshProgram('ada');
    await withUser('ada', async (store, uuid) => {
      const values = ['', 'red\u001b[31m\nben: 0 errors retried'].map((key) => ({ metadata: { key } }));
      await putRejected(store, uuid, values, { reason });
    });
    const shown = '"red\\u001b[31m\\nben: 0 errors retried"';
    const listed = `  1  ""                                      shape\n  1  ${shown}  shape\n`;
    const all = await run('recover-errors --dry-run');
    expect(all.stdout).toBe(`ada: 2 errors retried, 0 would be recovered; there are:\n${listed}`);
    const none = await run('recover-errors --key manual/survey --reason wrong_type');
    expect(none).toMatchObject({ code: 3, stdout: `ada: 0 errors retried, 0 recovered; these remain:\n${listed}` });
    for (const key of [shown, JSON.parse(shown)])
      await show(['recover-errors', '--key', key, '--dry-run'], /^ada: 1 error retried/);
    await show('recover-errors --reason shape', /^ada: 2 errors retried/m, { code: 3 });
    // An empty text would select every error.
    for (const flag of ['--key', '--reason'])
      await refuse(['recover-errors', flag, ''], 'Expected a text that is not empty');
  });

  it('continues with the other users when another process holds one user', async () => {
    const { run, withUser } = await freshProgram('ada', 'ben');
    for (const name of ['ada', 'ben']) await withUser(name, (store, uuid) => putRejected(store, uuid, [name]));
    await withUser('ada', (store, uuid) => store.leases.acquire(uuid, 'another run', 60));
    const { code, json } = await run('recover-errors --json');
    const users = Object.fromEntries(json().users.map((user: Untyped) => [user.user_email, user]));
    const held = { failure: expect.stringMatching(/another run/) };
    expect([code, users]).toMatchObject([3, { ada: held, ben: { tried: 1 } }]);
  });
});

it('purge-keys shows which documents it would remove and why, then removes documents only', async () => {
  const { run, json, withUser } = await prepared();
  await withUser(ada, (store, uuid) => putDocument(store, uuid, { key: 'common-trips', write_ts: 1, data: {} }));
  const counts = () => withUser(ada, (store, uuid) => store.counts(uuid));
  const before = await counts();
  const why = 'not in the list of valid keys';
  const preview = { stdout: `${ada}  common-trips  ${why}\n`, stderr: '1 document would be removed\n' };
  expect(await run('purge-keys --all --dry-run')).toMatchObject(preview);
  const users = [{ user_email: ada, obsolete: [{ key: 'common-trips', why }] }];
  expect(await json(`purge-keys --user ${ada}`)).toMatchObject({ users });
  expect(await counts()).toEqual({ ...before, documents: before.documents - 1 });
});

it('a preview of a rebuild lists changed days in a file, and refuses one that exists', async () => {
  const { show, refuse, folder } = shared;
  const csv = join(folder, 'changes.csv');
  const preview = `rebuild --all --sample 1 --dry-run --csv ${csv}`;
  await show(preview, /^1 user, nothing written, in .*\nwould change: 0 days of 0 users/);
  expect(await readFile(csv, 'utf8')).toMatch(/^user_id,user_email,day,added,removed,changed,mode,.*\n$/);
  await refuse(preview, 'already exists');
});

it('a command that is complete when the signal comes exits with 0', async () => {
  const onOutput = () => process.emit('SIGTERM', 'SIGTERM');
  const { folder, address, succeed } = shared;
  for (const command of [
    `backup ${folder}/done`,
    'rebuild --all',
    `export --all --out ${folder}/archives`,
    `export --all --format csv --out ${folder}/tables`,
    `migrate --to sqlite:${folder}/copy --from ${address}`,
  ])
    await succeed(command, { onOutput });
});

it('rebuild takes only people with trips in --zone, and changes nothing of an unchanged diary', async () => {
  const usersIn = async (zone: string) => (await shared.json(`rebuild --all --zone ${zone} --dry-run`)).users;
  const { stdout } = await shared.run(`${diaryOf(ada)} --json`);
  expect(await usersIn(/"timezone": *"([^"]+)"/.exec(stdout)![1]!)).toBeGreaterThan(0);
  expect(await usersIn('Pacific/Auckland')).toBe(0);
  const unchanged = /^1 user, derived again, in .*\nchanged: 0 days of 0 users: 0 trips added, 0 removed, 0 changed\n$/;
  await shared.show(`rebuild --user ${ada} --from ${day}`, unchanged);
});

describe('export', () => {
  it('has every error, for any number of reads, and leaves no partial file', async () => {
    const { succeed, folder, withUser } = await freshProgram('ada');
    const values = Array.from({ length: 2101 }, (_, n) => ({ n }));
    await withUser('ada', (store, uuid) => putRejected(store, uuid, values));
    const out = join(folder, 'out');
    await succeed(`export --user ada --out ${out}`);
    expect(new Set(linesOf(await readFile(join(out, 'errors.jsonl'), 'utf8'))).size).toBe(2101);
    expect((await readdir(out)).filter((name) => /part|draft|tmp/.test(name))).toEqual([]);
  });

  it('refuses contradicting flags, an empty range of days, and names the flags that tables need', async () => {
    const { refuse, folder } = await freshProgram('ada');
    const range = `expected a day in --to that is not before --from, found --from ${day} and --to 2024-03-11\n`;
    const expected = /expected/i;
    for (const [flags, message] of Object.entries({
      'export --user ada --entries --format csv': /option '--format.*cannot be used with option '--entries'/,
      'export --user ada --entries --coarse 500': 'expected --format and --out with --coarse',
      'export --user ada': 'expected --out',
      'export --user ada --entries --trips': 'cannot be used with',
      [`export --all --format gpx --kind trips --out ${folder}/no`]: expected,
      [`export --all --format geojson --names trackintel --out ${folder}/no`]: expected,
      [`export --all --kind trips --out ${folder}/no`]: expected,
      [`export --format csv --out ${folder}/no`]: expected,
      [`export --user ada --trips --from ${day} --to 2024-03-11`]: `MOBILITY_USAGE: ${range}`,
      'report --from 2024-03 --to 2024-02': 'expected a month in --to that is not before --from, found',
    }))
      await refuse(flags, message);
  });

  it('has -0 and numbers beyond the range of doubles as numbers', async () => {
    const { run, withUser } = await freshProgram('ada');
    const data = { zero: -0, far: Number.POSITIVE_INFINITY };
    await withUser('ada', (store, uuid) => put(store, uuid, [{ metadata: { key: 'a/b', write_ts: 1 }, data }]));
    expect((await run('export --user ada --entries')).json().data).toEqual(data);
  });

  it('writes a folder that only its owner may read: entries, errors, documents, trips and user', async () => {
    const out = join(shared.folder, 'export');
    const { counts } = await shared.json(`export --user ${ada} --out ${out}`);
    const read = (name: string) => readFile(join(out, name), 'utf8');
    const [entries, documents] = [linesOf(await read('entries.jsonl')), linesOf(await read('documents.jsonl'))];
    expect(entries.length).toBe(counts['entries.jsonl']);
    expect(JSON.parse(entries[0]!)).toHaveProperty('metadata.write_ts');
    expect(JSON.parse(documents[0]!)).toHaveProperty('key', `diary/trips-${day}`);
    const profile = { last_put_ts: expect.any(Number) };
    expect(JSON.parse(await read('user.json'))).toMatchObject({ user_email: ada, profile });
    const { features } = JSON.parse(await read('trips.geojson')) as { features: { id: string }[] };
    expect(new Set(features.map(({ id }) => id)).size).toBe(features.length);
    for (const path of [out, join(out, 'entries.jsonl')]) expect((await stat(path)).mode & 0o77).toBe(0);
  });

  it('selects by key and local day, both days included', async () => {
    const { run } = await freshProgram();
    await run(`simulate --users 1 --days 3 --from ${day} --seed t`);
    const entries = async (flags: string) => {
      const { stdout } = await run(`export --user ${ada} --entries ${flags}`);
      return linesOf(stdout).map((line) => JSON.parse(line) as Untyped);
    };
    const all = await entries('--to 2024-12-31');
    const [first, rest] = [await entries(`--to ${day}`), await entries('--from 2024-03-13 --to 2024-03-14')];
    expect(first.length + rest.length).toBe(all.length);
    expect(first.length).toBeGreaterThan(100);
    const two = await entries('--key background/battery --key config/consent');
    expect(new Set(two.map(({ metadata }) => metadata.key))).toEqual(new Set(['background/battery', 'config/consent']));
  });

  it('exports the one day that is --from and --to, and a user without data', async () => {
    const { features } = await shared.json(`export --trips --user ${ada} --from ${day} --to ${day}`);
    expect(features.length).toBeGreaterThan(0);
    const none = { type: 'FeatureCollection', features: [] };
    expect(await (await freshProgram('eve')).json('export --user eve --trips')).toEqual(none);
  });
});

it('explain shows from when on a day is a draft, and what makes it final', async () => {
  const { run, show } = await simulatedProgram('--users 1 --days 2 --from 2024-03-01 --seed t');
  expect((await run(`explain --user ${ada} --day 2024-03-01`)).stdout).not.toContain('draft');
  const draft =
    /\ndraft since 2 March \d\d:\d\d: .*; the day becomes final when the next trip, or a later one, has ended\n$/;
  await show(`explain --user ${ada} --day 2024-03-02`, draft);
});

describe('backup', () => {
  it('refuses the folder of the store and any in it, also behind a link, and writes nothing', async () => {
    const { succeed, address, folder, refuse } = await freshProgram('ada');
    await mkdir(join(address, 'empty'));
    await symlink(address, join(folder, 'link'));
    // Without the log of SQLite, which exists only while a connection is open.
    const names = async () => (await readdir(address)).filter((name) => !/-(?:wal|shm)$/.test(name));
    const before = await names();
    for (const way of ['.', 'empty', 'new', 'logs/a/b', '../link/new']) {
      const outside = /MOBILITY_STORE_ADDRESS: expected a folder outside the store .*: name another folder/;
      expect((await refuse(['backup', join(address, way)], outside)).stdout).toBe('');
    }
    for (const all of ['--all --format csv', '--all'])
      await refuse(`export ${all} --out ${address}/new`, 'for the export');
    expect([await names(), await readdir(join(address, 'empty'))]).toEqual([before, []]);
    await succeed(`backup ${address}-copy`);
  });

  it('makes a copy that is a store with the same content', async () => {
    const { run, show, folder } = shared;
    await show(`backup ${folder}/backup`, /backup: \d+\.\d MiB, in \d/);
    const { stdout } = await run(diaryOf(ada));
    await show(`${diaryOf(ada)} --store ${folder}/backup`, stdout);
  });

  it('refuses a folder with files in it, a file, a missing store, and MongoDB', async () => {
    const { folder, refuse } = shared;
    await mkdir(join(folder, 'full'));
    await writeFile(join(folder, 'full', 'x'), '');
    const used = ['full', 'full/x', 'full/x/below'].map((name) => join(folder, name));
    for (const path of [...used, '/dev/null', '']) await refuse(['backup', path], 'MOBILITY_STORE_ADDRESS');
    expect(await readdir('..')).not.toContain('mobility.db'); // the empty name is not the folder above
    await refuse(`backup ${folder}/new --store ${folder}/none`, 'MOBILITY_STORE_ADDRESS');
    await refuse(`backup ${folder}/new --store mongodb://localhost/x`, 'MOBILITY_UNSUPPORTED', { code: 1 });
  });
});

it('simulate pushes the same entries again without adding any, and ends yesterday by default', async () => {
  const { run, json } = await freshProgram();
  const line = `simulate --users 2 --days 2 --seed x --platform ios --from ${day}`;
  const first = await json(line);
  expect(first.to).toBe('2024-03-13');
  for (const { platform, entries, new: fresh } of first.users) expect([platform, fresh]).toEqual(['ios', entries]);
  expect((await json(line)).users.map((user: Untyped) => user.new)).toEqual([0, 0]);
  const other = 'simulate --users 1 --days 2 --json --seed y --among-others';
  const yesterday = await run(other, { now: 1_710_288_000 });
  expect(yesterday.json()).toMatchObject({ from: '2024-03-11', to: '2024-03-12' });
});

describe('config', () => {
  it('names variables that look like settings and are not', async () => {
    const env = { MOBILITY_WORKRES: '3', MOBILITY_DEBUG: '', MOBILITY_WORKERS: '3' };
    await shared.note('config', /^not settings, ignored: MOBILITY_WORKRES\n$/, { env });
    await shared.note('config', /^$/, { env: { MOBILITY_WORKERS: '3' } });
  });

  it('shows each setting with its value and source, and an address without its password', async () => {
    const env = { MOBILITY_PORT: '9000', MOBILITY_STORE: 'mongodb://ada:s3cret@db.example.org/x' };
    const { settings } = (await shared.run('config --json --log-dir here', { env })).json();
    for (const [variable, value, source] of [
      ['MOBILITY_PORT', 9000, 'variable'],
      ['MOBILITY_STORE', 'mongodb://db.example.org/x', 'variable'],
      ['MOBILITY_LOG_DIR', 'here', 'flag'],
      ['MOBILITY_HOST', '127.0.0.1', 'default'],
    ])
      expect(settings).toContainEqual(expect.objectContaining({ variable, value, source }));
  });
});
