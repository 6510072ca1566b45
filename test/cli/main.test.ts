// The frame of the command line: exit codes, errors, flags in any place, help.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { describe, expect, it } from 'vitest';
import { packageVersion } from '../../src/util/program-version.ts';
import { commandTree, freshProgram, refuse, run, show, tempFolder } from './kit.ts';

describe('exit codes', () => {
  it('0 for help and version, on standard output', async () => {
    for (const line of ['--help', '', 'help', 'help pipeline', 'store help check', 'users token --help']) {
      const { stderr } = await show(line.split(' ').filter(Boolean), /^Usage: mobility/);
      expect(stderr).toBe('');
    }
    expect((await run(['--version'])).stdout).toBe(`${packageVersion()}\n`);
  });

  it('2 for a group of commands without one of them, and for an unknown command, with a similar one', async () => {
    for (const [words, stderr] of [
      [['users'], /^mobility: MOBILITY_USAGE: expected one of the commands\nUsage: mobility/],
      [['xport'], /^mobility: MOBILITY_USAGE: unknown command 'xport'\n\(Did you mean export\?\)/],
      [['store', 'chck'], /^mobility: MOBILITY_USAGE: unknown command 'chck'\n\(Did you mean check\?\)/],
    ] as const)
      expect((await refuse(words, stderr)).stdout).toBe('');
  });

  it('2 for every usage error', async () => {
    const folder = tempFolder();
    const lines = [
      ['pipeline', '--user', 'ada', '--all'],
      ['diary', '--user', 'ada'],
      ['users', 'token', 'ada', '--expires', 'soon'],
      ['users', 'list', '--store', 'ftp://example.org/'],
      ['status', '--store', join(folder, 'nothing-here')],
      ['serve', '--port', '99999', '--store', folder],
      ['simulate', '--users', 'many'],
    ];
    for (const args of lines) expect((await refuse(args, /^mobility: MOBILITY_[A-Z_]+: .+/)).stdout).toBe('');
  });

  it('prints an error as JSON with --json, also one about the command line', async () => {
    for (const line of ['frobnicate', 'pipeline', 'diary --user ada --day 2024-02-30']) {
      const { stdout, stderr } = await run(`${line} --json`);
      expect(stdout).toBe('');
      expect(JSON.parse(stderr)).toEqual({ error: { code: 'MOBILITY_USAGE', message: expect.any(String) } });
    }
    const unknown = await run(['status', '--store', join(tempFolder(), 'nothing'), '--json']);
    expect(JSON.parse(unknown.stderr).error.code).toBe('MOBILITY_STORE_ADDRESS');
    const ofFile = await run(['status', '--store', import.meta.filename, '--json']);
    expect(JSON.parse(ofFile.stderr).error.message).toContain('one can be made, found a file (ENOTDIR): correct the');
  });

  it('2 for unknown people, studies and subgroups, and mistyped flags, with the nearest name', async () => {
    const { run, refuse, folder } = await freshProgram('ada@example.org');
    await run(['study', 'create', 'sunny', '--subgroup', 'west', '--subgroup', 'east']);
    const unknown = /^mobility: MOBILITY_USER_UNKNOWN: no user "ben" in [^;]*; expected .*mobility users list.*\n$/;
    await refuse(['doctor', '--user', 'ben'], unknown);
    for (const [line, near] of [
      ['doctor --user Ada', 'ada@example.org'],
      ['doctor --user ada@exmaple.org', 'ada@example.org'],
      ['study show suny', 'sunny'],
      ['study show sunyn', 'sunny'],
      ['study link sunny --subgroup easst', 'east'],
      ['users list --subgroup wesst', 'west'],
      ...['users list', 'purge-keys', 'errors', `export --out ${join(folder, 'out')}`].map((command) => [
        `${command} --study sunny --subgroup wesst`,
        'west',
      ]),
    ])
      await refuse(line!.split(' '), `did you mean "${near}"?`);
    expect((await run(['users', 'list', '--subgroup', 'west'])).code).toBe(0);
    await refuse(['days', '--usr', 'ada'], /unknown option '--usr'.*\n.*Did you mean --user\?/);
    await refuse(['diary', '--user', 'ada', '2024-03-12'], "too many arguments for 'diary'");
  });
});

describe('errors', () => {
  it('are one line; the stack is shown on request only', async () => {
    const { run } = await freshProgram('ada');
    expect((await run(['doctor', '--user', 'ben'])).stderr.trimEnd().split('\n')).toHaveLength(1);
    expect((await run(['doctor', '--user', 'ben', '--debug'])).stderr).toMatch(/\n {4}at /);
    expect((await run(['doctor', '--user', 'ben'], { env: { MOBILITY_DEBUG: '1' } })).stderr).toMatch(/\n {4}at /);
  });

  it('of settings name the variable, what was found and what was expected', async () => {
    for (const [env, message] of [
      [{ MOBILITY_PUBLIC_URL: 'example.org' }, 'MOBILITY_PUBLIC_URL: expected an address such as https'],
      [{ MOBILITY_PUBLIC_URL: 'https://example.org/?a=1' }, 'MOBILITY_PUBLIC_URL: expected an address such as https'],
      [{ MOBILITY_PORT: 'eighty' }, 'MOBILITY_PORT: expected a whole number from 0 to 65535, found "eighty"\n'],
    ] as const)
      await refuse(['config'], `mobility: MOBILITY_CONFIG: ${message}`, { env });
  });
});

it('a command that only reads does not make a store, and an empty address is refused by all', async () => {
  const { address, refuse } = await freshProgram();
  await refuse(['status'], 'MOBILITY_STORE_ADDRESS: expected a store in');
  expect(existsSync(address)).toBe(false);
  for (const args of [['status'], ['users', 'add', 'ada']])
    await refuse(args, 'as the address of a store, found ""', { env: { MOBILITY_STORE: '' } });
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
    expect([code, json()]).toMatchObject([0, { users: [{ user_email: 'ada' }] }]);
  }
});

it('--quiet leaves results and errors, and no notes', async () => {
  const { show, refuse } = await freshProgram();
  const args = ['simulate', '--users', '1', '--from', '2024-03-12', '--quiet'];
  expect((await show(args, 'sim-demo-1@example.org')).stderr).toBe('');
  await refuse(['diary', '--user', 'eve', '--quiet'], 'MOBILITY_USER_UNKNOWN');
});

it('simulated people are added to a store with other people only on request', async () => {
  const { run, refuse } = await freshProgram('ada');
  const args = ['simulate', '--users', '2', '--from', '2024-03-12'];
  await refuse(args, /found others .*--among-others/);
  expect((await run([...args, '--among-others'])).code).toBe(0);
});

it('every command and subcommand describes itself, its flags and arguments, and gives an example', async () => {
  const program = await commandTree();
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
