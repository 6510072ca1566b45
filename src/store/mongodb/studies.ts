// Studies and how people join them. Each step is one statement on one row, in an order that an interruption leaves
// mendable.
import { newUuid } from '../../model/ids.ts';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import { admit, type JoinCount, nobodyJoined, type StudyRecord, type StudySettings } from '../../model/study.ts';
import type { UserRecord } from '../../model/user.ts';
import type { Enrolled, Enrolment, Studies } from '../store.ts';
import type { Connection } from './connection.ts';
import { isDuplicateKey } from './failures.ts';
import { admitAll, dismiss } from './members.ts';
import { type RegistryRow, userOf } from './people.ts';
import type { TokenRow } from './user-rows.ts';

/**
 * A study; `_id` is its name. The settings are one text: names of a configuration may hold what names of fields may
 * not.
 */
interface StudyRow {
  _id: string;
  settings: string;
  joined: JoinCount;
}

const studyOf = ({ settings, joined }: StudyRow): StudyRecord => ({
  ...(JSON.parse(unescapeText(settings)) as StudySettings),
  joined,
});

/** Studies, and joining them. */
export function studiesOn(connection: Connection): Studies {
  const studies = connection.db.collection<StudyRow>('studies');
  const users = connection.db.collection<RegistryRow>('users');
  const tokens = connection.db.collection<TokenRow>('tokens');

  /** The count with one more, or why nobody may join. The row changes only if nobody else joined meanwhile. */
  const count = async (
    enrolment: Enrolment,
  ): Promise<{ joined: JoinCount } | Extract<Enrolled, { refused: string }>> => {
    for (;;) {
      const row = await studies.findOne({ _id: enrolment.study });
      const admission = admit(row && studyOf(row), enrolment);
      if ('refused' in admission) return admission;
      const { matchedCount } = await studies.updateOne(
        { _id: enrolment.study, 'joined.total': row!.joined.total },
        { $set: { joined: admission.joined } },
      );
      if (matchedCount === 1) return admission;
    }
  };

  /** The account that the token names, made if it is not there yet: its making may have been interrupted. */
  const account = async (uuid: string, { email, now, study, subgroup }: Enrolment): Promise<UserRecord | null> => {
    const before = await users.findOne({ _id: uuid });
    if (before !== null) return userOf(before);
    await admitAll(connection, [uuid]);
    const wanted = { _id: uuid, user_email: escapeText(email), update_ts: now, study, subgroup };
    if (await inserted(() => users.insertOne(wanted))) {
      return { uuid, user_email: email, update_ts: now, study, subgroup };
    }
    const there = await users.findOne({ _id: uuid });
    if (there !== null) return userOf(there);
    await dismiss(connection, uuid); // another account has the name
    return null;
  };

  /**
   * Of a token that is there. One without an account was being enrolled when its process ended, or is being enrolled
   * now.
   */
  const known = async (row: TokenRow, enrolment: Enrolment): Promise<Enrolled> => {
    if (row.kind === 'study') {
      const user = await account(row.user_id, enrolment);
      return user === null ? { refused: 'name_taken' } : { known: user };
    }
    const owner = await users.findOne({ _id: row.user_id });
    return owner === null ? { refused: 'token_taken' } : { known: userOf(owner) };
  };

  const enrol = async (enrolment: Enrolment): Promise<Enrolled> => {
    const { hash, ...token } = enrolment.token;
    const there = await tokens.findOne({ _id: hash });
    if (there !== null) return known(there, enrolment);
    const counted = await count(enrolment);
    if ('refused' in counted) return counted;
    if ((await users.findOne({ user_email: escapeText(enrolment.email) })) !== null) return { refused: 'name_taken' };
    const row = { _id: hash, user_id: newUuid(), ...token };
    if (!(await inserted(() => tokens.insertOne(row)))) {
      const other = await tokens.findOne({ _id: hash });
      return other === null ? { refused: 'token_taken' } : known(other, enrolment);
    }
    const user = await account(row.user_id, enrolment);
    if (user !== null) return { enrolled: user };
    await tokens.deleteOne({ _id: hash, user_id: row.user_id });
    return { refused: 'name_taken' };
  };

  return {
    async put(settings, joined) {
      const change = {
        $set: { settings: escapeText(JSON.stringify(settings)), ...(joined && { joined }) },
        ...(joined === undefined && { $setOnInsert: { joined: nobodyJoined } }),
      };
      await connection.once(() => studies.updateOne({ _id: settings.name }, change, { upsert: true }));
    },
    async byName(name) {
      const row = await connection.once(() => studies.findOne({ _id: name }));
      return row && studyOf(row);
    },
    async list() {
      const rows = await connection.once(() => studies.find({}, { sort: { _id: 1 } }).toArray());
      return rows.map(studyOf);
    },
    enrol: (enrolment) => connection.once(() => enrol(enrolment)),
  };
}

/** False when a row of that identity was there. */
async function inserted(insert: () => Promise<unknown>): Promise<boolean> {
  try {
    await insert();
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}
