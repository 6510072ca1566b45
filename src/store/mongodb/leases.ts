// Who works on a user: one document per user, changed atomically by the server's clock.
import { type ClientSession, type Document, ObjectId } from 'mongodb';
import { MobilityError } from '../../model/errors.ts';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import type { Lease, Leases } from '../store.ts';
import type { Connection } from './connection.ts';
import { isDuplicateKey } from './failures.ts';
import { withSession } from './rows.ts';
import { killSessions } from './sessions.ts';

/** ms since the epoch by the clock of the server that runs the statement. */
const serverNow = { $toLong: '$$NOW' };

/** Ended leases kept with each user, newest last. */
const historyLength = 20;

const endOfLease = (seconds: number): Document => ({ $add: [serverNow, Math.round(seconds * 1000)] });

/**
 * Takes the lease when it is free, expired or the owner's own; else leaves all as it is. `mark` tells whether it was taken. The
 * fence follows the clock, so that it grows even after the user was erased. Ended leases go to `history`.
 */
function takeIt({ sessionIds }: Connection, owner: string, seconds: number, mark: ObjectId): Document[] {
  const free = {
    $or: [
      { $eq: [{ $ifNull: ['$owner', null] }, null] },
      { $eq: ['$owner', { $literal: owner }] },
      { $lte: ['$expires_ms', serverNow] },
    ],
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
        released_ms: ifFree(null, '$released_ms'),
        mark: ifFree(mark, '$mark'),
        sessions: ifFree({ $literal: sessionIds }, '$sessions'),
      },
    },
    { $unset: 'free' },
  ];
}

function leaseOf(row: Document): Lease {
  return {
    user_id: row.user_id,
    owner: unescapeText(row.owner),
    fence: row.fence,
    expires_ts: row.expires_ms / 1000,
  };
}

/** Takes the user from whoever works on them. Returns whether another had the lease. */
export async function takeFromOthers(
  connection: Connection,
  userId: string,
  owner: string,
  seconds: number,
): Promise<boolean> {
  const [, taken] = takeIt(connection, owner, seconds, new ObjectId());
  const change = [{ $set: { free: true } }, taken!, { $unset: 'free' }];
  await endTransactionsOf(connection, { user_id: userId, owner: { $type: 'string', $ne: owner } });
  const old = await connection.once(() => changeLease(connection, userId, change, 'before'));
  return typeof old.owner === 'string' && old.owner !== owner;
}

/**
 * Ends the transactions of the process that has the lease. One that died in a transaction would otherwise lock what it was writing,
 * the lease too, until the server gives the transaction up; one that lives does its own again, and finds the lease lost.
 */
async function endTransactionsOf(connection: Connection, filter: Document): Promise<void> {
  if (!connection.transactional) return;
  const row = await connection.once(() => connection.rows('leases').findOne(filter, { projection: { sessions: 1 } }));
  if (row !== null) await killSessions(connection.db.client, row.sessions ?? []);
}

/** Changes the lease document of the user, which is made when there is none, and returns it. */
async function changeLease(
  connection: Connection,
  userId: string,
  change: Document[],
  returnDocument: 'before' | 'after',
): Promise<Document> {
  const leases = connection.rows('leases');
  for (;;) {
    const row = await leases.findOneAndUpdate({ user_id: userId }, change, { returnDocument });
    if (row !== null) return row;
    // No upsert: of two at the same moment one would fail.
    await leases.insertOne({ user_id: userId, fence: 0 }).catch((error) => {
      if (!isDuplicateKey(error)) throw error;
    });
  }
}

export function leasesOn(connection: Connection): Leases {
  const leases = connection.rows('leases');
  return {
    async acquire(userId, owner, seconds) {
      const mark = new ObjectId();
      const name = escapeText(owner);
      const change = takeIt(connection, name, seconds, mark);
      const lost = { owner: { $type: 'string', $ne: name }, $expr: { $lte: ['$expires_ms', serverNow] } };
      await endTransactionsOf(connection, { user_id: userId, ...lost });
      const row = await connection.once(() => changeLease(connection, userId, change, 'after'));
      const lease = leaseOf(row);
      return mark.equals(row.mark) ? { lease } : { heldBy: lease };
    },
    async renew(lease, seconds) {
      const change = [{ $set: { expires_ms: endOfLease(seconds) } }];
      const row = await connection.once(() =>
        leases.findOneAndUpdate(ownFilter(lease), change, { returnDocument: 'after' }),
      );
      if (row === null) throw leaseLost(lease);
      return leaseOf(row);
    },
    async release(lease) {
      const change = [{ $set: { owner: null, released_ms: serverNow } }];
      await connection.once(() => leases.updateOne(ownFilter(lease), change));
    },
    async get(userId) {
      const unexpired = { user_id: userId, owner: { $type: 'string' }, $expr: { $gt: ['$expires_ms', serverNow] } };
      const row = await connection.once(() => leases.findOne(unexpired));
      return row && leaseOf(row);
    },
  };
}

function ownFilter(lease: Lease): Document {
  return { user_id: lease.user_id, owner: escapeText(lease.owner), fence: lease.fence };
}

/**
 * Makes sure that the lease on the user is still the caller's. In a transaction it is written to, so that a takeover at the same
 * moment makes one of the two fail; without, it is read, which leaves a moment in which it can be lost unseen.
 */
export async function requireLease(
  connection: Connection,
  userId: string,
  lease: Lease,
  session: ClientSession | undefined,
): Promise<void> {
  const leases = connection.rows('leases');
  const filter = { ...ownFilter(lease), $and: [{ user_id: userId }] };
  const held =
    session === undefined
      ? (await leases.findOne(filter, { projection: { _id: 1 } })) !== null
      : (await leases.updateOne(filter, { $inc: { writes: 1 } }, withSession(session))).matchedCount === 1;
  if (!held) throw leaseLost(lease);
}

function leaseLost(lease: Lease): MobilityError {
  return new MobilityError(
    'MOBILITY_LEASE_LOST',
    `expected the lease ${lease.fence} of ${lease.owner} on user ${lease.user_id}, found that it ended or was taken over: ` +
      'leave the user to the new owner',
  );
}
