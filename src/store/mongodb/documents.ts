// What phones pull: one row per user and key, replaced in place.
import type { Document as Row } from 'mongodb';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import type { Document, Documents } from '../store.ts';
import type { Connection } from './connection.ts';
import { type KnownRow, knownFields, newRow, payloadsOf, removeParts, withSession, writeParts } from './rows.ts';

export function documentsOn(connection: Connection): Documents {
  const documents = connection.rows('documents');

  const unpack = async (rows: readonly Row[]): Promise<Document[]> => {
    const payloads = await payloadsOf(connection, rows, 'data');
    return rows.map((row, i) => ({ key: unescapeText(row.key), write_ts: row.write_ts, data: payloads[i]! }));
  };

  return {
    async put(userId, { key, write_ts, data }) {
      const at = { key: escapeText(key) };
      const made = newRow({ in: 'documents', user_id: userId, at }, { write_ts }, { data });
      await writeParts(connection, [made]);
      return connection.atomically(async (session) => {
        const filter = { user_id: userId, ...at };
        const old = await documents.findOne(filter, { projection: knownFields, ...withSession(session) });
        const options = { upsert: true, ...withSession(session) };
        const { upsertedCount } = await documents.replaceOne(filter, { ...made.row }, options);
        if (old !== null) await removeParts(connection, userId, [old as unknown as KnownRow], session);
        return upsertedCount === 1 ? 'inserted' : 'updated';
      });
    },
    get: (userId, key) =>
      connection.once(async () => {
        const row = await documents.findOne({ user_id: userId, key: escapeText(key) });
        return row === null ? null : (await unpack([row]))[0]!;
      }),
    list: (userId) =>
      connection.once(async () =>
        unpack(
          await documents.find({ user_id: userId }, { sort: { write_ts: 1, key: 1 }, allowDiskUse: true }).toArray(),
        ),
      ),
    async keys(userId) {
      const options = { projection: { _id: 0, key: 1 }, sort: { key: 1 } } as const;
      const rows = await connection.once(() => documents.find({ user_id: userId }, options).toArray());
      return rows.map((row) => unescapeText(row.key));
    },
    remove: (userId, key) =>
      connection.atomically(async (session) => {
        const options = { projection: knownFields, ...withSession(session) };
        const old = await documents.findOneAndDelete({ user_id: userId, key: escapeText(key) }, options);
        if (old !== null) await removeParts(connection, userId, [old as unknown as KnownRow], session);
        return old !== null;
      }),
  };
}
