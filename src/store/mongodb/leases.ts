// Leases: one document per user, changed atomically by the server's clock.
import { type Document, ObjectId } from 'mongodb';
import { MobilityError } from '../../model/errors.ts';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import { clockSlack, longestLease } from '../lease-end.ts';
import { leaseLost, notAdmitted } from '../refusals.ts';
import type { Lease, Leases } from '../store.ts';
import type { Connection } from './connection.ts';
import { isAdmitted } from './members.ts';
import { killSessions } from './sessions.ts';
import type { LeaseRow, Tx, UserRows } from './user-rows.ts';

/** ms since the epoch by the clock of the server that runs the statement. */
const serverNow = { $toLong: '$$NOW' };

/** Ended leases kept with each user, newest last. */
const historyLength = 20;

/** Whether the lease of a row has ended, see `isOver`. */
const isOver: Document = {
  $or: [
    { $lte: ['$expires_ms', serverNow] },
    {
      $gt: [
        '$expires_ms',
        { $add: [serverNow, { $multiply: [1000, { $ifNull: ['$seconds', longestLease] }] }, 1000 * clockSlack] },
      ],
    },
  ],
};

const endOfLease = (seconds: number): Document => ({ $add: [serverNow, Math.round(seconds * 1000)] });

/**
 * Takes the lease when it is free, expired or the owner's own; else leaves all as it is. `mark` tells whether it was
 * taken. The fence follows the clock, so that it grows even after the user was erased. Ended leases go to `history`.
 */
function takeIt({ sessionIds }: Connection, owner: string, seconds: number, mark: ObjectId): Document[] {
  const free = {
    $or: [{ $eq: [{ $ifNull: ['$owner', null] }, null] }, { $eq: ['$owner', { $literal: owner }] }, isOver],
  };
  const past = {
    owner: '$held_by',
    fence: '$fence',
    taken_ms: '$taken_ms',
    expires_ms: '$expires_ms',
    released_ms: '$released_ms',
  };
  const history = { $ifNull: ['$history', []] };
  const longer = { $slice: [{ $concatArrays: [history, [past]] }, -historyLength] };
  const ifFree = (taken: unknown, old: unknown): Document => ({ $cond: ['$free', taken, old] });
  return [
    { $set: { free } },
    {
      $set: {
        history: ifFree({ $cond: [{ $gt: ['$fence', 0] }, longer, history] }, history),
        owner: ifFree({ $literal: owner }, '$owner'),
        held_by: ifFree({ $literal: owner }, '$held_by'),
        fence: ifFree({ $max: [{ $add: [{ $ifNull: ['$fence', 0] }, 1] }, serverNow] }, '$fence'),
        taken_ms: ifFree(serverNow, '$taken_ms'),
        expires_ms: ifFree(endOfLease(seconds), '$expires_ms'),
        seconds: ifFree(seconds, '$seconds'),
        released_ms: ifFree(null, '$released_ms'),
        mark: ifFree(mark, '$mark'),
        sessions: ifFree({ $literal: sessionIds }, '$sessions'),
      },
    },
    { $unset: 'free' },
  ];
}

function leaseOf({ user_id, owner, fence, expires_ms, seconds = longestLease }: LeaseRow): Lease {
  return { user_id, owner: unescapeText(owner ?? ''), fence, expires_ts: expires_ms / 1000, seconds };
}

/** Takes over the lease, whoever holds it. Returns whether another owner held it. */
export async function takeFromOthers(
  connection: Connection,
  userId: string,
  owner: string,
  seconds: number,
): Promise<boolean> {
  const [, taken] = takeIt(connection, owner, seconds, new ObjectId());
  const change = [{ $set: { free: true } }, taken!, { $unset: 'free' }];
  await endTransactionsOf(connection, userId, { owner: { $type: 'string', $ne: owner } });
  const old = await connection.reading(userId, (from) => changeLease(from, change, 'before'));
  return typeof old?.owner === 'string' && old.owner !== owner;
}

/**
 * Ends the transactions of the process that has the lease. One that died in a transaction would otherwise lock what it
 * was writing, the lease too, until the server gives the transaction up; one that lives does its own again, and finds
 * the lease lost.
 */
async function endTransactionsOf(connection: Connection, userId: string, filter: Document): Promise<void> {
  const [row] = await connection.reading(userId, (from) => from.rows('leases').pick(filter, ['sessions']).toArray());
  if (row !== undefined) await killSessions(connection.db.client, row.sessions ?? []);
}

/**
 * Changes the lease document of the user, creating it if needed, and returns it; null for how it was before it was
 * there. Of two that create it at the same moment one fails with a duplicate key, and is repeated.
 */
function changeLease(from: UserRows, change: Document[], returnDocument: 'before' | 'after'): Promise<LeaseRow | null> {
  return from.rows('leases').findOneAndUpdate({}, change, { returnDocument, upsert: true });
}

const triesToTake = 50;

/** Takes the lease if it is free, and returns whose it is then. */
async function takenOrHeld(from: UserRows, change: Document[]): Promise<LeaseRow> {
  for (let tries = 1; tries <= triesToTake; tries++) {
    const row = await changeLease(from, change, 'after');
    // A server may answer with no document where another process created it at the same moment.
    if (row !== null) return row;
  }
  throw new MobilityError(
    'MOBILITY_STORE_UNAVAILABLE',
    `expected MongoDB to answer with the lease document that it created or changed, found none ${triesToTake} times: try again`,
  );
}

/** The leases on users. */
export function leasesOn(connection: Connection): Leases {
  return {
    async acquire(userId, owner, seconds) {
      const mark = new ObjectId();
      const name = escapeText(owner);
      const change = takeIt(connection, name, seconds, mark);
      const lost = { owner: { $type: 'string', $ne: name }, $expr: isOver };
      await endTransactionsOf(connection, userId, lost);
      const row = await connection.reading(userId, (from) => takenOrHeld(from, change));
      const lease = leaseOf(row);
      const isMine = mark.equals(row.mark);
      // Asked after the lease was taken: an erasure that begins later takes it away.
      if (await isAdmitted(connection, userId)) return isMine ? { lease } : { heldBy: lease };
      if (isMine) await connection.reading(userId, (from) => from.rows('leases').deleteOne(ownFilter(lease)));
      throw notAdmitted();
    },
    renew: (lease, seconds) =>
      connection.reading(lease.user_id, async (from) => {
        const change = [{ $set: { expires_ms: endOfLease(seconds), seconds } }];
        const row = await from.rows('leases').findOneAndUpdate(ownFilter(lease), change, { returnDocument: 'after' });
        if (row === null) throw await lost(from, lease);
        return leaseOf(row);
      }),
    release: (lease) => connection.reading(lease.user_id, (from) => releaseLease(from, lease)),
    get: (userId) =>
      connection.reading(userId, async (from) => {
        const unexpired = { owner: { $type: 'string' }, $expr: { $not: [isOver] } };
        const row = await from.rows('leases').findOne(unexpired);
        return row && leaseOf(row);
      }),
  };
}

const givenBack: Document[] = [{ $set: { owner: null, released_ms: serverNow } }];

/** Gives the lease back, where it is still there. */
async function releaseLease(from: UserRows, lease: Lease): Promise<void> {
  await from.rows('leases').updateOne(ownFilter(lease), givenBack);
}

function ownFilter({ owner, fence }: Lease): Document {
  return { owner: escapeText(owner), fence };
}

/**
 * Makes sure that the lease on the user is still the caller's. It is written to, so that a takeover at the same moment
 * makes one of the two fail. `release`: it is given back with the transaction.
 */
export async function requireLease(tx: Tx, lease: Lease, release = false): Promise<void> {
  const change = release ? givenBack : { $inc: { writes: 1 } };
  const held = lease.user_id === tx.userId && (await tx.rows('leases').updateOne(ownFilter(lease), change)) === 1;
  if (!held) throw await lost(tx, lease);
}

async function lost(from: UserRows, lease: Lease): Promise<Error> {
  const found = await from.rows('leases').findOne({ owner: { $type: 'string' } });
  return leaseLost(from.userId, lease, found && leaseOf(found));
}
