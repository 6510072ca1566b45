// Entries on their way in.
import type { ClientSession, Document } from 'mongodb';
import type { Entry, Identity } from '../../model/entry.ts';
import { errorIdOf } from '../error-ids.ts';
import type { PutBatch, PutResult, Usercache, WaitingEntry } from '../store.ts';
import type { Connection } from './connection.ts';
import { entriesOf, entryRow, waitingFields } from './entries.ts';
import { findErrors, unusableRow, writeErrors } from './errors.ts';
import { findEntries } from './find-entries.ts';
import { findByIdentity, identityOfRow, type RowIdentity, rowIdentity, rowIdentityOf, textOf } from './identities.ts';
import { groupsOf, type KnownRow, type NewRow, newPage, writeParts, writeRows } from './rows.ts';
import { settleOn } from './settle.ts';

export function usercacheOn(connection: Connection): Usercache {
  return {
    put: (userId, batch, now) => put(connection, userId, batch, now),
    read: (userId, { after, limit }) => connection.once(() => readWaiting(connection, userId, after, limit)),
    settle: settleOn(connection),
    find: (userId, query) => connection.once(() => findEntries(connection, 'usercache', userId, query)),
    async summary(userId) {
      const [found] = await connection.once(() =>
        connection
          .rows('usercache')
          .aggregate([
            { $match: { user_id: userId } },
            {
              $group: {
                _id: null,
                count: { $sum: 1 },
                oldest_ts: { $min: '$write_ts' },
                newest_ts: { $max: '$write_ts' },
              },
            },
            { $project: { _id: 0 } },
          ])
          .toArray(),
      );
      return (found as { count: number; oldest_ts: number; newest_ts: number } | undefined) ?? nothingWaits;
    },
  };
}

const nothingWaits = { count: 0, oldest_ts: null, newest_ts: null };

/**
 * Without transactions unusable entries go first, then the rest; a batch that failed half way was not acknowledged and heals when
 * the phone sends it again.
 */
async function put(connection: Connection, userId: string, batch: PutBatch, now: number): Promise<PutResult[]> {
  const entries = batch.entries.map((entry) => ('text' in entry ? (JSON.parse(entry.text) as Entry) : entry));
  const texts = entries.map((entry) => textOf(rowIdentityOf(entry)));
  const latest = new Map<string, Entry>();
  for (const [i, entry] of entries.entries()) latest.set(texts[i]!, entry);
  const unusable = new Map<string, NewRow>();
  const times = new Map<string, number>();
  for (const one of batch.unusable) {
    const row = unusableRow(userId, one);
    const { id } = row.place.at;
    unusable.set(id, row);
    times.set(id, (times.get(id) ?? 0) + 1);
  }
  const rows = [...unusable.values()];
  for (const entry of latest.values()) rows.push(entryRow('usercache', userId, entry, {}));
  await writeParts(connection, rows);

  const known = new Set<string>();
  for (const group of groupsOf(rows)) {
    const found = await connection.atomically((session) => putGroup(connection, userId, group, times, now, session));
    for (const text of found) known.add(text);
  }
  return texts.map((text): PutResult => {
    const result = known.has(text) ? 'updated' : 'inserted';
    known.add(text); // the next one of the batch updates this one
    return result;
  });
}

/** Writes rows of usercache and errors; returns the identities that were known anywhere. */
async function putGroup(
  connection: Connection,
  userId: string,
  rows: readonly NewRow[],
  times: ReadonlyMap<string, number>,
  now: number,
  session: ClientSession | undefined,
): Promise<Set<string>> {
  const unusable = rows.filter(({ place }) => place.in === 'errors');
  const entries = rows.filter(({ place }) => place.in === 'usercache');
  const timesOf = ({ place }: NewRow): number => times.get(place.at.id) ?? 1;
  if (unusable.length > 0) await writeErrors(connection, userId, unusable, timesOf, now, session);
  const identities = entries.map(({ place }) => place.at as RowIdentity);
  const waiting = await findByIdentity(connection, 'usercache', userId, identities, waitingFields, session);
  const known = new Set(await knownElsewhere(connection, userId, identities, new Set(waiting.keys()), session));
  const old = ({ place }: NewRow): Document | undefined => waiting.get(textOf(place.at));
  const rowsNow = entries.map((one): NewRow => {
    const failed = old(one)?.failed;
    return failed === undefined ? one : { ...one, row: { ...one.row, failed } };
  });
  const added = await writeRows(connection, rowsNow, (row) => old(row) as KnownRow | undefined, session);
  const isNew = new Set(added.map(({ place }) => textOf(place.at)));
  for (const identity of identities) if (!isNew.has(textOf(identity))) known.add(textOf(identity));
  return known;
}

/** Those of `identities`, beyond the ones that wait, that are in the timeseries or were set aside. */
async function knownElsewhere(
  connection: Connection,
  userId: string,
  identities: readonly RowIdentity[],
  waiting: ReadonlySet<string>,
  session: ClientSession | undefined,
): Promise<string[]> {
  const others = identities.filter((identity) => !waiting.has(textOf(identity)));
  if (others.length === 0) return [];
  const moved = await findByIdentity(connection, 'timeseries', userId, others, { _id: 0 }, session);
  const ids = new Map(others.map((identity) => [errorIdOf(identityOfRow(identity)), textOf(identity)]));
  const failed = await findErrors(connection, userId, [...ids.keys()], session);
  return [...moved.keys(), ...[...failed.keys()].map((id) => ids.get(id)!)];
}

async function readWaiting(
  connection: Connection,
  userId: string,
  after: Identity | undefined,
  limit: number,
): Promise<WaitingEntry[]> {
  const page = newPage(limit);
  const usercache = connection.rows('usercache');
  const options = { sort: { key: 1, write_ts: 1 }, limit } as const;
  if (after === undefined) {
    await page.fill(usercache.find({ user_id: userId }, options));
  } else {
    // Two statements that each follow the index; one with a choice of both need not.
    const { key, write_ts } = rowIdentity(after);
    await page.fill(usercache.find({ user_id: userId, key, write_ts: { $gt: write_ts } }, options));
    await page.fill(usercache.find({ user_id: userId, key: { $gt: key } }, options));
  }
  const entries = await entriesOf(connection, page.rows);
  return entries.map((entry, i) => {
    const { revision, failed } = page.rows[i]!;
    return { entry, revision: revision.toHexString(), ...(failed === undefined ? {} : { failed }) };
  });
}
