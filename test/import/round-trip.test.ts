// What `export` wrote comes back as it was: export, import into an empty store, pipeline, export gives the same bytes.
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { keys } from '../../src/model/keys.ts';
import { simulateDays } from '../../src/simulate/simulate-day.ts';
import { freshProgram, type Program, simulatedProgram } from '../cli/kit.ts';
import { countRejected } from '../support/store.ts';

const day = '2024-03-12';

/** Exports a user into a new folder, and returns every file by name. */
async function exported({ run, folder }: Program, user: string): Promise<Record<string, string>> {
  const out = await mkdtemp(join(folder, 'out-'));
  expect((await run(['export', '--user', user, '--out', out])).code).toBe(0);
  const names = (await readdir(out)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(out, name), 'utf8')])),
  );
}

/** Names of the files that differ; the files themselves would fill screens. */
function different(a: Record<string, string>, b: Record<string, string>): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => a[name] !== b[name]);
}

async function roundTrip(from: Program, user: string): Promise<void> {
  const first = await exported(from, user);
  expect(first['trips.geojson']!.length).toBeGreaterThan(1000);
  const to = await freshProgram();
  const folder = join(to.folder, 'in');
  await from.run(['export', '--user', user, '--out', folder]);
  const { code, stderr } = await to.run(['import', folder], { now: 1_725_000_000 });
  expect([code, stderr]).toEqual([first['errors.jsonl'] === '' ? 0 : 3, 'next: mobility pipeline --all\n']);
  await to.run(['pipeline', '--all'], { now: 1_730_000_000 });
  expect(different(first, await exported(to, user))).toEqual([]);
}

it('an imported user is exported byte for byte', async () => {
  const from = await freshProgram();
  const points = [...simulateDays({ platform: 'android', day, seed: 'gpx' }, 1)]
    .flat()
    .filter(({ metadata }) => metadata.key === keys.location)
    .map(({ data }) => {
      const time = new Date(Math.floor(data.ts as number) * 1000).toISOString();
      return `<trkpt lat="${data.latitude}" lon="${data.longitude}"><time>${time}</time></trkpt>`;
    });
  const path = join(from.folder, 'day.gpx');
  const track = `${points.join('\n')}<trkpt lat="1" lon="1"/>`;
  await writeFile(path, `<gpx creator="OsmAnd 4.6"><trk><trkseg>${track}</trkseg></trk></gpx>`);
  await from.run(['users', 'add', 'ada']);
  expect((await from.run(['import', path, '--user', 'ada'])).code).toBe(3);
  await from.run(['pipeline', '--all']);
  await roundTrip(from, 'ada');
});

it.each(['android', 'ios'] as const)('days of %s are the same after export and import', async (platform) => {
  const flags = `--users 1 --days 2 --from ${day} --seed r --platform ${platform}`;
  await roundTrip(await simulatedProgram(flags), 'sim-r-1@example.org');
});

it('an import does not change present fields of the profile, nor an entry that was recovered', async () => {
  const uuid = '6a0d1f5e-8d0b-4a6e-9d9e-0c9f7a3b5c11';
  const metadata = { key: keys.location, write_ts: 1.7e9, platform: 'android' };
  const folders = await Promise.all(
    [{ latitude: 'nowhere' }, { latitude: 38.5 }].map(async (data, i) => {
      const program = await freshProgram();
      await program.withStore(async (store) => {
        await store.users.register('ada', { uuid, now: 1 });
        await store.profiles.merge(uuid, { place: i });
        const entries = [{ metadata, data: { ts: 1.7e9, longitude: -7.9, ...data } }];
        await store.usercache.put(uuid, { entries, unusable: [] }, 1);
      });
      await program.run(['pipeline', '--all']);
      return program;
    }),
  );
  const [from, to] = folders as [Program, Program];
  const out = join(from.folder, 'out');
  await from.run(['export', '--user', 'ada', '--out', out]);
  const imported = await to.run(['import', out, '--json']);
  expect(imported.json()).toMatchObject({ known: 1, set_aside: 0 });
  await to.withStore(async (store) => {
    expect(await store.profiles.get(uuid)).toEqual({ place: 1 });
    expect(await countRejected(store, uuid)).toEqual([]);
  });
});

it('an export for e-mission is imported as the same diary, with pending and rejected entries', async () => {
  const from = await simulatedProgram(`--users 2 --days 2 --from ${day} --seed e`);
  const [user, other] = ['sim-e-1@example.org', 'sim-e-2@example.org'];
  await from.withUser(user, async (store, uuid) => {
    const metadata = { key: keys.location, platform: 'android', time_zone: 'Europe/Lisbon' };
    const data = { ts: 1.7e9, latitude: 38.5, longitude: -7.9 };
    const entries = [{ metadata: { ...metadata, write_ts: 1.7e9 }, data }];
    const unusable = [{ entry: { metadata, data: {} }, reason: 'no_write_ts', message: 'expected a time' }];
    await store.usercache.put(uuid, { entries, unusable }, 1.71e9);
  });
  const files = join(from.folder, 'emission');
  await from.show(['export', '--all', '--format', 'emission', '--out', files], 'Stage_analysis_timeseries.json');
  const lines = (await readFile(join(files, 'Stage_uuids.json'), 'utf8')).trim().split('\n');
  const people: { user_email: string }[] = lines.map((line) => JSON.parse(line));
  expect(people.sort((a, b) => (a.user_email < b.user_email ? -1 : 1))).toMatchObject([
    { user_email: user, uuid: { $binary: { subType: '03' } }, update_ts: { $date: expect.any(Number) } },
    { user_email: other },
  ]);

  const to = await freshProgram();
  expect((await to.run(['import', files])).code).toBe(3);
  for (const program of [from, to]) await program.run(['pipeline', '--all']);
  for (const name of [user, other]) {
    const [before, after] = [await exported(from, name), await exported(to, name)];
    for (const file of ['trips.geojson', 'documents.jsonl']) expect(different(before, after)).not.toContain(file);
    expect(before['trips.geojson']!.length).toBeGreaterThan(1000);
    for (const file of ['entries.jsonl', 'errors.jsonl'])
      expect(after[file]!.split('\n').length).toBe(before[file]!.split('\n').length);
  }
});
