// What the tests of faults share: folders, seeds, simulated people, and everything of a user as one text.
import { execFileSync, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { statSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { expect, type TestContext } from 'vitest';
import { silentLog } from '../../src/log/log.ts';
import type { Entry } from '../../src/model/entry.ts';
import { tokenHash } from '../../src/model/user.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import { type Random, seededRandom } from '../../src/simulate/random.ts';
import { simulateDays } from '../../src/simulate/simulate-day.ts';
import { openStore } from '../../src/store/open.ts';
import type { ColumnValue } from '../../src/store/rows/rows.ts';
import { connect } from '../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../src/store/sqlite/folder.ts';
import type { Store } from '../../src/store/store.ts';
import { atEnd } from '../support/clean-up.ts';
import { derived } from '../support/diary.ts';
import { isHere } from '../support/needs.ts';
import { share } from '../support/sample.ts';

/** Opens the store of a folder for `work`. */
export async function withStore<T>(folder: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(folder);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Ends the lease that a dead run left, as its expiry would. */
export async function releaseLease(store: Store, userId: string): Promise<void> {
  const lease = await store.leases.get(userId);
  if (lease) await store.leases.release(lease);
}

/**
 * A copy of a folder, which no process has open. SQLite removes an empty write-ahead log and its index when a closed
 * connection is collected as garbage, which may be now: they are left out.
 */
export async function copyOf(folder: string, to: string): Promise<string> {
  const isOfEmptyLog = (path: string): boolean =>
    /-(wal|shm)$/.test(path) && !statSync(path.replace(/-shm$/, '-wal'), { throwIfNoEntry: false })?.size;
  await cp(folder, to, { recursive: true, filter: (path) => !isOfEmptyLog(path) });
  return to;
}

/** Runs `work` with chance; a failure names the seed. `MOBILITY_TEST_SEED` repeats it, except the machine's timing. */
export async function withSeed<T>(work: (random: Random) => Promise<T>): Promise<T> {
  const seed = Number(process.env.MOBILITY_TEST_SEED ?? randomInt(2 ** 31));
  try {
    return await work(seededRandom(seed));
  } catch (error) {
    if (error instanceof Error) error.message = `with MOBILITY_TEST_SEED=${seed}: ${error.message}`;
    throw error;
  }
}

/** A number of repetitions: from the environment, or the usual one, of which `npm test` does a third. */
export function times(variable: string, usual: number): number {
  return Number(process.env[variable] ?? share(usual));
}

export const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** What the phone of one invented person pushes in `days` days, one batch a day. */
export function pushesOf(person: string, platform: 'android' | 'ios', days: number): Entry[][] {
  return [...simulateDays({ platform, day: '2024-03-11', seed: person }, days)];
}

/** Registers people and lets everything that their phones push wait. Returns their UUIDs by name. */
export async function fillStore(
  folder: string,
  people: Readonly<Record<string, readonly (readonly Entry[])[]>>,
): Promise<Record<string, string>> {
  return withStore(folder, async (store) => {
    const uuids: Record<string, string> = {};
    for (const [name, pushes] of Object.entries(people)) {
      const { user } = await store.users.register(name, { now: 1 });
      for (const entries of pushes) await store.usercache.put(user.uuid, { entries, unusable: [] }, 1);
      uuids[name] = user.uuid;
    }
    return uuids;
  });
}

/** Gives a new user rows in every collection, moved and pending, with texts that no other user has. */
export async function fillUser(store: Store, name: string, platform: 'android' | 'ios' = 'android'): Promise<string> {
  const { uuid } = (await store.users.register(`${name}@example.org`, { now: 1 })).user;
  await store.tokens.add({ hash: tokenHash(`${name}'s token`), user_id: uuid, created_ts: 1, expires_ts: null });
  await store.profiles.merge(uuid, { model: `${name}'s phone` });
  const [first, second] = pushesOf(name, platform, 2);
  const failing = { metadata: { key: 'manual/survey', write_ts: 1 }, data: { label: `${name}'s words` } };
  const unusable = [{ entry: `${name}'s unusable words`, reason: 'not_an_object', message: 'found a text' }];
  await store.usercache.put(uuid, { entries: [...first!, failing], unusable }, 1);
  const { status } = await runPipeline(store, uuid, { log: silentLog, now: () => 1_710_400_000 });
  expect(status).toBe('done');
  await store.usercache.put(uuid, { entries: second!.slice(0, 200), unusable: [] }, 2);
  await store.leases.acquire(uuid, `${name}'s worker`, 0.001);
  return uuid;
}

/** Everything of a user that must not depend on what happened, as one text. */
export async function everythingOf(store: Store, userId: string): Promise<string> {
  const { state, ...others } = await derived(store, userId);
  const { changed, documents_due, complete_until } = state;
  const waiting = await store.usercache.count(userId);
  return JSON.stringify({ waiting, ...others, changed, documents_due, complete_until }, null, 1);
}

/** All data of a user, pending entries included, read through the store. */
export async function contentOf(store: Store, uuid: string): Promise<string> {
  const waiting = await store.usercache.find(uuid, { time: 'write_ts', limit: 10_000 });
  const others = [store.users.byUuid(uuid), store.tokens.list(uuid), store.profiles.get(uuid)];
  return JSON.stringify([waiting.entries, await Promise.all(others), await everythingOf(store, uuid)]);
}

// ---------------------------------------------------------------- disks

/** Mounts on a folder until the test ends; skips the test without the right to do so. */
export function mount(test: TestContext, folder: string, ...how: string[]): void {
  const isMounted = spawnSync('mount', [...how, folder]).status === 0;
  if (!isHere('the right to mount', isMounted)) test.skip('this machine does not let a test mount');
  atEnd(() => execFileSync('umount', ['-l', folder]));
}

/** Changes the options of what is mounted on a folder. */
export const remount = (folder: string, options: string): Buffer =>
  execFileSync('mount', ['-o', `remount,${options}`, folder]);

// ---------------------------------------------------------------- damage

/** Changes a column of every row of a user in a table. */
export function changeRow(
  folder: string,
  uuid: string,
  [table, column]: readonly [string, string],
  changed: (value: Uint8Array) => ColumnValue,
): void {
  const connection = connect(databaseIn(folder));
  try {
    const sql = `SELECT rowid AS at, "${column}" AS value FROM ${table} WHERE user = ?`;
    const change = connection.prepare(`UPDATE ${table} SET "${column}" = ? WHERE rowid = ?`);
    for (const { at, value } of connection.prepare(sql).all<{ at: number; value: Uint8Array }>(uuid)) {
      change.run(changed(Buffer.from(value)), at);
    }
  } finally {
    connection.close();
  }
}

/** Nothing of what was there. */
export const garbage = (bytes: Uint8Array): Uint8Array => bytes.fill(7);
