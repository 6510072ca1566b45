import { newUuid } from '../../model/ids.ts';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import type { ManagerRecord } from '../../model/manager.ts';
import { notFinished, userExists } from '../../model/store-errors.ts';
import { type Enrolment, type EnrolResult, joinRefusal, joinWindow, type StudyRecord } from '../../model/study.ts';
import type { TokenRecord, UserRecord } from '../../model/user.ts';
import type { Engine, Query, Rows, Table, WritableRows } from '../rows/rows.ts';
import * as tables from '../rows/tables.ts';
import type { Managers, Studies, Tokens, UserPage, UserRegistry } from '../store.ts';
import { accountOf, newAccount, writeAdmitted } from './accounts.ts';

export function users(engine: Engine): Omit<UserRegistry, 'figures' | 'months'> {
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
        await rows.put(tables.people, [personOf(user)]);
        return { user, created: false };
      });
    },
    byEmail: (email) => engine.read((rows) => personBy(rows, { user_email: email })),
    byUuid: (uuid) => engine.read((rows) => personBy(rows, { uuid })),
    isActive: (uuid) => engine.read(async (rows) => (await accountOf(rows, uuid))?.stage === 'active'),
    list: (page) => engine.read(async (rows) => (await rows.find(tables.people, pageQuery(page))).map(userOf)),
  };
}

export const pageQuery = ({ study, after = '', limit }: UserPage): Query<tables.PersonRow> => ({
  where: { study, uuid: { gt: after } },
  order: ['uuid'],
  limit,
});

async function personBy(rows: Rows, where: { uuid: string } | { user_email: string }): Promise<UserRecord | null> {
  const [row] = await rows.find(tables.people, { where });
  return row === undefined ? null : userOf(row);
}

export const userOf = (row: tables.PersonRow): UserRecord => addPresent({} as UserRecord, row);

function personOf(user: UserRecord): tables.PersonRow {
  return { study: null, subgroup: null, joined_ts: null, sent_ts: null, ...user };
}

/** Adds the values that are not null. Makes no copy: it would be slow for thousands of people. */
function addPresent<T extends object, Row extends object>(record: T, row: Row): T {
  for (const name in row) if (row[name] !== null) (record as Record<string, unknown>)[name] = row[name];
  return record;
}

async function addPerson(rows: WritableRows, user: UserRecord): Promise<void> {
  if ((await accountOf(rows, user.uuid)) !== null) throw notFinished();
  await rows.put(tables.people, [personOf(user)]);
  await rows.put(tables.accounts, [newAccount(user.uuid, user.update_ts)]);
}

export async function recordFirstEntries(rows: WritableRows, account: tables.AccountRow, now: number): Promise<void> {
  await rows.put(tables.accounts, [{ ...account, sent: 1 }]);
  const [person] = await rows.find(tables.people, { where: { uuid: account.user } });
  if (person !== undefined) await rows.put(tables.people, [{ ...person, sent_ts: now }]);
}

export function tokens(engine: Engine): Tokens {
  return {
    add: (token) =>
      writeAdmitted(engine, token.user_id, async (rows) => {
        await rows.put(tables.tokens, [rowOf(token)]);
      }),
    byHash: (hash) => engine.read((rows) => tokenBy(rows, hash)),
    list: (userId) =>
      engine.read(async (rows) => {
        const found = await rows.find(tables.tokens, { where: { user: userId }, order: ['created_ts', 'hash'] });
        return found.map(tokenRecordOf);
      }),
    revoke: (userId, hash, { ts, why }) =>
      engine.write(null, async (rows) => {
        const token = await tokenBy(rows, hash);
        if (token?.user_id !== userId || token.revoked_ts !== undefined) return false;
        await rows.put(tables.tokens, [rowOf({ ...token, revoked_ts: ts, revoked_why: why })]);
        return true;
      }),
    touch: (hash, usedTs) =>
      engine.write(null, async (rows) => {
        const token = await tokenBy(rows, hash);
        if (token !== null) await rows.put(tables.tokens, [rowOf({ ...token, used_ts: usedTs })]);
      }),
  };
}

async function tokenBy(rows: Rows, hash: string): Promise<TokenRecord | null> {
  const [row] = await rows.find(tables.tokens, { where: { hash } });
  return row === undefined ? null : tokenRecordOf(row);
}

export function tokenRecordOf({ hash, user, created_ts, expires_ts, ...rest }: tables.TokenRow): TokenRecord {
  return addPresent({ hash, user_id: user, created_ts, expires_ts }, rest);
}

function rowOf({ user_id: user, ...token }: TokenRecord): tables.TokenRow {
  return { kind: null, used_ts: null, revoked_ts: null, revoked_why: null, ...token, user };
}

export function studies(engine: Engine): Studies {
  return {
    put: async (settings) => {
      // Copies the settings before the first `await`, so that later changes have no effect.
      const text = jsonText(settings as unknown as JsonValue);
      await engine.write(null, async (rows) => {
        const [before] = await rows.find(tables.studies, { where: { name: settings.name } });
        await rows.put(tables.studies, [{ name: settings.name, settings: text, joins: before?.joins ?? 0 }]);
      });
    },
    byName: (name) => engine.read(async (rows) => (await studiesIn(rows, { name }))[0] ?? null),
    byJoinName: (name) => engine.read((rows) => studyJoinedBy(rows, name)),
    list: () => engine.read((rows) => studiesIn(rows, {})),
    enrol: (enrolment) => {
      const uuid = newUuid();
      return engine.write(null, (rows) => enrol(rows, uuid, enrolment));
    },
    hasErased: (study, hash) => engine.read((rows) => isErasedToken(rows, study, hash)),
    readmit: (study, hash) =>
      engine.write(null, async (rows) => (await rows.remove(tables.erasedTokens, erasedToken(study, hash))) > 0),
    remove: (name) =>
      engine.write(null, async (rows) => {
        const members = await rows.total(tables.people, { study: name });
        if (members > 0) return members;
        await rows.remove(tables.erasedTokens, { study: name });
        await rows.remove(tables.studies, { name });
        return 0;
      }),
    removeIdle: (...call) => engine.write(null, (rows) => removeIdle(rows, ...call)),
  };
}

async function enrol(rows: WritableRows, uuid: string, enrolment: Enrolment): Promise<EnrolResult> {
  const { subgroup, email, token, now, byOperator = false } = enrolment;
  const known = await tokenBy(rows, token.hash);
  if (known !== null) {
    const owner = known.revoked_ts === undefined ? await personBy(rows, { uuid: known.user_id }) : null;
    return owner === null ? { refused: 'token_taken' } : { known: owner };
  }
  const study = await studyJoinedBy(rows, enrolment.study);
  const refused = joinRefusal(study, enrolment);
  if (study === null || refused !== null) return { refused: refused ?? 'no_study' };
  const { name } = study;
  if (await isErasedToken(rows, name, token.hash)) return { refused: 'erased' };
  const lastHour = await rows.total(tables.people, { study: name, joined_ts: { gt: now - joinWindow } });
  if (!byOperator && lastHour >= study.hour_limit) return { refused: 'hour_full' };
  if (!byOperator && (await rows.total(tables.people, { study: name })) >= study.total_limit)
    return { refused: 'all_full' };
  if ((await personBy(rows, { user_email: email })) !== null) return { refused: 'name_taken' };
  const enrolled = { uuid, user_email: email, update_ts: now, study: name, subgroup };
  const user: UserRecord = byOperator ? enrolled : { ...enrolled, joined_ts: now };
  await addPerson(rows, user);
  await rows.put(tables.tokens, [rowOf({ ...token, user_id: uuid })]);
  const { joins, ...settings } = study;
  await rows.put(tables.studies, [{ name, settings: jsonText(settings as unknown as JsonValue), joins: joins + 1 }]);
  return { enrolled: user, study, lastHour: lastHour + 1 };
}

/** Prevents a join with a study token of an erased user. The rows name no user and no time. */
export async function keepErasedTokens(rows: WritableRows, user: string): Promise<void> {
  const study = (await personBy(rows, { uuid: user }))?.study;
  if (study === undefined) return;
  const own = (await rows.find(tables.tokens, { where: { user } })).filter(({ kind }) => (kind ?? 'study') === 'study');
  const erased = own.map(({ hash }) => erasedToken(study, hash));
  await rows.put(tables.erasedTokens, erased);
}

/** The row of a token that must not join again, although the app of its erased owner may try. */
const erasedToken = (study: string, hash: string) => ({ study, token: hash.slice(0, 16) });

async function isErasedToken(rows: Rows, study: string, hash: string): Promise<boolean> {
  return (await rows.total(tables.erasedTokens, erasedToken(study, hash))) > 0;
}

async function removeIdle(rows: WritableRows, ...call: Parameters<Studies['removeIdle']>): Promise<UserRecord[]> {
  const [study, { from = 0, to = Number.MAX_VALUE, limit }] = call;
  const where = { study, sent_ts: null, joined_ts: { gte: from, lt: to } };
  const idle: UserRecord[] = [];
  const kept = new Set<string>();
  for (;;) {
    const wanted = limit - idle.length + kept.size;
    const found = await rows.find(tables.people, { where, order: ['joined_ts'], limit: wanted });
    for (const person of found) {
      const user = person.uuid;
      if (kept.has(user)) continue;
      // Keeps accounts with rejected entries, which an import may have stored.
      if ((await accountOf(rows, user))?.stage !== 'active' || (await rows.total(tables.errors, { user })) > 0) {
        kept.add(user);
        continue;
      }
      for (const table of [tables.tokens, tables.profiles, tables.arrivals, tables.accounts])
        await rows.remove(table as Table<{ user: string }>, { user });
      await rows.remove(tables.people, { uuid: user });
      idle.push(userOf(person));
    }
    if (found.length < wanted || idle.length === limit) return idle;
  }
}

async function studiesIn(rows: Rows, where: { name?: string }): Promise<StudyRecord[]> {
  const found = await rows.find(tables.studies, { where, order: ['name'] });
  return found.map(({ settings, joins }) => ({ ...JSON.parse(settings), joins }) as StudyRecord);
}

/** Finds a study by its join name. Reads all studies, because a store has only a few. */
async function studyJoinedBy(rows: Rows, name: string): Promise<StudyRecord | null> {
  return (await studiesIn(rows, {})).find(({ join_names }) => join_names.includes(name)) ?? null;
}

export function managers(engine: Engine): Managers {
  const found = async (rows: Rows, where: { name?: string }): Promise<ManagerRecord[]> =>
    (await rows.find(tables.managers, { where, order: ['name'] })).map(({ record }) => JSON.parse(record));
  return {
    byName: (name) => engine.read(async (rows) => (await found(rows, { name }))[0] ?? null),
    list: () => engine.read((rows) => found(rows, {})),
    change: (name, change) =>
      engine.write(null, async (rows) => {
        const after = change((await found(rows, { name }))[0] ?? null);
        if (after === null) await rows.remove(tables.managers, { name });
        else await rows.put(tables.managers, [{ name, record: jsonText(after as unknown as JsonValue) }]);
        return after;
      }),
  };
}
