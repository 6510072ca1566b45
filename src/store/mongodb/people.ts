// The registry of users, their tokens, and what their app reports about itself.
import type { Document } from 'mongodb';
import { MobilityError } from '../../model/errors.ts';
import { newUuid } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import type { TokenRecord, UserRecord } from '../../model/user.ts';
import type { Profiles, Tokens, UserRegistry } from '../store.ts';
import type { Connection } from './connection.ts';
import { isDuplicateKey } from './failures.ts';
import { type KnownRow, newRow, payloadsOf, removeParts, withSession, writeParts } from './rows.ts';

export function usersOn(connection: Connection): UserRegistry {
  const users = connection.rows('users');

  const touch = (email: string, now: number): Promise<Document | null> =>
    connection.once(() =>
      users.findOneAndUpdate({ user_email: email }, { $set: { update_ts: now } }, { returnDocument: 'after' }),
    );

  /** False when the name or the UUID is there already. */
  const insert = async (uuid: string, email: string, now: number, membership: object): Promise<boolean> => {
    try {
      await users.insertOne({ _id: uuid as never, user_email: email, update_ts: now, ...membership });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  };

  return {
    async register(email, { uuid, now, ...membership }) {
      const name = escapeText(email);
      const user = { uuid: uuid ?? newUuid(), user_email: email, update_ts: now, ...membership };
      let there = await connection.once(() => users.findOne({ user_email: name }));
      if (there === null) {
        if (await connection.once(() => insert(user.uuid, name, now, membership))) return { user, created: true };
        there = await connection.once(() => users.findOne({ user_email: name }));
        // A UUID made for this call and found: the insertion was repeated after its answer got lost.
        if (uuid === undefined && there !== null && String(there._id) === user.uuid) return { user, created: true };
      }
      if (there === null || (uuid !== undefined && String(there._id) !== uuid)) throw userExists(email, uuid);
      const updated = await touch(name, now);
      if (updated === null) throw userExists(email, uuid); // erased between the two statements
      return { user: userOf(updated), created: false };
    },
    async byEmail(email) {
      const row = await connection.once(() => users.findOne({ user_email: escapeText(email) }));
      return row && userOf(row);
    },
    async byUuid(uuid) {
      const row = await connection.once(() => users.findOne({ _id: uuid as never }));
      return row && userOf(row);
    },
    async list({ after, limit }) {
      if (limit <= 0) return [];
      const filter = after === undefined ? {} : { _id: { $gt: after as never } };
      const rows = await connection.once(() => users.find(filter, { sort: { _id: 1 }, limit }).toArray());
      return rows.map(userOf);
    },
  };
}

function userExists(email: string, uuid: string | undefined): MobilityError {
  return new MobilityError(
    'MOBILITY_USER_EXISTS',
    `expected ${JSON.stringify(email)} and the UUID ${uuid} to be new or to belong together, found one of them with another: ` +
      'see `mobility users list`',
  );
}

function userOf(row: Document): UserRecord {
  return {
    uuid: String(row._id),
    user_email: unescapeText(row.user_email),
    update_ts: row.update_ts,
    ...(row.study !== undefined && { study: row.study }),
    ...(row.subgroup !== undefined && { subgroup: row.subgroup }),
  };
}

export function tokensOn(connection: Connection): Tokens {
  const tokens = connection.rows('tokens');
  const tokenOf = (row: Document): TokenRecord => ({
    hash: row._id,
    user_id: row.user_id,
    created_ts: row.created_ts,
    expires_ts: row.expires_ts,
    ...(row.kind !== undefined && { kind: row.kind }),
    ...(row.used_ts !== undefined && { used_ts: row.used_ts }),
  });
  return {
    async add({ hash, ...token }) {
      await connection.once(() => tokens.replaceOne({ _id: hash as never }, token, { upsert: true }));
    },
    async byHash(hash) {
      const row = await connection.once(() => tokens.findOne({ _id: hash as never }));
      return row && tokenOf(row);
    },
    async list(userId) {
      const sort = { created_ts: 1, _id: 1 } as const;
      const rows = await connection.once(() => tokens.find({ user_id: userId }, { sort }).toArray());
      return rows.map(tokenOf);
    },
    async remove(userId, hash) {
      const filter = hash === undefined ? { user_id: userId } : { _id: hash as never, user_id: userId };
      const { deletedCount } = await connection.atomically((session) =>
        tokens.deleteMany(filter, withSession(session)),
      );
      return deletedCount;
    },
    async touch(hash, usedTs) {
      await connection.once(() => tokens.updateOne({ _id: hash as never }, { $set: { used_ts: usedTs } }));
    },
  };
}

/** A profile is read, changed and written back if its revision is still the one that was read. */
export function profilesOn(connection: Connection): Profiles {
  const profiles = connection.rows('profiles');

  const read = async (userId: string): Promise<{ known: KnownRow; profile: JsonObject } | null> => {
    const row = await profiles.findOne({ user_id: userId });
    if (row === null) return null;
    const [profile] = await payloadsOf(connection, [row], 'profile');
    return { known: row as unknown as KnownRow, profile: profile as JsonObject };
  };

  /** False when the profile was changed meanwhile. */
  const write = async (userId: string, profile: JsonObject, known: KnownRow | undefined): Promise<boolean> => {
    const made = newRow({ in: 'profiles', user_id: userId, at: {} }, {}, { profile });
    await writeParts(connection, [made]);
    if (known === undefined) {
      return profiles.insertOne(made.row).then(
        () => true,
        (error) => {
          if (isDuplicateKey(error)) return false;
          throw error;
        },
      );
    }
    const { matchedCount } = await profiles.replaceOne({ user_id: userId, revision: known.revision }, made.row);
    if (matchedCount === 1) await removeParts(connection, userId, [known], undefined);
    return matchedCount === 1;
  };

  return {
    async get(userId) {
      return (await connection.once(() => read(userId)))?.profile ?? null;
    },
    merge: (userId, fields, defaults = {}) =>
      connection.once(async () => {
        for (;;) {
          const found = await read(userId);
          const profile = { ...defaults, ...found?.profile, ...fields };
          if (await write(userId, profile, found?.known)) return profile;
        }
      }),
  };
}
