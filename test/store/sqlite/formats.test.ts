// Stores as earlier programs wrote them: each version of the file format that was ever released is kept here, and still
// opens.
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32, deflateRawSync } from 'node:zlib';
import { expect, it } from 'vitest';
import type { TripRecord } from '../../../src/model/trip.ts';
import { connect } from '../../../src/store/sqlite/driver.ts';
import { fileName } from '../../../src/store/sqlite/folder.ts';
import { initialPipelineState } from '../../../src/store/store.ts';
import { convertStore } from '../../../src/upkeep/convert-store.ts';
import { apply, findAll, fix, leased, location, newId, newUser, put, same, waitingEntries } from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';

const places = usePlaces();
const fixtures = fileURLToPath(new URL('../../fixtures/store', import.meta.url));
const roles = ['usercache', 'timeseries'] as const;
const ada = '0d0b2c4e-6f1a-4b7c-8d3e-1f2a3b4c5d6e';

const linkAt = (chain_ts: number): TripRecord => ({
  id: `id-${chain_ts}`,
  kind: 'dropped',
  chain_ts,
  start_ts: chain_ts,
  end_ts: chain_ts + 1,
  day: '2016-05-11',
  settled_ts: chain_ts + 1,
  trip: null,
  untracked: null,
  carry: { resume_ts: chain_ts, started: false, raw_place: null, place: null },
});

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
  await put(store, await newUser(store), [fix(1)]);
  await store.close();
  expect(shapeOf(old)).toEqual(shapeOf(fresh));
});

it('a large store of an earlier version stays in use while its rows become chunks, user by user', async () => {
  const folder = await storeOfVersion(1);
  const ben = newId();
  const count = 10_500;
  const connection = connect(join(folder, fileName('timeseries', 0)));
  connection.exec(`
    INSERT INTO user_ids VALUES (2, '${ben}');
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})
    INSERT INTO entries (user, key, write_ts, ts, zone, entry)
    SELECT 2, 1, 1000 + i, 1000 + i, NULL,
      '{"metadata":{"key":"${location}","write_ts":' || (1000 + i) || '},"data":{"ts":' || (1000 + i) || '}}' FROM n`);
  connection.close();
  const left = (): number[] => {
    const reader = connect(join(folder, fileName('timeseries', 0)));
    const there = reader.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'entries'").get() !== undefined;
    const rows = there ? reader.prepare('SELECT DISTINCT user FROM entries ORDER BY user').all<{ user: number }>() : [];
    reader.close();
    return rows.map(({ user }) => user);
  };
  const first = await places.open(folder);
  await first.users.admit(ben);
  const second = await places.open(folder);
  expect(left()).toEqual([1, 2]);
  expect(await first.counts(ada)).toMatchObject({ timeseries: 2 });
  expect(left()).toEqual([2]);
  // Both stores meet the user at once.
  const found = findAll(second.timeseries, ben, { time: 'ts', limit: 1_000 });
  const known = put(first, ben, [fix(1_000), fix(999)]);
  expect((await found).map(({ data }) => data.ts)).toEqual(Array.from({ length: count }, (_, i) => 1_000 + i));
  expect(await known).toEqual(['updated', 'inserted']);
  expect(left()).toEqual([]);
  expect(await apply(first, ben, { put: [fix(1_000), fix(999)] })).toMatchObject({ inserted: 1, updated: 1 });
  expect((await second.counts(ben)).timeseries).toBe(count + 1);
});

it('what waited in a store of an earlier version waits on, however it is opened, with its receipts and failures', async () => {
  const folder = await storeOfVersion(1);
  const count = 2_500;
  const connection = connect(join(folder, fileName('usercache', 0)));
  connection.exec(`
    INSERT INTO user_ids VALUES (2, '${newId()}');
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})
    INSERT INTO waiting (user, key, write_ts, ts, revision, failed_first_ts, failed_tries, entry)
    SELECT 1, 1, 1000 + i, 1000 + i, 1000 + i, CASE i WHEN 7 THEN 5.5 END, CASE i WHEN 7 THEN 3 END,
      '{"metadata":{"key":"${location}","write_ts":' || (1000 + i) || '},"data":{"ts":' || (1000 + i) || '}}' FROM n`);
  const keyOne = connection.prepare('SELECT name FROM keys WHERE id = 1').get<{ name: string }>()!.name;
  connection.close();
  expect(keyOne).toBe(location);
  const [store, other] = await Promise.all([places.open(folder), places.open(folder)]);
  expect(await store.usercache.summary(ada)).toMatchObject({ count: count + 2 });
  const found = await other.usercache.find(ada, { keys: [location], time: 'ts', from: 1_000, to: 4_000, limit: 9_999 });
  expect(found.entries.map(({ data }) => data.ts)).toEqual(Array.from({ length: count }, (_, i) => 1_000 + i));
  const page = await store.usercache.read(ada, { after: { key: location, write_ts: 1_006 }, limit: 2 });
  expect(page.map(({ failed }) => failed)).toEqual([{ first_ts: 5.5, tries: 3 }, undefined]);
  expect(await put(other, ada, [fix(1_007), fix(4_000)])).toEqual(['updated', 'inserted']);
  // Read before it was pushed again: it stays.
  const refs = page.map(({ entry: { metadata }, revision }) => ({ ...metadata, revision }));
  expect(await store.usercache.settle(ada, { moved: refs, failed: [] }, 1)).toBe(1);
});

/** Writes the chunks of a file as a version before columns did: their texts with a character between each two. */
function writeOlderChunks(
  path: string,
  textsOf: (user: number, key: number, from: number, to: number) => string[],
): void {
  const connection = connect(path);
  const chunks = connection.prepare('SELECT id, user, key, first, last FROM chunks');
  for (const { id, user, key, first, last } of chunks.all<Record<'id' | 'user' | 'key' | 'first' | 'last', number>>()) {
    const packed = deflateRawSync(textsOf(user, key, first, last).join('\x1e'));
    const entries = Buffer.concat([Buffer.from([1, 0, 0, 0, 0]), packed]);
    entries.writeUInt32LE(crc32(packed), 1);
    connection.prepare('UPDATE chunks SET entries = ? WHERE id = ?').run(entries, id);
  }
  connection.close();
}

it('chunks of an earlier version are read as they are; a conversion writes them anew, whenever it is interrupted', async () => {
  const folder = join(await places.folder(), 'store');
  const first = await places.open(folder);
  const entries = Array.from({ length: 1_500 }, (_, i) => fix(1_000 + i, { note: i % 7 }));
  const users: string[] = [];
  for (const name of ['ada', 'ben']) users.push((await first.users.register(name, { now: 1 })).user.uuid);
  for (const user of users) await apply(first, user, { put: entries });
  await first.close();
  writeOlderChunks(join(folder, fileName('timeseries', 0)), (_user, _key, from, to) =>
    entries
      .filter(({ metadata: { write_ts } }) => write_ts >= from && write_ts <= to)
      .map((one) => JSON.stringify(one)),
  );
  const store = await places.open(folder);
  same(await findAll(store.timeseries, users[0]!, { time: 'ts', limit: 400 }), entries);
  const all = { users: 2, entries: 3_000 };
  const none = { users: 0, entries: 0 };
  expect(await convertStore(store, { dryRun: true })).toEqual({ converted: none, left: all });
  const stop = new AbortController();
  const onUser = (): void => stop.abort();
  const interrupted = await convertStore(store, { signal: stop.signal, onUser });
  expect(interrupted).toEqual({ converted: { users: 1, entries: 1_500 }, left: { users: 1, entries: 1_500 } });
  expect(await convertStore(store)).toEqual({ converted: { users: 1, entries: 1_500 }, left: none });
  expect(await convertStore(store)).toEqual({ converted: none, left: none });
  for (const user of users) same(await findAll(store.timeseries, user, { time: 'ts', limit: 400 }), entries);
});

it('trips and documents that earlier versions wrote as text are read, and stay as they are while they say the same', async () => {
  const folder = join(await places.folder(), 'store');
  const links = [1, 2, 3].map((ts) => ({ ...linkAt(1_000 * ts), day: `2016-05-1${ts}` }));
  const document = { key: 'diary/trips-2016-05-11', write_ts: 7, data: [{ distance: 1.5, 'a.b': '\ud800' }] };
  const everything = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };
  const first = await places.open(folder, { now: () => 50 });
  const user = await newUser(first);
  await leased(first, user, (lease) => first.trips.replace(user, everything, links, {}, lease));
  await leased(first, user, (lease) => first.documents.apply(user, { put: [document], remove: [] }, lease));
  await first.close();
  const connection = connect(join(folder, fileName('timeseries', 0)));
  const texts = [...links.map((link) => JSON.stringify(link)), JSON.stringify(document.data)];
  const older = [texts[0]!, deflateRawSync(texts[1]!), deflateRawSync(texts[2]!, { level: 0 })];
  for (const [i, record] of older.entries()) {
    connection.prepare('UPDATE trips SET record = ?, sum = NULL WHERE chain_ts = ?').run(record, links[i]!.chain_ts);
  }
  connection.prepare('UPDATE documents SET data = ?, sum = NULL').run(deflateRawSync(texts[3]!));
  connection.close();

  const store = await places.open(folder, { now: () => 60 });
  same(await store.trips.chain(user, { limit: 9 }), links);
  same(await store.documents.list(user), [document]);
  expect(await store.documents.holds(user, document.key, document.data)).toBe(true);
  expect(await store.documents.holds(user, document.key, [])).toBe(false);
  const changed = [links[0]!, links[1]!, { ...links[2]!, dropped: 'too short' }];
  const counts = await leased(store, user, (lease) => store.trips.replace(user, everything, changed, {}, lease));
  expect(counts).toEqual({ added: 0, removed: 0, changed: 1, unchanged: 2 });
  same(await store.trips.chain(user, { limit: 9 }), changed);
});
