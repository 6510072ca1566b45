// A person who was erased stays erased: the app joins its study by itself, and is not let in.
import { expect, it } from 'vitest';
import { onEngine, openStore } from '../../src/store/open.ts';
import { allTables } from '../../src/store/rows/tables.ts';
import { copyBetween } from '../../src/upkeep/copy-store.ts';
import { freshProgram } from '../cli/kit.ts';
import { config, openKit } from './kit.ts';

const token = `nrelop_sunny_default_${'aB3'.repeat(10)}xy`;

it('the token of an erased person cannot join, also after a migration, until it is readmitted or the study is removed', async () => {
  const program = await freshProgram();
  const run = async (...args: string[]) => (await program.succeed(args)).stdout;
  /** The status of the app's call to join. */
  const joined = async (address = program.address): Promise<number> => {
    const kit = await openKit({ store: await openStore(address), config: { ...config, auth: 'token' } });
    return (await kit.post('/profile/create', { user: token })).status;
  };
  await run('study', 'create', 'sunny');
  expect(await joined()).toBe(200);
  const known = await program.run(['doctor', '--user', token]);
  expect(known.stdout + known.stderr).not.toContain('has no account');
  expect((await program.run(['study', 'remove', 'sunny'])).stderr).toContain('found 1 member');
  expect(await run('erase', '--study', 'sunny', '--yes')).toContain('64 bits of the SHA-256');
  expect(await joined()).toBe(403);
  expect((await program.run(['doctor', '--user', token])).stdout).toContain('was erased from sunny');

  const target = `${program.folder}/target`;
  await copyBetween(program.address, target, { now: () => 5 });
  expect(await joined(target)).toBe(403);
  await run('backup', `${program.folder}/backup`);
  expect(await joined(`${program.folder}/backup`)).toBe(403);

  await run('study', 'readmit', token);
  expect((await program.run(['study', 'readmit', token])).code).toBe(2);
  expect(await joined()).toBe(200);
  await run('erase', '--study', 'sunny', '--yes');
  await run('study', 'remove', 'sunny');
  const left = await onEngine(program.address, { make: false }, (engine) =>
    engine.read(async (rows) => {
      const counts = await Promise.all(allTables.map((table) => rows.total(table, {} as never)));
      return counts.reduce((sum, count) => sum + count, 0);
    }),
  );
  expect(left).toBe(0);
  await run('study', 'create', 'sunny');
  expect(await joined()).toBe(200);
});
