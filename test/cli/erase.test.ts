// `mobility erase`: the questions it asks, the receipts it prints, and how it ends.
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { collections } from '../../src/store/store.ts';
import type { Untyped } from '../support/untyped.ts';
import { freshProgram, type Program, putRejected, setStage, simulatedProgram } from './kit.ts';

const uuids = { ada: '6f1c0a52-0f4e-4d0e-9a57-6f3b6f0d9a11', ben: '0b0e5c1e-7a55-4b27-8f0b-4df0b0a3c9aa' };
const nobody = 'c5d0a2b4-3c39-4b5e-8f7e-0c8b0a3c9aa1';

/** Two people: ada with two rejected values and a token, ben with nothing. */
async function twoPeople(): Promise<Program> {
  const program = await freshProgram();
  await program.withStore(async (store) => {
    for (const [name, uuid] of Object.entries(uuids)) await store.users.register(name, { uuid, now: 1 });
    await putRejected(store, uuids.ada, ['x', 'y']);
    await store.tokens.add({ hash: 'h', user_id: uuids.ada, created_ts: 1, expires_ts: null });
  });
  return program;
}
const table = (errors: string, tokens: string, users: string): string =>
  [
    '  COLLECTION  REMOVED  LEFT',
    ...['users', 'tokens', 'profiles', 'usercache', 'documents', 'errors', 'timeseries', 'trips'].map((name) => {
      const counts = { errors, tokens, users }[name] ?? '0 0';
      const [removed, left] = counts.split(' ') as [string, string];
      return `  ${name.padEnd(10)}  ${removed.padStart(7)}  ${left.padStart(4)}`;
    }),
  ].join('\n');

it('people are erased after their number or name was typed, and the receipt has the sums', async () => {
  const { run, refuse, address } = await twoPeople();
  const whom = ['erase', '--user', 'ada', '--user', 'ben', '--user', nobody.toUpperCase(), '--user', 'Eve'];
  for (const stdin of ['3\n', 'ada\n', '\n', ''])
    await refuse(whom, 'expected 4, found other text; nothing was erased', { tty: true, stdin });
  await refuse(whom, 'add --yes'); // without a terminal
  await refuse(['erase', '--yes'], 'expected --user NAME, --study NAME or --file FILE');
  const one = ['erase', '--user', 'ada'];
  const wrong = await refuse(one, 'nothing was erased', { tty: true, stdin: 'yes\n' });
  expect(wrong.stderr).toContain('This removes ada and 4 rows permanently.');
  const { code, stdout, stderr } = await run(whom, { tty: true, stdin: ' 4 \n' });
  expect(code).toBe(0);
  for (const text of ['This removes 4 users and 5 rows permanently.\nType 4 to continue: ', 'Eve is not registered'])
    expect(stderr).toContain(text);
  const [head, sums] = stdout.split('  COLLECTION');
  expect(head).toBe(`erased ada\nerased ben\nnothing left of ${nobody}\nnothing left of Eve\n`);
  expect(`  COLLECTION${sums!.split('\nlog files')[0]}`).toBe(table('2 0', '1 0', '2 0'));
  const logs = `\nlog files in ${address}/logs: names replaced in \\d+ lines of \\d files?\nnot reached: `;
  expect(stdout).toMatch(new RegExp(logs));
  expect(stdout).toMatch(/\nkept: nothing of the membership of a study but, for each study token, .*\n$/);
  expect(stdout).not.toContain('may still be named');
  const ofOne = await twoPeople();
  expect((await ofOne.run(one, { tty: true, stdin: 'ada\n' })).code).toBe(0);
  expect(await ofOne.withStore((store) => store.users.byEmail('ada'))).toBeNull();
});

it('one user is removed from every collection, and from the logs of all', async () => {
  const { run, json, logs } = await simulatedProgram('--users 2 --from 2024-03-12 --seed t');
  const ada = 'sim-t-1@example.org';
  await run(['users', 'token', ada]);
  const receipt = await json('erase', '--user', ada, '--yes');
  const [{ user_email, user_id, removed, remaining }] = receipt.users;
  expect([user_email, Object.keys(removed).sort()]).toEqual([ada, [...collections].sort()]);
  for (const name of ['users', 'tokens', 'profiles', 'documents', 'timeseries', 'trips'])
    expect([name, removed[name] > 0]).toEqual([name, true]);
  expect(Object.values(remaining).every((count) => count === 0)).toBe(true);
  expect(receipt.logs).toMatchObject({ lines: expect.any(Number), left: [] });
  expect(logs()).not.toMatch(new RegExp(`${ada}|${user_id}`));
  const { users } = await json('users', 'list');
  expect([users.length, logs()]).toEqual([1, expect.stringContaining(users[0].user_id)]);
});

it('a person whose name may be left in a log keeps their record, so that the command can be repeated', async () => {
  const { show, address, withStore } = await twoPeople();
  const unreadable = join(address, 'logs', 'server-2026-03-13.log');
  await mkdir(unreadable, { recursive: true });
  const erase = ['erase', '--user', 'ada', '--yes'];
  const { stdout } = await show(erase, table('2 0', '1 0', '0 1'), { code: 3 });
  expect(stdout).toContain('erased except the name, which is kept so that the command can be repeated: ada\n');
  expect(stdout).toMatch(
    /\n {2}users may still be named in server-2026-03-13.log: .*; repair or remove the file, and repeat\n/,
  );
  expect(await withStore((store) => store.users.byEmail('ada'))).toMatchObject({ uuid: uuids.ada });
  await rmdir(unreadable);
  await show(erase, table('0 0', '0 0', '1 0'));
});

it('an erasure that was killed is completed by its repetition, and until then status names the user', async () => {
  const { address, run, show, refuse, withStore } = await twoPeople();
  await withStore((store) => store.leases.acquire(uuids.ada, 'erase', 300));
  await setStage(address, uuids.ada, 'erasing');
  await show(['status'], `${uuids.ada}: repeat the \`mobility erase\``, { code: 3 });
  await refuse(['users', 'add', 'ada'], '', { code: 1 });
  expect(await run(['erase', '--user', 'ada', '--yes'])).toMatchObject({ code: 0, stderr: '' });
  expect(await withStore((store) => store.users.byEmail('ada'))).toBeNull();
});

it('of several users one whom another process holds is skipped, and the command ends with 3', async () => {
  const { run, withStore } = await twoPeople();
  await withStore((store) => store.leases.acquire(uuids.ben, 'a pipeline', 60));
  const { code, json } = await run(['erase', '--user', 'ben', '--user', 'ada', '--yes', '--json']);
  expect([code, json()]).toMatchObject([
    3,
    {
      users: [{ user_email: 'ada' }],
      failed: [{ user_email: 'ben', message: expect.stringContaining('a pipeline works') }],
    },
  ]);
});

it('the members of a study, several users, and the names in a file are erased once, and no others', async () => {
  const { run, json, show, refuse, folder, logs, withStore } = await twoPeople();
  await run(['study', 'create', 'sunny']);
  await run(['study', 'tokens', 'sunny', '--count', '2']);
  await withStore((store) => store.users.register('dan', { now: 1 }));
  const file = join(folder, 'names.txt');
  await writeFile(file, `\n  ada  \n${uuids.ada}\r\n\n`);
  const several = await json('erase', '--file', file, '--user', 'ada', '--user', 'ben', '--yes');
  expect([several.users.map((user: Untyped) => user.user_email).sort(), several.failed]).toEqual([['ada', 'ben'], []]);
  await show(['erase', '--file', file, '--yes'], 'nothing left of ada\n');
  expect((await json('erase', '--study', 'sunny', '--yes')).users).toHaveLength(2);
  expect(logs()).toMatch(/Erased 2 users: \d+ rows\n/);
  expect(await withStore((store) => store.users.list({ limit: 10 }))).toMatchObject([{ user_email: 'dan' }]);
  const none = await run(['erase', '--study', 'sunny']);
  expect([none.code, none.stderr]).toEqual([0, expect.stringContaining('has no members: nothing is left to erase')]);
  const unknown = await refuse(['erase', '--study', 'suny', '--yes'], 'no study "suny"');
  expect(unknown.stderr).not.toContain('nothing is left');
});
