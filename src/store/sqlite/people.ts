// The registry of users, their tokens, and their profiles.
import { newUuid } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { escapeText, jsonText, unescapeText } from '../../model/json-text.ts';
import type { TokenKind, TokenRecord, UserRecord } from '../../model/user.ts';
import { halfErased, notAdmitted, userExists } from '../refusals.ts';
import type { Profiles, Tokens, UserRegistry } from '../store.ts';
import { soundRow } from './damaged.ts';
import type { StoreFile } from './file.ts';
import { admittedUser, admitUser, isAdmitted, userIn } from './ids.ts';
import { columnsOf, type SummedRow, sealRow, sumOf } from './row-sums.ts';
import type { Shards } from './rows.ts';

const columns = columnsOf('users');

/** A row of the table `users`. */
type UserRow = SummedRow &
  Pick<UserRecord, 'uuid' | 'user_email' | 'update_ts'> & {
    study: string | null;
    subgroup: string | null;
  };

function userOf(file: StoreFile, found: UserRow): UserRecord {
  return soundRow(file, 'users', found, (row) => ({
    uuid: unescapeText(row.uuid),
    user_email: unescapeText(row.user_email),
    update_ts: row.update_ts,
    ...(row.study !== null && { study: row.study }),
    ...(row.subgroup !== null && { subgroup: row.subgroup }),
  }));
}

/** The user by name or UUID, inside `read` or `write`. */
export function userBy(file: StoreFile, column: 'user_email' | 'uuid', text: string): UserRecord | null {
  const row = file.sql(`SELECT ${columns} FROM users WHERE ${column} = ?`).get<UserRow>(escapeText(text));
  return row === undefined ? null : userOf(file, row);
}

/** Adds a user whose name and UUID are free, inside `write`. */
export function insertUser(file: StoreFile, { uuid, user_email, update_ts, study, subgroup }: UserRecord): void {
  const insert = file.sql(`INSERT INTO users (${columns}) VALUES (?, ?, ?, ?, ?, ?)`);
  const values = [escapeText(uuid), escapeText(user_email), update_ts, study ?? null, subgroup ?? null];
  insert.run(...values, sumOf(values));
}

/**
 * Runs `work`, which may register somebody under `uuid`, in the file of the registry. They are admitted in the file of
 * their rows before: a user who is registered and not admitted is being erased. Of a new UUID that was not registered
 * nothing stays.
 */
export async function registering<T>(
  shards: Shards,
  { uuid, isNew }: { uuid: string; isNew: boolean },
  work: () => T,
): Promise<T> {
  const registry = shards.first.usercache;
  const home = shards.of(uuid).usercache;
  const isFree = (): boolean => userBy(registry, 'uuid', uuid) === null;
  if (home === registry) {
    return registry.write(() => {
      const free = isFree();
      const outcome = work();
      if (free && !isFree()) admitUser(home, uuid);
      return outcome;
    });
  }
  await home.write(() => {
    if (isFree()) admitUser(home, uuid);
  });
  try {
    return await registry.write(work);
  } finally {
    if (isNew && (await registry.read(isFree))) {
      await home.write(() => home.sql('DELETE FROM user_ids WHERE uuid = ?').run(escapeText(uuid)));
    }
  }
}

/** The registry of users, in the first shard. */
export function users(shards: Shards): UserRegistry {
  const file = shards.first.usercache;
  const by = (column: 'user_email' | 'uuid', text: string): UserRecord | null => userBy(file, column, text);
  const expectWhole = (uuid: string): void => {
    if (!isAdmitted(shards.of(uuid).usercache, uuid)) throw halfErased();
  };
  return {
    register: async (email, { uuid, now, ...membership }) => {
      const user = { uuid: uuid ?? newUuid(), user_email: email, update_ts: now, ...membership };
      return registering(shards, { uuid: user.uuid, isNew: uuid === undefined }, () => {
        const known = by('user_email', email);
        if (known !== null) {
          if (uuid !== undefined && uuid !== known.uuid) throw userExists(`the name has the UUID ${known.uuid}`);
          expectWhole(known.uuid);
          file.sql('UPDATE users SET update_ts = ? WHERE uuid = ?').run(now, escapeText(known.uuid));
          sealRow(file, 'users', 'uuid = ?', escapeText(known.uuid));
          return { user: { ...known, update_ts: now }, created: false };
        }
        if (uuid !== undefined && by('uuid', uuid) !== null) throw userExists(`the UUID ${uuid} has another name`);
        insertUser(file, user);
        return { user, created: true };
      });
    },
    admit: async (uuid) => {
      const home = shards.of(uuid).usercache;
      await home.write(() => {
        if (isAdmitted(home, uuid)) return;
        if (by('uuid', uuid) !== null) throw halfErased();
        admitUser(home, uuid);
      });
    },
    byEmail: async (email) => file.read(() => by('user_email', email)),
    byUuid: async (uuid) => file.read(() => by('uuid', uuid)),
    list: async ({ after = '', limit }) =>
      file.read(() => {
        const sql = `SELECT ${columns} FROM users WHERE uuid > ? ORDER BY uuid LIMIT ?`;
        return file
          .sql(sql)
          .all<UserRow>(escapeText(after), limit)
          .map((row) => userOf(file, row));
      }),
  };
}

interface TokenRow extends SummedRow {
  hash: string;
  user_id: string;
  created_ts: number;
  expires_ts: number | null;
  kind: TokenKind | null;
  used_ts: number | null;
}

function tokenOf(file: StoreFile, row: TokenRow): TokenRecord {
  return soundRow(file, 'tokens', row, ({ hash, user_id, created_ts, expires_ts, kind, used_ts }) => ({
    hash: unescapeText(hash),
    user_id: unescapeText(user_id),
    created_ts,
    expires_ts,
    ...(kind !== null && { kind }),
    ...(used_ts !== null && { used_ts }),
  }));
}

const tokenColumns = columnsOf('tokens');

/** The token by its hash, inside `read` or `write`. */
export function tokenBy(file: StoreFile, hash: string): TokenRecord | null {
  const row = file.sql(`SELECT ${tokenColumns} FROM tokens WHERE hash = ?`).get<TokenRow>(escapeText(hash));
  return row === undefined ? null : tokenOf(file, row);
}

/** Adds or replaces a token, inside `write`. */
export function insertToken(
  file: StoreFile,
  { hash, user_id, created_ts, expires_ts, kind, used_ts }: TokenRecord,
): void {
  const values = [escapeText(hash), escapeText(user_id), created_ts, expires_ts, kind ?? null, used_ts ?? null];
  file
    .sql(`INSERT OR REPLACE INTO tokens (${tokenColumns}) VALUES (?, ?, ?, ?, ?, ?, ?)`)
    .run(...values, sumOf(values));
}

/** Tokens by their hash, in the first shard. */
export function tokens(shards: Shards): Tokens {
  const file = shards.first.usercache;
  return {
    add: async (token) => {
      await file.write(() => {
        if (!isAdmitted(shards.of(token.user_id).usercache, token.user_id)) throw notAdmitted();
        insertToken(file, token);
      });
    },
    byHash: async (hash) => file.read(() => tokenBy(file, hash)),
    list: async (userId) =>
      file.read(() => {
        const sql = `SELECT ${tokenColumns} FROM tokens WHERE user_id = ? ORDER BY created_ts, hash`;
        const rows = file.sql(sql).all<TokenRow>(escapeText(userId));
        return rows.map((row) => tokenOf(file, row));
      }),
    remove: async (userId, hash) =>
      file.write(() =>
        hash === undefined
          ? file.sql('DELETE FROM tokens WHERE user_id = ?').run(escapeText(userId)).changes
          : file.sql('DELETE FROM tokens WHERE user_id = ? AND hash = ?').run(escapeText(userId), escapeText(hash))
              .changes,
      ),
    touch: async (hash, usedTs) => {
      await file.write(() => {
        file.sql('UPDATE tokens SET used_ts = ? WHERE hash = ?').run(usedTs, escapeText(hash));
        sealRow(file, 'tokens', 'hash = ?', escapeText(hash));
      });
    },
  };
}

function readProfile(file: StoreFile, user: number | null): JsonObject | null {
  const sql = `SELECT ${columnsOf('profiles')} FROM profiles WHERE user = ?`;
  const row = file.sql(sql).get<SummedRow & { profile: string }>(user);
  if (row === undefined) return null;
  return soundRow(file, 'profiles', row, ({ profile }) => JSON.parse(profile) as JsonObject);
}

/** Replaces fields of a profile. Inside `write` only. */
export function mergeProfile(file: StoreFile, user: number, fields: JsonObject, defaults: JsonObject = {}): JsonObject {
  const profile: JsonObject = { ...defaults, ...readProfile(file, user), ...fields };
  const sql =
    'INSERT INTO profiles (user, profile, sum) VALUES (?, ?, ?) ' +
    'ON CONFLICT DO UPDATE SET profile = excluded.profile, sum = excluded.sum';
  const values = [user, jsonText(profile)];
  file.sql(sql).run(...values, sumOf(values));
  return profile;
}

/** The profiles of users. */
export function profiles(shards: Shards): Profiles {
  return {
    get: async (userId) => {
      const file = shards.of(userId).usercache;
      return file.read(() => readProfile(file, userIn(file, userId)));
    },
    merge: async (userId, fields, defaults = {}) => {
      // Taken at once: what the caller does to the objects later has no effect.
      const [given, fallback] = [jsonText(fields), jsonText(defaults)];
      const file = shards.of(userId).usercache;
      return file.write(() => mergeProfile(file, admittedUser(file, userId), JSON.parse(given), JSON.parse(fallback)));
    },
  };
}
