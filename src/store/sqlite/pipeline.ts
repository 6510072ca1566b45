// The pipeline's state of each user, and the leases.
import type { JsonValue } from '../../model/json.ts';
import { escapeText, jsonText, unescapeText } from '../../model/json-text.ts';
import { isOver } from '../lease-end.ts';
import { leaseLost, notAdmitted } from '../refusals.ts';
import { initialPipelineState, type Lease, type Leases, type PipelineState, type PipelineStates } from '../store.ts';
import { soundRow } from './damaged.ts';
import type { StoreFile } from './file.ts';
import type { Shard } from './folder.ts';
import { isAdmitted, takeNumbers, userFor, userIn } from './ids.ts';
import { columnsOf, type SummedRow, sumOf } from './row-sums.ts';
import type { Shards } from './rows.ts';

// The texts of statements are made once, as all statements are found by them.
const stateOf = `SELECT ${columnsOf('pipeline')} FROM pipeline WHERE user = ?`;
const putState =
  'INSERT INTO pipeline (user, due, state, sum) VALUES (?, ?, ?, ?) ' +
  'ON CONFLICT DO UPDATE SET due = excluded.due, state = excluded.state, sum = excluded.sum';

/** The pipeline state of a user; the initial state if none is stored. */
export function readState(file: StoreFile, user: number | null): PipelineState {
  const row = file.sql(stateOf).get<SummedRow & { state: string }>(user);
  if (row === undefined) return { ...initialPipelineState };
  return soundRow(file, 'pipeline', row, ({ state }) => ({ ...initialPipelineState, ...JSON.parse(state) }));
}

/** Merges fields into the state; undefined fields are ignored. Inside `write` only. */
export function mergeState(file: StoreFile, user: number, fields: Partial<PipelineState>): void {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const state: PipelineState = { ...readState(file, user), ...given };
  const due = state.changed !== null || state.documents_due ? 1 : 0;
  const values = [user, due, jsonText(state as unknown as JsonValue)];
  file.sql(putState).run(...values, sumOf(values));
}

const usersAtOnce = 500; // between two turns of the event loop

/** The pipeline states of users. */
export function pipelineStates(shards: Shards): PipelineStates {
  return {
    get: async (userId) => {
      const file = shards.of(userId).timeseries;
      return file.read(() => readState(file, userIn(file, userId)));
    },
    merge: async (userId, fields, lease) => {
      const file = shards.of(userId).timeseries;
      await file.write(() => mergeState(file, leasedUser(file, userId, lease), fields));
    },
    withWork: async (userIds, at, version) => {
      const found = new Set<string>();
      for (let start = 0; start < userIds.length; start += usersAtOnce) {
        const some = userIds.slice(start, start + usersAtOnce);
        for (const shard of shards.all) {
          const here = some.filter((userId) => shards.of(userId) === shard);
          for (const userId of await withWorkIn(shard, here, at, version)) found.add(userId);
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      return found;
    },
  };
}

/** One statement a file: of many users nearly all have nothing new. */
async function withWorkIn(
  { usercache, timeseries }: Shard,
  userIds: readonly string[],
  at: number,
  version: string | undefined,
): Promise<string[]> {
  if (userIds.length === 0) return [];
  const asked = JSON.stringify(userIds.map(escapeText));
  const ask = (file: StoreFile, sql: string, value: number | string | null): Promise<string[]> =>
    file.read(() =>
      file
        .sql(sql)
        .all<{ uuid: string }>(asked, value)
        .map(({ uuid }) => unescapeText(uuid)),
    );
  return [...(await ask(usercache, waiting, at)), ...(await ask(timeseries, dueOrOutdated, version ?? null))];
}

const askedUsers = 'SELECT uuid FROM json_each(?1) AS asked CROSS JOIN user_ids ON uuid = asked.value';
const waiting = `${askedUsers} WHERE EXISTS (SELECT 1 FROM batches WHERE user = user_ids.id AND due_ts <= ?2)`;

/** A state that cannot be read counts as work: the run of its user tells the damage. */
const dueOrOutdated = `
  ${askedUsers} CROSS JOIN pipeline ON user = user_ids.id
  WHERE due = 1 OR (?2 IS NOT NULL AND
    CASE WHEN json_valid(state) THEN json_extract(state, '$.analysis_version') <> ?2 ELSE TRUE END)`;

interface LeaseRow {
  seconds: number;
  owner: string;
  fence: number;
  expires_ts: number;
}

function leaseIn(file: StoreFile, userId: string, user: number | null): Lease | null {
  const sql = 'SELECT owner, fence, expires_ts, seconds FROM leases WHERE user = ?';
  const row = file.sql(sql).get<LeaseRow>(user);
  if (row === undefined) return null;
  const { owner, fence, expires_ts, seconds } = row;
  return { user_id: userId, owner: unescapeText(owner), fence, expires_ts, seconds };
}

/**
 * The number of a user on whom the lease is still good. A lease that ran out is good until another takes the user.
 * Throws `MOBILITY_LEASE_LOST`. Inside `write` only.
 */
export function leasedUser(file: StoreFile, userId: string, lease: Lease): number {
  const user = userIn(file, userId);
  const found = leaseIn(file, userId, user);
  const same = found?.fence === lease.fence && found.owner === lease.owner && lease.user_id === userId;
  if (user !== null && same) return user;
  throw leaseLost(userId, lease, found);
}

/** Gives the lease to `owner`, whoever holds it. Inside `write` only. */
export function setLease(
  file: StoreFile,
  userId: string,
  { owner, at, seconds }: { owner: string; at: number; seconds: number },
): Lease {
  const fence = takeNumbers(file, 'fence', 1);
  const expires_ts = at + seconds;
  const sql = 'INSERT OR REPLACE INTO leases (user, owner, fence, expires_ts, seconds) VALUES (?, ?, ?, ?, ?)';
  file.sql(sql).run(userFor(file, userId), escapeText(owner), fence, expires_ts, seconds);
  return { user_id: userId, owner, fence, expires_ts, seconds };
}

/** Gives the lease back, where it is still there. Inside `write` only. */
export function releaseLease(file: StoreFile, user: number | null, { owner, fence }: Lease): void {
  const sql = 'DELETE FROM leases WHERE user = ? AND owner = ? AND fence = ?';
  file.sql(sql).run(user, escapeText(owner), fence);
}

/** `now` gives the store's clock, seconds since the epoch. */
export function leases(shards: Shards, now: () => number): Leases {
  return {
    acquire: async (userId, owner, seconds) => {
      const { usercache, timeseries: file } = shards.of(userId);
      return file.write(() => {
        if (!isAdmitted(usercache, userId)) throw notAdmitted();
        const held = leaseIn(file, userId, userIn(file, userId));
        const at = now();
        if (held !== null && held.owner !== owner && !isOver(held, at)) return { heldBy: held };
        return { lease: setLease(file, userId, { owner, at, seconds }) };
      });
    },
    renew: async (lease, seconds) => {
      const file = shards.of(lease.user_id).timeseries;
      return file.write(() => {
        const user = leasedUser(file, lease.user_id, lease);
        const renewed = { ...lease, expires_ts: now() + seconds, seconds };
        file.sql('UPDATE leases SET expires_ts = ?, seconds = ? WHERE user = ?').run(renewed.expires_ts, seconds, user);
        return renewed;
      });
    },
    release: async (lease) => {
      const file = shards.of(lease.user_id).timeseries;
      await file.write(() => releaseLease(file, userIn(file, lease.user_id), lease));
    },
    get: async (userId) => {
      const file = shards.of(userId).timeseries;
      return file.read(() => {
        const lease = leaseIn(file, userId, userIn(file, userId));
        return lease !== null && !isOver(lease, now()) ? lease : null;
      });
    },
  };
}
