// What `mobility retain` prints, logs and refuses, for people with little data.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { freshProgram } from './kit.ts';

const now = 1_740_000_000; // 2025-02-19
const old = ['--older-than', '30d'];

async function withPeople(...names: string[]) {
  const program = await freshProgram();
  await program.withStore(async (store) => {
    for (const name of names) {
      const { uuid } = (await store.users.register(name, { now: 1 })).user;
      const unusable = [{ entry: 'x', reason: 'not_an_object', message: 'found a text' }];
      if (name === 'ada') await store.usercache.put(uuid, { entries: [], unusable }, now - 31 * 86_400);
    }
  });
  const retain = (...args: string[]) => program.run(['retain', ...old, ...args], { now });
  return { ...program, retain };
}

it('the table has a row for each person, and the sum of their rows is printed and logged', async () => {
  const { retain, address, withStore } = await withPeople('ada', 'ben');
  const tried = await retain('--all', '--what', 'both', '--dry-run');
  const rows = [
    'NAME  ENTRIES  ERRORS  TRIPS  NO RAW DATA BEFORE  NO DAYS BEFORE',
    'ada         0       1      0  -                   -',
    'ben         0       0      0  -                   -',
  ];
  const linesOf = ({ stdout }: { stdout: string }) => stdout.split('\n').map((line) => line.trimEnd());
  expect([linesOf(tried).slice(0, 3).sort(), tried.code]).toEqual([[...rows].sort(), 0]);
  expect(tried.stderr).toContain('1 row of 2 users would be removed\n');
  const logged = async () => {
    const names = (await readdir(join(address, 'logs')).catch(() => [])).filter((name) => name.startsWith('pipeline'));
    return (await Promise.all(names.map((name) => readFile(join(address, 'logs', name), 'utf8')))).join('');
  };
  expect(await logged()).not.toContain('old row');
  const done = await retain('--all', '--what', 'both', '--yes');
  expect([done.code, linesOf(done)]).toEqual([0, linesOf(tried)]);
  expect(done.stderr).toContain('1 row of 2 users removed\n');
  expect(await logged()).toContain('INFO');
  expect(await logged()).toContain('Removed 1 old row of 2 users');
  const { uuid } = (await withStore((store) => store.users.byEmail('ada')))!;
  expect(await withStore((store) => store.errors.count(uuid))).toBe(0);
});

it('the JSON names the store, the limit, and each person with the removed rows', async () => {
  const { retain, address } = await withPeople('ada');
  const { code, json } = await retain('--user', 'ada', '--what', 'raw', '--dry-run', '--json');
  expect([code, json()]).toEqual([
    0,
    {
      store: `sqlite:${address}`,
      before: now - 30 * 86_400,
      what: 'raw',
      dry_run: true,
      users: [
        {
          ...{ user_id: expect.any(String), user_email: 'ada', entries: 0, errors: 1, links: 0 },
          ...{ raw_before: null, days_before: null },
        },
      ],
      failed: [],
    },
  ]);
});

it('a store without people gives no table', async () => {
  const { retain } = await withPeople();
  const { code, stdout, stderr } = await retain('--all', '--what', 'days', '--yes');
  expect([code, stdout.trim()]).toEqual([0, '']);
  expect(stderr).toContain('0 rows of 0 users removed\n');
});

it('a person whom a run holds is named, and the command ends with 3', async () => {
  const { retain, withStore } = await withPeople('ada', 'ben');
  await withStore(async (store) => {
    await store.leases.acquire((await store.users.byEmail('ben'))!.uuid, 'pipeline 7 on host', 600);
  });
  const { code, stdout, stderr } = await retain('--all', '--what', 'raw', '--yes');
  expect([code, stdout.includes('ada'), stdout.includes('ben')]).toEqual([3, true, false]);
  expect(stderr).toMatch(/^ben: .*pipeline 7 on host/m);
});

it.each([
  [['--all', '--what', 'raw'], 'expected --dry-run, which shows what would be removed, or --yes'],
  [['--all', '--what', 'raw', '--yes', '--dry-run'], 'cannot be used with'],
  [['--all', '--what', 'trips', '--yes'], 'Allowed choices are raw, days, both'],
  [['--all', '--yes'], '--what'],
  [['--what', 'raw', '--yes'], '--all'],
])('refuses %j', async (args, message) => {
  const { retain } = await withPeople('ada');
  const { code, stderr } = await retain(...args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
