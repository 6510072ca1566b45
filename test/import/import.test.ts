// The import itself: after any interruption, its repetition leads to the same store, and no entry gets to another
// person.
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { Part } from '../../src/import/import-format.ts';
import { findParts, formatNames } from '../../src/import/import-formats.ts';
import { type ImportOptions, importParts } from '../../src/import/import-source.ts';
import { everybodyAt, freshProgram, type Program } from '../cli/kit.ts';
import { newStore } from '../support/store.ts';
import { zip } from '../support/zip.ts';

const uuid = '6a0d1f5e-8d0b-4a6e-9d9e-0c9f7a3b5c11';
const entry = (i: number, more: object = {}) => ({
  metadata: { key: 'background/location', platform: 'android', time_zone: 'Europe/Lisbon', write_ts: 1.7e9 + i },
  data: { latitude: 38.5, longitude: -7.9, ts: 1.7e9 + i, ...more },
});

/** A file of 7,000 entries: more than one batch. */
async function longFile({ folder }: Program): Promise<string> {
  const path = join(folder, 'long.json.gz');
  const phone_data = Array.from({ length: 7_000 }, (_, i) => ({ user_id: { $uuid: uuid }, ...entry(i) }));
  await writeFile(path, gzipSync(JSON.stringify({ phone_data })));
  return path;
}

/** Imports a file of this name and content for ada, who is registered. */
async function importing(name: string, content: string | Buffer) {
  const program = await freshProgram('ada');
  await writeFile(join(program.folder, name), content);
  return { ...program, args: ['import', join(program.folder, name), '--user', 'ada', '--json'] };
}

const all = { now: () => 1_720_000_000, whom: null };

describe('an incomplete import', () => {
  it('because it is interrupted, reports it, and its repetition completes it', async () => {
    const [troubled, smooth] = [await freshProgram(), await freshProgram()];
    const path = await longFile(troubled);
    await troubled.withStore(async (store) => {
      const abort = new AbortController();
      const { parts } = await findParts([path]);
      const onProgress: ImportOptions['onProgress'] = (_, __, { stored }) => stored > 0 && abort.abort();
      const report = await importParts(parts, { ...all, store, signal: abort.signal, onProgress });
      expect(report.interrupted).toBe(true);
    });
    const half = (await troubled.withStore((store) => store.counts(uuid))).usercache;
    expect([half > 0, half < 7_000]).toEqual([true, true]);
    const again = await troubled.succeed(['import', path, '--json']);
    expect(again.json()).toMatchObject({ read: 7_000, known: half, stored: 7_000 - half });
    await smooth.run(['import', path]);
    expect(await everybodyAt(troubled.address)).toEqual(await everybodyAt(smooth.address));
  });

  it('because it is interrupted while few bytes unpack to very many, reads no further', async () => {
    const { folder } = await freshProgram();
    const path = join(folder, 'blank.jsonl.gz');
    await writeFile(path, gzipSync(`${JSON.stringify(entry(0))}\n${'\n'.repeat(8_000_000)}`));
    const abort = new AbortController();
    const { parts } = await findParts([path]);
    let ended: unknown;
    const read: Part['read'] = async function* (options) {
      const onBytes = (count: number): void => {
        try {
          options.onBytes(count);
        } catch (error) {
          ended = error;
          throw error;
        }
      };
      for await (const found of parts[0]!.read({ ...options, onBytes })) {
        yield found;
        abort.abort();
      }
    };
    const whom = { name: 'ada', user: null, create: true };
    const options = { ...all, whom, store: await newStore(), signal: abort.signal };
    const report = await importParts([{ ...parts[0]!, read }], options);
    expect([report.interrupted, report.parts[0]!.problems, ended]).toEqual([true, [], abort.signal.reason]);
  });

  it('because it is interrupted in an archive, or the archive unpacks to too much, imports nothing of it', async () => {
    const { folder } = await freshProgram();
    const inner = zip({ name: 'a.jsonl', content: Buffer.from(`${JSON.stringify(entry(0))}\n`) });
    const path = join(folder, 'a.zip');
    await writeFile(path, zip({ name: 'inner.zip', content: inner }));
    const problemsOf = async (mostSpooled: number): Promise<string[]> => {
      const { parts } = await findParts([path], undefined, {}, { mostSpooled });
      return parts.map(({ format, name }) => `${format} ${name.slice(folder.length + 1)}`);
    };
    expect(await problemsOf(inner.length)).toEqual(['entries a.zip/inner.zip/a.jsonl']);
    expect(await problemsOf(inner.length - 1)).toEqual(['archive a.zip/inner.zip']);
    const signal = AbortSignal.abort();
    await expect(findParts([path], undefined, {}, { signal })).rejects.toBe(signal.reason);
  });

  it('because the file is cut, keeps the entries before the cut and ends with 3', async () => {
    const content = `[${Array.from({ length: 50 }, (_, i) => JSON.stringify(entry(i))).join(',')},{"metadata":`;
    const { args, refuse } = await importing('cut.json', content);
    const end = `expected the end of the JSON, found the end of the file at byte ${content.length}`;
    const cut = `cut.json: ${end}; everything before it was read. Repair the file`;
    expect((await refuse(args, cut, { code: 3 })).json()).toMatchObject({ read: 50, stored: 50 });
  });
});

describe('the owner of a file', () => {
  it('must be given for files that do not name a user, and must be registered', async () => {
    const { folder, run, refuse } = await freshProgram();
    const path = join(folder, 'a.jsonl');
    await writeFile(path, `${JSON.stringify(entry(0))}\n`);
    await refuse(['import', path], /does not name its user/);
    await run(['users', 'add', 'ada']);
    await refuse(['import', path, '--user', 'eve'], /MOBILITY_USER_UNKNOWN: no user "eve".*users add eve/);
    expect((await run(['import', path, '--user', 'ada'])).code).toBe(0);
  });

  it('is one person: nothing of a file of two people is stored', async () => {
    const of = (id: string, i: number) => JSON.stringify({ user_id: { $uuid: id.replaceAll('-', '') }, ...entry(i) });
    const two = `${of(uuid, 0)}\n${of(uuid.replace('6a', '6b'), 1)}\n`;
    const { args, folder, json, withUser, refuse } = await importing('two.jsonl', two);
    await refuse(args, /nothing could .* expected entries of one person.*found a second UUID/, { code: 1 });
    await writeFile(join(folder, 'two.csv'), 'time,lat,lon,user\n1710230400,38,-7,ada\n1710230460,38,-7,bob\n');
    await refuse(['import', join(folder, 'two.csv'), '--user', 'ada'], /nothing .*"user" at line 3/, { code: 1 });
    expect(await withUser('ada', (store, id) => store.counts(id))).toMatchObject({ usercache: 0 });
    expect((await json(...args.slice(0, 2))).users).toHaveLength(2);
  });

  it('is one folder of GeoLife at a time', async () => {
    const { folder, run, refuse } = await freshProgram('ada');
    for (const person of ['000', '001']) {
      await mkdir(join(folder, 'Data', person, 'Trajectory'), { recursive: true });
      await writeFile(
        join(folder, 'Data', person, 'Trajectory', '1.plt'),
        `Geolife trajectory\r\n${'.\r\n'.repeat(5)}38.57,-7.91,0,492,40000,2009-07-06,12:00:00\r\n`,
      );
    }
    await refuse(['import', join(folder, 'Data'), '--user', 'ada'], /expected trajectories of one person, found 2/);
    expect((await run(['import', join(folder, 'Data', '000'), '--user', 'ada'])).code).toBe(0);
  });
});

it('known, duplicate and new entries are counted separately, also in a dry run, and --create registers the owner', async () => {
  const { folder, run, refuse } = await freshProgram();
  const path = join(folder, 'a.csv');
  const row = (minute: number) => `2024-03-12T08:0${minute}:00Z,38.5,-7.9`;
  const rejected = ['never,38.5,-7.9', '2024-03-12T08:02:00Z,91,-7.9'];
  await writeFile(path, ['time,lat,lon', row(0), row(1), row(1), ...rejected].join('\n'));
  const args = ['import', path, '--user', 'ada', '--create', '--json'];
  const counts = { read: 6, doubled: 1, set_aside: 2, left_behind: 0 }; // with the end of the recording
  const outcome = async (...flags: string[]) => {
    const { code, json } = await run([...args, ...flags]);
    return [code, json()];
  };
  const registered = (isNew: boolean) => ({ users: [{ user_email: 'ada', registered: isNew }] });
  expect((await outcome('--dry-run'))[1]).toMatchObject({ ...counts, stored: 3, ...registered(true) });
  await refuse(['status'], /MOBILITY_STORE_ADDRESS: expected a store in/);
  expect(await outcome()).toMatchObject([3, { ...counts, stored: 3, known: 0, ...registered(true) }]);
  for (const flags of [['--dry-run'], []])
    expect((await outcome(...flags))[1]).toMatchObject({ ...counts, stored: 0, known: 3, ...registered(false) });
  await refuse(['import', path, '--create'], /expected --create together with --user NAME/);
});

it('an own export with errors, imported twice, exits with 0 the second time, since they are known', async () => {
  const [from, to] = [await freshProgram(), await freshProgram()];
  const lines = [entry(0, { latitude: 'nowhere' }), { data: {} }, entry(1)].map((one) => `${JSON.stringify(one)}\n`);
  await writeFile(join(from.folder, 'a.jsonl'), lines.join(''));
  await from.run(['import', join(from.folder, 'a.jsonl'), '--format', 'entries', '--user', 'ada', '--create']);
  await from.run(['pipeline', '--all']);
  const out = join(from.folder, 'out');
  await from.run(['export', '--user', 'ada', '--out', out]);
  const reports = [await to.run(['import', out, '--json']), await to.run(['import', out, '--json'])];
  expect(reports.map(({ code, json }) => [code, json().set_aside, json().known])).toEqual([
    [3, 2, 0],
    [0, 0, 3],
  ]);
});

it('an unreadable document does not affect the others', async () => {
  const { folder, run } = await freshProgram();
  const user_id = new BSON.Binary(Buffer.from(uuid.replaceAll('-', ''), 'hex'), 3);
  const good = { user_id, ...entry(1, { n: Number.NaN }) };
  let deep = Buffer.from(BSON.serialize({}));
  for (let i = 0; i < 20_000; i++) {
    const head = Buffer.alloc(7);
    head.writeInt32LE(deep.length + 8);
    head.set([3, 0x61, 0], 4);
    deep = Buffer.concat([head, deep, Buffer.from([0])]);
  }
  const wrong = Buffer.from([16, 0, 0, 0, 2, 0x61, 0, 255, 255, 255, 127, 1, 1, 1, 0, 0]);
  await writeFile(join(folder, 'Stage_timeseries.bson'), Buffer.concat([deep, wrong, BSON.serialize(good)]));
  const { code, json } = await run(['import', folder, '--json']);
  expect([code, json()]).toMatchObject([3, { read: 3, stored: 1, set_aside: 2 }]);
});

it('a damaged line of an own export is one problem, and the other lines are imported', async () => {
  const { folder, run } = await freshProgram();
  await writeFile(join(folder, 'user.json'), JSON.stringify({ uuid, user_email: 'ada' }));
  const lines = ['null', '{"metadata":', JSON.stringify(entry(1))];
  await writeFile(join(folder, 'entries.jsonl'), lines.join('\n'));
  await writeFile(join(folder, 'errors.jsonl'), 'null');
  const { code, json, stderr } = await run(['import', folder, '--json']);
  expect([code, json()]).toMatchObject([3, { read: 4, stored: 1, set_aside: 3 }]);
  expect(stderr).toMatch(/entries.jsonl: expected JSON at line 2, .*expected a line that export wrote in/s);
});

it('rows of an own export are accepted only with all their fields, and its user must have a UUID and a name', async () => {
  const { folder, run, withStore, refuse } = await freshProgram();
  const write = (name: string, rows: object[]) =>
    writeFile(join(folder, name), rows.map((row) => JSON.stringify(row)).join('\n'));
  await write('entries.jsonl', []);
  const user_email = 'ada';
  for (const wrong of [{ user_email }, { uuid: 'x', user_email }, { uuid }, { uuid: 1, user_email }]) {
    await write('user.json', [wrong]);
    await refuse(['import', folder], /expected a user with uuid and user_email in .*user.json/, { code: 1 });
  }
  await write('user.json', [{ uuid, user_email: 'ada' }]);
  const document = { key: 'analysis/made', write_ts: 5, data: {} };
  const wrong = [{ key: 1 }, { write_ts: '5' }, { data: undefined }].map((fields) => ({ ...document, ...fields }));
  await write('documents.jsonl', [...wrong, document]);
  const times = { first_ts: 5, last_ts: 6, received_ts: 5 };
  const texts = { id: 'a'.repeat(24), reason: 'not_an_object', message: 'x' };
  const error = { ...texts, entry: 1, identity: null, tries: 1, ...times };
  const broken = Object.keys(error).map((field) => ({ ...error, [field]: field === 'entry' ? undefined : [] }));
  await write('errors.jsonl', [...broken, error]);
  expect((await run(['import', folder, '--json'])).json()).toMatchObject({ read: 3 + 10, set_aside: 3 + 10 });
  await withStore(async (store) => {
    expect(await store.documents.keys(uuid)).toEqual(['analysis/made']);
    expect((await store.counts(uuid)).errors).toBe(1);
  });
});

it('folders are read once, with any links in them, and unknown files are named', async () => {
  const { folder, run } = await freshProgram('ada');
  await mkdir(join(folder, 'in', 'deeper'), { recursive: true });
  for (let i = 0; i < 20; i++) await symlink('..', join(folder, 'in', 'deeper', `link${i}`));
  await writeFile(join(folder, 'in', 'deeper', 'a.jsonl'), `${JSON.stringify(entry(0))}\n`);
  await writeFile(join(folder, 'in', 'notes.txt'), 'my notes');
  const { code, stderr, json } = await run(['import', join(folder, 'in'), '--user', 'ada', '--json']);
  expect([code, json()]).toMatchObject([0, { read: 1, stored: 1 }]);
  expect(stderr).toMatch(/notes.txt: unknown format, skipped/);
});

describe('a source', () => {
  /** A ride of 10 m/s to the north, a point every 10 s. */
  const ride = (speed: number): string =>
    `timestamp,latitude,longitude,speed\n${Array.from({ length: 30 }, (_, i) =>
      [1_710_230_400 + 10 * i, 52.5 + (100 * i) / 111_195, 13.4, speed].join(),
    ).join('\n')}\n`;

  it.each([
    ['m/s in km/h', 36, /3\.6 times as large as distance over time.*km\/h.*speed_kmh/, []],
    ['m/s in knots', 10 / (1852 / 3600), /1\.9 times as large.*knots.*speed_knots/, []],
    ['m/s', 10, null, []],
    ['km/h', 36, null, ['--columns', 'speed_kmh=speed']],
  ])('whose speeds are %s is reported if the unit does not fit', async (_, speed, warning, flags) => {
    const { args, run, refuse } = await importing('ride.csv', ride(speed));
    if (warning !== null) await refuse([...args, ...flags], warning, { code: 3 });
    else {
      const { code, stderr } = await run([...args, ...flags]);
      expect([code, stderr]).toEqual([0, expect.not.stringMatching(/distance over time/)]);
    }
  });

  it.each([
    ['places.gpx', '<gpx><wpt lat="1" lon="2"><time>2024-03-12T08:00:00Z</time></wpt></gpx>', /waypoints only/],
    ['indoors.tcx', '<TrainingCenterDatabase><Trackpoint/></TrainingCenterDatabase>', /trackpoint without a position/],
    ['empty.gpx', '<gpx><trk/></gpx>', /expected points of a track, found none/],
    ['plan.gpx', '<gpx><rte><rtept lat="1" lon="2"/></rte></gpx>', /the points of a route only \(1\): a plan/],
    ['other.json', '[{"when_":1,"north":2}]', /JSON with the names when_, north.*--columns/],
  ])('that stores nothing fails with the reason: %s', async (name, content, reason) => {
    const { args, run } = await importing(name, content);
    const { code, stderr } = await run(args);
    expect([code === 0, stderr]).toEqual([false, expect.stringMatching(reason)]);
  });

  it('in a tar archive that unpacks to more than 200 times its size is refused', async () => {
    const head = Buffer.alloc(512);
    head.write('a.gpx\0');
    head.write('0000644\x000000000\x000000000\0', 100);
    head.write('00400000000\x0000000000000\0        0', 124); // 64 MiB
    head.write('ustar\u000000', 257);
    const sum = head.reduce((before, byte) => before + byte, 0);
    head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    const { args, run } = await importing('a.tgz', gzipSync(Buffer.concat([head, Buffer.alloc(64 * 1024 ** 2)])));
    const { code, stderr } = await run(args);
    expect([code === 0, stderr]).toEqual([false, expect.stringMatching(/unpacks to at most 200 times/)]);
  });
});

it('--help and an unknown --format name every format of the table', async () => {
  const { run } = await freshProgram();
  const { stdout } = await run(['import', '--help']);
  const { code, stderr } = await run(['import', '.', '--format', 'nope']);
  expect(code).toBe(2);
  for (const text of [stdout.replace(/\s+/g, ' '), stderr]) expect(text).toContain(formatNames.join(', '));
});

it('the trip of a single GPX file is in the diary, since the import adds the end of the recording', async () => {
  const speeds = [...Array(60).fill(1.3), ...Array(90).fill(12), ...Array(30).fill(1.3)]; // m/s, each for 10 s
  let metres = 0;
  const points = speeds.map((speed, i) => {
    metres += 10 * speed;
    const time = new Date(Date.UTC(2024, 5, 17, 8) + 10_000 * i).toISOString();
    return `<trkpt lat="${52.5 + metres / 111_195}" lon="13.4"><time>${time}</time></trkpt>`;
  });
  const gpx = `<gpx creator="Any 1.0"><trk><trkseg>${points.join('')}</trkseg></trk></gpx>`;
  const { args, run, show } = await importing('ride.gpx', gpx);
  expect((await run(args)).code).toBe(0);
  await run(['pipeline', '--user', 'ada']);
  await show(['diary', '--user', 'ada', '--day', '2024-06-17'], /1 trip, 1[12]\.\d km/);
});

it('a time of hundreds of digits is invalid, and the valid rows are imported', async () => {
  const content = `time,lat,lon\n${'9'.repeat(400)},38.5,-7.9\n1710230400,38.5,-7.9\n`;
  const { args, run } = await importing('long.csv', content);
  const { code, json } = await run(args);
  expect([code, json()]).toMatchObject([3, { set_aside: 1 }]);
});
