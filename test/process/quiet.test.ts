// Commands that succeed write nothing to standard error, whatever the version of Node that runs them.
import { expect, it } from 'vitest';
import { run } from '../faults/program.ts';
import { tempFolder } from '../support/temp-folders.ts';

it('commands leave standard error empty on this version of Node', async () => {
  const store = `sqlite:${await tempFolder()}`;
  for (const command of [
    'simulate --users 1 --days 1 --quiet',
    'pipeline --all --quiet',
    'pipeline --all --workers 1 --quiet',
    'status',
    'store check --quiet',
  ]) {
    const { code, stderr } = await run([...command.split(' '), '--store', store]);
    expect([command, code, stderr]).toEqual([command, 0, '']);
  }
});
