// Trouble around the files of a store, such as locks and too many open files, is told as that and not as damage.
import { afterEach, expect, it, vi } from 'vitest';
import { checkStore, lookAtStore, openStore } from '../../../src/store/open.ts';
import type { Connection } from '../../../src/store/sqlite/driver.ts';
import { unlessTrouble } from '../../../src/store/sqlite/engine-errors.ts';
import { newFolder } from '../../log/support/kit.ts';

/** What the engine answers to statements with these words; and what looking at the bytes of a file does. */
const fault: { words: RegExp | null; error: unknown; inspect: unknown } = { words: null, error: null, inspect: null };

vi.mock('../../../src/store/sqlite/driver.ts', async (original) => {
  const driver = await original<typeof import('../../../src/store/sqlite/driver.ts')>();
  const connect = (path: string): Connection => {
    const connection = driver.connect(path);
    const prepare: Connection['prepare'] = (sql) => {
      if (fault.words?.test(sql)) throw fault.error;
      return connection.prepare(sql);
    };
    return new Proxy(connection, { get: (from, name) => (name === 'prepare' ? prepare : Reflect.get(from, name)) });
  };
  return { ...driver, connect };
});

vi.mock('../../../src/store/sqlite/inspect.ts', async (original) => {
  const inspect = await original<typeof import('../../../src/store/sqlite/inspect.ts')>();
  const inspectFile: typeof inspect.inspectFile = (...args) => {
    if (fault.inspect !== null) throw fault.inspect;
    return inspect.inspectFile(...args);
  };
  return { ...inspect, inspectFile };
});

afterEach(() => Object.assign(fault, { words: null, error: null, inspect: null }));

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

it('too many open files end a check and a look', async () => {
  const folder = await filled();
  fault.inspect = fileError('EMFILE');
  const told = { code: 'MOBILITY_STORE_UNAVAILABLE', message: expect.stringContaining('EMFILE') };
  await expect(checkStore(folder)).rejects.toMatchObject(told);
  await expect(lookAtStore(folder, { milliseconds: 60_000 })).rejects.toMatchObject(told);
});

it('a file that the engine cannot open ends a check and a look, wherever it shows', async () => {
  const folder = await filled();
  const told = { code: 'MOBILITY_STORE_UNAVAILABLE' };
  for (const words of [/integrity_check/, /FROM user_ids/, /FROM sqlite_schema/, /FROM batches/]) {
    Object.assign(fault, { words, error: engineError(14) });
    await expect(checkStore(folder), String(words)).rejects.toMatchObject(told);
    await expect(lookAtStore(folder, { milliseconds: 60_000 }), String(words)).rejects.toMatchObject(told);
  }
});

it('what the engine finds malformed, or a disk does not give, is damage', async () => {
  const folder = await filled();
  for (const code of [11, 10 | (1 << 8)]) {
    Object.assign(fault, { words: /FROM batches/, error: engineError(code) });
    expect(await lookAtStore(folder, { milliseconds: 60_000 })).toMatchObject([{ table: 'batches' }]);
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
