// `mobility store`: creating a store, checking it, and removing rows that nobody owns.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { connect } from '../../src/store/sqlite/driver.ts';
import { putDocument } from '../support/store.ts';
import { freshProgram } from './kit.ts';

it('init creates an embedded store and can be repeated', async () => {
  const { run, address } = await freshProgram();
  for (let round = 0; round < 2; round++) {
    expect(await run(['store', 'init'])).toMatchObject({ code: 0, stderr: '', stdout: `sqlite:${address}: ready\n` });
  }
  expect((await run(['status'])).code).toBe(0);
});

it('check names the user, the row and the cure of damage, and ends with 3', async () => {
  const { run, folder } = await freshProgram();
  await run(['simulate', '--users', '1', '--from', '2024-03-12']);
  await run(['pipeline', '--all']);
  expect(await run(['store', 'check'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^nothing damaged; \d+ rows read in /),
  });
  const [user] = (await run(['users', 'list', '--json'])).json<{ uuid: string }[]>();
  const connection = connect(join(folder, 'store', 'timeseries-0.sqlite'));
  connection.exec("UPDATE trips SET record = x'00'");
  connection.close();
  const { code, json } = await run(['store', 'check', '--json']);
  expect(code).toBe(3);
  expect(json<{ findings: object[] }>().findings[0]).toMatchObject({
    user_id: user!.uuid,
    table: 'trips',
    problem: expect.any(String),
    cure: `mobility rebuild --user ${user!.uuid}`,
  });
  expect((await run(['store', 'check'])).stdout).toMatch(/^table trips, row \d+, user .*\n {2}cure: mobility rebuild/);
});

it('purge-unowned removes the rows of users who are not registered, after a dry run that lists them', async () => {
  const { run, withStore } = await freshProgram();
  const uuid = '11111111-2222-4333-8444-555555555555';
  await run(['users', 'add', 'ada']);
  await withStore(async (store) => {
    await store.users.admit(uuid);
    await putDocument(store, uuid, { key: 'k', write_ts: 1, data: {} });
  });
  expect((await run(['status', '--json'])).json()).toMatchObject({ users: 1, unowned: { users: 1, rows: 1 } });
  const listed = await run(['store', 'purge-unowned', '--dry-run', '--json']);
  expect(listed.json()).toEqual({ dry_run: true, purged: [{ user_id: uuid, rows: 1, status: 'found' }] });
  expect((await run(['store', 'purge-unowned'])).stdout).toContain(`${uuid}     1  removed`);
  expect((await run(['store', 'purge-unowned'])).stdout).toBe('every row belongs to a registered user\n');
});
