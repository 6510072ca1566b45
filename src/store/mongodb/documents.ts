// What phones pull: one row per user and key, replaced in place.
import type { JsonValue } from '../../model/json.ts';
import { escapeText, jsonText, unescapeText } from '../../model/json-text.ts';
import type { Document, Documents, DocumentsChange, PutResult } from '../store.ts';
import type { Connection } from './connection.ts';
import { type KnownRow, knownFields, type NewRow, newRow, payloadsOf, removeRows, writeRows } from './rows.ts';
import { underLeaseOn } from './under-lease.ts';
import type { DocumentRow, Tx, UserRows } from './user-rows.ts';

/** The documents of users. */
export function documentsOn(connection: Connection): Documents {
  const get: Documents['get'] = (userId, key) =>
    connection.reading(userId, async (from) => {
      const row = await from.rows('documents').findOne({ key: escapeText(key) });
      return row === null ? null : (await unpacked(from, [row]))[0]!;
    });
  return {
    apply: (userId, change, lease, end = {}) => {
      const made = documentRows(userId, change);
      return underLeaseOn(connection)(userId, lease, (tx) => changeDocuments(tx, made, null), end);
    },
    get,
    holds: async (userId, key, data) => {
      const document = await get(userId, key);
      return document !== null && jsonText(document.data) === jsonText(data);
    },
    list: (userId) =>
      connection.reading(userId, async (from) => {
        const sort = { write_ts: 1, key: 1 } as const;
        return unpacked(from, await from.rows('documents').find({}, { sort, allowDiskUse: true }).toArray());
      }),
    keys: (userId) =>
      connection.reading(userId, async (from) => {
        const rows = await from
          .rows('documents')
          .pick({}, ['key'], { sort: { key: 1 } })
          .toArray();
        return rows.map(({ key }) => unescapeText(key));
      }),
  };
}

/** A change to be written; keys in the form of rows. */
export interface DocumentRows {
  made: readonly NewRow[];
  gone: readonly string[];
}

/** The rows of a change. */
export function documentRows(userId: string, { put, remove }: DocumentsChange): DocumentRows {
  const made = put.map(({ key, write_ts, data }) =>
    newRow('documents', userId, { key: escapeText(key) }, { write_ts }, { data }),
  );
  return { made, gone: [...new Set(remove.map(escapeText))] };
}

/** What is read of a document that is going to be replaced or removed. */
export type KnownDocument = KnownRow & Pick<DocumentRow, 'key'>;

/**
 * Writes and removes documents. `known`: those that are there, by key, for who holds the lease since they were read;
 * null: they are read.
 */
export async function changeDocuments(
  tx: Tx,
  { made, gone }: DocumentRows,
  known: ReadonlyMap<string, KnownDocument> | null,
): ReturnType<Documents['apply']> {
  const old = new Map(known ?? (await byKey(tx, [...gone, ...made.map(({ row }) => row.key)])));
  const removed = gone.flatMap((key) => old.get(key) ?? []);
  await removeRows(tx, 'documents', removed, [{ key: { $in: gone } }]);
  for (const key of gone) old.delete(key);
  const latest = new Map(made.map((one) => [one.row.key as string, one]));
  await writeRows(tx, [...latest.values()], ({ row }) => old.get(row.key));
  const there = new Set(old.keys());
  const results = made.map(({ row: { key } }): PutResult => {
    const result = there.has(key) ? 'updated' : 'inserted';
    there.add(key); // the next one of the change updates this one
    return result;
  });
  return { results, removed: removed.length };
}

/** What is known of the documents with these keys. */
async function byKey(tx: Tx, keys: readonly string[]): Promise<Map<string, KnownDocument>> {
  if (keys.length === 0) return new Map();
  const rows = await tx
    .rows('documents')
    .pick({ key: { $in: keys } }, ['key', ...knownFields])
    .toArray();
  return new Map(rows.map((row) => [row.key, row]));
}

async function unpacked(from: UserRows, rows: readonly DocumentRow[]): Promise<Document[]> {
  const payloads = await payloadsOf<JsonValue>(from, rows, 'data');
  return rows.map(({ key, write_ts }, i) => ({ key: unescapeText(key), write_ts, data: payloads[i]! }));
}
