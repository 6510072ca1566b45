// `mobility users`: registering, importing, listing, tokens.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isUuid } from '../../src/model/ids.ts';
import { pseudonymOf, tokenHash } from '../../src/model/user.ts';
import { studySettings } from '../support/study.ts';
import type { Untyped } from '../support/untyped.ts';
import { freshProgram } from './kit.ts';

const uuid = '11111111-2222-4333-8444-555555555555';
const day = 86_400;

describe('users add', () => {
  it('registers once and keeps the UUID', async () => {
    const { run, json } = await freshProgram();
    const first = await json('users', 'add', 'ada');
    expect(first).toMatchObject({ user_email: 'ada', created: true });
    expect(isUuid(first.user_id)).toBe(true);
    const again = { code: 0, stdout: `${first.user_id}  ada\n`, stderr: 'was already registered\n' };
    expect(await run(['users', 'add', 'ada'])).toMatchObject(again);
  });

  it('gives the requested UUID, in any case, and refuses one in use, and invalid names and UUIDs', async () => {
    const { run, refuse } = await freshProgram();
    expect((await run(['users', 'add', 'ada', '--uuid', uuid.toUpperCase()])).stdout).toBe(`${uuid}  ada\n`);
    await refuse(['users', 'add', 'ben', '--uuid', uuid], 'MOBILITY_USER_EXISTS', { code: 1 });
    for (const args of [[''], ['a\nb'], ['x'.repeat(255)], ['ada', '--uuid', '123']])
      await refuse(['users', 'add', ...args], /MOBILITY_USAGE: expected .*found/);
  });
});

describe('a name that is a UUID', () => {
  const own = '22222222-3333-4444-8555-666666666666';

  it('is registered for that UUID only', async () => {
    const { run, folder, refuse } = await freshProgram();
    const file = join(folder, 'people.csv');
    await writeFile(file, `user_email,uuid\n${uuid},\n${uuid},${own}\n${own},${own.toUpperCase()}\n`);
    expect((await run(['users', 'import', file])).stdout).toBe('1 user added, 0 already registered, 2 lines failed\n');
    for (const args of [[uuid], [uuid.toUpperCase()], [uuid, '--uuid', own]]) {
      await refuse(['users', 'add', ...args], 'expected a name that is not a UUID');
    }
    expect((await run(['users', 'add', uuid, '--uuid', uuid])).code).toBe(0);
  });

  it('never names another user: commands choose the user with that UUID', async () => {
    const { run, withStore } = await freshProgram();
    await withStore(async ({ users }) => {
      await users.register(uuid, { uuid: own, now: 1 });
      await users.register('owner', { uuid, now: 1 });
    });
    expect((await run(['users', 'remove', uuid])).stdout).toBe(`${uuid}  owner\n`);
    expect((await run(['users', 'remove', uuid])).stdout).toBe(`${own}  ${uuid}\n`);
  });
});

it('a pseudonym of the pages names a person if no name matches, and no one if two people have it', async () => {
  const { run, withStore } = await freshProgram();
  const id = await withStore(async ({ users }) => pseudonymOf((await users.register('ada', { now: 1 })).user));
  expect((await run(['users', 'tokens', id])).stderr).toBe('0 tokens of ada\n');
  await withStore(async ({ users }) => {
    for (const part of ['west', 'east'])
      await users.register(`sunny_${part}_hr7ctote`, { now: 1, study: 'sunny', subgroup: part });
  });
  expect((await run(['users', 'tokens', 'hr7ctote'])).code).toBe(2);
});

describe('users import', () => {
  const imported = async (csv: string | Buffer) => {
    const { run, folder, withStore } = await freshProgram();
    const file = join(folder, 'people.csv');
    await writeFile(file, csv);
    const result = await run(['users', 'import', file, '--json']);
    const users = await withStore((store) => store.users.list({ limit: 100 }));
    const names = users.map((user) => user.user_email);
    return { result, names: names.sort(), again: () => run(['users', 'import', file]) };
  };

  it.each<[string, string | Buffer, string[]]>([
    [
      'a byte order mark, quotes, CRLF, blank lines, other columns and missing UUIDs',
      `\ufeffnote,user_email,uuid\r\n,ada,\r\n\r\n"a, b","ben, jr",${uuid.toUpperCase()}\r\n  \r\nx, eve \r\n`,
      ['ada', 'ben, jr', 'eve'],
    ],
    ['semicolons', `user_email;uuid\r\nada;${uuid}\r\n"ben, jr";\r\n`, ['ada', 'ben, jr']],
    ['a first line sep=', `sep=;\r\nuser_email;uuid\r\nada;${uuid}\r\n"ben, jr";\r\n`, ['ada', 'ben, jr']],
    [
      'the "Unicode text" of Excel',
      Buffer.from(`\ufeffuser_email\tuuid\nada\t\n"ben, jr"\t\n`, 'utf16le'),
      ['ada', 'ben, jr'],
    ],
  ])('reads %s, and may be repeated', async (_, csv, expected) => {
    const { result, names, again } = await imported(csv);
    expect([result.code, result.json()]).toEqual([0, { added: expected.length, present: 0, failed: [] }]);
    expect(names).toEqual(expected);
    const second = `0 users added, ${expected.length} already registered, 0 lines failed\n`;
    expect(await again()).toMatchObject({ code: 0, stdout: second });
  });

  it('reports bad lines by number, registers the others, and ends with 3', async () => {
    const csv = `user_email,uuid\nada,${uuid}\nben,no-uuid\n\neve,${uuid}\n,${uuid.replace('1', '9')}\nfay\n`;
    const { result, names } = await imported(csv);
    expect(result.code).toBe(3);
    expect(result.json().failed).toMatchObject([{ line: 3 }, { line: 5 }, { line: 6 }]);
    expect(result.stderr).toMatch(/^line 3 \(ben\): expected a UUID/);
    expect(names).toEqual(['ada', 'fay']);
  });

  it.each([
    ['"unclosed,,\ngus\n', 'Quote Not Closed'],
    ['bo"b,x\ngus\n"hal"\n', 'Invalid Opening Quote'],
  ])('registers all lines before a stray quote, and reports its line and the bad lines above', async (rest, reason) => {
    const before = [...Array.from({ length: 70 }, (_, i) => `user-${i}`), 'ada', 'ada', 'ben,no-uuid'];
    const { result, names } = await imported(`user_email,uuid\n${before.join('\n')}\n\n${rest}`);
    expect([result.code, names]).toEqual([3, [...new Set(before.slice(0, -1))].sort()]);
    expect(result.json().failed).toMatchObject([
      { line: before.length + 1 },
      { line: before.length + 2, message: expect.stringContaining(`the file is not CSV: ${reason}`) },
    ]);
    expect(result.stderr).toMatch(/^line \d+: the file is not CSV.*; this line and all later lines were not read$/m);
  });

  it('refuses files that are not a list of people', async () => {
    expect((await imported('user_email,uuid\nada,1\n')).result.code).toBe(2); // no line could be registered
    for (const csv of ['', '\n\n', 'name,uuid\nada,\n', 'user_email\n"ada\n']) {
      const { result, names } = await imported(csv);
      expect([csv, result.code, result.stderr, names]).toEqual([csv, 2, expect.stringMatching(/MOBILITY_USAGE/), []]);
    }
  });

  it('reads standard input, and names a file that cannot be read', async () => {
    const { run, refuse, folder } = await freshProgram();
    expect((await run(['users', 'import', '-'], { stdin: 'user_email\nada\n' })).code).toBe(0);
    const missing = join(folder, 'no.csv');
    await refuse(['users', 'import', missing], `MOBILITY_USAGE: cannot read ${missing}: no such file or folder\n`);
    await refuse(['users', 'import', folder], `MOBILITY_USAGE: cannot read ${folder}: it is a folder\n`);
  });

  it('processes the lines of one person in order, in files of any length', async () => {
    const lines = Array.from({ length: 300 }, (_, i) => `user-${i % 100}`);
    const { result } = await imported(`user_email\n${lines.join('\n')}`);
    expect(result.json()).toEqual({ added: 100, present: 200, failed: [] });
  });
});

describe('users list', () => {
  it('lists all users, and their counts with --counts', async () => {
    const { run, json } = await freshProgram();
    await run(['simulate', '--users', '1', '--from', '2024-03-12', '--seed', 's']);
    await run(['users', 'add', 'ada']);
    const plain = (await json('users', 'list')).users.map((user: Untyped) => user.user_email);
    expect(plain.sort()).toEqual(['ada', 'sim-s-1@example.org']);
    const { stdout } = await run(['users', 'list', '--counts']);
    expect(stdout).toMatch(/ada +never began +0 s ago +2024-07-03 09:46 +- +- +0 +0 +0\n/);
    expect(stdout).toMatch(/sim-s-1@example.org +in order +- +2024-07-03 09:46 +0 s ago +0 s ago +\d{3} +0 +0\n/);
  });

  it('names the zone of times, as do other commands', async () => {
    const { run, show } = await freshProgram();
    for (const line of ['users add ada', 'users token ada', 'study create sunny', 'managers add helen --operator'])
      await run(line.split(' '));
    for (const line of ['users list', 'users tokens ada', 'study show sunny', 'managers list', 'audit', 'status'])
      await show(line.split(' '), /\n\ntimes: UTC\n$/);
    expect((await run(['users', 'token', 'ada'])).stderr).toMatch(/until \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
  });

  it('lists users who requested their erasure on their page', async () => {
    const { json, show, withUser } = await freshProgram('ada', 'ben');
    await withUser('ben', (store, uuid) => store.profiles.merge(uuid, { erasure_asked_ts: 1_720_000_000 }));
    expect(await json('users', 'list', '--asked-erasure')).toMatchObject({ users: [{ user_email: 'ben' }] });
    await show(['status'], '1 asked to be erased: mobility users list --asked-erasure');
  });

  it('finds users without calls for some days', async () => {
    const { run } = await freshProgram();
    await run(['simulate', '--users', '1', '--from', '2024-03-12', '--seed', 's']);
    await run(['users', 'add', 'ada']);
    const silent = async (now: number) =>
      (await run(['users', 'list', '--silent', '7', '--json'], { now })).json().users;
    // By the clock of the service: a phone that pushes an old day is not silent, and who never began never was.
    expect(await silent(1_720_000_000)).toEqual([]);
    expect(await silent(1_720_000_000 + 8 * day)).toMatchObject([{ user_email: 'sim-s-1@example.org' }]);
  });
});

it('users token prints a token once and keeps its hash only; users remove removes it with its user', async () => {
  const { run, withStore } = await freshProgram();
  await run(['users', 'add', 'ada', '--uuid', uuid]);
  const { stdout, stderr } = await run(['users', 'token', 'ada', '--expires', '2'], { now: 1000 });
  const token = stdout.trimEnd();
  expect(token).toMatch(/^mob_[\w-]{43}$/);
  expect(stderr).not.toContain(token);
  const kept = () => withStore((store) => store.tokens.list(uuid));
  const dates = { created_ts: 1000, expires_ts: 1000 + 2 * day };
  expect(await kept()).toEqual([{ kind: 'made', hash: tokenHash(token), user_id: uuid, ...dates }]);
  for (const code of [0, 2]) expect((await run(['users', 'remove', 'ada'])).code).toBe(code);
  expect(await kept()).toEqual([]);
});

it('users remove refuses a user with data and names the command that removes them', async () => {
  const { run, refuse } = await freshProgram();
  await run(['simulate', '--users', '1', '--from', '2024-03-12', '--seed', 's']);
  await refuse(['users', 'remove', 'sim-s-1@example.org'], 'mobility erase --user sim-s-1@example.org');
});

it.each(['', '--workers 2'])('a round removes an account that sent nothing, and logs it (%s)', async (words) => {
  const { run, logs, withStore } = await freshProgram();
  const token = { hash: 'a'.repeat(64), created_ts: 1, expires_ts: null, kind: 'study' } as const;
  const joined = await withStore(async ({ studies }) => {
    await studies.put(studySettings({ config: { version: 1 }, subgroups: ['a'] }));
    return studies.enrol({ study: 'sunny', subgroup: 'a', email: 'sunny_a_1', token, now: 1 });
  });
  expect((await run(['pipeline', '--all', ...words.split(' ').filter(Boolean)])).code).toBe(0);
  const { uuid } = (joined as Extract<typeof joined, { enrolled: unknown }>).enrolled;
  expect(logs().match(new RegExp(`${uuid}.*account expired: joined study sunny`, 'g'))).toHaveLength(1);
});
