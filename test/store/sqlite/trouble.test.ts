// Trouble around the files of a store, such as locks and too many open files, is told as that and not as damage.
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { MobilityError } from '../../../src/model/errors.ts';
import { checkRows } from '../../../src/store/check-rows.ts';
import { checkStore, lookAtStore, openStore } from '../../../src/store/open.ts';
import { type Connection, connect } from '../../../src/store/sqlite/driver.ts';
import { unlessTrouble } from '../../../src/store/sqlite/engine-errors.ts';
import { newFolder } from '../../log/support/kit.ts';

/**
 * What the engine answers to statements with these words; what looking at the bytes of a file does; and of which files.
 */
const none = { words: null, error: null, inspect: null, files: /./ };
const fault: { words: RegExp | null; error: unknown; inspect: unknown; files: RegExp } = { ...none };

vi.mock('../../../src/store/sqlite/driver.ts', async (original) => {
  const driver = await original<typeof import('../../../src/store/sqlite/driver.ts')>();
  const connect = (path: string): Connection => {
    const connection = driver.connect(path);
    const prepare: Connection['prepare'] = (sql) => {
      if (fault.words?.test(sql) && fault.files.test(path)) throw fault.error;
      return connection.prepare(sql);
    };
    return new Proxy(connection, { get: (from, name) => (name === 'prepare' ? prepare : Reflect.get(from, name)) });
  };
  return { ...driver, connect };
});

vi.mock('../../../src/store/sqlite/inspect.ts', async (original) => {
  const inspect = await original<typeof import('../../../src/store/sqlite/inspect.ts')>();
  const inspectFile: typeof inspect.inspectFile = (...args) => {
    if (fault.inspect !== null && fault.files.test(args[0])) throw fault.inspect;
    return inspect.inspectFile(...args);
  };
  return { ...inspect, inspectFile };
});

afterEach(() => Object.assign(fault, none));

const engineError = (errcode: number) => Object.assign(new Error('no'), { code: 'ERR_SQLITE_ERROR', errcode });
const fileError = (code: string) => Object.assign(new Error(code), { code });

async function filled(): Promise<string> {
  const folder = newFolder();
  const store = await openStore(folder);
  const { user } = await store.users.register('ada', { now: 1 });
  const entry = { metadata: { key: 'background/location', write_ts: 1 }, data: { ts: 1 } };
  await store.usercache.put(user.uuid, { entries: [entry], unusable: [] }, 1);
  await store.close();
  return folder;
}

/** Nobody is user 7 of these files: a check and a look find a row in each. */
async function damaged(): Promise<string> {
  const folder = await filled();
  for (const [file, row] of [
    ['usercache', "INSERT INTO profiles (user, profile) VALUES (7, '{}')"],
    ['timeseries', "INSERT INTO documents (user, key, write_ts, data) VALUES (7, 'k', 1, '{}')"],
  ]) {
    const connection = connect(join(folder, `${file}-0.sqlite`));
    connection.prepare(row!).run();
    connection.close();
  }
  return folder;
}

const look = { milliseconds: 60_000 };

/** Everything that may be in the way of one file, wherever a check or a look meets it. */
const troubles: [string, Partial<typeof fault>][] = [
  ['EMFILE', { inspect: fileError('EMFILE') }],
  ['EACCES', { inspect: fileError('EACCES') }],
  ...[/user_ids/, /integrity_check/, /FROM sqlite_schema/, /FROM profiles|FROM documents/].map(
    (words): [string, Partial<typeof fault>] => [`14 at ${words}`, { words, error: engineError(14) }],
  ),
  // SQLITE_NOMEM, SQLITE_FULL, SQLITE_IOERR_SHMSIZE (a full disk), SQLITE_IOERR_LOCK
  ...[7, 13, 10 | (19 << 8), 10 | (15 << 8)].map((code): [string, Partial<typeof fault>] => [
    String(code),
    { words: /FROM sqlite_schema/, error: engineError(code) },
  ]),
];

it.each(troubles)('trouble with a file (%s) is told, and the other files are checked', async (_, trouble) => {
  const folder = await damaged();
  for (const [file, other] of [
    ['usercache-0.sqlite', 'timeseries-0.sqlite'],
    ['timeseries-0.sqlite', 'usercache-0.sqlite'],
  ]) {
    Object.assign(fault, none, trouble, { files: new RegExp(file!) });
    const report = await checkStore(folder, { digest: true });
    expect(report).toMatchObject({ sound: false, complete: false, unchecked: [{ file }] });
    expect(report.unchecked[0]!.code).toMatch(/^MOBILITY_STORE_(UNAVAILABLE|READONLY|FULL)$/);
    expect(report.users.map(({ digest }) => digest).filter((digest) => digest !== null)).toEqual([]);
    for (const { findings, unchecked } of [report, await lookAtStore(folder, look)]) {
      expect(unchecked).toMatchObject([{ file }]);
      expect(findings.some((one) => one.file === other && one.code === 'WRONG_REFERENCE')).toBe(true);
      expect(findings.filter(({ code }) => code.startsWith('DAMAGED'))).toEqual([]);
    }
  }
});

it('a server that goes away while its rows are checked is no damage', async () => {
  const store = await openStore(await filled());
  const gone = new MobilityError('MOBILITY_STORE_UNAVAILABLE', 'no server answers');
  const timeseries = { ...store.timeseries, summary: () => Promise.reject(gone) };
  const report = await checkRows({ ...store, timeseries }, {});
  await store.close();
  expect(report).toMatchObject({ sound: false, complete: false, findings: [] });
  expect(report.unchecked).toEqual([{ file: store.address, code: gone.code, what: gone.message }]);
});

it('what the engine finds malformed, or a disk does not give, is damage', async () => {
  const folder = await filled();
  for (const code of [11, 10 | (1 << 8)]) {
    Object.assign(fault, { words: /FROM batches/, error: engineError(code) });
    expect(await lookAtStore(folder, look)).toMatchObject({ findings: [{ table: 'batches' }], unchecked: [] });
  }
  expect(unlessTrouble(fileError('EIO'), 'a file', 'damage')).toBe('damage');
  expect(unlessTrouble(new Error('anything else'), 'a file', 'damage')).toBe('damage');
});

it('a lock, a right, a full disk and a lack of memory have errors of their own', () => {
  const codes = { 5: 'BUSY', 6: 'BUSY', 7: 'UNAVAILABLE', 8: 'READONLY', 13: 'FULL', 14: 'UNAVAILABLE' };
  for (const [code, name] of Object.entries(codes)) {
    const tell = (): unknown => unlessTrouble(engineError(Number(code)), 'a file', null);
    expect(tell, code).toThrow(expect.objectContaining({ code: `MOBILITY_STORE_${name}` }));
  }
});
