// The output and the files of commands for many people after Ctrl-C.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { Untyped } from '../support/untyped.ts';
import { type CommandResult, type Program, simulatedProgram } from './kit.ts';

const now = 1_740_000_000;
let program: Program;
beforeAll(async () => {
  program = await simulatedProgram('--users 3 --days 2 --from 2024-03-01 --seed i', { now });
});

/** Runs a command that gets Ctrl-C as soon as it takes it. */
async function interrupted(...args: string[]): Promise<CommandResult> {
  const before = process.listenerCount('SIGINT');
  const timer = setInterval(() => {
    if (process.listenerCount('SIGINT') === before) return;
    clearInterval(timer);
    process.emit('SIGINT', 'SIGINT');
  }, 0);
  const result = await program.run(args, { now });
  clearInterval(timer);
  expect(result.code, result.stderr).toBe(130);
  return result;
}

it('retain and rebuild report how many of the users are done', async () => {
  for (const args of [['retain', '--older-than', '30d', '--what', 'raw', '--yes'], ['rebuild']])
    expect((await interrupted(...args, '--all')).stderr).toMatch(/interrupted after [0-2] of 3 users/);
});

it('export reports its progress, and leaves no folder without finished users', async () => {
  const out = join(program.folder, 'out', 'deep');
  expect((await interrupted('export', '--all', '--out', out)).stderr).toMatch(/interrupted after [0-2] of 3 users/);
  expect(existsSync(out)).toBe(false);
  const tables = await interrupted('export', '--all', '--out', out, '--format', 'csv', '--kind', 'trips');
  const [, done] = /interrupted after ([0-2]) of 3 users/.exec(tables.stderr)!;
  expect([existsSync(out), /run the same command again/.test(tables.stderr)]).toEqual([done !== '0', done !== '0']);
});

it('import reports how many of the sources are done', async () => {
  const folder = new URL('../fixtures/recordings/', import.meta.url).pathname;
  const sources = ['garmin.gpx', 'garmin.tcx'].map((name) => folder + name);
  const result = await interrupted('import', ...sources, '--user', 'ada', '--create');
  expect(result.stderr).toMatch(/interrupted after [01] of 2 sources: run the same command again/);
});

it('erase has a receipt of the erased users and names how many are left, whom the same command erases', async () => {
  for (const name of ['ada', 'ben']) await program.run(['users', 'add', name]);
  const line = 'erase --user ada --user ben --yes --json';
  const { stderr, json } = await interrupted(...line.split(' '));
  const left = 2 - json().users.length;
  expect(stderr).toMatch(new RegExp(`interrupted: ${left} users? not erased; repeat the command`));
  await program.note(line, /^(?!.*interrupted)/);
  expect((await program.json('users list')).users.map(({ user_email }: Untyped) => user_email)).not.toContain('ben');
});
