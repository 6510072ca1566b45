// The registry of users, their tokens, and what their app reports about itself.
import { newUuid } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import type { TokenRecord, UserRecord } from '../../model/user.ts';
import { halfErased, userExists } from '../refusals.ts';
import type { Profiles, Tokens, UserRegistry } from '../store.ts';
import type { Connection } from './connection.ts';
import { isDuplicateKey } from './failures.ts';
import { admitAll, dismiss, isAdmitted, requireMember } from './members.ts';
import { newRow, payloadsOf, writeRows } from './rows.ts';
import type { TokenRow } from './user-rows.ts';

/** A registered user. */
export interface RegistryRow {
  /** The UUID. */
  _id: string;
  user_email: string;
  update_ts: number;
  study?: string;
  subgroup?: string;
}

/** The registry. */
export function usersOn(connection: Connection): UserRegistry {
  const users = connection.db.collection<RegistryRow>('users');

  const touch = (email: string, now: number): Promise<RegistryRow | null> =>
    connection.once(() =>
      users.findOneAndUpdate({ user_email: email }, { $set: { update_ts: now } }, { returnDocument: 'after' }),
    );

  /** False if the name or the UUID already exists. */
  const insert = async (uuid: string, email: string, now: number, membership: object): Promise<boolean> => {
    try {
      await users.insertOne({ _id: uuid, user_email: email, update_ts: now, ...membership });
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
        // Before they are registered: a user who is registered and not admitted is being erased.
        const isNew = uuid === undefined || (await connection.once(() => users.findOne({ _id: uuid }))) === null;
        if (isNew) await admitAll(connection, [user.uuid]);
        if (await connection.once(() => insert(user.uuid, name, now, membership))) return { user, created: true };
        there = await connection.once(() => users.findOne({ user_email: name }));
        // A UUID made for this call and found: the insertion was repeated after its answer got lost.
        if (uuid === undefined && there !== null && there._id === user.uuid) return { user, created: true };
        if (uuid === undefined) await dismiss(connection, user.uuid);
      }
      if (there === null) throw userExists(`the UUID ${uuid} has another name`);
      if (uuid !== undefined && there._id !== uuid) throw userExists(`the name has the UUID ${there._id}`);
      if (!(await isAdmitted(connection, there._id))) throw halfErased();
      const updated = await touch(name, now);
      if (updated === null) throw userExists('the name was erased at this moment'); // between the two statements
      return { user: userOf(updated), created: false };
    },
    async admit(uuid) {
      if (await isAdmitted(connection, uuid)) return;
      if ((await connection.once(() => users.findOne({ _id: uuid }))) !== null) throw halfErased();
      await admitAll(connection, [uuid]);
    },
    async byEmail(email) {
      const row = await connection.once(() => users.findOne({ user_email: escapeText(email) }));
      return row && userOf(row);
    },
    async byUuid(uuid) {
      const row = await connection.once(() => users.findOne({ _id: uuid }));
      return row && userOf(row);
    },
    async list({ after, limit }) {
      if (limit <= 0) return [];
      const filter = after === undefined ? {} : { _id: { $gt: after } };
      const rows = await connection.once(() => users.find(filter, { sort: { _id: 1 }, limit }).toArray());
      return rows.map(userOf);
    },
  };
}

/** A row in the form of the contract. */
export function userOf({ _id, user_email, update_ts, study, subgroup }: RegistryRow): UserRecord {
  return {
    uuid: _id,
    user_email: unescapeText(user_email),
    update_ts,
    ...(study !== undefined && { study }),
    ...(subgroup !== undefined && { subgroup }),
  };
}

/** The tokens of users. */
export function tokensOn(connection: Connection): Tokens {
  const tokens = connection.db.collection<TokenRow>('tokens');
  return {
    add: ({ hash, ...token }) =>
      connection.atomically(token.user_id, async (tx) => {
        await requireMember(tx, 'tokens');
        await tokens.replaceOne({ _id: hash }, token, { upsert: true, session: tx.session });
      }),
    async byHash(hash) {
      const row = await connection.once(() => tokens.findOne({ _id: hash }));
      return row && tokenOf(row);
    },
    list: (userId) =>
      connection.reading(userId, async (from) => {
        const rows = await from
          .rows('tokens')
          .find({}, { sort: { created_ts: 1, _id: 1 } })
          .toArray();
        return rows.map(tokenOf);
      }),
    remove: (userId, hash) =>
      connection.atomically(userId, (tx) => tx.rows('tokens').deleteMany(hash === undefined ? {} : { _id: hash })),
    async touch(hash, usedTs) {
      await connection.once(() => tokens.updateOne({ _id: hash }, { $set: { used_ts: usedTs } }));
    },
  };
}

function tokenOf({ _id, user_id, created_ts, expires_ts, kind, used_ts }: TokenRow): TokenRecord {
  return {
    ...{ hash: _id, user_id, created_ts, expires_ts },
    ...(kind !== undefined && { kind }),
    ...(used_ts !== undefined && { used_ts }),
  };
}

/** What apps report about themselves. */
export function profilesOn(connection: Connection): Profiles {
  return {
    get: (userId) =>
      connection.reading(userId, async (from) => {
        const row = await from.rows('profiles').findOne({});
        return row === null ? null : (await payloadsOf<JsonObject>(from, [row], 'profile'))[0]!;
      }),
    merge: (userId, fields, defaults = {}) => mergeProfile(connection, userId, fields, defaults),
  };
}

/** Replaces fields of a profile. */
export function mergeProfile(
  connection: Connection,
  userId: string,
  fields: JsonObject,
  defaults: JsonObject = {},
): Promise<JsonObject> {
  return connection.atomically(userId, async (tx) => {
    await requireMember(tx, 'profiles');
    const old = (await tx.rows('profiles').findOne({})) ?? undefined;
    const [stored] = old === undefined ? [] : await payloadsOf<JsonObject>(tx, [old], 'profile');
    const profile = { ...defaults, ...stored, ...fields };
    await writeRows(tx, [newRow('profiles', userId, {}, {}, { profile })], () => old);
    return profile;
  });
}
