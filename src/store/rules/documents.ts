import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { compareTexts } from '../../model/text-order.ts';
import { packText, unpackText } from '../chunks/pack.ts';
import type { Engine } from '../rows/rows.ts';
import { readColumn } from '../rows/sums.ts';
import { type DocumentRow, documents as table } from '../rows/tables.ts';
import type { Documents } from '../store.ts';
import { putAccount, released, underLease, withState } from './accounts.ts';

export function documents(engine: Engine): Documents {
  return {
    apply: async (userId, { put, remove }, lease, { state = {}, release = false } = {}) => {
      const texts = put.map(({ data }) => jsonText(data as JsonValue));
      const keysOf = (keys: readonly string[]) => ({ user: userId, key: { in: keys } });
      return engine.write(userId, async (rows) => {
        const account = await underLease(rows, userId, lease);
        const removed = remove.length === 0 ? 0 : await rows.remove(table, keysOf(remove));
        const present = put.length === 0 ? [] : await rows.find(table, { where: keysOf(put.map(({ key }) => key)) });
        const stored = new Map(present.map((row) => [row.key, textOf(row)]));
        const fresh = new Map<string, DocumentRow>();
        const results = put.map(({ key, write_ts }, i) => {
          const before = stored.get(key);
          const text = texts[i]!;
          if (before === text) return 'unchanged';
          stored.set(key, text);
          fresh.set(key, { user: userId, key, write_ts, data: packText(text) });
          return before === undefined ? 'inserted' : 'updated';
        });
        if (fresh.size > 0) await rows.put(table, [...fresh.values()]);
        const after = withState(account, state);
        await putAccount(rows, account, release ? released(after) : after);
        return { results, removed };
      });
    },
    list: (userId) =>
      engine.read(async (rows) => {
        const found = await rows.find(table, { where: { user: userId }, order: ['write_ts', 'key'] });
        return found.map((row) => ({ key: row.key, write_ts: row.write_ts, data: JSON.parse(textOf(row)) }));
      }),
    keys: async (userId) => {
      const found = await engine.read((rows) => rows.find(table, { where: { user: userId } }, ['key']));
      return found.map(({ key }) => key).sort(compareTexts);
    },
  };
}

const textOf = (row: DocumentRow): string => readColumn(table, row, 'data', () => unpackText(row.data));
