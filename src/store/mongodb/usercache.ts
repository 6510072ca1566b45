// Entries on their way in.
import { ObjectId } from 'mongodb';
import type { Entry, Identity } from '../../model/entry.ts';
import { unescapeText } from '../../model/json-text.ts';
import { isAhead } from '../receipts.ts';
import type { PutBatch, PutResult, Usercache, WaitingEntry } from '../store.ts';
import { receiptsInChunks } from './chunk-rows.ts';
import type { Connection } from './connection.ts';
import { entriesOf, entryRow, receivedOf } from './entries.ts';
import { knownElsewhere, unusableRow, writeErrors } from './errors.ts';
import { findRows } from './find-entries.ts';
import { fold } from './fold.ts';
import { exactFilters, findByIdentity, type RowIdentity, rowIdentity, rowIdentityOf, textOf } from './identities.ts';
import { requireMember } from './members.ts';
import { mergeProfile } from './people.ts';
import { groupsOf, knownFields, type NewRow, newPage, removeRows, writeRows } from './rows.ts';
import { settleOn } from './settle.ts';
import type { Tx, UserRows, WaitingRow } from './user-rows.ts';

/** The usercache of users. */
export function usercacheOn(connection: Connection): Usercache {
  return {
    put: (userId, batch, now) => put(connection, userId, batch, now),
    read: (userId, { after, limit, at = Number.POSITIVE_INFINITY }) =>
      connection.reading(userId, async (from) => (await readWaiting(from, after, limit, at)).entries),
    settle: settleOn(connection),
    find: (userId, query) => connection.reading(userId, (from) => findRows(from, 'usercache', query)),
    summary: (userId) =>
      connection.reading(userId, async (from) => {
        const ends = { oldest_ts: { $min: '$write_ts' }, newest_ts: { $max: '$write_ts' } };
        const stages = [{ $group: { _id: null, count: { $sum: 1 }, ...ends } }, { $project: { _id: 0 } }];
        const [found] = await from.rows('usercache').aggregate<Summary>({}, stages).toArray();
        return found ?? { count: 0, oldest_ts: null, newest_ts: null };
      }),
    keys: (userId) =>
      connection.reading(userId, async (from) => (await from.rows('usercache').distinct('key')).map(unescapeText)),
    ahead: (userId, at) =>
      connection.reading(userId, async (from) => {
        const found: { count: number; first_ts: number | null } = { count: 0, first_ts: null };
        const later = from.rows('usercache').pick({ write_ts: { $gt: at } }, ['write_ts', 'received_ts', 'revision']);
        for await (const row of later) {
          if (!isAhead({ write_ts: row.write_ts, received_ts: receivedOf(row) }, at)) continue;
          found.count += 1;
          found.first_ts = Math.min(found.first_ts ?? row.write_ts, row.write_ts);
        }
        return found;
      }),
  };
}

type Summary = Awaited<ReturnType<Usercache['summary']>>;

async function put(connection: Connection, userId: string, batch: PutBatch, now: number): Promise<PutResult[]> {
  const entries = batch.entries.map((entry) => ('text' in entry ? (JSON.parse(entry.text) as Entry) : entry));
  const texts = entries.map((entry) => textOf(rowIdentityOf(entry)));
  const latest = new Map<string, { entry: Entry; received_ts: number | undefined }>();
  for (const [i, entry] of entries.entries()) latest.set(texts[i]!, { entry, received_ts: batch.received_ts?.[i] });
  const unusable = new Map<string, NewRow>();
  const times = new Map<string, number>();
  for (const one of batch.unusable) {
    const row = unusableRow(userId, one);
    unusable.set(row.at.id, row);
    times.set(row.at.id, (times.get(row.at.id) ?? 0) + 1);
  }
  const rows = [...unusable.values()];
  const revision = new ObjectId();
  for (const { entry, received_ts } of latest.values()) {
    const plain = { ...(received_ts !== undefined && { received_ts }), ...(batch.kept && { kept: true }) };
    const made = entryRow('usercache', userId, entry, plain);
    // One revision for a put, so that a few name all rows that leave; parts are found by that of their row.
    rows.push(made.row.in_parts ? made : { ...made, row: { ...made.row, revision } });
  }

  await fold(connection, userId);
  const known = new Set<string>();
  for (const group of groupsOf(rows)) {
    const found = await connection.atomically(userId, (tx, tries) => putGroup(tx, group, times, now, tries === 1));
    for (const text of found) known.add(text);
  }
  // Behind the batch: what is noted of it is true also if nobody gets to write the note.
  const { note } = batch;
  if (note !== undefined) await mergeProfile(connection, userId, note.fields).catch(note.onFailure);
  return texts.map((text): PutResult => {
    const result = known.has(text) ? 'updated' : 'inserted';
    known.add(text); // the next one of the batch updates this one
    return result;
  });
}

/**
 * Writes rows of usercache and errors; returns the identities that were known anywhere. `hopeful`: entries are taken
 * for such that do not wait yet; if one does, the transaction fails as a whole.
 */
async function putGroup(
  tx: Tx,
  rows: readonly NewRow[],
  times: ReadonlyMap<string, number>,
  now: number,
  hopeful: boolean,
): Promise<string[]> {
  await requireMember(tx, 'usercache');
  const unusable = rows.filter((row) => row.in === 'errors');
  await writeErrors(tx, await inPlaceOfWaiting(tx, unusable), ({ at }) => times.get(at.id) ?? 1, now);
  const entries = rows.filter((row) => row.in === 'usercache');
  const identities = entries.map(({ at }) => at as RowIdentity);
  const sought = hopeful ? [] : identities;
  const waiting = await findByIdentity(tx, 'usercache', sought, [...knownFields, 'failed', 'received_ts']);
  const others = identities.filter((identity) => !waiting.has(textOf(identity)));
  const elsewhere = await knownElsewhere(tx, others);
  const old = ({ at }: NewRow) => waiting.get(textOf(at as RowIdentity));
  // What waits already is newer than what comes back from the timeseries.
  const written = entries.filter((one) => !one.row.kept || old(one) === undefined);
  const rowsNow = written.map((one): NewRow => {
    const before = old(one);
    const received = before === undefined ? (elsewhere.get(textOf(one.at as RowIdentity)) ?? now) : receivedOf(before);
    const failed = before?.failed === undefined ? {} : { failed: before.failed };
    return { ...one, row: { received_ts: received, ...one.row, ...failed } };
  });
  await writeRows(tx, rowsNow, old);
  return [...waiting.keys(), ...elsewhere.keys()];
}

/** Errors with an identity take the place of what waits under it: the content that arrived last counts. */
async function inPlaceOfWaiting(tx: Tx, errors: readonly NewRow[]): Promise<readonly NewRow[]> {
  const identities = errors.flatMap(({ row }) => identityOfError(row));
  if (identities.length === 0) return errors;
  const waiting = await findByIdentity(tx, 'usercache', identities, [...knownFields, 'failed', 'received_ts']);
  const leaving = identities.filter((identity) => waiting.has(textOf(identity)));
  await removeRows(tx, 'usercache', [...waiting.values()], exactFilters(leaving));
  const others = identities.filter((identity) => !waiting.has(textOf(identity)));
  const moved = await receiptsInChunks(tx, others);
  return errors.map((one): NewRow => {
    const [identity] = identityOfError(one.row);
    if (identity === undefined) return one;
    const before = waiting.get(textOf(identity));
    const received_ts = before === undefined ? moved.get(textOf(identity)) : receivedOf(before);
    return { ...one, row: { ...one.row, ...before?.failed, ...(received_ts !== undefined && { received_ts }) } };
  });
}

const identityOfError = ({ key, write_ts }: NewRow['row']): RowIdentity[] =>
  key === null || write_ts === null ? [] : [{ key, write_ts }];

/** A page of waiting entries, see `Usercache.read`. */
export interface WaitingPage {
  entries: WaitingEntry[];
  /** Nothing came after it. */
  isLast: boolean;
  /** An entry has payloads in documents of their own. */
  hasParts: boolean;
}

/** Reads a page of waiting entries. */
export async function readWaiting(
  from: UserRows,
  after: Identity | undefined,
  limit: number,
  at: number,
): Promise<WaitingPage> {
  const page = newPage<WaitingRow>(limit);
  const usercache = from.rows('usercache');
  const everything = at === Number.POSITIVE_INFINITY;
  const options = { sort: { key: 1, write_ts: 1 }, ...(everything && { limit }) } as const;
  const taking = async function* (rows: AsyncIterable<WaitingRow>): AsyncGenerator<WaitingRow> {
    for await (const row of rows) if (everything || !isAhead({ ...row, received_ts: receivedOf(row) }, at)) yield row;
  };
  if (after === undefined) {
    await page.fill(taking(usercache.find({}, options)));
  } else {
    // Two statements that each follow the index; one with a choice of both need not.
    const { key, write_ts } = rowIdentity(after);
    await page.fill(taking(usercache.find({ key, write_ts: { $gt: write_ts } }, options)));
    await page.fill(taking(usercache.find({ key: { $gt: key } }, options)));
  }
  const entries = (await entriesOf(from, page.rows)).map((entry, i): WaitingEntry => {
    const { revision, failed, kept } = page.rows[i]!;
    const known = { ...(failed !== undefined && { failed }), ...(kept && { kept }) };
    return { entry, revision: revision.toHexString(), received_ts: receivedOf(page.rows[i]!), ...known };
  });
  return { entries, isLast: !page.full, hasParts: page.rows.some((row) => row.in_parts) };
}
