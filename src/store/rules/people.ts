// The registry: users, their tokens, and the studies that people join.
import { newUuid } from '../../model/ids.ts';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { notFinished, userExists } from '../../model/refusals.ts';
import { admit, nobodyJoined, type StudyRecord } from '../../model/study.ts';
import type { TokenRecord, UserRecord } from '../../model/user.ts';
import type { Engine, Rows, WritableRows } from '../rows/rows.ts';
import {
  accounts,
  type PersonRow,
  people,
  studies as studyTable,
  type TokenRow,
  tokens as tokenTable,
} from '../rows/tables.ts';
import type { Studies, Tokens, UserRegistry } from '../store.ts';
import { accountOf, admitted, newAccount } from './accounts.ts';

/** The users of a store. */
export function users(engine: Engine): UserRegistry {
  return {
    register: (email, { uuid, now, ...membership }) => {
      const fresh = newUuid();
      return engine.write(null, async (rows) => {
        const known = await personBy(rows, { user_email: email });
        if (known === null) {
          const user = { uuid: uuid ?? fresh, user_email: email, update_ts: now, ...membership };
          if ((await personBy(rows, { uuid: user.uuid })) !== null)
            throw userExists(`the UUID ${uuid} has another name`);
          await addPerson(rows, user);
          return { user, created: true };
        }
        if (uuid !== undefined && uuid !== known.uuid) throw userExists(`the name has the UUID ${known.uuid}`);
        if ((await accountOf(rows, known.uuid))?.stage !== 'active') throw notFinished();
        const user = { ...known, update_ts: now };
        await rows.put(people, [personOf(user)]);
        return { user, created: false };
      });
    },
    byEmail: (email) => engine.read((rows) => personBy(rows, { user_email: email })),
    byUuid: (uuid) => engine.read((rows) => personBy(rows, { uuid })),
    list: ({ after = '', limit }) =>
      engine.read(async (rows) => {
        const found = await rows.find(people, { where: { uuid: { gt: after } }, order: ['uuid'], limit });
        return found.map(userOf);
      }),
  };
}

async function personBy(rows: Rows, where: { uuid: string } | { user_email: string }): Promise<UserRecord | null> {
  const [row] = await rows.find(people, { where });
  return row === undefined ? null : userOf(row);
}

function userOf({ study, subgroup, ...user }: PersonRow): UserRecord {
  return { ...user, ...(study !== null && { study }), ...(subgroup !== null && { subgroup }) };
}

function personOf({ uuid, user_email, update_ts, study, subgroup }: UserRecord): PersonRow {
  return { uuid, user_email, update_ts, study: study ?? null, subgroup: subgroup ?? null };
}

async function addPerson(rows: WritableRows, user: UserRecord): Promise<void> {
  if ((await accountOf(rows, user.uuid)) !== null) throw notFinished();
  await rows.put(people, [personOf(user)]);
  await rows.put(accounts, [newAccount(user.uuid)]);
}

// ---------------------------------------------------------------- tokens

/** The tokens of a store, by their hash. */
export function tokens(engine: Engine): Tokens {
  return {
    add: (token) =>
      engine.write(token.user_id, async (rows) => {
        await admitted(rows, token.user_id);
        await rows.put(tokenTable, [rowOf(token)]);
      }),
    byHash: (hash) => engine.read((rows) => tokenBy(rows, hash)),
    list: (userId) =>
      engine.read(async (rows) => {
        const found = await rows.find(tokenTable, { where: { user: userId }, order: ['created_ts', 'hash'] });
        return found.map(tokenOf);
      }),
    revoke: (userId, hash, { ts, why }) =>
      engine.write(null, async (rows) => {
        const token = await tokenBy(rows, hash);
        if (token?.user_id !== userId || token.revoked_ts !== undefined) return false;
        await rows.put(tokenTable, [rowOf({ ...token, revoked_ts: ts, revoked_why: why })]);
        return true;
      }),
    touch: (hash, usedTs) =>
      engine.write(null, async (rows) => {
        const token = await tokenBy(rows, hash);
        if (token !== null) await rows.put(tokenTable, [rowOf({ ...token, used_ts: usedTs })]);
      }),
  };
}

async function tokenBy(rows: Rows, hash: string): Promise<TokenRecord | null> {
  const [row] = await rows.find(tokenTable, { where: { hash } });
  return row === undefined ? null : tokenOf(row);
}

function tokenOf({ user, ...row }: TokenRow): TokenRecord {
  const { hash, created_ts, expires_ts, ...others } = row;
  const given = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== null));
  return { hash, user_id: user, created_ts, expires_ts, ...given };
}

function rowOf({ user_id: user, ...token }: TokenRecord): TokenRow {
  return { kind: null, used_ts: null, revoked_ts: null, revoked_why: null, ...token, user };
}

// ---------------------------------------------------------------- studies

/** The studies of a store. */
export function studies(engine: Engine): Studies {
  return {
    put: async (settings, joined) => {
      // Serialised at once: what the caller does to the object later has no effect.
      const text = jsonText(settings as unknown as JsonValue);
      await engine.write(null, async (rows) => {
        const before = await studyBy(rows, settings.name);
        const count = joined ?? before?.joined ?? nobodyJoined;
        await rows.put(studyTable, [{ name: settings.name, settings: text, joined: JSON.stringify(count) }]);
      });
    },
    byName: (name) => engine.read((rows) => studyBy(rows, name)),
    list: () => engine.read(async (rows) => (await rows.find(studyTable, { where: {}, order: ['name'] })).map(studyOf)),
    enrol: ({ study: name, subgroup, email, token, now, byOperator = false }) => {
      const user: UserRecord = { uuid: newUuid(), user_email: email, update_ts: now, study: name, subgroup };
      return engine.write(null, async (rows) => {
        const known = await tokenBy(rows, token.hash);
        if (known !== null) {
          const owner = await personBy(rows, { uuid: known.user_id });
          const isGood = owner !== null && known.revoked_ts === undefined;
          return isGood ? { known: owner } : { refused: 'token_taken' as const };
        }
        const study = await studyBy(rows, name);
        const admission = admit(study, { subgroup, now, byOperator });
        if ('refused' in admission) return admission;
        if ((await personBy(rows, { user_email: email })) !== null) return { refused: 'name_taken' as const };
        await addPerson(rows, user);
        await rows.put(tokenTable, [rowOf({ ...token, user_id: user.uuid })]);
        const { joined, ...settings } = study!;
        const text = jsonText(settings as unknown as JsonValue);
        await rows.put(studyTable, [{ name, settings: text, joined: JSON.stringify(admission.joined ?? joined) }]);
        return { enrolled: user };
      });
    },
  };
}

async function studyBy(rows: Rows, name: string): Promise<StudyRecord | null> {
  const [row] = await rows.find(studyTable, { where: { name } });
  return row === undefined ? null : studyOf(row);
}

function studyOf({ settings, joined }: { settings: string; joined: string }): StudyRecord {
  return { ...JSON.parse(settings), joined: JSON.parse(joined) } as StudyRecord;
}
