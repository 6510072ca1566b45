// Tables of an export: they join, they stream, they are safe in a spreadsheet, and they hide who and where when asked
// to.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { check } from '@placemarkio/check-geojson';
import { parse } from 'csv-parse/sync';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { beforeAll, expect, it } from 'vitest';
import { tables } from '../../src/export/columns.ts';
import { csvWriter } from '../../src/export/formats/csv.ts';
import { formats } from '../../src/export/formats/export-formats.ts';
import { gpxWriter } from '../../src/export/formats/gpx.ts';
import { wkb, wkt } from '../../src/export/geometry.ts';
import { localText } from '../../src/export/instants.ts';
import { keyedPseudonym } from '../../src/export/privacy.ts';
import { rowsOf } from '../../src/export/table-rows.ts';
import { putBatch } from '../../src/intake/put-batch.ts';
import { idOf } from '../../src/model/ids.ts';
import { plainMode } from '../../src/model/modes.ts';
import { openStore } from '../../src/store/open.ts';
import { refuse, run, succeed } from '../cli/kit.ts';
import { madeTrip, storeTrips } from '../server/trips.ts';
import { tempFolder } from '../support/clean-up.ts';
import { leaseOn, newUser } from '../support/store.ts';
import { workday } from '../support/trips.ts';

let folder: string;
let env: Record<string, string>;
const out = (name: string) => join(folder, name);
const csv = async (path: string): Promise<Record<string, string>[]> =>
  parse(await readFile(out(path)), { columns: true });

/** A writer that keeps what it is given. */
function memoryWriter() {
  const pieces: (string | Uint8Array)[] = [];
  return {
    writer: { write: async (piece: string | Uint8Array) => void pieces.push(piece) },
    text: () => pieces.join(''),
  };
}

beforeAll(async () => {
  folder = tempFolder();
  env = { MOBILITY_STORE: out('store'), MOBILITY_LOG_DIR: out('logs') };
  await succeed(['simulate', '--users', '2', '--days', '2', '--seed', 'tables'], { env });
  await succeed(['pipeline', '--all'], { env });
  await succeed(['export', '--all', '--format', 'csv', '--out', out('csv')], { env });
});

it('sections name their trip, points their section, trips their places, and days count them', async () => {
  const [trips, sections, points, places] = await Promise.all(
    ['trips', 'sections', 'points', 'places'].map((kind) => csv(`csv/${kind}.csv`)),
  );
  expect(trips!.length).toBeGreaterThan(4);
  const ids = (rows: Record<string, string>[], name: string) => new Set(rows.map((row) => row[name]!));
  const tripIds = ids(trips!, 'trip_id');
  expect(sections!.filter(({ trip_id }) => !tripIds.has(trip_id!))).toEqual([]);
  expect(ids(points!, 'section_id')).toEqual(ids(sections!, 'section_id'));
  for (const { mode_probabilities, mode_confidence } of sections!) {
    const values = Object.values(JSON.parse(mode_probabilities!) as Record<string, number>);
    expect(values.reduce((all, one) => all + one, 0)).toBeCloseTo(1, 2);
    expect(values.some((one) => Math.abs(one - Number(mode_confidence)) < 0.001)).toBe(true);
  }
  const placeIds = ids(places!, 'place_id');
  expect(places!.length).toBe(placeIds.size);
  expect(trips!.filter((t) => !placeIds.has(t.start_place_id!) || !placeIds.has(t.end_place_id!))).toEqual([]);
  expect(new Set(trips!.map(({ user_id }) => user_id)).size).toBe(2);
  const days = await csv('csv/days.csv');
  const sum = (rows: Record<string, string>[], ...names: string[]) =>
    rows.reduce((total, row) => names.reduce((part, name) => part + Number(row[name]), total), 0);
  expect(sum(days, 'trips')).toBe(trips!.length);
  expect(new Set(days.map(({ user_id, day }) => `${user_id} ${day}`)).size).toBe(days.length);
  const figures = ['duration_s', 'distance_m', 'estimated_m'];
  for (const name of figures) expect(sum(days, name), name).toBeCloseTo(sum(trips!, name), 0);
  const metres = Object.keys(days[0]!).filter((name) => name.endsWith('_m') && !figures.includes(name));
  expect(sum(days, ...metres)).toBeCloseTo(sum(sections!, 'distance_m'), 0);
  for (const { trip_id, end_place_id } of trips!) {
    const own = sections!.filter((section) => section.trip_id === trip_id);
    expect(own.map((section) => section.end_place_id)).toEqual([...own.slice(1).map(() => ''), end_place_id]);
  }
});

it('a label names its trip, the last label of a trip is in the trips, and a label of no trip names none', async () => {
  const [trip] = (await csv('csv/trips.csv')) as [Record<string, string>];
  for (const mode of ['bus', 'tram']) {
    const flags = ['--user', trip.user_id!, '--trip', trip.trip_id!, '--mode', mode];
    await succeed(['label', ...flags], { env, now: 1_720_000_000 + (mode === 'tram' ? 60 : 0) });
  }
  const store = await openStore(out('store'));
  const start_ts = Date.parse(trip.started_at!) / 1000 - 30 * 86_400;
  const data = { start_ts, end_ts: start_ts + 600, label: 'boat' };
  const metadata = { key: 'manual/mode_confirm', write_ts: 1_720_000_120, platform: 'ios', time_zone: 'UTC' };
  const timeless = { metadata: { ...metadata, write_ts: 1_720_000_180 }, data: { label: 'raft' } };
  await putBatch(trip.user_id!, [{ metadata, data }, timeless], { store, now: () => 1_720_000_120 });
  await store.close();
  for (const kind of ['labels', 'trips']) {
    const flags = ['--user', trip.user_id!, '--format', 'csv', '--kind', kind, '--out', out(`labelled-${kind}`)];
    expect((await run(['export', ...flags], { env })).code).toBe(0);
  }
  const labels = (await csv('labelled-labels/labels.csv')).map(({ trip_id, label }) => [trip_id, label]);
  expect(labels).toEqual([
    [trip.trip_id, 'bus'],
    [trip.trip_id, 'tram'],
    ['', 'boat'],
    ['', 'raft'], // without a time
  ]);
  const named = (await csv('labelled-trips/trips.csv')).filter(({ mode_confirmed }) => mode_confirmed !== '');
  expect(named.map(({ trip_id, mode_confirmed }) => [trip_id, mode_confirmed])).toEqual([[trip.trip_id, 'tram']]);
});

it('a trip that crosses a time zone has the local time of each end, and `to` keeps its whole day', async () => {
  const store = await openStore(out('zones'));
  const uuid = await newUser(store);
  const [first, second] = workday();
  const records = [first!, { ...second!, trip: { ...second!.trip!, start_zone: 'UTC', end_zone: 'America/New_York' } }];
  await store.trips.apply(uuid, { put: records, remove: [] }, {}, await leaseOn(store, uuid));
  const person = { uuid, id: uuid, name: 'ada', subgroup: null };
  const rows: Record<string, unknown>[] = [];
  for await (const [, row] of rowsOf(['trips'], { store, person, days: { to: second!.day }, now: 1_720_000_000 }))
    rows.push(row);
  await store.close();
  expect(rows).toHaveLength(2);
  const { started_at, started_local, finished_at, finished_local } = rows[1]!;
  const local = (ts: unknown) => new Date((ts as number) * 1000).toISOString().slice(0, -1);
  expect([started_local, finished_local]).toEqual([local(started_at), local((finished_at as number) - 5 * 3600)]);
});

it('the rows of a day are those of the whole history, and are read without it', async () => {
  const store = await openStore(out('a-day'));
  const uuid = await newUser(store);
  const start = 1_720_000_000;
  // Trips of each day follow each other without a stay, or with one.
  const times = Array.from({ length: 12 }, (_, day) => [0, 3600, 9000].map((s) => start + day * 86_400 + s)).flat();
  await storeTrips(
    store,
    uuid,
    times.map((ts) => madeTrip(ts, [{ mode: 'BUS', distance: 900 }])),
  );
  let read = 0;
  const chain: typeof store.trips.chain = async (...asked) => {
    const links = await store.trips.chain(...asked);
    read += links.length;
    return links;
  };
  const counted = { ...store, trips: { ...store.trips, chain } };
  const person = { uuid, id: uuid, name: 'ada', subgroup: null };
  const rows = async (days: { from?: string; to?: string }) => {
    const found: Record<string, unknown>[] = [];
    const kinds = ['trips', 'sections', 'points'] as const;
    for await (const [kind, row] of rowsOf(kinds, { store: counted, person, days, now: start + 20 * 86_400 }))
      found.push({ kind, ...row });
    return found;
  };
  const trips = (await rows({})).filter(({ kind }) => kind === 'trips');
  const days = [...new Set(trips.map(({ day }) => day as string))];
  for (const day of days) {
    read = 0;
    const own = (await rows({ from: day, to: day })).filter(({ kind }) => kind === 'trips');
    expect(own, day).toEqual(trips.filter((row) => row.day === day));
    expect(read, day).toBeLessThan(12);
  }
  expect(days.length).toBeGreaterThan(11);
  await store.close();
});

it('the main mode of a trip has the highest rank, not the greatest length', async () => {
  const store = await openStore(out('ranks'));
  const uuid = await newUser(store);
  const modes = [
    ['CAR', 'AIR_OR_HSR', 'WALKING'],
    ['AIR_OR_HSR', 'BUS'],
    ['CAR', 'FERRY'],
    ['WALKING', 'BICYCLING'],
  ];
  const trips = modes.map((own, day) => {
    const sections = own.map((mode, i) => ({ mode, distance: 90_000 - i }));
    return madeTrip(1_720_000_000 + day * 86_400, sections);
  });
  await storeTrips(store, uuid, trips);
  const person = { uuid, id: uuid, name: 'ada', subgroup: null };
  const found: unknown[] = [];
  for await (const [, row] of rowsOf(['trips'], { store, person, days: {}, now: 1_730_000_000 }))
    found.push(row.main_mode);
  await store.close();
  expect(found).toEqual(['air', 'bus', 'ferry', 'bicycling']);
});

it('every file is described by the manifest: columns, rows, checksum', async () => {
  const manifest = JSON.parse(await readFile(out('csv/datapackage.json'), 'utf8'));
  expect(manifest.resources.map(({ name }: { name: string }) => name)).toEqual(
    Object.keys(tables).filter((name) => !['entries', 'locations', 'fixes'].includes(name)), // only when asked
  );
  for (const { path, schema, rows, bytes } of manifest.resources) {
    const text = await readFile(out(`csv/${path}`));
    expect(text.byteLength).toBe(bytes);
    const lines = parse(text) as string[][];
    expect(lines[0]).toEqual(schema.fields.map(({ name }: { name: string }) => name));
    expect(lines.length - 1).toBe(rows);
  }
});

it.each(Object.keys(formats))('%s holds the same points', async (format) => {
  const result = await succeed(
    ['export', '--all', '--format', format, '--kind', 'points', '--out', out(`points-${format}`), '--json'],
    { env },
  );
  expect(JSON.parse(result.stdout).files[0].rows).toBe((await csv('csv/points.csv')).length);
});

it.each(['parquet', 'geojson', 'jsonl'])('numeric columns have the same sums in %s as in CSV', async (format) => {
  await succeed(['export', '--all', '--format', format, '--out', out(`sums-${format}`)], { env });
  for (const kind of ['trips', 'sections', 'places', 'points'] as const) {
    const expected = await csv(`csv/${kind}.csv`);
    const found = await tableIn(out(`sums-${format}/${kind}.${format}`), format);
    expect(found).toHaveLength(expected.length);
    for (const { name } of tables[kind].filter(({ type }) => type === 'number' || type === 'integer')) {
      const sum = (rows: Record<string, unknown>[]) => rows.reduce((total, row) => total + Number(row[name] ?? 0), 0);
      expect(sum(found), `${kind}.${name}`).toBeCloseTo(sum(expected), 6);
    }
  }
});

/** The rows of a table as a program for maps reads them: numbers are taken from `properties` only. */
async function tableIn(path: string, format: string): Promise<Record<string, unknown>[]> {
  if (format === 'parquet') return parquetReadObjects({ file: await asyncBufferFromFile(path) });
  const text = await readFile(path, 'utf8');
  const features =
    format === 'geojson'
      ? JSON.parse(text).features
      : text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line));
  return features.map(({ properties }: { properties: Record<string, unknown> }) => properties);
}

it.each(['csv', 'jsonl', 'parquet'])('%s has an empty cell for a time outside of the calendar', async (format) => {
  const place = { MOBILITY_STORE: out(`odd-${format}`), MOBILITY_LOG_DIR: out('logs') };
  const times = [1e308, 9e15, 1e15, -62_135_596_801, -1e15, -1e308];
  const store = await openStore(place.MOBILITY_STORE);
  const { user } = await store.users.register('odd', { now: 1 });
  const odd = times.flatMap((ts, i) => [
    { metadata: { key: 'my/key', write_ts: 1_700_000_000 + i }, data: { ts } },
    { metadata: { key: 'my/key', write_ts: ts }, data: { ts: 1_700_000_000 } },
    { metadata: { key: 'manual/mode_confirm', write_ts: ts }, data: { start_ts: ts, end_ts: ts, label: 'bus' } },
  ]);
  const plain = { metadata: { key: 'my/key', write_ts: 1_700_000_100.5 }, data: { ts: 1_700_000_000 } };
  await putBatch(user.uuid, [...odd, plain], { store, now: () => 1_720_000_000 });
  await store.close();
  const to = out(`odd-out-${format}`);
  const kinds = ['--kind', 'entries', '--kind', 'labels'];
  await succeed(['export', '--all', '--format', format, ...kinds, '--out', to], { env: place });
  const rows = (await entriesIn(join(to, `entries.${format}`), format)).filter(({ key }) => key === 'my/key');
  const shown = rows.map(({ written_at, occurred_at }) => [written_at, occurred_at].map((one) => one !== null));
  const count = (written: boolean, occurred: boolean) =>
    shown.filter(([one, other]) => one === written && other === occurred).length;
  expect([count(true, true), count(true, false), count(false, true)]).toEqual([1, times.length, times.length]);
});

/** Rows of a table, with null for an empty cell. */
async function entriesIn(path: string, format: string): Promise<Record<string, unknown>[]> {
  if (format === 'parquet') return parquetReadObjects({ file: await asyncBufferFromFile(path) });
  const text = await readFile(path, 'utf8');
  if (format === 'jsonl')
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  return parse(text, { columns: true, cast: (value) => (value === '' ? null : value) });
}

it('check-geojson finds no error in any GeoJSON that the program writes', async () => {
  await succeed(['export', '--all', '--format', 'geojson', '--out', out('maps')], { env });
  const kinds = ['trips', 'sections', 'places', 'points'];
  const texts = await Promise.all(kinds.map((kind) => readFile(out(`maps/${kind}.geojson`), 'utf8')));
  const [{ user_id, day }] = (await csv('csv/trips.csv')) as [Record<string, string>];
  texts.push((await run(['export', '--user', user_id!, '--trips'], { env })).stdout);
  texts.push((await run(['diary', '--user', user_id!, '--day', day!, '--geojson', '-'], { env })).stdout);
  for (const text of texts) {
    const checked = check(text) as { features: object[] }; // throws with the place of what is wrong
    expect(checked.features.length).toBeGreaterThan(2);
  }
  expect(() => check(texts[0]!.replace('LineString', 'Line'))).toThrow();
});

it('pseudonyms hide names and UUIDs, are the same for the same key, and are unrelated for another', async () => {
  await writeFile(out('key'), 'a key of more than sixteen characters');
  await writeFile(out('other-key'), 'another key of more than sixteen characters');
  for (const [name, key] of Object.entries({ p1: 'key', p2: 'key', other: 'other-key' })) {
    const flags = ['--format', 'csv', '--pseudonyms', out(key), '--out', out(name)];
    await succeed(['export', '--all', ...flags], { env });
  }
  const text = await readFile(out('p1/trips.csv'), 'utf8');
  for (const { user_id, user_name } of await csv('csv/trips.csv')) {
    expect(text).not.toContain(user_id);
    expect(text).not.toContain(user_name);
  }
  expect(await readFile(out('p2/trips.csv'), 'utf8')).toBe(text);
  const ids = (row: Record<string, string>) =>
    Object.keys(row).flatMap((name) => (/_id$/.test(name) && row[name] !== '' ? row[name]! : []));
  const others = new Set((await csv('other/trips.csv')).flatMap(ids));
  expect((await csv('p1/trips.csv')).flatMap(ids).filter((id) => others.has(id))).toEqual([]);
  for (const name of ['p1', 'other']) {
    const order = (await csv(`${name}/people.csv`)).map((row) => row.user_id);
    expect(order).toEqual(order.toSorted()); // not the order of UUIDs, which would identify people
  }
  const raw = ['--format', 'csv', '--kind', 'entries', '--pseudonyms', out('key'), '--out', out('p3')];
  expect(await run(['export', '--all', ...raw], { env })).toMatchObject({ code: 2 });
  const missing = ['--format', 'csv', '--pseudonyms', out('missing'), '--out', out('p4')];
  const end = await run(['export', '--all', ...missing], { env });
  expect(end.stderr).toContain(
    `expected a key of at least 16 characters in ${out('missing')}, found no file: make one`,
  );
});

it('with pseudonyms no id can be derived from the UUID, and the tables can be joined as before', async () => {
  const key = 'a key of more than sixteen characters';
  await writeFile(out('key-of-ids'), key);
  const flags = ['--format', 'csv', '--pseudonyms', out('key-of-ids'), '--out', out('ids')];
  await succeed(['export', '--all', ...flags], { env });
  /** The ids in the order of people under pseudonyms. */
  const idsIn = async (folder: string, nameOf = (id: string) => id) => {
    const kinds = ['trips', 'sections', 'places', 'points'];
    const all = (await Promise.all(kinds.map((kind) => csv(`${folder}/${kind}.csv`)))) as Record<string, string>[][];
    const named = (row: Record<string, string>) =>
      Object.entries(row).flatMap(([name, id]) =>
        name.endsWith('_id') && name !== 'user_id' && id !== '' ? [id] : [],
      );
    const byPerson = (a: Record<string, string>, b: Record<string, string>) =>
      nameOf(a.user_id!).localeCompare(nameOf(b.user_id!));
    return all.flatMap((rows) => rows.toSorted(byPerson)).flatMap(named);
  };
  const [plain, hidden] = [await idsIn('csv', (id) => keyedPseudonym(id, key)), await idsIn('ids')];
  const replaced = new Map(plain.map((id, i) => [id, hidden[i]!]));
  expect(plain.map((id) => replaced.get(id))).toEqual(hidden);
  expect(new Set(replaced.values()).size).toBe(replaced.size);
  const known = new Set([
    ...plain,
    ...(await csv('csv/trips.csv')).map(({ user_id }) => idOf(user_id!, 'place', 'first')),
  ]);
  expect(hidden.filter((id) => known.has(id))).toEqual([]);
});

it('an export that fails leaves no file, and the same command works later', async () => {
  const [{ user_id }] = (await csv('csv/trips.csv')) as [Record<string, string>];
  const exports = [
    { to: out('failing-tables'), fails: 'places.csv', flags: ['--all', '--format', 'csv'], isContinued: true },
    { to: out('failing-archive'), fails: 'documents.jsonl', flags: ['--user', user_id!] },
    { to: out('failing-archives'), fails: `${user_id}/trips.geojson`, flags: ['--all'] },
  ];
  for (const { to, fails, flags, isContinued = false } of exports) {
    // Looks free at first: the export meets it when its files get their names.
    await mkdir(dirname(join(to, fails)), { recursive: true });
    await symlink('nowhere', join(to, fails));
    await refuse(['export', ...flags, '--out', to], `${join(to, fails)} already exists`, { env });
    const kept = isContinued ? await readdir(join(to, '.parts')) : [];
    expect((await filesBelow(to)).sort()).toEqual([basename(fails), ...kept].sort());
    await rm(join(to, fails));
    const again = await succeed(['export', ...flags, '--out', to], { env });
    if (isContinued) expect(again.stderr).toContain('2 users taken over from an export');
    expect((await filesBelow(to)).filter((name) => name.startsWith('.'))).toEqual([]);
  }
});

it('of two simultaneous exports into one folder one is refused, and the files are from the other', async () => {
  const [{ user_id }] = (await csv('csv/trips.csv')) as [Record<string, string>];
  for (const kinds of [[], ['--kind', 'places', '--kind', 'entries'], ['--kind', 'entries']]) {
    const to = out(`both-${kinds.length}`);
    const both = await Promise.all(
      [['--all'], ['--user', user_id!]].map((whom) =>
        run(['export', ...whom, '--format', 'csv', ...kinds, '--out', to], { env }),
      ),
    );
    expect(both.map(({ code }) => code).sort()).toEqual([0, 2]);
    const { resources } = JSON.parse(await readFile(join(to, 'datapackage.json'), 'utf8'));
    for (const { path, hash } of resources) {
      const digest = createHash('sha256').update(await readFile(join(to, path)));
      expect(hash).toContain(digest.digest('hex'));
    }
    const names = resources.map(({ path }: { path: string }) => path);
    expect((await filesBelow(to)).sort()).toEqual([...names, 'codebook.html', 'datapackage.json'].sort());
  }
});

async function filesBelow(folder: string): Promise<string[]> {
  const all = await readdir(folder, { recursive: true, withFileTypes: true });
  return all.filter((one) => !one.isDirectory()).map(({ name }) => name);
}

it('contradicting flags are refused, and the error states what to do', async () => {
  const refusals = [
    ['--all', '--format', 'gpx', '--kind', 'trips', '--out', out('no')],
    ['--all', '--format', 'geojson', '--names', 'trackintel', '--out', out('no')],
    ['--all', '--kind', 'trips', '--out', out('no')],
    ['--format', 'csv', '--out', out('no')],
  ];
  for (const flags of refusals) {
    const { code, stderr } = await run(['export', ...flags], { env });
    expect(code).toBe(2);
    expect(stderr).toMatch(/expected/i);
  }
});

it('an export into the folder of another one is refused before it writes a file', async () => {
  const before = await readdir(out('csv'));
  const flags = ['--all', '--format', 'parquet', '--kind', 'sections', '--out', out('csv')];
  await refuse(['export', ...flags], 'datapackage.json already exists', { env });
  expect(await readdir(out('csv'))).toEqual(before);
});

it('text that a spreadsheet would run as a formula is escaped', async () => {
  const { writer, text } = memoryWriter();
  const table = csvWriter(writer, [
    { name: 'a', type: 'text', meaning: '' },
    { name: 'n', type: 'number', meaning: '' },
  ]);
  await table.rows([{ a: '=HYPERLINK("x")', n: -1.5 }]);
  expect(text()).toBe(`"'=HYPERLINK(""x"")",-1.5\n`);
});

it('a name cannot break out of a GPX file', async () => {
  const { writer, text } = memoryWriter();
  const gpx = gpxWriter(writer);
  await gpx.rows([{ section_id: 's', user_name: '</name>&\u0001"', mode: 'walking', latitude: 1, longitude: 2 }]);
  expect(text()).toContain('<name>&lt;/name&gt;&amp;\uFFFD&quot; s</name>');
});

it('geometry and time have formats that other programs read', () => {
  expect(wkt({ type: 'LineString', coordinates: [[18.06, 59.33]] })).toBe('LINESTRING (18.06 59.33, 18.06 59.33)');
  const bytes = Buffer.from(wkb({ type: 'Point', coordinates: [18.06, -59.33] }));
  expect([bytes.readUInt8(0), bytes.readUInt32LE(1), bytes.readDoubleLE(5), bytes.readDoubleLE(13)]).toEqual([
    1, 1, 18.06, -59.33,
  ]);
  expect(localText(1_711_846_800.5, 'Europe/Stockholm')).toBe('2024-03-31T03:00:00.500');
  expect(localText(1_711_846_800, 'Europe/Stockholm')).toBe('2024-03-31T03:00:00');
  expect(['MotionTypes.ON_FOOT', 'PredictedModeTypes.LIGHT_RAIL', 'MotionTypes.IN_VEHICLE'].map(plainMode)).toEqual([
    'walking',
    'light_rail',
    'vehicle',
  ]);
});

/** Time, latitude, longitude, speed in m/s: how a fix is compared, sorted by time. */
type Moved = readonly (readonly [at: number, lat: number, lon: number, speed: number])[];
const sorted = (fixes: readonly (readonly (string | number)[])[]): Moved =>
  fixes
    .map(([at, lat, lon, speed]) => [Number(at), Number(lat), Number(lon), Number(Number(speed).toFixed(2))] as const)
    .sort((a, b) => a[0] - b[0]);
const secondsOf = (time: string): number => Date.parse(time) / 1000;

/** How the importer of each program reads a file, after its source text: Dawarich by names, GeoPulse by places. */
const readers: Record<string, (text: string) => Moved> = {
  dawarich: (text) =>
    sorted(
      parse<Record<string, string>>(text, { columns: true }).map((row) => {
        const named = (...names: string[]) => row[names.find((name) => name in row)!]!;
        return [
          secondsOf(named('timestamp', 'time', 'date', 'datetime')),
          named('lat', 'latitude'),
          named('lon', 'lng', 'long', 'longitude'),
          named('speed', 'velocity', 'vel'),
        ];
      }),
    ),
  geopulse: (text) => {
    const [header, ...lines] = text.trimEnd().split(/\r?\n/);
    expect(header).toMatch(/^timestamp,latitude,longitude,accuracy,velocity,altitude,battery,device_id,source_type/);
    return sorted(
      lines.map((line) => {
        const [at, lat, lon, accuracy, kmh, , battery, , source] = line.split(',');
        expect([Number(accuracy) > 0, battery, source]).toEqual([true, '', 'CSV']);
        return [secondsOf(at!), lat!, lon!, Number(kmh) / 3.6];
      }),
    );
  },
};

const iso = (at: number): string => new Date(at * 1000).toISOString();
const gpxOf = (creator: string, fixes: Moved, point: (fix: Moved[number]) => string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><gpx xmlns="http://www.topografix.com/GPX/1/1" version="1.1" creator="${creator}"><trk><trkseg>${fixes.map((fix) => `<trkpt lat="${fix[1]}" lon="${fix[2]}">${point(fix)}</trkpt>`).join('')}</trkseg></trk></gpx>`;
const featuresOf = (fixes: Moved, properties: (fix: Moved[number]) => object): string => {
  const features = fixes.map((fix) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [fix[2], fix[1]] },
    properties: properties(fix),
  }));
  return JSON.stringify({ type: 'FeatureCollection', features });
};

/** The files that each program exports, after its source text. GeoPulse keeps km/h, but its GPX has m/s. */
const writers: Record<string, (fixes: Moved) => string> = {
  'dawarich.json': (fixes) =>
    featuresOf(fixes, ([at, lat, lon, speed]) => ({
      timestamp: at,
      latitude: String(lat),
      longitude: String(lon),
      velocity: String(speed),
      battery: 80,
      tracker_id: 'phone',
      accuracy: 9,
      course: null,
    })),
  'dawarich.gpx': (fixes) =>
    gpxOf(
      'Dawarich',
      fixes,
      ([at, , , speed]) => `<ele>0.0</ele>${speed > 0 ? `<speed>${speed}</speed>` : ''}<time>${iso(at)}</time>`,
    ),
  'geopulse.csv': (fixes) =>
    ['timestamp,latitude,longitude,accuracy,velocity,altitude,battery,device_id,source_type']
      .concat(fixes.map(([at, lat, lon, speed]) => `${iso(at)},${lat},${lon},9.0,${speed * 3.6},,80.0,phone,OWNTRACKS`))
      .join('\n'),
  'geopulse.geojson': (fixes) =>
    featuresOf(fixes, ([at, , , speed]) => ({
      timestamp: iso(at),
      velocity: speed * 3.6,
      accuracy: 9,
      battery: 80,
      deviceId: 'phone',
      sourceType: 'OVERLAND',
    })),
  'geopulse.gpx': (fixes) =>
    gpxOf('GeoPulse', fixes, ([at, , , speed]) => `<time>${iso(at)}</time><speed>${speed}</speed>`),
};

/** The locations that the analysis can use, after the import of a file into a new store. */
async function imported(file: string, ...flags: string[]): Promise<Moved> {
  const there = { MOBILITY_STORE: await mkdtemp(out('store-')), MOBILITY_LOG_DIR: out('logs') };
  await succeed(['import', file, '--user', 'ada', '--create', ...flags], { env: there });
  const name = basename(there.MOBILITY_STORE);
  const exported = ['export', '--user', 'ada', '--format', 'csv', '--kind', 'fixes', '--out', out(`of-${name}`)];
  await succeed(exported, { env: there });
  return usedFixes(`of-${name}`);
}

const usedFixes = async (name: string): Promise<Moved> =>
  sorted(
    (await csv(`${name}/fixes.csv`))
      .filter(({ used }) => used === 'true')
      .map(({ tracked_at, latitude, longitude, speed_ms }) => [
        secondsOf(tracked_at!),
        latitude!,
        longitude!,
        speed_ms!,
      ]),
  );

it('a trip has the same points, times and speeds in Dawarich, GeoPulse and GPSBabel, exported and imported', async () => {
  const [{ user_name: user } = {}] = await csv('csv/trips.csv');
  const exported = ['export', '--user', user!, '--format', 'csv'];
  await succeed([...exported, '--kind', 'fixes', '--out', out('own')], { env });
  const before = await usedFixes('own');
  expect(before.length).toBeGreaterThan(100);
  expect(before.some(([, , , speed]) => speed > 5)).toBe(true);
  for (const names of ['dawarich', 'geopulse', 'gpsbabel']) {
    await succeed([...exported, '--names', names, '--out', out(names)], { env });
    const file = out(`${names}/locations.csv`);
    expect(readers[names]?.(await readFile(file, 'utf8')) ?? before, names).toEqual(before);
    const columns = names === 'gpsbabel' ? ['--zone', 'UTC', '--columns', 'date=utc_d,time=utc_t'] : [];
    expect(await imported(file, ...columns), names).toEqual(before);
  }
  for (const [name, write] of Object.entries(writers)) {
    await writeFile(out(name), write(before));
    expect(await imported(out(name)), name).toEqual(before);
  }
});

it('people, stops, locations and the codebook describe the same study', async () => {
  const flags = ['people', 'stops', 'fixes', 'trips', 'days', 'locations'].flatMap((kind) => ['--kind', kind]);
  await succeed(['export', '--all', '--format', 'csv', ...flags, '--out', out('research')], { env });
  const [people, stops, fixes, trips, days] = await Promise.all(
    ['people', 'stops', 'fixes', 'trips', 'days'].map((kind) => csv(`research/${kind}.csv`)),
  );
  for (const { user_id, trips: count, observed_s } of people!) {
    expect(Number(count)).toBe(trips!.filter((trip) => trip.user_id === user_id).length);
    const own = days!.filter((day) => day.user_id === user_id);
    expect(Number(observed_s)).toBeCloseTo(
      own.reduce((sum, day) => sum + Number(day.observed_s), 0),
      1,
    );
  }
  expect(stops!.length).toBe(trips!.reduce((sum, trip) => sum + Number(trip.sections) - 1, 0));
  expect(new Set(fixes!.map(({ used, reason }) => `${used} ${reason === ''}`))).toEqual(
    new Set(['true true', 'false false']),
  );
  for (const { day, weekday } of days!) expect(Number(weekday)).toBe(new Date(day!).getUTCDay() || 7);
  const tours = trips!.filter(({ tour_id, trip_id }) => tour_id === trip_id);
  expect(tours.length).toBeGreaterThan(0);
  expect(trips!.every(({ start_inferred_s }) => Number(start_inferred_s) >= 0)).toBe(true);
  const page = await readFile(out('research/codebook.html'), 'utf8');
  const walks = trips!.filter(({ mode }) => mode === 'walking').length;
  expect(page).toContain(`walking ${walks} (`);
  const { resources } = JSON.parse(await readFile(out('research/datapackage.json'), 'utf8'));
  const mode = resources
    .find(({ name }: { name: string }) => name === 'trips')
    .schema.fields.find(({ name }: { name: string }) => name === 'mode');
  expect(mode.categories).toContain('walking');
  for (const { name, values } of Object.values(tables).flat())
    if (/^(mode|main_mode|analysed_mode)$/.test(name)) expect(values).toContain('walking');
});

it('answers of a survey are rows, a row for each chosen answer', async () => {
  const store = await openStore(out('store'));
  const { user } = await store.users.register('eve', { now: 1 });
  const ts = 1_710_230_400;
  const own = { attrid: 'f', attrversion: 3, 'attrxmlns:orx': 'http://openrosa.org/xforms', meta: { instanceID: 'x' } };
  const form = { data: { ...own, household: { cars: '2', bikes: ['1', '3'] }, attractive_stops: 'yes' } };
  const data = { ts, name: 'Demographics', label: 'done', jsonDocResponse: form, fmt_time: '', local_dt: {} };
  const metadata = { key: 'manual/demographic_survey', write_ts: ts, type: 'message', platform: 'android' };
  await putBatch(user.uuid, [{ metadata: { ...metadata, time_zone: 'UTC' }, data }], { store, now: () => ts });
  await store.close();
  await succeed(['export', '--user', 'eve', '--format', 'csv', '--kind', 'answers', '--out', out('answers')], {
    env,
  });
  expect((await csv('answers/answers.csv')).map(({ survey, question, answer }) => [survey, question, answer])).toEqual([
    ['Demographics', 'household.cars', '2'],
    ['Demographics', 'household.bikes', '1'],
    ['Demographics', 'household.bikes', '3'],
    ['Demographics', 'attractive_stops', 'yes'],
  ]);
});
