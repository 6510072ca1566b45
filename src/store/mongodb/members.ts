// Who may be written about: rows that every write about a user touches, so that of a write and an erasure at the same
// moment one waits for the other.
import { notAdmitted } from '../refusals.ts';
import type { Connection } from './connection.ts';
import { inPieces } from './rows.ts';
import type { MemberRow, Tx } from './user-rows.ts';

/** A row for each: writes of one kind about one user take turns, those of different kinds do not. */
const kinds: readonly MemberRow['of'][] = ['usercache', 'errors', 'profiles', 'tokens'];

const usersAtOnce = 250;

/** Lets rows be written about these users. */
export async function admitAll(connection: Connection, userIds: readonly string[]): Promise<void> {
  const members = connection.db.collection<MemberRow>('members');
  for (const some of inPieces(userIds, usersAtOnce)) {
    const operations = some.flatMap((user_id) =>
      kinds.map((of) => ({
        updateOne: { filter: { user_id, of }, update: { $setOnInsert: { writes: 0 } }, upsert: true },
      })),
    );
    await connection.once(() => members.bulkWrite(operations, { ordered: false }));
  }
}

/** True when rows may be written about the user. */
export async function isAdmitted(connection: Connection, userId: string): Promise<boolean> {
  return (await connection.reading(userId, (from) => from.rows('members').findOne({}))) !== null;
}

/**
 * Lets no more rows be written about the user. Resolves when the writes that were under way have ended, one way or the
 * other.
 */
export async function dismiss(connection: Connection, userId: string): Promise<void> {
  // Each row by itself: a deletion of many holds rows that a write waits for while it waits for that write; and lost
  // answers of such are not asked for again by the driver.
  const operations = kinds.map((of) => ({ deleteOne: { filter: { user_id: userId, of } } }));
  await connection.reading(userId, (from) => from.rows('members').bulkWrite(operations));
}

/**
 * Makes sure that rows may be written about the user. Throws `MOBILITY_USER_UNKNOWN`. The first statement of a write.
 */
export async function requireMember(tx: Tx, of: MemberRow['of']): Promise<void> {
  if ((await tx.rows('members').updateOne({ of }, { $inc: { writes: 1 } })) === 0) throw notAdmitted();
}
