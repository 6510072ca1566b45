// The frame of the command line: exit codes, errors, flags in any place, help.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { describe, expect, it } from 'vitest';
import { CommandContext } from '../../src/cli/context.ts';
import { buildProgram } from '../../src/cli/main.ts';
import { packageVersion } from '../../src/util/program-version.ts';
import { freshProgram, refuse, run, tempFolder } from './kit.ts';

describe('exit codes', () => {
  it('0 for help and version, on standard output', async () => {
    for (const args of [
      ['--help'],
      [],
      ['help'],
      ['help', 'pipeline'],
      ['store', 'help', 'check'],
      ['users', 'token', '--help'],
    ]) {
      const { code, stdout, stderr } = await run(args);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/^Usage: mobility/);
    }
    expect((await run(['--version'])).stdout).toBe(`${packageVersion()}\n`);
  });

  it('2 for a group of commands without one of them, with the help on standard error', async () => {
    const { code, stdout, stderr } = await run(['users']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^mobility: MOBILITY_USAGE: expected one of the commands\nUsage: mobility/);
  });

  it('2 for an unknown command, with the name of a similar one', async () => {
    for (const [words, similar] of [
      [['xport'], 'export'],
      [['store', 'chck'], 'check'],
    ] as const) {
      const { code, stdout, stderr } = await run(words);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^mobility: MOBILITY_USAGE: unknown command '.*'\n/);
      expect(stderr).toContain(`(Did you mean ${similar}?)`);
    }
  });

  it('2 for every usage error', async () => {
    const folder = tempFolder();
    const lines = [
      ['frobnicate'],
      ['pipeline'],
      ['pipeline', '--user', 'ada', '--all'],
      ['diary', '--user', 'ada'],
      ['diary', '--user', 'ada', '--day', '2024-02-30'],
      ['users', 'token', 'ada', '--expires', 'soon'],
      ['config', '--nonsense'],
      ['users', 'list', '--store', 'ftp://example.org/'],
      ['status', '--store', join(folder, 'nothing-here')],
      ['serve', '--port', '99999', '--store', folder],
      ['simulate', '--users', 'many'],
    ];
    for (const args of lines) {
      const { code, stdout, stderr } = await run(args);
      expect([args.join(' '), code, stdout]).toEqual([args.join(' '), 2, '']);
      expect(stderr).toMatch(/^mobility: MOBILITY_[A-Z_]+: .+/);
    }
  });

  it('prints an error as JSON with --json, also one about the command line', async () => {
    for (const args of [['frobnicate'], ['pipeline'], ['diary', '--user', 'ada', '--day', '2024-02-30']]) {
      const { stdout, stderr } = await run([...args, '--json']);
      expect(stdout).toBe('');
      expect(JSON.parse(stderr)).toEqual({ error: { code: 'MOBILITY_USAGE', message: expect.any(String) } });
    }
    const unknown = await run(['status', '--store', join(tempFolder(), 'nothing'), '--json']);
    expect(JSON.parse(unknown.stderr).error.code).toBe('MOBILITY_STORE_ADDRESS');
  });

  it('2 for unknown people and studies, with the nearest name', async () => {
    const { run } = await freshProgram('ada@example.org');
    await run(['study', 'create', 'sunny']);
    const answer = async (...args: string[]) => {
      const { code, stderr } = await run(args);
      return `${code} ${stderr}`;
    };
    expect(await answer('doctor', '--user', 'ben')).toMatch(
      /^2 mobility: MOBILITY_USER_UNKNOWN: no user "ben" in [^;]*; expected .*mobility users list.*\n$/,
    );
    for (const near of ['Ada', 'ada@exmaple.org'])
      expect(await answer('doctor', '--user', near)).toMatch(/^2 .*; did you mean "ada@example.org"\?/);
    for (const near of ['suny', 'sunyn'])
      expect(await answer('study', 'show', near)).toMatch(/^2 .*; did you mean "sunny"\?/);
  });

  it('2 for a mistyped flag, a missing flag, and a day without its flag', async () => {
    expect((await run(['days', '--usr', 'ada'])).stderr).toMatch(/unknown option '--usr'.*\n.*Did you mean --user\?/);
    expect((await run(['diary'])).stderr).toContain("required option '--user <name>' not specified");
    await refuse(['diary', '--user', 'ada', '2024-03-12'], "too many arguments for 'diary'");
  });

  it('2 for unknown subgroups, with the nearest name', async () => {
    const { run, folder } = await freshProgram();
    await run(['study', 'create', 'sunny', '--subgroup', 'west', '--subgroup', 'east']);
    const answer = async (...args: string[]) => {
      const { code, stderr } = await run(args);
      return `${code} ${/did you mean "(.*)"/.exec(stderr)?.[1]}`;
    };
    for (const command of [['users', 'list'], ['purge-keys'], ['errors'], ['export', '--out', join(folder, 'out')]])
      expect(await answer(...command, '--study', 'sunny', '--subgroup', 'wesst')).toBe('2 west');
    expect(await answer('study', 'link', 'sunny', '--subgroup', 'easst')).toBe('2 east');
    expect(await answer('users', 'list', '--subgroup', 'wesst')).toBe('2 west');
    expect(await answer('users', 'list', '--subgroup', 'west')).toBe('0 undefined');
  });
});

describe('errors', () => {
  it('are one line; the stack is shown on request only', async () => {
    const { run } = await freshProgram('ada');
    expect((await run(['doctor', '--user', 'ben'])).stderr.trimEnd().split('\n')).toHaveLength(1);
    expect((await run(['doctor', '--user', 'ben', '--debug'])).stderr).toMatch(/\n {4}at /);
    expect((await run(['doctor', '--user', 'ben'], { env: { MOBILITY_DEBUG: '1' } })).stderr).toMatch(/\n {4}at /);
  });

  it.each(['example.org', 'https://example.org/?a=1'])(
    'an address that pages cannot link from is refused with the reason: %s',
    async (address) => {
      const { refuse } = await freshProgram();
      await refuse(['config'], /MOBILITY_PUBLIC_URL: expected an address such as https/, {
        env: { MOBILITY_PUBLIC_URL: address },
      });
    },
  );

  it('of settings name the variable, what was found and what was expected', async () => {
    const { code, stderr } = await run(['config'], { env: { MOBILITY_PORT: 'eighty' } });
    expect([code, stderr]).toEqual([
      2,
      'mobility: MOBILITY_CONFIG: MOBILITY_PORT: expected a whole number from 0 to 65535, found "eighty"\n',
    ]);
  });
});

it('a command that only reads does not make a store', async () => {
  const { address, refuse } = await freshProgram();
  await refuse(['status'], 'MOBILITY_STORE_ADDRESS: expected a store in');
  expect(existsSync(address)).toBe(false);
});

it('an empty store address is refused, by commands that read and by commands that create', async () => {
  for (const args of [['status'], ['users', 'add', 'ada']]) {
    await refuse(args, 'as the address of a store, found ""', { env: { MOBILITY_STORE: '' } });
  }
});

it('flags that every command takes may come before or after it', async () => {
  const { run, address, folder } = await freshProgram('ada');
  const other = { env: { MOBILITY_STORE: join(folder, 'other') } };
  for (const args of [
    ['--store', address, '--json', 'users', 'list'],
    ['users', '--store', address, 'list', '--json'],
    ['users', 'list', '--json', '--store', `sqlite:${address}`],
  ]) {
    const { code, json } = await run(args, other);
    expect(code).toBe(0);
    expect(json<{ users: { user_email: string }[] }>().users.map((user) => user.user_email)).toEqual(['ada']);
  }
});

it('--quiet leaves results and errors, and no notes', async () => {
  const { run } = await freshProgram();
  const { code, stdout, stderr } = await run(['simulate', '--users', '1', '--from', '2024-03-12', '--quiet']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/sim-demo-1@example.org/);
  expect((await run(['diary', '--user', 'eve', '--quiet'])).stderr).toMatch(/MOBILITY_USER_UNKNOWN/);
});

it('simulated people are added to a store with other people only on request, and can be removed', async () => {
  const { run, refuse } = await freshProgram('ada');
  const args = ['simulate', '--users', '2', '--from', '2024-03-12'];
  await refuse(args, /found others .*--among-others/);
  expect((await run([...args, '--among-others'])).code).toBe(0);
  await run([...args, '--seed', 'other', '--among-others']);
  expect((await run(['simulate', '--remove', '--json'])).json()).toMatchObject({ removed: { length: 2 } });
  const left = (await run(['users', 'list', '--json'])).json<{ users: { user_email: string }[] }>().users;
  expect(left.map(({ user_email }) => user_email).sort()).toEqual([
    'ada',
    'sim-other-1@example.org',
    'sim-other-2@example.org',
  ]);
});

it('a command ends without a message when the reader of its output closes the pipe', async () => {
  const { run } = await freshProgram();
  await run(['simulate', '--users', '1', '--from', '2024-03-12']);
  const args = ['export', '--user', 'sim-demo-1@example.org', '--entries'];
  const { code, stdout, stderr } = await run(args, { closedAfter: 3 });
  expect([code, stdout.trimEnd().split('\n').length, stderr]).toEqual([0, 3, '']);
});

it('every command and subcommand describes itself, its flags and arguments, and gives an example', async () => {
  const streams = { stdout: { write: () => true }, stderr: { write: () => true } };
  const context = new CommandContext({ ...streams, env: {}, stdin: process.stdin, now: () => 0, zone: 'UTC' });
  const program = await buildProgram(context, streams);
  const groups = program.commands.map((command) => command.helpGroup());
  expect([...new Set(groups)]).toEqual(
    ['Set up', 'Every day', 'People and their days', 'Research', 'Repair', 'Try out'].map((group) => `${group}:`),
  );
  const walk = async (command: CommandUnknownOpts, path: readonly string[]): Promise<void> => {
    expect([path, command.description()]).toEqual([path, expect.stringMatching(/^[a-z].*[^.]$/)]);
    const unexplained = command.options.filter(({ description }) => description === '');
    expect([path, unexplained.map(({ flags }) => flags)]).toEqual([path, []]);
    const { code, stdout } = await run([...path, '--help']);
    const example = path.length === 1 ? 'Example' : 'Usage'; // subcommands may leave them to their command
    expect([path, code, stdout]).toEqual([path, 0, expect.stringContaining(example)]);
    for (const child of command.commands) await walk(child, [...path, child.name()]);
  };
  for (const command of program.commands) await walk(command, [command.name()]);
});
