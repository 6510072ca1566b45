// What phones pull: one row per user and key, replaced in place.
import type { JsonValue } from '../../model/json.ts';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import type { Document, Documents } from '../store.ts';
import type { Connection } from './connection.ts';
import { knownFields, newRow, payloadsOf, removeRows, writeRows } from './rows.ts';
import type { DocumentRow, UserRows } from './user-rows.ts';

/** The documents of users. */
export function documentsOn(connection: Connection): Documents {
  return {
    async put(userId, { key, write_ts, data }) {
      const made = newRow('documents', userId, { key: escapeText(key) }, { write_ts }, { data });
      return connection.atomically(userId, async (tx) => {
        const [old] = await tx.rows('documents').pick(made.at, knownFields).toArray();
        await writeRows(tx, [made], () => old);
        return old === undefined ? 'inserted' : 'updated';
      });
    },
    get: (userId, key) =>
      connection.reading(userId, async (from) => {
        const row = await from.rows('documents').findOne({ key: escapeText(key) });
        return row === null ? null : (await unpacked(from, [row]))[0]!;
      }),
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
    remove: (userId, key) =>
      connection.atomically(userId, async (tx) => {
        const old = await tx
          .rows('documents')
          .pick({ key: escapeText(key) }, knownFields)
          .toArray();
        await removeRows(tx, 'documents', old);
        return old.length > 0;
      }),
  };
}

async function unpacked(from: UserRows, rows: readonly DocumentRow[]): Promise<Document[]> {
  const payloads = await payloadsOf<JsonValue>(from, rows, 'data');
  return rows.map(({ key, write_ts }, i) => ({ key: unescapeText(key), write_ts, data: payloads[i]! }));
}
