// Damaged rows of some users: they affect only these users.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { onEngine } from '../../src/store/open.ts';
import { checkRows } from '../../src/upkeep/check-store.ts';
import { run } from '../cli/kit.ts';
import { tempFolder } from '../support/clean-up.ts';
import { allEntries } from '../support/diary.ts';
import { changeRow, copyOf, fillStore, garbage, pushesOf, withStore } from './kit.ts';

const people = (days: number) => ({ ada: pushesOf('ada', 'android', days), ben: pushesOf('ben', 'ios', days) });

it('of a copy is found, although the process has the entries of the original in its cache', async () => {
  const [original, copy] = [tempFolder(), join(tempFolder(), 'copy')];
  const { ada = '' } = await fillStore(original, { ada: pushesOf('ada', 'android', 1) });
  expect((await run(['pipeline', '--all', '--store', original])).code).toBe(0);
  changeRow(await copyOf(original, copy), ada, ['chunks', 'entries'], garbage);
  const read = (folder: string) => withStore(folder, ({ timeseries }) => allEntries(timeseries, ada));
  expect(await read(original)).not.toEqual([]);
  await expect(read(copy)).rejects.toMatchObject({ code: 'MOBILITY_STORE_DAMAGED' });
});

it('of one user leaves this user out of an export of all users, with name and reason', async () => {
  const folder = tempFolder();
  const on = ['--store', join(folder, 'store')];
  const uuids = await fillStore(on[1]!, { ...people(2), cem: pushesOf('cem', 'android', 2) });
  expect((await run(['pipeline', '--all', ...on])).code).toBe(0);
  // One of them in a table that is written late.
  changeRow(on[1]!, uuids.ada!, ['chunks', 'entries'], garbage);
  changeRow(on[1]!, uuids.ben!, ['trips', 'record'], garbage);
  const notes = [/^ada is left out: .*backup/m, /^ben is left out: .*backup/m];

  for (const format of ['csv', 'parquet']) {
    const out = join(folder, format);
    const tables = await run(['export', '--all', '--format', format, '--out', out, '--json', ...on]);
    expect(tables.code, tables.stderr).toBe(3);
    for (const note of notes) expect(tables.stderr).toMatch(note);
    const { left_out } = tables.json<{ left_out: { user_id: string }[] }>();
    expect(new Set(left_out.map(({ user_id }) => user_id))).toEqual(new Set([uuids.ada, uuids.ben]));
    const alone = join(folder, `${format}-alone`);
    await run(['export', '--user', 'cem', '--format', format, '--out', alone, ...on]);
    const names = readdirSync(alone);
    expect(readdirSync(out)).toEqual(names);
    for (const name of names) expect([name, sumOf(join(out, name))]).toEqual([name, sumOf(join(alone, name))]);
  }

  const archives = await run(['export', '--all', '--out', join(folder, 'archives'), ...on]);
  expect(archives.code, archives.stderr).toBe(3);
  for (const note of notes) expect(archives.stderr).toMatch(note);
  expect(readdirSync(join(folder, 'archives'))).toEqual([uuids.cem]);

  const none = join(folder, 'none');
  for (const flags of [
    '--user ada',
    '--user ada --user ben',
    '--user ada --format csv',
    '--user ada --user ben --format csv',
  ]) {
    const failed = await run(['export', ...flags.split(' '), '--out', none, ...on]);
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('MOBILITY_STORE_DAMAGED')]);
    expect(existsSync(none)).toBe(false);
  }
});

const sumOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

it('the check reports no damage for rows that others write while it runs', async () => {
  const folder = tempFolder();
  const { ada } = await fillStore(folder, people(1));
  const [, second] = pushesOf('ada', 'android', 2);
  let pushes = 0;
  await withStore(folder, (store) =>
    onEngine(folder, {}, async (engine) => {
      const push = async (): Promise<void> => {
        const { user } = await store.users.register(`new ${pushes}`, { now: 1 });
        const entries = second!.slice(10 * pushes, 10 * ++pushes);
        for (const uuid of [ada!, user.uuid]) await store.usercache.put(uuid, { entries, unusable: [] }, 2);
      };
      const read: typeof engine.read = async (work) =>
        pushes === 60 ? engine.read(work) : push().then(() => engine.read(work));
      expect((await checkRows({ ...engine, read })).findings).toEqual([]);
    }),
  );
  expect(pushes).toBeGreaterThan(20);
});
