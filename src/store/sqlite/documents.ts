// Documents: what phones pull. They lie beside the trips that they derive from.
import { escapeText, unescapeText } from '../../model/json-text.ts';
import { isPackedAs, type PackedValue, packValue, unpackValue } from '../chunks/packed-value.ts';
import type { Document, Documents, PutResult } from '../store.ts';
import { compareTexts } from '../text-order.ts';
import { soundRow } from './damaged.ts';
import type { StoreFile } from './file.ts';
import { userIn } from './ids.ts';
import { leasedUser, mergeState, releaseLease } from './pipeline.ts';
import { columnsOf, type SummedRow, sumOf } from './row-sums.ts';
import type { Shards } from './rows.ts';

interface Row {
  key: string;
  write_ts: number;
  data: PackedValue;
}

const columns = columnsOf('documents');

function documentOf(file: StoreFile, row: Row & SummedRow): Document {
  return soundRow(file, 'documents', row, ({ key, write_ts, data }) => {
    return { key: unescapeText(key), write_ts, data: unpackValue(data) };
  });
}

/** The documents of users, in the timeseries file beside the trips that they derive from. */
export function documents(shards: Shards): Documents {
  return {
    apply: async (userId, { put, remove }, lease, { state, release = false } = {}) => {
      // Taken at once: what the caller does to a document later has no effect.
      const rows = put.map(
        ({ key, write_ts, data }): Row => ({ key: escapeText(key), write_ts, data: packValue(data) }),
      );
      const gone = remove.map(escapeText);
      const file = shards.of(userId).timeseries;
      const work = () => {
        const user = leasedUser(file, userId, lease);
        const removed = gone.filter((key) => removeRow(file, user, key)).length;
        const results = rows.map((row) => putRow(file, user, row));
        if (state !== undefined) mergeState(file, user, state);
        if (release) releaseLease(file, user, lease);
        return { results, removed };
      };
      return file.write(work, rows.length + gone.length);
    },
    get: async (userId, key) => {
      const file = shards.of(userId).timeseries;
      return file.read(() => {
        const row = rowOf(file, userId, key);
        return row === undefined ? null : documentOf(file, row);
      });
    },
    holds: async (userId, key, data) => {
      const file = shards.of(userId).timeseries;
      return file.read(() => {
        const row = rowOf(file, userId, key);
        if (row === undefined) return false;
        const bytes = packValue(data);
        return soundRow(file, 'documents', row, (stored) => isPackedAs(stored.data, data, bytes));
      });
    },
    list: async (userId) => {
      const file = shards.of(userId).timeseries;
      return file.read(() => {
        const rows = file.sql(`SELECT ${columns} FROM documents WHERE user = ?`);
        const found = rows.all<Row & SummedRow>(userIn(file, userId)).map((row) => documentOf(file, row));
        return found.sort((a, b) => a.write_ts - b.write_ts || compareTexts(a.key, b.key));
      });
    },
    keys: async (userId) => {
      const file = shards.of(userId).timeseries;
      return file.read(() => {
        const rows = file.sql('SELECT key FROM documents WHERE user = ?').all<{ key: string }>(userIn(file, userId));
        return rows.map((row) => unescapeText(row.key)).sort(compareTexts);
      });
    },
  };
}

function rowOf(file: StoreFile, userId: string, key: string): (Row & SummedRow) | undefined {
  const sql = `SELECT ${columns} FROM documents WHERE user = ? AND key = ?`;
  return file.sql(sql).get<Row & SummedRow>(userIn(file, userId), escapeText(key));
}

function putRow(file: StoreFile, user: number, { key, write_ts, data }: Row): PutResult {
  const insert = 'INSERT INTO documents (user, key, write_ts, data, sum) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING';
  const sum = sumOf([user, key, write_ts, data]);
  if (file.sql(insert).run(user, key, write_ts, data, sum).changes === 1) return 'inserted';
  const update = 'UPDATE documents SET write_ts = ?, data = ?, sum = ? WHERE user = ? AND key = ?';
  file.sql(update).run(write_ts, data, sum, user, key);
  return 'updated';
}

function removeRow(file: StoreFile, user: number, key: string): boolean {
  return file.sql('DELETE FROM documents WHERE user = ? AND key = ?').run(user, key).changes > 0;
}
