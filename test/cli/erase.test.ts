// `mobility erase`: the questions it asks, the receipts it prints, and how it ends.
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { freshProgram, type Program } from './kit.ts';

const uuids = { ada: '6f1c0a52-0f4e-4d0e-9a57-6f3b6f0d9a11', ben: '0b0e5c1e-7a55-4b27-8f0b-4df0b0a3c9aa' };
const nobody = 'c5d0a2b4-3c39-4b5e-8f7e-0c8b0a3c9aa1';

/** Two people: ada with two rejected values and a token, ben with nothing. */
async function twoPeople(): Promise<Program> {
  const program = await freshProgram();
  await program.withStore(async (store) => {
    for (const [name, uuid] of Object.entries(uuids)) await store.users.register(name, { uuid, now: 1 });
    const unusable = ['x', 'y'].map((entry) => ({ entry, reason: 'not_an_object', message: 'found a text' }));
    await store.usercache.put(uuids.ada, { entries: [], unusable }, 1);
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

it('several people are erased after their number was typed, and the receipt has the sums', async () => {
  const { run, address } = await twoPeople();
  const whom = ['--user', 'ada', '--user', 'ben', '--user', nobody.toUpperCase(), '--user', 'Eve'];
  const asked = (stdin: string) => run(['erase', ...whom], { tty: true, stdin });
  for (const wrong of ['3\n', 'ada\n', '\n', '']) {
    const { code, stderr } = await asked(wrong);
    expect([code, stderr]).toEqual([2, expect.stringContaining('expected 4, found other text; nothing was erased')]);
  }
  const { code, stdout, stderr } = await asked(' 4 \n');
  expect(code).toBe(0);
  for (const text of ['This removes 4 users and 5 rows permanently.\nType 4 to continue: ', 'Eve is not registered'])
    expect(stderr).toContain(text);
  const [head, sums] = stdout.split('  COLLECTION');
  expect(head).toBe(`erased ada\nerased ben\nnothing left of ${nobody}\nnothing left of Eve\n`);
  expect(`  COLLECTION${sums!.split('\nlog files')[0]}`).toBe(table('2 0', '1 0', '2 0'));
  expect(stdout).toMatch(
    new RegExp(`\nlog files in ${address}/logs: names replaced in \\d+ lines of \\d files?\nnot reached: `),
  );
  expect(stdout).toMatch(/\nkept: of people who joined a study by its link: .*\n$/);
  expect(stdout).not.toContain('may still be named');
});

it('a person whose name may be left in a log keeps their record, so that the command can be repeated', async () => {
  const { run, address, withStore } = await twoPeople();
  await mkdir(join(address, 'logs', 'server-2026-03-13.log'), { recursive: true });
  const { code, stdout } = await run(['erase', '--user', 'ada', '--yes']);
  expect(code).toBe(3);
  expect(stdout).toContain('erased except the name, which is kept so that the command can be repeated: ada\n');
  expect(stdout).toContain(table('2 0', '1 0', '0 1'));
  expect(stdout).toMatch(/\n {2}may still be named in server-2026-03-13.log: .*; repair or remove it, and repeat\n/);
  expect(await withStore((store) => store.users.byEmail('ada'))).toMatchObject({ uuid: uuids.ada });
  await rmdir(join(address, 'logs', 'server-2026-03-13.log'));
  const repeated = await run(['erase', '--user', 'ada', '--yes']);
  expect(repeated.code).toBe(0);
  expect(repeated.stdout).toContain(table('0 0', '0 0', '1 0'));
});

it('an erasure that is interrupted after the first person names how many are left', async () => {
  const { run } = await twoPeople();
  await run(['erase', '--user', 'nobody', '--yes']);
  const before = process.listenerCount('SIGINT');
  const timer = setInterval(() => {
    if (process.listenerCount('SIGINT') === before) return;
    clearInterval(timer);
    process.emit('SIGINT', 'SIGINT');
  }, 0);
  const { code, stderr } = await run(['erase', '--user', 'ada', '--user', 'ben', '--yes']);
  clearInterval(timer);
  const [, left] = /interrupted: ([12]) users? not erased; repeat the command/.exec(stderr) ?? [];
  expect([code, Number(left) > 0]).toEqual([130, true]);
});

it('names of a file are read without blanks, and a person is erased once', async () => {
  const { run, folder } = await twoPeople();
  const file = join(folder, 'names.txt');
  await writeFile(file, `\n  ada  \n${uuids.ada}\r\n\n`);
  const { code, json } = await run(['erase', '--file', file, '--user', 'ada', '--yes', '--json']);
  const { users, failed } = json<{ users: { user_email: string }[]; failed: [] }>();
  expect([code, users.map(({ user_email }) => user_email), failed]).toEqual([0, ['ada'], []]);
  expect((await run(['erase', '--file', file, '--yes'])).stdout).toContain('nothing left of ada\n');
});

it('a study is erased with its one member; one without members is no error, and needs no confirmation', async () => {
  const { run, withStore } = await twoPeople();
  await run(['study', 'create', 'sunny']);
  await withStore((store) => store.users.register('eve', { now: 1, study: 'sunny' }));
  expect((await run(['erase', '--study', 'sunny', '--yes'])).stdout).toContain('erased eve\n');
  const { code, stderr } = await run(['erase', '--study', 'sunny']);
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('the study sunny has no members: nothing is left to erase'),
  ]);
});
