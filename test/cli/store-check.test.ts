// `store check --against` and `store mend --indexes`: two stores compared, and indexes that do not fit their tables.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { connect } from '../../src/store/sqlite/driver.ts';
import { freshProgram, type Program } from './kit.ts';

vi.setConfig({ testTimeout: 120_000 });

/** Saves a check with digests; returns the file. */
async function saved({ run, folder }: Program, name: string): Promise<string> {
  const { stdout } = await run(['store', 'check', '--digest', '--json']);
  const file = join(folder, name);
  await writeFile(file, stdout);
  return file;
}

it('store check --against tells who is not the same, and of which kind of row there are more or fewer', async () => {
  const program = await freshProgram();
  const { run, withStore, folder } = program;
  await withStore((store) => store.users.register('ada', { now: 1 }));
  const before = await saved(program, 'before.json');
  const same = await run(['store', 'check', '--against', before]);
  expect(same).toMatchObject({ code: 0, stdout: expect.stringContaining('the same as the earlier check') });
  expect(same.stdout).toContain('\nrows of 1 user: users 1\n');

  const [ada, carl] = await withStore(async (store) => {
    const first = await store.users.byEmail('ada');
    const { user } = await store.users.register('carl', { now: 1 });
    const entry = { metadata: { key: 'manual/note', write_ts: 1 }, data: { text: 'later' } };
    await store.usercache.put(first!.uuid, { entries: [entry] as never, unusable: [] }, 2);
    return [first!.uuid, user.uuid];
  });
  const changed = await run(['store', 'check', '--against', before, '--json']);
  expect(changed.code).toBe(3);
  expect(changed.json<{ against: object[] }>().against).toEqual(
    [
      { user_id: ada, what: 'usercache: 0 before, 1 now' },
      { user_id: carl, what: 'only in this store' },
    ].sort((a, b) => (a.user_id < b.user_id ? -1 : 1)),
  );
  const some = await run(['store', 'check', '--against', before]);
  expect(some.stdout).toMatch(/^2 users differ$/m);
  expect((await run(['store', 'check', '--against', before, '--user', 'carl'])).stdout).toMatch(/^1 user differs$/m);

  // The same number of rows with other content is another difference.
  await withStore((store) => store.profiles.merge(carl, { a: 1 }));
  const middle = await saved(program, 'middle.json');
  await withStore((store) => store.profiles.merge(carl, { a: 2 }));
  expect((await run(['store', 'check', '--against', middle])).stdout).toContain(`${carl}: other content`);

  await writeFile(join(folder, 'none.json'), '{"users": []}');
  const refused = await run(['store', 'check', '--against', join(folder, 'none.json')]);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('store check --digest --json') });
  await writeFile(join(folder, 'key.txt'), 'd2eae9baa9'); // of pseudonyms: nothing of it may be shown
  const mistaken = await run(['store', 'check', '--against', join(folder, 'key.txt')]);
  expect([mistaken.code, mistaken.stderr]).toEqual([2, refused.stderr.replace('none.json', 'key.txt')]);
});

it('times next to zero stay as they came: the pipeline moves their entries, and the check finds nothing', async () => {
  const { run, withStore } = await freshProgram();
  const times = [
    { write_ts: 0, ts: 5e-324 },
    { write_ts: 1e-18, ts: 5e8 },
    { write_ts: 1e-17, ts: 1e9 },
  ];
  const entries = times.map(({ write_ts, ts }) => ({ metadata: { key: 'own/key', write_ts }, data: { ts } }));
  const userId = await withStore(async (store) => {
    const { user } = await store.users.register('ada', { now: 1 });
    await store.usercache.put(user.uuid, { entries: entries as never, unusable: [] }, 2);
    return user.uuid;
  });
  expect(await run(['store', 'check'])).toMatchObject({ code: 0, stdout: expect.stringContaining('usercache 3') });
  expect(await run(['pipeline', '--all'])).toMatchObject({ code: 0, stdout: expect.stringContaining('1 done') });
  expect(await run(['store', 'check'])).toMatchObject({ code: 0, stdout: expect.stringContaining('timeseries 3') });
  const again = await withStore((store) => store.usercache.put(userId, { entries: entries as never, unusable: [] }, 3));
  expect(again).toEqual(['updated', 'updated', 'updated']);
});

it('an index that says something else than its table is found, told with its cure, and put right by it; no row changes', async () => {
  const program = await freshProgram();
  const { run, folder } = program;
  expect((await run(['simulate', '--users', '1', '--from', '2024-03-12'])).code).toBe(0);
  expect((await run(['pipeline', '--all'])).code).toBe(0);
  const whole = await saved(program, 'whole.json');
  const path = join(folder, 'store', 'timeseries-0.sqlite');
  const connection = connect(path);
  const sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'trips_day'";
  const { rootpage } = connection.prepare(sql).get<{ rootpage: number }>()!;
  connection.exec('PRAGMA wal_checkpoint(TRUNCATE)'); // the page is changed in the file, not in its log
  connection.close();
  const bytes = await readFile(path);
  const day = bytes.indexOf('2024-03-12', (rootpage - 1) * 4096);
  expect([day > 0, day < rootpage * 4096]).toEqual([true, true]);
  bytes.write('2024-03-19', day);
  await writeFile(path, bytes);

  const check = await run(['store', 'check', '--json']);
  const { findings } = check.json<{ findings: { code: string; table: string; cure: string }[] }>();
  expect(check.code).toBe(3);
  expect(new Set(findings.map(({ code, table }) => `${code} ${table}`))).toEqual(new Set(['DAMAGED_INDEX trips']));
  const [told] = new Set(findings.map(({ cure }) => cure));
  const mend = await run(told!.split(' ').slice(1));
  expect(mend, mend.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('2 files are written again') });
  const after = await run(['store', 'check', '--against', whole]);
  expect(after, after.stdout).toMatchObject({ code: 0 });
});
