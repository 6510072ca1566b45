// Tables of an export: they join, stream, are safe in a spreadsheet, and hide who and where when asked to.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
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
import type { TripRecord } from '../../src/model/trip.ts';
import type { Store } from '../../src/store/store.ts';
import { freshProgram, type Program, simulatedProgram } from '../cli/kit.ts';
import { madeTrip, storeTrips } from '../server/trips.ts';
import { newUser, useStore } from '../support/store.ts';
import { workday } from '../support/trips.ts';
import { words } from '../support/words.ts';

type Row = Record<string, string>;

const store = useStore();
let program: Program;
/** A trip of the export as CSV. */
let trip: Row;
const out = (name: string) => join(program.folder, name);
const csv = async (path: string): Promise<Row[]> => parse(await readFile(out(path)), { columns: true });
async function csvOf<T extends string>(name: string, ...kinds: T[]): Promise<Record<T, Row[]>> {
  const found = await Promise.all(kinds.map(async (kind) => [kind, await csv(`${name}/${kind}.csv`)]));
  return Object.fromEntries(found);
}
const manifestOf = async (name: string) => JSON.parse(await readFile(out(`${name}/datapackage.json`), 'utf8'));

/** Exports everybody as CSV into a folder, or as the flags say. */
const exportTo = (name: string, ...flags: string[]) => {
  const whom = flags.includes('--user') ? [] : ['--all'];
  const format = flags.includes('--format') ? [] : ['--format', 'csv'];
  return program.succeed(['export', ...whom, ...format, ...flags, '--out', out(name)]);
};

const sum = (rows: readonly Record<string, unknown>[], ...names: string[]): number =>
  rows.reduce((total, row) => names.reduce((part, name) => part + Number(row[name] ?? 0), total), 0);
const idsIn = (rows: readonly Row[], name: string) => new Set(rows.map((row) => row[name]!));

beforeAll(async () => {
  program = await simulatedProgram('--users 2 --days 2 --seed tables');
  await exportTo('csv');
  [trip] = (await csv('csv/trips.csv')) as [Row];
});

it('sections name their trip, points their section, trips their places, and days count them', async () => {
  const { trips, sections, points, places, days } = await csvOf('csv', 'trips', 'sections', 'points', 'places', 'days');
  expect(trips.length).toBeGreaterThan(4);
  expect(idsIn(trips, 'user_id').size).toBe(2);
  const [tripIds, placeIds] = [idsIn(trips, 'trip_id'), idsIn(places, 'place_id')];
  expect(sections.filter(({ trip_id }) => !tripIds.has(trip_id!))).toEqual([]);
  expect(idsIn(points, 'section_id')).toEqual(idsIn(sections, 'section_id'));
  expect(places.length).toBe(placeIds.size);
  expect(trips.filter((t) => !placeIds.has(t.start_place_id!) || !placeIds.has(t.end_place_id!))).toEqual([]);
  for (const { mode_probabilities, mode_confidence } of sections) {
    const values = Object.values(JSON.parse(mode_probabilities!) as Record<string, number>);
    expect(values.reduce((all, one) => all + one, 0)).toBeCloseTo(1, 2);
    expect(values.some((one) => Math.abs(one - Number(mode_confidence)) < 0.001)).toBe(true);
  }
  expect(sum(days, 'trips')).toBe(trips.length);
  expect(new Set(days.map(({ user_id, day }) => `${user_id} ${day}`)).size).toBe(days.length);
  const figures = ['duration_s', 'distance_m', 'estimated_m'];
  for (const name of figures) expect(sum(days, name), name).toBeCloseTo(sum(trips, name), 0);
  const metres = Object.keys(days[0]!).filter((name) => name.endsWith('_m') && !figures.includes(name));
  expect(sum(days, ...metres)).toBeCloseTo(sum(sections, 'distance_m'), 0);
  for (const { trip_id, end_place_id } of trips) {
    const own = sections.filter((section) => section.trip_id === trip_id);
    expect(own.map((section) => section.end_place_id)).toEqual([...own.slice(1).map(() => ''), end_place_id]);
  }
});

it('a label names its trip, the last label of a trip is in the trips, and a label of no trip names none', async () => {
  const user = trip.user_id!;
  for (const [i, mode] of ['bus', 'tram'].entries()) {
    const flags = ['--user', user, '--trip', trip.trip_id!, '--mode', mode];
    await program.succeed(['label', ...flags], { now: 1_720_000_000 + i * 60 });
  }
  const start_ts = Date.parse(trip.started_at!) / 1000 - 30 * 86_400;
  const labels = [{ start_ts, end_ts: start_ts + 600, label: 'boat' }, { label: 'raft' }].map((data, i) => ({
    metadata: { key: 'manual/mode_confirm', write_ts: 1_720_000_120 + i, platform: 'ios', time_zone: 'UTC' },
    data,
  }));
  await program.withStore((own) => putBatch(user, labels, { store: own, now: () => 1_720_000_120 }));
  // Without the trips, an export of labels looks for the trip of each.
  for (const kind of ['labels', 'trips']) await exportTo(`only-${kind}`, '--user', user, '--kind', kind);
  const [found, trips] = [await csv('only-labels/labels.csv'), await csv('only-trips/trips.csv')];
  expect(found.map(({ trip_id, label }) => [trip_id, label])).toEqual([
    [trip.trip_id, 'bus'],
    [trip.trip_id, 'tram'],
    ['', 'boat'],
    ['', 'raft'], // without a time
  ]);
  const named = trips.filter(({ mode_confirmed }) => mode_confirmed !== '');
  expect(named.map(({ trip_id, mode_confirmed }) => [trip_id, mode_confirmed])).toEqual([[trip.trip_id, 'tram']]);
});

/** The rows of a user, in an export of these days. */
async function rowsIn(from: Store, uuid: string, days = {}, kinds: Parameters<typeof rowsOf>[0] = ['trips']) {
  const person = { uuid, id: uuid, name: 'ada', subgroup: null };
  const found: Record<string, unknown>[] = [];
  for await (const [kind, row] of rowsOf(kinds, { store: from, person, days, now: 1_730_000_000 }))
    if (kind === 'trips') found.push(row);
  return found;
}

/** A user with these trips. */
async function userWith(trips: TripRecord[]): Promise<string> {
  const uuid = await newUser(store);
  await storeTrips(store, uuid, trips);
  return uuid;
}

it('a trip that crosses a time zone has the local time of each end, and `to` keeps its whole day', async () => {
  const [first, second] = workday();
  const records = [first!, { ...second!, trip: { ...second!.trip!, start_zone: 'UTC', end_zone: 'America/New_York' } }];
  const rows = await rowsIn(store, await userWith(records), { to: second!.day });
  expect(rows).toHaveLength(2);
  const { started_at, started_local, finished_at, finished_local } = rows[1]!;
  const local = (ts: unknown) => new Date((ts as number) * 1000).toISOString().slice(0, -1);
  expect([started_local, finished_local]).toEqual([local(started_at), local((finished_at as number) - 5 * 3600)]);
});

it('the rows of a day are those of the whole history, and are read without it', async () => {
  // Trips of each day follow each other without a stay, or with one.
  const times = Array.from({ length: 12 }, (_, day) => [0, 3600, 9000].map((s) => 1_720_000_000 + day * 86_400 + s));
  const uuid = await userWith(times.flat().map((ts) => madeTrip(ts, [{ mode: 'BUS', distance: 900 }])));
  let read = 0;
  const chain: typeof store.trips.chain = async (...asked) => {
    const links = await store.trips.chain(...asked);
    read += links.length;
    return links;
  };
  const counted = { ...store, trips: { ...store.trips, chain } };
  const rows = (days = {}) => rowsIn(counted, uuid, days, ['trips', 'sections', 'points']);
  const trips = await rows();
  const days = [...new Set(trips.map(({ day }) => day as string))];
  for (const day of days) {
    read = 0;
    expect(await rows({ from: day, to: day }), day).toEqual(trips.filter((row) => row.day === day));
    expect(read, day).toBeLessThan(12);
  }
  expect(days.length).toBeGreaterThan(11);
});

it.each([
  ['air', ['CAR', 'AIR_OR_HSR', 'WALKING']],
  ['bus', ['AIR_OR_HSR', 'BUS']],
  ['ferry', ['CAR', 'FERRY']],
  ['bicycling', ['WALKING', 'BICYCLING']],
])('the main mode has the highest rank, not the greatest length: %s', async (expected, modes) => {
  const sections = modes.map((mode, i) => ({ mode, distance: 90_000 - i }));
  const [row] = await rowsIn(store, await userWith([madeTrip(1_720_000_000, sections)]));
  expect(row!.main_mode).toBe(expected);
});

it('every file is described by the manifest: columns, rows, checksum', async () => {
  const { resources } = await manifestOf('csv');
  expect(resources.map(({ name }: { name: string }) => name)).toEqual(
    Object.keys(tables).filter((name) => !['entries', 'locations', 'fixes'].includes(name)), // only when asked
  );
  for (const { path, schema, rows, bytes } of resources) {
    const text = await readFile(out(`csv/${path}`));
    const [head, ...lines] = parse(text) as string[][];
    expect([text.byteLength, lines.length]).toEqual([bytes, rows]);
    expect(head).toEqual(schema.fields.map(({ name }: { name: string }) => name));
  }
});

/** The rows of a table as programs read them, with null for an empty cell; numbers of features are in `properties`. */
async function tableIn(path: string, format: string): Promise<Record<string, unknown>[]> {
  if (format === 'parquet') return parquetReadObjects({ file: await asyncBufferFromFile(path) });
  const text = await readFile(path, 'utf8');
  if (format === 'csv') return parse(text, { columns: true, cast: (value) => (value === '' ? null : value) });
  const lines = text.trimEnd().split('\n');
  const rows = format === 'geojson' ? JSON.parse(text).features : lines.map((line) => JSON.parse(line));
  return rows.map((row: { properties?: Record<string, unknown> }) => row.properties ?? row);
}

it.each(Object.keys(formats))('%s has the same points, and numeric columns the same sums, as CSV', async (format) => {
  const { stdout } = await exportTo(`all-${format}`, '--format', format, '--json');
  const files: { kind: string; rows: number }[] = JSON.parse(stdout).files;
  expect(files.find(({ kind }) => kind === 'points')!.rows).toBe((await csv('csv/points.csv')).length);
  if (format === 'gpx') return;
  for (const kind of ['trips', 'sections', 'places', 'points'] as const) {
    const expected = await csv(`csv/${kind}.csv`);
    const found = await tableIn(out(`all-${format}/${kind}.${format}`), format);
    expect(found).toHaveLength(expected.length);
    for (const { name } of tables[kind].filter(({ type }) => type === 'number' || type === 'integer'))
      expect(sum(found, name), `${kind}.${name}`).toBeCloseTo(sum(expected, name), 6);
  }
});

it.each(['csv', 'jsonl', 'parquet'])('%s has an empty cell for a time outside of the calendar', async (format) => {
  const odd = await freshProgram('odd');
  const times = [1e308, 9e15, 1e15, -62_135_596_801, -1e15, -1e308];
  const entries = times.flatMap((ts, i) => [
    { metadata: { key: 'my/key', write_ts: 1_700_000_000 + i }, data: { ts } },
    { metadata: { key: 'my/key', write_ts: ts }, data: { ts: 1_700_000_000 } },
    { metadata: { key: 'manual/mode_confirm', write_ts: ts }, data: { start_ts: ts, end_ts: ts, label: 'bus' } },
  ]);
  const plain = { metadata: { key: 'my/key', write_ts: 1_700_000_100.5 }, data: { ts: 1_700_000_000 } };
  await odd.withUser('odd', (own, uuid) =>
    putBatch(uuid, [...entries, plain], { store: own, now: () => 1_720_000_000 }),
  );
  const to = join(odd.folder, 'out');
  const kinds = ['--kind', 'entries', '--kind', 'labels'];
  await odd.succeed(['export', '--all', '--format', format, ...kinds, '--out', to]);
  const rows = (await tableIn(join(to, `entries.${format}`), format)).filter(({ key }) => key === 'my/key');
  const count = (written: boolean, occurred: boolean) =>
    rows.filter((row) => (row.written_at !== null) === written && (row.occurred_at !== null) === occurred).length;
  expect([count(true, true), count(true, false), count(false, true)]).toEqual([1, times.length, times.length]);
});

it('check-geojson finds no error in any GeoJSON that the program writes', async () => {
  await exportTo('maps', '--format', 'geojson');
  const kinds = ['trips', 'sections', 'places', 'points'];
  const texts = await Promise.all(kinds.map((kind) => readFile(out(`maps/${kind}.geojson`), 'utf8')));
  const { user_id, day } = trip;
  for (const line of [`export --user ${user_id} --trips`, `diary --user ${user_id} --day ${day} --geojson -`])
    texts.push((await program.run(line)).stdout);
  for (const text of texts) {
    const checked = check(text) as { features: object[] }; // throws with the place of what is wrong
    expect(checked.features.length).toBeGreaterThan(2);
  }
  expect(() => check(texts[0]!.replace('LineString', 'Line'))).toThrow();
});

it('pseudonyms hide names, UUIDs and ids derived from them, join tables as before, and depend on the key', async () => {
  const key = 'a key of more than sixteen characters';
  await writeFile(out('key'), key);
  await writeFile(out('other-key'), `another ${key}`);
  for (const [name, file] of Object.entries({ p1: 'key', p2: 'key', other: 'other-key' }))
    await exportTo(name, '--pseudonyms', out(file));
  const text = await readFile(out('p1/trips.csv'), 'utf8');
  const trips = await csv('csv/trips.csv');
  for (const { user_id, user_name } of trips) {
    expect(text).not.toContain(user_id);
    expect(text).not.toContain(user_name);
  }
  expect(await readFile(out('p2/trips.csv'), 'utf8')).toBe(text);
  for (const name of ['p1', 'other']) {
    const order = (await csv(`${name}/people.csv`)).map((row) => row.user_id);
    expect(order).toEqual(order.toSorted()); // not the order of UUIDs, which would identify people
  }
  const named = (row: Row) =>
    Object.entries(row).flatMap(([name, id]) => (/_id$/.test(name) && name !== 'user_id' && id !== '' ? [id] : []));
  /** The ids in the order of people under pseudonyms. */
  const idsOf = async (name: string, nameOf = (id: string) => id) => {
    const all: Row[][] = Object.values(await csvOf(name, 'trips', 'sections', 'places', 'points'));
    const byPerson = (a: Row, b: Row) => nameOf(a.user_id!).localeCompare(nameOf(b.user_id!));
    return all.flatMap((rows) => rows.toSorted(byPerson)).flatMap(named);
  };
  const [plain, hidden] = [await idsOf('csv', (id) => keyedPseudonym(id, key)), await idsOf('p1')];
  const replaced = new Map(plain.map((id, i) => [id, hidden[i]!]));
  expect(plain.map((id) => replaced.get(id))).toEqual(hidden);
  expect(new Set(replaced.values()).size).toBe(replaced.size);
  const firstPlaces = trips.map(({ user_id }) => idOf(user_id!, 'place', 'first'));
  const people = (await csv('other/people.csv')).map(({ user_id }) => user_id!);
  const known = new Set([...plain, ...firstPlaces, ...people, ...(await idsOf('other'))]);
  expect([...hidden, ...idsIn(await csv('p1/people.csv'), 'user_id')].filter((id) => known.has(id))).toEqual([]);
  const asked = ['export', '--all', '--format', 'csv', '--out', out('no'), '--pseudonyms'];
  await program.refuse([...asked, out('key'), '--kind', 'entries'], '');
  const missing = `expected a key of at least 16 characters in ${out('missing')}, found no file: make one`;
  expect((await program.run([...asked, out('missing')])).stderr).toContain(missing);
});

it('an export that fails leaves no file, and the same command works later', async () => {
  const { user_id } = trip;
  const exports = [
    { to: out('failing-tables'), fails: 'places.csv', flags: ['--all', '--format', 'csv'], isContinued: true },
    { to: out('failing-archive'), fails: 'documents.jsonl', flags: ['--user', user_id!] },
    { to: out('failing-archives'), fails: `${user_id}/trips.geojson`, flags: ['--all'] },
  ];
  for (const { to, fails, flags, isContinued = false } of exports) {
    // Looks free at first: the export meets it when its files get their names.
    await mkdir(dirname(join(to, fails)), { recursive: true });
    await symlink('nowhere', join(to, fails));
    await program.refuse(['export', ...flags, '--out', to], `${join(to, fails)} already exists`);
    const kept = isContinued ? await readdir(join(to, '.parts')) : [];
    expect((await filesBelow(to)).sort()).toEqual([basename(fails), ...kept].sort());
    await rm(join(to, fails));
    const again = await program.succeed(['export', ...flags, '--out', to]);
    if (isContinued) expect(again.stderr).toContain('2 users taken over from an export');
    expect((await filesBelow(to)).filter((name) => name.startsWith('.'))).toEqual([]);
  }
});

it('of two simultaneous exports into one folder one is refused, and the files are from the other', async () => {
  for (const kinds of ['', ' --kind places --kind entries', ' --kind entries']) {
    const to = out(`both-${kinds.length}`);
    const line = (whom: string) => `export ${whom} --format csv${kinds} --out ${to}`;
    const both = await Promise.all(['--all', `--user ${trip.user_id}`].map((whom) => program.run(line(whom))));
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

it('text that a spreadsheet would run as a formula is escaped, and no name breaks out of a GPX file', async () => {
  const pieces: (string | Uint8Array)[] = [];
  const writer = { write: async (piece: string | Uint8Array) => void pieces.push(piece) };
  const [text, number] = [{ type: 'text', meaning: '' } as const, { type: 'number', meaning: '' } as const];
  const columns = [
    { name: 'a', ...text },
    { name: 'n', ...number },
  ];
  await csvWriter(writer, columns).rows([{ a: '=HYPERLINK("x")', n: -1.5 }]);
  expect(pieces.join('')).toBe(`"'=HYPERLINK(""x"")",-1.5\n`);
  const row = { section_id: 's', user_name: '</name>&\u0001"', mode: 'walking', latitude: 1, longitude: 2 };
  await gpxWriter(writer).rows([row]);
  expect(pieces.join('')).toContain('<name>&lt;/name&gt;&amp;\uFFFD&quot; s</name>');
});

it('geometry and time have formats that other programs read', () => {
  expect(wkt({ type: 'LineString', coordinates: [[18.06, 59.33]] })).toBe('LINESTRING (18.06 59.33, 18.06 59.33)');
  const bytes = Buffer.from(wkb({ type: 'Point', coordinates: [18.06, -59.33] }));
  const found = [bytes.readUInt8(0), bytes.readUInt32LE(1), bytes.readDoubleLE(5), bytes.readDoubleLE(13)];
  expect(found).toEqual([1, 1, 18.06, -59.33]);
  expect(localText(1_711_846_800.5, 'Europe/Stockholm')).toBe('2024-03-31T03:00:00.500');
  expect(localText(1_711_846_800, 'Europe/Stockholm')).toBe('2024-03-31T03:00:00');
});

/** Time, latitude, longitude, speed in m/s: how a fix is compared, sorted by time. */
type Fix = readonly [at: number, lat: number, lon: number, speed: number];
const sorted = (fixes: readonly (readonly (string | number | undefined)[])[]): Fix[] =>
  fixes
    .map(([at, lat, lon, speed]): Fix => {
      return [Date.parse(`${at}`) / 1000, Number(lat), Number(lon), Number(Number(speed).toFixed(2))];
    })
    .sort((a, b) => a[0] - b[0]);
const usedFixes = async (path: string): Promise<Fix[]> => {
  const used = (await csv(path)).filter((row) => row.used === 'true');
  return sorted(used.map((row) => [row.tracked_at, row.latitude, row.longitude, row.speed_ms]));
};

/** How the importer of each program reads a file, after its source text: Dawarich by names, GeoPulse by places. */
const readers: Record<string, (text: string) => Fix[]> = {
  dawarich: (text) =>
    sorted(
      parse<Row>(text, { columns: true }).map((row) => {
        const named = (names: string) => row[words(names).find((name) => name in row)!]!;
        return ['timestamp time date datetime', 'lat latitude', 'lon lng long longitude', 'speed velocity vel'].map(
          named,
        );
      }),
    ),
  geopulse: (text) => {
    const [header, ...lines] = text.trimEnd().split(/\r?\n/);
    expect(header).toMatch(/^timestamp,latitude,longitude,accuracy,velocity,altitude,battery,device_id,source_type/);
    return sorted(
      lines.map((line) => {
        const [at, lat, lon, accuracy, kmh, , battery, , source] = line.split(',');
        expect([Number(accuracy) > 0, battery, source]).toEqual([true, '', 'CSV']);
        return [at, lat, lon, Number(kmh) / 3.6];
      }),
    );
  },
};

it('a trip has the same points, times and speeds in Dawarich, GeoPulse and GPSBabel, exported and imported', async () => {
  const user = ['--user', trip.user_name!];
  await exportTo('own', ...user, '--kind', 'fixes');
  const before = await usedFixes('own/fixes.csv');
  expect(before.length).toBeGreaterThan(100);
  expect(before.some(([, , , speed]) => speed > 5)).toBe(true);
  for (const names of ['dawarich', 'geopulse', 'gpsbabel']) {
    await exportTo(names, ...user, '--names', names);
    const file = out(`${names}/locations.csv`);
    expect(readers[names]?.(await readFile(file, 'utf8')) ?? before, names).toEqual(before);
    const columns = names === 'gpsbabel' ? ['--zone', 'UTC', '--columns', 'date=utc_d,time=utc_t'] : [];
    const other = await freshProgram();
    await other.succeed(['import', file, '--user', 'ada', '--create', ...columns]);
    const flags = ['--user', 'ada', '--format', 'csv', '--kind', 'fixes'];
    await other.succeed(['export', ...flags, '--out', out(`of-${names}`)]);
    expect(await usedFixes(`of-${names}/fixes.csv`), names).toEqual(before);
  }
});

it('people, stops, locations and the codebook describe the same study', async () => {
  const kinds = ['people', 'stops', 'fixes', 'trips', 'days'] as const;
  await exportTo('research', ...[...kinds, 'locations'].flatMap((kind) => ['--kind', kind]));
  const { people, stops, fixes, trips, days } = await csvOf('research', ...kinds);
  for (const { user_id, trips: count, observed_s } of people) {
    expect(Number(count)).toBe(trips.filter((one) => one.user_id === user_id).length);
    const own = days.filter((day) => day.user_id === user_id);
    expect(Number(observed_s)).toBeCloseTo(sum(own, 'observed_s'), 1);
  }
  expect(stops.length).toBe(sum(trips, 'sections') - trips.length);
  const uses = new Set(fixes.map(({ used, reason }) => `${used} ${reason === ''}`));
  expect(uses).toEqual(new Set(['true true', 'false false']));
  for (const { day, weekday } of days) expect(Number(weekday)).toBe(new Date(day!).getUTCDay() || 7);
  expect(trips.filter(({ tour_id, trip_id }) => tour_id === trip_id).length).toBeGreaterThan(0);
  expect(trips.every(({ start_inferred_s }) => Number(start_inferred_s) >= 0)).toBe(true);
  const walks = trips.filter(({ mode }) => mode === 'walking').length;
  expect(await readFile(out('research/codebook.html'), 'utf8')).toContain(`walking ${walks} (`);
  const { resources } = await manifestOf('research');
  const { schema } = resources.find(({ name }: { name: string }) => name === 'trips');
  expect(schema.fields.find(({ name }: { name: string }) => name === 'mode').categories).toContain('walking');
  for (const { name, values } of Object.values(tables).flat())
    if (/^(mode|main_mode|analysed_mode)$/.test(name)) expect(values).toContain('walking');
});

it('answers of a survey are rows, a row for each chosen answer', async () => {
  const eve = await freshProgram('eve');
  const ts = 1_710_230_400;
  const own = { attrid: 'f', attrversion: 3, 'attrxmlns:orx': 'http://openrosa.org/xforms', meta: { instanceID: 'x' } };
  const form = { data: { ...own, household: { cars: '2', bikes: ['1', '3'] }, attractive_stops: 'yes' } };
  const data = { ts, name: 'Demographics', label: 'done', jsonDocResponse: form, fmt_time: '', local_dt: {} };
  const key = 'manual/demographic_survey';
  const metadata = { key, write_ts: ts, type: 'message', platform: 'android', time_zone: 'UTC' };
  await eve.withUser('eve', (of, uuid) => putBatch(uuid, [{ metadata, data }], { store: of, now: () => ts }));
  const flags = ['--user', 'eve', '--format', 'csv', '--kind', 'answers'];
  await eve.succeed(['export', ...flags, '--out', out('answers')]);
  const rows = await csv('answers/answers.csv');
  const found = rows.map(({ survey, question, answer }) => `${survey} ${question} ${answer}`);
  const answers = ['household.cars 2', 'household.bikes 1', 'household.bikes 3', 'attractive_stops yes'];
  expect(found).toEqual(answers.map((answer) => `Demographics ${answer}`));
});
