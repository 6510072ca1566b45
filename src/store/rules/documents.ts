// Documents that phones pull: derived from trips, and written under the same lease.
import type { JsonValue } from '../../model/json.ts';
import { compareTexts } from '../../model/text-order.ts';
import { packValue, unpackValue } from '../chunks/pack.ts';
import type { Engine } from '../rows/rows.ts';
import { damagedRow } from '../rows/sums.ts';
import { type DocumentRow, documents as table } from '../rows/tables.ts';
import type { Document, Documents, PutResult } from '../store.ts';
import { putAccount, released, underLease, withState } from './accounts.ts';

/** The documents of a store. */
export function documents(engine: Engine): Documents {
  const all = (userId: string) =>
    engine.read((rows) => rows.find(table, { where: { user: userId }, order: ['write_ts', 'key'] }));
  return {
    apply: async (userId, { put, remove }, lease, { state = {}, release = false } = {}) => {
      const fresh = new Map(
        put.map(({ key, write_ts, data }) => [
          key,
          { user: userId, key, write_ts, data: packValue(data as JsonValue) },
        ]),
      );
      return engine.write(userId, async (rows) => {
        const account = await underLease(rows, userId, lease);
        const present = await rows.find(table, { where: { user: userId } }, ['key']);
        const keys = new Set(present.map(({ key }) => key));
        const gone = remove.filter((key) => keys.has(key));
        const removed = gone.length === 0 ? 0 : await rows.remove(table, { user: userId, key: { in: gone } });
        for (const key of gone) keys.delete(key);
        const results = put.map(({ key }): PutResult => {
          const result = keys.has(key) ? 'updated' : 'inserted';
          keys.add(key);
          return result;
        });
        if (fresh.size > 0) await rows.put(table, [...fresh.values()]);
        const after = withState(account, state);
        await putAccount(rows, account, release ? released(after) : after);
        return { results, removed };
      });
    },
    get: (userId, key) =>
      engine.read(async (rows) => {
        const [row] = await rows.find(table, { where: { user: userId, key } });
        return row === undefined ? null : documentOf(row);
      }),
    list: async (userId) => (await all(userId)).map(documentOf),
    keys: async (userId) => {
      const found = await engine.read((rows) => rows.find(table, { where: { user: userId } }, ['key']));
      return found.map(({ key }) => key).sort(compareTexts);
    },
  };
}

function documentOf(row: DocumentRow): Document {
  try {
    return { key: row.key, write_ts: row.write_ts, data: unpackValue(row.data) };
  } catch (error) {
    throw damagedRow(table, row, 'its data cannot be read', error);
  }
}
