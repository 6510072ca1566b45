// Rows: what every collection's documents have in common, how payloads get into and out of them, and how they are replaced.
import { type AnyBulkWriteOperation, type ClientSession, type Document, MongoBulkWriteError, ObjectId } from 'mongodb';
import type { JsonValue } from '../../model/json.ts';
import type { Collection } from '../store.ts';
import type { Connection } from './connection.ts';
import { duplicateKey, isDuplicateKey, PartsMissingError } from './failures.ts';
import { type Stored, toStored } from './payload.ts';

/** Where a row stands: its collection, its user, and the fields that are its identity within the user. */
export interface Place {
  in: Collection;
  user_id: string;
  at: Document;
}

/** A row ready to be written, and the parts of its payloads that stand in documents of their own. */
export interface NewRow {
  place: Place;
  row: Document & { revision: ObjectId };
  parts: Document[];
  /** About what it takes, bytes. */
  bytes: number;
}

/** What is read of a row that is going to be replaced or removed. */
export interface KnownRow {
  revision: ObjectId;
  in_parts?: true;
}

export const partsCollection = 'parts';

/** Payloads above this are counted in the row's `bytes`, so that pages of rows stay bounded. */
const largeBytes = 32 * 1024;
const bytesOfPage = 32 * 2 ** 20;

/** A page of rows under way: full at `limit` rows, or at as many bytes as a page may take; one row always fits. */
export interface Page {
  readonly rows: Document[];
  readonly full: boolean;
  add(row: Document): void;
  /** Adds rows of a cursor until the page is full. */
  fill(cursor: AsyncIterable<Document>): Promise<void>;
}

export function newPage(limit: number): Page {
  const rows: Document[] = [];
  let bytes = 0;
  const page = {
    rows,
    get full() {
      return rows.length >= limit || bytes >= bytesOfPage;
    },
    add(row: Document) {
      rows.push(row);
      bytes += row.bytes ?? 0;
    },
    async fill(cursor: AsyncIterable<Document>) {
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
 * Makes a row out of its identity, plain fields and payloads. A payload `name` stands in the field `name`, as text in
 * `name_json`, or in parts, of which `name_parts` is the number. Every write has a revision of its own; parts are found by it.
 */
export function newRow(place: Place, plain: Document, payloads: Record<string, JsonValue>): NewRow {
  const revision = new ObjectId();
  const row: NewRow['row'] = { user_id: place.user_id, ...place.at, ...plain, revision };
  const parts: Document[] = [];
  let bytes = 200;
  for (const [name, value] of Object.entries(payloads)) {
    const stored = toStored(value);
    bytes += stored.bytes;
    setPayload(row, name, stored);
    if (stored.bytes > largeBytes) row.bytes = (row.bytes ?? 0) + stored.bytes;
    if (stored.form !== 'parts') continue;
    row.in_parts = true;
    for (const [n, text] of stored.parts.entries()) {
      const { user_id, at } = place;
      parts.push({ _id: new ObjectId(), user_id, row: revision, name, n, in: place.in, at, text });
    }
  }
  return { place, row, parts, bytes };
}

function setPayload(row: Document, name: string, stored: Stored): void {
  if (stored.form === 'native') row[name] = stored.value;
  else if (stored.form === 'text') row[`${name}_json`] = stored.text;
  else row[`${name}_parts`] = stored.parts.length;
}

/** The payload `name` of each row, in their order. Rejects with `PartsMissingError` when a row was replaced meanwhile. */
export async function payloadsOf(
  connection: Connection,
  rows: readonly Document[],
  name: string,
  session?: ClientSession,
): Promise<JsonValue[]> {
  const payloads: JsonValue[] = [];
  for (const row of rows) {
    if (row[name] !== undefined) payloads.push(row[name]);
    else if (row[`${name}_json`] !== undefined) payloads.push(JSON.parse(row[`${name}_json`]));
    else payloads.push(JSON.parse(await textOfParts(connection, row, name, session)));
  }
  return payloads;
}

async function textOfParts(
  connection: Connection,
  row: Document,
  name: string,
  session?: ClientSession,
): Promise<string> {
  const parts = await connection
    .rows(partsCollection)
    .find({ user_id: row.user_id, row: row.revision, name }, { ...withSession(session), sort: { n: 1 } })
    .toArray();
  const expected = row[`${name}_parts`];
  if (parts.length !== expected) throw new PartsMissingError(expected, parts.length, `${name} of ${row.revision}`);
  return parts.map((part) => part.text).join('');
}

/** The driver takes no `session: undefined`. */
export function withSession(session: ClientSession | undefined): { session?: ClientSession } {
  return session === undefined ? {} : { session };
}

/** Fields to read of a row that is going to be replaced or removed. */
export const knownFields = { _id: 0, revision: 1, in_parts: 1 } as const;

/**
 * Writes the parts of rows that are written next. Parts come first and are seen through their row only; parts whose row was
 * never written are removed later.
 */
export async function writeParts(connection: Connection, rows: readonly NewRow[]): Promise<void> {
  for (const { place, parts } of rows) {
    if (parts.length === 0) continue;
    await connection.once(() => removeOrphans(connection, place.user_id));
    await connection.once(async () => {
      for (const part of parts) {
        await connection
          .rows(partsCollection)
          .insertOne(part)
          .catch((error) => {
            if (!isDuplicateKey(error)) throw error; // from the try before
          });
      }
    });
  }
}

/**
 * Writes rows of one collection, replacing those that are `known`. Returns those that were not there. Without transactions an
 * identity that comes in at the same moment is replaced, too.
 */
export async function writeRows(
  connection: Connection,
  rows: readonly NewRow[],
  known: (row: NewRow) => KnownRow | undefined,
  session: ClientSession | undefined,
): Promise<NewRow[]> {
  const added = await addRows(
    connection,
    rows.filter((row) => known(row) === undefined),
    session,
  );
  const isAdded = new Set(added);
  let left = rows.filter((row) => !isAdded.has(row));
  while (left.length > 0) {
    const sent = left;
    const refused = await send(connection, sent, upsertion, session);
    left = refused.map((at) => sent[at]!);
  }
  const replaced = rows.map(known).filter((old) => old !== undefined);
  if (replaced.length > 0) await removeParts(connection, rows[0]!.place.user_id, replaced, session);
  return added;
}

/** Writes rows of one collection whose identity is not there. Without transactions others are left as they are. Returns those it wrote. */
export async function addRows(
  connection: Connection,
  rows: readonly NewRow[],
  session: ClientSession | undefined,
): Promise<NewRow[]> {
  if (rows.length === 0) return [];
  const refused = new Set(await send(connection, rows, insertion, session));
  return rows.filter((_, at) => !refused.has(at));
}

function insertion({ row }: NewRow): AnyBulkWriteOperation<Document> {
  return { insertOne: { document: { ...row } } }; // a copy: the driver adds an `_id`, which another try must not bring along
}

function upsertion({ place, row }: NewRow): AnyBulkWriteOperation<Document> {
  return { replaceOne: { filter: { user_id: place.user_id, ...place.at }, replacement: row, upsert: true } };
}

/** Sends one operation for each row; returns the places of those that were refused because their identity was there. */
async function send(
  connection: Connection,
  rows: readonly NewRow[],
  operation: (row: NewRow) => AnyBulkWriteOperation<Document>,
  session: ClientSession | undefined,
): Promise<number[]> {
  try {
    const collection = connection.rows(rows[0]!.place.in);
    await collection.bulkWrite(rows.map(operation), { ordered: false, ...withSession(session) });
    return [];
  } catch (error) {
    const refused = session === undefined ? refusedAsDuplicates(error) : null;
    if (refused === null) throw error;
    return refused;
  }
}

/** Which operations were refused, when that was the only thing that failed. */
function refusedAsDuplicates(error: unknown): number[] | null {
  if (!(error instanceof MongoBulkWriteError)) return null;
  const errors = [error.writeErrors].flat();
  const all = errors.length > 0 && errors.every(({ code }) => code === duplicateKey);
  return all ? errors.map(({ index }) => index) : null;
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

/** Removes the parts of rows that are gone. */
export async function removeParts(
  connection: Connection,
  userId: string,
  rows: readonly KnownRow[],
  session: ClientSession | undefined,
): Promise<void> {
  const gone = rows.filter((row) => row.in_parts).map((row) => row.revision);
  if (gone.length === 0) return;
  await connection.rows(partsCollection).deleteMany({ user_id: userId, row: { $in: gone } }, withSession(session));
}

/** Parts are written before their row: only after this time is one without a row given up. */
const orphanSeconds = 3600;

/** Removes what earlier writes left behind that never came to write the row. */
async function removeOrphans(connection: Connection, userId: string): Promise<void> {
  const before = ObjectId.createFromTime(Math.floor(Date.now() / 1000) - orphanSeconds);
  const old = await connection
    .rows(partsCollection)
    .find({ user_id: userId, row: { $lt: before }, n: 0 }, { projection: { row: 1, in: 1, at: 1 } })
    .toArray();
  for (const part of old) {
    const filter = { user_id: userId, ...part.at, revision: part.row };
    const row = await connection.rows(part.in).findOne(filter, { projection: { _id: 1 } });
    if (row === null) await removeParts(connection, userId, [{ revision: part.row, in_parts: true }], undefined);
  }
}
