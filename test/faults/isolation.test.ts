// Commands for one user change no other user, and erasing a user leaves nothing in any table.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { tokenHash } from '../../src/model/user.ts';
import { connect } from '../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../src/store/sqlite/folder.ts';
import { type Collection, collections } from '../../src/store/store.ts';
import { tempFolder } from '../support/clean-up.ts';
import { packedTextsIn, piecesIn, piecesOf, textsIn } from '../support/traces.ts';
import { contentOf, fillStore, fillUser, pushesOf, withStore } from './kit.ts';
import { type Exit, run, startServer, succeed } from './program.ts';

/** Where the embedded store keeps each collection. A table that names users and is missing here fails a test below. */
const tables: Record<Collection, string> = {
  users: 'people',
  tokens: 'tokens',
  profiles: 'profiles',
  usercache: 'batches',
  documents: 'documents',
  errors: 'errors',
  timeseries: 'chunks',
  trips: 'trips',
};

/** Every table of the store, with its columns as SQL and its rows as JSON. */
function tablesOf(folder: string): { name: string; sql: string; rows: string }[] {
  const connection = connect(databaseIn(folder));
  const schema = "SELECT name, sql FROM sqlite_schema WHERE type = 'table'";
  const found = connection.prepare(schema).all<{ name: string; sql: string }>();
  const rowsOf = (name: string) => JSON.stringify(connection.prepare(`SELECT * FROM "${name}"`).all());
  const tables = found.map(({ name, sql }) => ({ name, sql, rows: rowsOf(name) }));
  connection.close();
  return tables;
}

it('commands for one user show, export and erase that user, and change no other user', async () => {
  const folder = tempFolder();
  const store = join(folder, 'store');
  const at = ['--store', store, '--log-dir', join(folder, 'logs')];
  const [ada, ben] = await withStore(store, async (opened) => [
    await fillUser(opened, 'ada'),
    await fillUser(opened, 'ben'),
  ]);
  const state = (): Promise<unknown[]> =>
    withStore(store, async (opened) => [
      await contentOf(opened, ben!),
      await opened.counts(ben!),
      await opened.users.byEmail('ben@example.org'),
      await opened.tokens.byHash(tokenHash("ben's token")),
    ]);
  const before = await state();
  const isOnlyAda = (text: string): void => {
    expect(text).toContain(ada);
    for (const word of [ben!, 'ben@', "ben's"]) expect(text).not.toContain(word);
  };

  const status = await run(['doctor', '--user', 'ada@example.org', '--json', ...at]);
  expect([0, 3]).toContain(status.code);
  isOnlyAda(status.stdout);
  const out = join(folder, 'out');
  await succeed(['export', '--user', 'ada@example.org', '--out', out, '--json', ...at]);
  const texts = await Promise.all((await readdir(out)).map((name) => readFile(join(out, name), 'utf8')));
  isOnlyAda(texts.join('\n'));
  expect(texts.join('\n')).toContain("ada's words");
  for (const command of [['recover-errors'], ['purge-keys'], ['rebuild'], ['pipeline']]) {
    const end = await run([...command, '--user', 'ada@example.org', ...at]);
    expect([0, 3], end.stderr).toContain(end.code);
  }
  const erased = await succeed(['erase', '--user', 'ada@example.org', '--yes', '--json', ...at]);
  isOnlyAda(erased.stdout);
  expect(await state()).toEqual(before);
});

describe('erasing a user', () => {
  it('covers every table, and leaves no text of the user in any', async () => {
    const folder = tempFolder();
    const ada = await withStore(folder, async (store) => {
      await fillUser(store, 'ben');
      return fillUser(store, 'ada');
    });
    const naming = tablesOf(folder).filter(({ sql }) => /user|uuid|email/.test(sql));
    expect(naming.map(({ name }) => name).sort()).toEqual(
      [...Object.values(tables), 'accounts', 'arrivals', 'months', 'places'].sort(),
    );
    expect(Object.keys(tables).sort()).toEqual([...collections].sort());
    const words = [ada, 'ada@', "ada's", tokenHash("ada's token")];
    const tablesOfAda = () =>
      tablesOf(folder).flatMap(({ name, rows }) => (words.some((word) => rows.includes(word)) ? [name] : []));
    expect(tablesOfAda()).toEqual(expect.arrayContaining(Object.values(tables)));
    await succeed(['erase', '--user', ada, '--yes', '--store', folder]);
    expect(tablesOfAda()).toEqual([]);
  });

  it('leaves nothing in files, logs and a backup, also while a server runs', async () => {
    const folder = tempFolder();
    const [store, logs, backup] = [join(folder, 'store'), join(folder, 'logs'), join(folder, 'backup')];
    const command = (...args: string[]): Promise<Exit> => run([...args, '--store', store, '--log-dir', logs]);
    const { 'ada@example.org': ada } = await fillStore(store, { 'ada@example.org': [], 'ben@example.org': [] });
    const token = (await command('users', 'token', 'ada@example.org')).stdout.trim();
    const server = await startServer(store, { env: { MOBILITY_LOG_DIR: logs, MOBILITY_LOG_LEVEL: 'debug' } });
    const push = async (name: string, entries: unknown[]): Promise<void> => {
      const body = { user: `${name}@example.org`, phone_to_server: entries };
      expect((await server.post('/usercache/put', body)).status).toBe(200);
    };
    for (const day of [0, 1]) {
      for (const name of ['ada', 'ben']) await push(name, [...pushesOf(name, 'ios', 2)[day]!, `words of ${name}`]);
      expect((await command('pipeline', '--all')).code).toBe(0);
    }
    const mark = { latitude: 12.3456789012, longitude: 98.7654321098 };
    const metadata = { key: 'background/location', platform: 'ios', write_ts: 1_710_400_000 };
    await push('ada', [{ metadata, data: { ...mark, ts: 1_710_400_000 } }]);
    const [log] = (await readdir(logs)).filter((name) => /^server.*log$/.test(name));
    await writeFile(join(logs, 'server-2024-03-11.log.gz'), gzipSync(await readFile(join(logs, log!))));
    const words = [...Object.values(mark).map(String), 'words of ada'];
    const texts = [...words, ada!, 'ada@example.org', token, tokenHash(token)];
    for (const place of [store, logs]) expect(textsIn(place, texts)).not.toEqual([]);
    expect(packedTextsIn(store, words)).toHaveLength(words.length);
    const pieces = piecesOf(store, ada);

    expect((await command('erase', '--user', 'ada@example.org', '--yes')).code).toBe(0);
    expect((await command('backup', backup)).code).toBe(0);
    for (const kept of piecesOf(store)) pieces.delete(kept);
    expect(pieces.size).toBeGreaterThan(10_000);
    expect(textsIn(folder, texts)).toEqual([]);
    for (const place of [store, backup]) expect(piecesIn(place, pieces)).toEqual([]);
    expect(packedTextsIn(store, [...texts, 'words of ben'])).toEqual(['words of ben']);
    expect((await server.stop()).code).toBe(0);
    expect(textsIn(folder, texts)).toEqual([]);
  });
});
