// The audit log: one line for each act, about people whom an erasure makes unknown.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Untyped } from '../support/untyped.ts';
import { freshProgram } from './kit.ts';

it('records who did what to whose data with its outcome, and names no erased person', async () => {
  const { run, show, json, address, folder } = await freshProgram();
  await run(['simulate', '--users', '1', '--from', '2024-03-12', '--seed', 'a']);
  const ada = 'sim-a-1@example.org';
  const { user_id: uuid } = (await json('users', 'list')).users[0];
  const token = (await run(['users', 'token', ada])).stdout.trim();
  await run(['diary', '--user', ada, '--day', '2024-03-12']);
  const out = ['export', '--user', ada, '--out', join(folder, 'out')];
  expect((await run(out)).code).toBe(0);
  await run(out); // refuses to overwrite: wrong usage, no act
  for (const line of [`revoke ${ada} ffff`, 'recover-errors --dry-run', 'status']) await run(line.split(' '));
  const acts = async (...flags: string[]): Promise<Untyped[]> => (await json('audit', ...flags)).acts;
  const ofAda = await acts('--user', ada);
  const outcomes = ofAda.map(({ action, outcome }) => `${action}: ${outcome}`);
  expect(outcomes).toEqual(['users token: done', 'diary: done', 'export: done']);
  expect(ofAda.map(({ how }) => how)).toContain('--day 2024-03-12');
  expect(ofAda.every(({ people }) => people[0]!.user_email === ada)).toBe(true);
  await show(['audit'], /^TIME .*\n2024-07-03 09:46 {2}\S+ +users token +sim-a-1@example.org +done\n/);

  await run(['erase', '--user', ada, '--yes']);
  const file = await readFile(join(address, 'logs', 'audit.jsonl'), 'utf8');
  for (const secret of [ada, uuid, token]) expect(file).not.toContain(secret);
  expect(file).not.toMatch(/\d\.\d{3}/); // no coordinate
  const all = await acts();
  expect(all.map(({ action }) => action)).toEqual(['users token', 'diary', 'export', 'erase']);
  const names = all.flatMap(({ people }) => people.map(({ user_email }: Untyped) => user_email));
  expect(names).toEqual([null, null, null, null]);
});
