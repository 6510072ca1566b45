// Commands that succeed write nothing to standard error, on every supported version of Node.
import { expect, it } from 'vitest';
import { run } from '../faults/program.ts';
import { tempFolder } from '../support/clean-up.ts';

it('commands that succeed write nothing to standard error on this version of Node', async () => {
  const store = `sqlite:${tempFolder()}`;
  const commands =
    'simulate --users 1 --days 1 --quiet;pipeline --all --quiet;pipeline --all --workers 1 --quiet;status;store check';
  for (const command of commands.split(';')) {
    const { code, stderr } = await run([...command.split(' '), '--store', store]);
    expect([command, code, stderr]).toEqual([command, 0, '']);
  }
});
