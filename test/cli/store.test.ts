// `mobility store`: creating a store, and checking it.

import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { connect } from '../../src/store/sqlite/driver.ts';
import { copyDatabase } from '../../src/store/sqlite/folder.ts';
import { changeRow, garbage } from '../faults/kit.ts';
import { openFilesIn } from '../support/open-files.ts';
import type { Untyped } from '../support/untyped.ts';
import { freshProgram, simulatedProgram } from './kit.ts';

it('init creates an embedded store and can be repeated', async () => {
  const { run, address } = await freshProgram();
  for (let round = 0; round < 2; round++) {
    expect(await run(['store', 'init'])).toMatchObject({ code: 0, stderr: '', stdout: `sqlite:${address}: ready\n` });
  }
  expect((await run(['status'])).code).toBe(0);
});

it.skipIf(!existsSync('/proc/self/fd'))('a copy of the database leaves no file open', async () => {
  const { run, address, folder } = await freshProgram();
  await run(['store', 'init']);
  await mkdir(join(folder, 'copy'));
  await copyDatabase(address, join(folder, 'copy'));
  expect(openFilesIn(folder)).toEqual([]);
});

it('check names the user, the row and the remedy of damage, and exits with 3', async () => {
  const { succeed, show, json, folder } = await simulatedProgram('--users 1 --from 2024-03-12');
  await show(['store', 'check'], /^nothing damaged; \d+ rows read in /);
  const { user_id: uuid } = (await json('users', 'list')).users[0];
  changeRow(join(folder, 'store'), uuid, ['trips', 'record'], garbage);
  const { findings } = await json('store', 'check');
  expect(findings[0]).toMatchObject({ user_id: uuid, table: 'trips', problem: expect.stringContaining('checksum') });
  const leaveOut = `store check --user ${uuid} --leave-out`;
  const row = new RegExp(`^table trips, row user .*chain_ts \\d+.*\\n {2}remedy: .*${leaveOut}`);
  await show(['store', 'check'], row, { code: 3 });
  await show(leaveOut, `${findings.length} rows left out`);
  for (const line of ['store check', `rebuild --user ${uuid}`]) await succeed(line);
});

it('check of one user reads their rows only; leaving rows out needs a user', async () => {
  const { json, refuse, folder } = await freshProgram('ada', 'ben');
  const [ada, ben] = (await json('users', 'list')).users;
  changeRow(join(folder, 'store'), ada.user_id, ['accounts', 'state'], garbage);
  const findings = async ({ user_id }: Untyped) => (await json('store', 'check', '--user', user_id)).findings;
  expect(await findings(ben)).toEqual([]);
  expect(await findings(ada)).toMatchObject([{ user_id: ada.user_id, table: 'accounts' }]);
  await refuse(['store', 'check', '--leave-out'], '--user');
});

it('check continues after a page that SQLite cannot read, and names the table', async () => {
  const { run, folder } = await simulatedProgram('--users 2 --from 2024-03-12 --days 2');
  const file = join(folder, 'store', 'mobility.db');
  const connection = connect(file);
  const [page] = connection
    .prepare("SELECT pageno FROM dbstat WHERE name = 'trips' AND pagetype = 'leaf'")
    .all<{ pageno: number }>();
  connection.close();
  const bytes = await readFile(file);
  bytes.fill(0, (page!.pageno - 1) * 4096, page!.pageno * 4096);
  await writeFile(file, bytes);
  const { code, json } = await run(['store', 'check', '--json']);
  const { findings, rows } = json();
  expect(code).toBe(3);
  expect(findings.map(({ table }: Untyped) => table)).toEqual(expect.arrayContaining(['', 'trips']));
  expect(rows).toBeGreaterThan(10);
});
