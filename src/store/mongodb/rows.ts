// How payloads get into rows and out of them, and how rows are written and removed together with what belongs to them.
import { type AnyBulkWriteOperation, type Document, ObjectId } from 'mongodb';
import type { JsonValue } from '../../model/json.ts';
import { PartsMissingError, StaleReadError } from './failures.ts';
import { type Stored, toStored } from './payload.ts';
import type { PayloadRow, RowTypes, Tx, UserCollection, UserRows } from './user-rows.ts';

/** A collection whose rows have payloads. */
export type PayloadCollection = {
  [Name in UserCollection]: RowTypes[Name] extends PayloadRow ? Name : never;
}[UserCollection];

/** A row ready to be written. */
export interface NewRow {
  in: PayloadCollection;
  /** The fields that are its identity within the user. */
  at: Document;
  row: Document & { revision: ObjectId };
  /** Of its payloads that have their own documents. */
  parts: Document[];
  /** About what it takes. */
  bytes: number;
}

/** What is read of a row that is going to be replaced or removed. */
export type KnownRow = Pick<PayloadRow, 'revision' | 'in_parts'>;

/** Its fields. */
export const knownFields = ['revision', 'in_parts'] as const;

/** Payloads above this are counted in the row's `bytes`, so that pages of rows stay bounded. */
const largeBytes = 32 * 1024;
const bytesOfPage = 32 * 2 ** 20;

/** A page of rows under way: full at `limit` rows, or at as many bytes as a page may take; one row always fits. */
export interface Page<Row> {
  readonly rows: Row[];
  readonly full: boolean;
  add(row: Row): void;
  /** Adds rows of a cursor until the page is full. */
  fill(cursor: AsyncIterable<Row>): Promise<void>;
}

/** An empty page. */
export function newPage<Row extends PayloadRow>(limit: number): Page<Row> {
  const rows: Row[] = [];
  let bytes = 0;
  const page = {
    rows,
    get full() {
      return rows.length >= limit || bytes >= bytesOfPage;
    },
    add(row: Row) {
      rows.push(row);
      bytes += row.bytes ?? 0;
    },
    async fill(cursor: AsyncIterable<Row>) {
      if (page.full) return;
      for await (const row of cursor) {
        page.add(row);
        if (page.full) return;
      }
    },
  };
  return page;
}

/**
 * Makes a row out of its identity, plain fields and payloads, which are JSON values. A payload `name` stands in the
 * field `name`, as text in `name_json`, or in parts, of which `name_parts` is the number. Every write has a revision of
 * its own; parts are found by it.
 */
export function newRow(
  collection: PayloadCollection,
  userId: string,
  at: Document,
  plain: Document,
  payloads: Record<string, unknown>,
): NewRow {
  const revision = new ObjectId();
  const row: NewRow['row'] = { user_id: userId, ...at, ...plain, revision };
  const parts: Document[] = [];
  let bytes = 200;
  for (const [name, value] of Object.entries(payloads)) {
    const stored = toStored(value as JsonValue);
    bytes += stored.bytes;
    setPayload(row, name, stored);
    if (stored.bytes > largeBytes) row.bytes = (row.bytes ?? 0) + stored.bytes;
    if (stored.form !== 'parts') continue;
    row.in_parts = true;
    for (const [n, text] of stored.parts.entries()) parts.push({ user_id: userId, row: revision, name, n, text });
  }
  return { in: collection, at, row, parts, bytes };
}

function setPayload(row: Document, name: string, stored: Stored): void {
  if (stored.form === 'native') row[name] = stored.value;
  else if (stored.form === 'text') row[`${name}_json`] = stored.text;
  else row[`${name}_parts`] = stored.parts.length;
}

/**
 * The payload `name` of each row, in their order. Rejects with `PartsMissingError` when a row was replaced meanwhile.
 */
export async function payloadsOf<Payload>(
  from: UserRows,
  rows: readonly PayloadRow[],
  name: string,
): Promise<Payload[]> {
  const payloads: Payload[] = [];
  for (const row of rows as readonly Document[]) {
    if (row[name] !== undefined) payloads.push(row[name]);
    else if (row[`${name}_json`] !== undefined) payloads.push(JSON.parse(row[`${name}_json`]));
    else payloads.push(JSON.parse(await textOfParts(from, row, name)));
  }
  return payloads;
}

async function textOfParts(from: UserRows, row: Document, name: string): Promise<string> {
  const parts = await from
    .rows('parts')
    .pick({ row: row.revision, name }, ['text'], { sort: { n: 1 } })
    .toArray();
  const expected = row[`${name}_parts`];
  if (parts.length !== expected) throw new PartsMissingError(expected, parts.length, `${name} of ${row.revision}`);
  return parts.map(({ text }) => text).join('');
}

/**
 * Writes rows of one collection, with their parts. `old`: the row that each replaces, or undefined where there is none.
 */
export async function writeRows(
  tx: Tx,
  rows: readonly NewRow[],
  old: (row: NewRow) => KnownRow | undefined,
): Promise<void> {
  if (rows.length === 0) return;
  const operations = rows.map((row) => (old(row) === undefined ? insertion(row) : replacement(row)));
  const { matchedCount: matched } = await tx.rows(rows[0]!.in).bulkWrite(operations);
  const replaced = rows.filter((row) => old(row) !== undefined).length;
  if (matched !== replaced) throw new StaleReadError(replaced, matched, rows[0]!.in);
  await removeParts(tx, rows.map(old));
  const parts = rows.flatMap((row) => row.parts);
  // One by one: together they may be larger than a message may be.
  for (const part of parts) await tx.rows('parts').bulkWrite([{ insertOne: { document: { ...part } } }]);
}

/** A copy: the driver adds an `_id`, which another try must not bring along. */
function insertion({ row }: NewRow): AnyBulkWriteOperation<Document> {
  return { insertOne: { document: { ...row } } };
}

function replacement({ at, row }: NewRow): AnyBulkWriteOperation<Document> {
  return { replaceOne: { filter: { user_id: row.user_id, ...at }, replacement: row } };
}

/** Removes rows that were read in the transaction, with their parts. `filters` find them and nothing else. */
export async function removeRows(
  tx: Tx,
  collection: PayloadCollection,
  rows: readonly KnownRow[],
  filters: readonly Document[],
): Promise<void> {
  if (rows.length === 0) return;
  const own = filters.map((filter) => ({ deleteMany: { filter: { ...filter, user_id: tx.userId } } }));
  await tx.rows(collection).bulkWrite(own);
  await removeParts(tx, rows);
}

/** Removes the parts of rows that are gone. */
async function removeParts(tx: Tx, rows: readonly (KnownRow | undefined)[]): Promise<void> {
  const gone = rows.flatMap((row) => (row?.in_parts ? [row.revision] : []));
  if (gone.length > 0) await tx.rows('parts').deleteMany({ row: { $in: gone } });
}

/** Larger batches take several transactions: one should not fill the cache of the server, nor last a minute. */
const rowsAtOnce = 5000;
const bytesAtOnce = 24 * 2 ** 20;

/** Cuts a batch into groups that fit one transaction each. */
export function groupsOf<T extends { bytes: number }>(rows: readonly T[]): T[][] {
  const groups: T[][] = [];
  let group: T[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (group.length === rowsAtOnce || (group.length > 0 && bytes + row.bytes > bytesAtOnce)) {
      groups.push(group);
      group = [];
      bytes = 0;
    }
    group.push(row);
    bytes += row.bytes;
  }
  if (group.length > 0) groups.push(group);
  return groups;
}

/** `list` in pieces of at most `length`. */
export function inPieces<T>(list: readonly T[], length: number): T[][] {
  const pieces: T[][] = [];
  for (let from = 0; from < list.length; from += length) pieces.push(list.slice(from, from + length));
  return pieces;
}
