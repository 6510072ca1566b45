// Stores as earlier programs wrote them: each version of the file format that was ever released is kept here, and still
// opens.
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { connect } from '../../../src/store/sqlite/driver.ts';
import { fileName } from '../../../src/store/sqlite/folder.ts';
import { initialPipelineState } from '../../../src/store/store.ts';
import { fix, newUser, put, same, waitingEntries } from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';

const places = usePlaces();
const fixtures = fileURLToPath(new URL('../../fixtures/store', import.meta.url));
const roles = ['usercache', 'timeseries'] as const;
const ada = '0d0b2c4e-6f1a-4b7c-8d3e-1f2a3b4c5d6e';

/** A folder with the store of a fixture. */
async function storeOfVersion(version: number): Promise<string> {
  const folder = join(await places.folder(), 'store');
  await mkdir(folder);
  for (const role of roles) {
    const path = join(folder, fileName(role, 0));
    await writeFile(path, '');
    const connection = connect(path);
    connection.exec(await readFile(join(fixtures, `v${version}`, `${role}-0.sql`), 'utf8'));
    connection.close();
  }
  await copyFile(join(fixtures, `v${version}`, 'store.json'), join(folder, 'store.json'));
  return folder;
}

/**
 * Tables, indexes and version of both files, without the way they are written and without the time of first receipts.
 */
function shapeOf(folder: string): unknown {
  return roles.map((role) => {
    const connection = connect(join(folder, fileName(role, 0)));
    const sql = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name";
    const parts = connection.prepare(sql).all<{ name: string; sql: string }>();
    const version = connection.prepare('PRAGMA user_version').get<{ user_version: number }>()!.user_version;
    connection.close();
    return { version, parts: parts.map((part) => part.sql.replace(/\s+/g, ' ').replace(/ DEFAULT \d+(\.\d+)?/g, '')) };
  });
}

it('a store of version 1 opens with everything in it', async () => {
  const store = await places.open(await storeOfVersion(1), { now: () => 1463500000 });
  same(await store.users.list({ limit: 10 }), [{ uuid: ada, user_email: 'ada', update_ts: 1463400000.5 }]);
  expect(await store.counts(ada)).toEqual({
    users: 1,
    tokens: 1,
    profiles: 1,
    usercache: 2,
    documents: 1,
    errors: 2,
    timeseries: 2,
    trips: 1,
    pipeline: 1,
    leases: 1,
  });
  same(await store.profiles.get(ada), { mode: 'TRIP', 'a.b': null });
  same((await waitingEntries(store, ada)).at(-1)!, {
    metadata: { key: 'manual/survey\\odd', write_ts: 5 },
    data: { 'a.b': [-0, null], $x: '\u0000\ud800' },
  });
  const state = { ...initialPipelineState, complete_until: 1463481000 };
  same(await store.pipeline.get(ada), state);
  expect(await store.trips.chain(ada, { limit: 10 })).toMatchObject([{ id: 'a1', settled_ts: 1463482000 }]);
  expect((await store.leases.get(ada))?.owner).toBe('host 1');
  expect(await put(store, ada, [fix(1463490001.123456), fix(1463490002), fix(1463480030), fix(1)])).toEqual([
    'updated',
    'updated',
    'updated',
    'inserted',
  ]);
});

it('a store of version 1 has, once opened, the same tables as a new one', async () => {
  const old = await storeOfVersion(1);
  await (await places.open(old)).close();
  const fresh = join(await places.folder(), 'store');
  const store = await places.open(fresh);
  await put(store, newUser(), [fix(1)]);
  await store.close();
  expect(shapeOf(old)).toEqual(shapeOf(fresh));
});
