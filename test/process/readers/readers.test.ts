// Other programs open the exports and find the rows, types and places that were written.
// Needs `npm run test:readers`; without it the tests are skipped.
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, copyFile, readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Kind, tables } from '../../../src/export/columns.ts';
import { type Program, simulatedProgram, tempFolder } from '../../cli/kit.ts';
import { isHere } from '../../support/needs.ts';
import type { Untyped } from '../../support/untyped.ts';
import { words } from '../../support/words.ts';

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const isInstalled = existsSync(file('../../../.readers/installed.txt'));
const installed = isHere('programs that read exports: `npm run test:readers`', isInstalled);

const gis = 'GDAL, R with sf, and PostGIS: `npm run test:gis`';
const can = (program: string, ...args: string[]): boolean => spawnSync(program, args, { stdio: 'ignore' }).status === 0;
const hasGis = isHere(gis, can('ogr2ogr', '--version') && can('Rscript', '-e', 'library(sf)'));
const postgresVersions = '/usr/lib/postgresql';
const [newest] = existsSync(postgresVersions) ? readdirSync(postgresVersions).sort().reverse() : [];
const hasPostgis = isHere(gis, existsSync(`/usr/share/postgresql/${newest}/extension/postgis.control`));

/** Runs a script in the environment of the readers, without a screen; returns what it prints. */
async function python(args: readonly string[]): Promise<string> {
  const path = process.platform === 'win32' ? 'Scripts/python' : 'bin/python';
  const program = file(`../../../.readers/${path}`);
  const { stdout } = await promisify(execFile)(program, args, { env: { ...process.env, MPLBACKEND: 'agg' } });
  return stdout;
}

describe.skipIf(!installed)('programs of others (npm run test:readers)', () => {
  let program: Program;
  /** What each program read: the output of read_exports.py. `sums`: by program and format, table and column. */
  let seen: Untyped;
  /** Rows by kind, as the program counted them. */
  let wrote: Record<string, number>;

  beforeAll(async () => {
    // Two days around the change to summer time; one of the two people lives in Stockholm.
    program = await simulatedProgram('--users 2 --days 2 --from 2024-03-30 --seed readers');
    const run = (...args: string[]) => program.succeed(args);
    const [other, user] = (await program.json('users', 'list')).users.map((one: Untyped) => one.user_email);
    const [trip] = (await program.json('diary', '--user', user, '--day', '2024-03-31')).trips;
    await run('label', '--user', user, '--trip', trip.id, '--mode', 'bus', '--purpose', 'work');
    const out = (name: string) => ['--out', `${program.folder}/${name}`];
    const all = Object.keys(tables).flatMap((kind) => ['--kind', kind]); // entries too, which an export has only on request
    for (const format of ['parquet', 'jsonl']) await run('export', '--all', '--format', format, ...all, ...out(format));
    const onMaps = Object.keys(tables).filter((kind) => tables[kind as Kind].some(({ type }) => type === 'geometry'));
    const kinds = onMaps.flatMap((kind) => ['--kind', kind]);
    await run('export', '--all', '--format', 'geojson', ...kinds, ...out('geojson'));
    await run('export', '--all', '--format', 'gpx', ...out('gpx'));
    await run('export', '--all', '--format', 'csv', ...out('recipes'));
    for (const kind of ['trips', 'sections'])
      await copyFile(`${program.folder}/geojson/${kind}.geojson`, `${program.folder}/recipes/${kind}.geojson`);
    await run('export', '--user', other, '--format', 'jsonl', ...out('unlabelled'));
    for (const names of ['trackintel', 'scikit-mobility'])
      await run('export', '--all', '--format', 'csv', '--names', names, ...out(names));
    const { files } = await program.json('export', '--all', '--format', 'csv', ...all, ...out('csv'));
    wrote = Object.fromEntries(files.map(({ kind, rows }: Untyped) => [kind, rows]));
    const fixes = await readFile(`${program.folder}/csv/fixes.csv`, 'utf8');
    wrote.used_fixes = fixes.split('\n').filter((line) => line.includes(',true,')).length;
    seen = JSON.parse(await python([file('read_exports.py'), program.folder]));
  });

  const of = (reader: string): Untyped => {
    expect(seen[reader]).not.toHaveProperty('error');
    return seen[reader];
  };

  it('pandas joins tables of three formats and reads times with and without a zone', () => {
    const { trips, points, sections_with_trip, metres, metres_of_days, types, tracked_at, confirmed } = of('pandas');
    expect([trips, points, sections_with_trip]).toEqual([wrote.trips, wrote.points, wrote.sections]);
    expect(metres).toBeGreaterThan(10_000);
    expect(metres_of_days).toBeCloseTo(metres, 3);
    expect(types.started_at).toMatch(/^datetime64\[\w+, UTC\]$/);
    expect(types.started_local).toMatch(/^datetime64\[\w+\]$/);
    expect(types).toMatchObject({ duration_s: 'float64', sections: 'int64' });
    expect(tracked_at).toMatch(/UTC/);
    expect(confirmed).toEqual(['bus']);
  });

  it('geopandas reads GeoParquet, GeoJSON and WKT as the same lines in degrees, and JSON lines as features', () => {
    const { crs, rows, shapes, bounds, same_lines, started_at, lines, geo } = of('geopandas');
    expect(crs).toBe('OGC:CRS84');
    for (const kind of ['trips', 'sections', 'places', 'points'])
      expect([rows[kind], lines[kind]]).toEqual([wrote[kind], wrote[kind]]);
    expect(geo).toMatchObject({ geometry_types: ['LineString'], bbox: bounds.parquet });
    const [lines_, points] = [['LineString'], ['Point']];
    expect(shapes).toEqual({ trips: lines_, sections: lines_, stops: points, places: points, points });
    expect([bounds.geojson, bounds.csv, same_lines]).toEqual([bounds.parquet, bounds.parquet, true]);
    expect(started_at).toMatch(/UTC/);
  });

  it('every program finds the same sum of every numeric column in every format that it reads', () => {
    const { seconds: _, ...sums }: Record<string, Record<string, Record<string, number>>> = of('sums');
    const csv = sums['pandas csv']!;
    expect(Object.keys(csv).sort()).toEqual(words('days fixes locations people places points sections stops trips'));
    expect(csv.points!.speed_ms).toBeGreaterThan(0);
    const all = ['csv', 'jsonl', 'geojson', 'parquet'];
    const ways = ['pandas', 'geopandas', 'duckdb'].flatMap((one) => all.map((format) => `${one} ${format}`));
    const ofGis = ['gdal', 'sf'].flatMap((one) => all.slice(0, 3).map((format) => `${one} ${format}`));
    expect(Object.keys(sums).sort()).toEqual([...ways, ...(hasGis ? ofGis : [])].sort());
    for (const [way, tables] of Object.entries(sums)) {
      expect(Object.keys(tables).length, way).toBeGreaterThanOrEqual(7); // those with a geometry
      for (const [table, columns] of Object.entries(tables)) {
        expect(Object.keys(columns), `${way} ${table}`).toEqual(Object.keys(csv[table]!));
        for (const [column, sum] of Object.entries(columns)) {
          const expected = csv[table]![column]!;
          expect(sum / (expected || 1), `${way} ${table}.${column}`).toBeCloseTo(expected ? 1 : 0, 12);
        }
      }
    }
  });

  it.skipIf(!hasGis || !hasPostgis)('the recipes of docs/exports.md load PostGIS, a GeoPackage and R', async () => {
    const docs = await readFile(file('../../../docs/exports.md'), 'utf8');
    const recipes = /PostGIS, GeoPackage for QGIS, and R:\n\n```sh\n([^`]+)```/.exec(docs)![1]!;
    // A server of PostgreSQL refuses to run as root.
    const user = process.getuid!() === 0 ? ['runuser', '-u', 'postgres', '--'] : [];
    const data = tempFolder();
    await chmod(data, 0o777);
    const script = `set -e
      PATH=${postgresVersions}/${newest}/bin:$PATH
      export PGHOST=${data} PGUSER=study
      ${user.join(' ')} initdb -D ${data}/db -U study -A trust >${data}/log
      ${user.join(' ')} pg_ctl -D ${data}/db -o '-k ${data} -h ""' -l ${data}/log.pg -w start >>${data}/log
      trap '${user.join(' ')} pg_ctl -D ${data}/db -m fast stop >>${data}/log' EXIT
      createdb study
      psql -qd study -c 'create extension postgis'
      ${recipes}
      psql -qAtd study -c 'select count(*), round(sum(distance_m)), bool_and(st_isvalid(geom)) from trips'
      psql -qAtd study -c 'select count(*), round(sum(distance_m)) from days'
      for table in trips sections; do
        ogr2ogr -f CSV /vsistdout/ study.gpkg -sql "select count(*) || '|' || round(sum(distance_m)) from $table"
      done`;
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: `${program.folder}/recipes` });
    const { trips, days, sections } = of('sums')['pandas csv']!;
    const metres = (sums: Record<string, number>) => Math.round(sums.distance_m!);
    expect(stdout).toContain(`\n${wrote.trips}|${metres(trips!)}|t\n${wrote.days}|${metres(days!)}\n`);
    expect(stdout).toContain(`\n${wrote.trips}|${metres(trips!)}.0\n`);
    expect(stdout).toContain(`\n${wrote.sections}|${metres(sections!)}.0\n`);
    const rows = [...stdout.matchAll(/^\d+ +(\w+) +([\d.]+)$/gm)];
    const ofR = rows.map(([, mode, sum]) => [mode, Math.round(Number(sum))]);
    const expected = Object.entries<number>(of('pandas').modes).map(([mode, sum]) => [mode, Math.round(sum)]);
    expect(ofR.sort()).toEqual(expected.sort());
  });

  it('trackintel reads its four tables without further code, finds tours and computes the modal split', () => {
    const { found, activities, split, generated, ...others } = of('trackintel');
    expect(others).toMatchObject({
      classes: ['Positionfixes', 'Staypoints', 'Triplegs', 'TripsGeoDataFrame'],
      rows: [wrote.used_fixes, wrote.places, wrote.sections, wrote.trips],
      ...{ legs_without_trip: 0, trips_without_stays: 0 },
    });
    expect(found / activities).toBeGreaterThan(0.7); // first and last stays have few locations
    expect(found / activities).toBeLessThan(1.2);
    expect(activities).toBeGreaterThan(2);
    for (const count of generated) expect(count).toBeGreaterThan(0); // locations, tours by distance and place, trips
    expect(Object.keys(split)).toContain('walking');
    expect(Object.values<number>(split).reduce((sum, share) => sum + share, 0)).toBeGreaterThan(0.99);
  });

  it('movingpandas makes a trajectory of each section', () => {
    const { trajectories, points, metres } = of('movingpandas');
    expect([trajectories, points]).toEqual([wrote.sections, wrote.points]);
    // Lengths on the ellipsoid, without the way between two sections.
    expect(metres / of('pandas').metres).toBeGreaterThan(0.9);
    expect(metres / of('pandas').metres).toBeLessThan(1.05);
  });

  it('the table for scikit-mobility has the columns that its TrajDataFrame asks for', () => {
    const { columns, rows, datetime } = of('scikit_mobility');
    expect(columns.slice(0, 4)).toEqual(['uid', 'lat', 'lng', 'datetime']);
    expect(rows).toBe(wrote.points);
    expect(datetime).toMatch(/UTC/);
  });

  it('DuckDB queries CSV, Parquet and JSON lines as they are', () => {
    const { rows, types, modes, keys } = of('duckdb');
    expect(rows).toEqual({ csv: wrote.points, parquet: wrote.points, jsonl: wrote.points, entries: wrote.entries });
    const expected = { started_local: 'TIMESTAMP', day: 'DATE', duration_s: 'DOUBLE', sections: 'BIGINT' };
    for (const ofTable of types) expect(ofTable).toEqual({ started_at: 'TIMESTAMP WITH TIME ZONE', ...expected });
    for (const [mode, metres] of Object.entries<number>(of('pandas').modes)) expect(modes[mode]).toBeCloseTo(metres, 3);
    expect(keys).toBeGreaterThan(5);
  });

  it('gpxpy reads every point with its time, and the schema of GPX 1.1 finds nothing wrong', () => {
    const { sections: tracks, points } = wrote;
    const sound = { faults: [], valid: true, refuses: true }; // the schema is one that can find faults
    expect(of('gpx')).toMatchObject({ tracks, points, without_time: 0, ...sound });
    expect(of('gpx').types).toContain('walking');
  });

  it('frictionless finds every file to match its manifest: columns, types, rows, checksum', () => {
    const { reports, finds_a_change } = of('frictionless');
    expect(Object.keys(reports).length).toBe(8);
    for (const [name, { valid, tables, faults }] of Object.entries<Untyped>(reports)) {
      expect([name, faults, valid]).toEqual([name, [], true]);
      expect(tables).toBeGreaterThan(0);
    }
    expect(finds_a_change).toBe(true);
  });

  describe('examples/notebooks', () => {
    const tested = ['README.md'];

    /** Runs a notebook with the command in its header, on exports; returns its table. It must draw a figure. */
    async function notebook(name: string, exports: string, run = python): Promise<string> {
      tested.push(name);
      const picture = `${program.folder}/${name}.svg`;
      const folders = words(exports).map((one) => `${program.folder}/${one}`);
      const printed = await run([file(`../../../examples/notebooks/${name}`), ...folders, picture]);
      expect((await readFile(picture, 'utf8')).match(/<path/g)!.length).toBeGreaterThan(10);
      return printed;
    }

    it('modal_split.py draws the kilometres of the export, with the modes that the participant labelled', async () => {
      const printed = await notebook('modal_split.py', 'parquet');
      const km = Object.values<number>(of('pandas').modes).reduce((sum, metres) => sum + metres, 0) / 1000;
      const rows = [...printed.matchAll(/^(\w+) +(\S+) +(\S+) +(\S+)$/gm)];
      expect(rows.reduce((sum, row) => sum + Number(row[3]), 0)).toBeCloseTo(km, 0);
      expect(printed).toMatch(/^bus +1/m);
    });

    it('map.py draws the trips and stays of one user', async () => {
      const [, sections, stays, locations] = /(\d+) sections, (\d+) stays at (\d+) locations/
        .exec(await notebook('map.py', 'parquet trackintel'))!
        .map(Number) as [number, number, number, number];
      expect(sections).toBeGreaterThan(wrote.sections! / 3);
      expect(stays).toBeGreaterThan(locations);
    });

    it('week.py counts every trip once, on the local clock', async () => {
      const rows = (await notebook('week.py', 'parquet')).split('\n').slice(1, -1);
      expect(rows.reduce((sum, row) => sum + Number(row.trim().split(/ +/)[2]), 0)).toBe(wrote.trips);
      expect(new Set(rows.map((row) => row.trim()[0]))).toEqual(new Set(['6', '7'])); // Saturday and Sunday
    });

    it.skipIf(!hasGis)('weekdays.R rates trips by weekday and draws the kilometres of the export', async () => {
      const rscript = async (args: readonly string[]) => (await promisify(execFile)('Rscript', args)).stdout;
      const printed = await notebook('weekdays.R', 'recipes geojson', rscript);
      const report = await program.run(['report', '--from', '2024-03', '--by', 'weekday', '--exact', '--json']);
      const { cells } = report.json<Untyped>();
      const days = [...printed.split('mode')[0]!.matchAll(/^ +([67]) +(\d\S+) +(\d\S+) +(\d\S+)$/gm)];
      const rates = days.map(([, ...row]) => row.map(Number));
      expect(rates.map(([day]) => day)).toEqual([6, 7]);
      for (const [at, [, rate, low, high]] of rates.entries()) {
        expect(rate).toBeCloseTo(cells[at]!.trips_per_day[0]!, 2);
        expect(low).toBeLessThanOrEqual(rate!);
        expect(high).toBeGreaterThanOrEqual(rate!);
      }
      const rows = [...printed.matchAll(/^(\w+) +(0\.\d+) +\S+ +\S+$/gm)];
      const shares = rows.map(([, mode, share]) => [mode, Number(share)]);
      const metres = Object.entries<number>(of('pandas').modes);
      const all = metres.reduce((sum, [, own]) => sum + own, 0);
      expect(shares.sort()).toEqual(metres.map(([mode, own]) => [mode, expect.closeTo(own / all, 3)]).sort());
    });

    it('each has a test', async () => {
      const here = await readdir(file('../../../examples/notebooks'));
      const others = hasGis ? [] : ['weekdays.R'];
      expect(here.sort()).toEqual([...tested, ...others].sort());
    });
  });
});
