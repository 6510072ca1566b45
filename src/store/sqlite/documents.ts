// Documents: what phones pull.
import { escapeText, jsonText, unescapeText } from '../../model/json-text.ts';
import type { Document, Documents } from '../store.ts';
import { compareTexts } from '../text-order.ts';
import { userFor, userIn } from './ids.ts';
import type { Shards } from './rows.ts';

interface Row {
  key: string;
  write_ts: number;
  data: string;
}

function documentOf({ key, write_ts, data }: Row): Document {
  return { key: unescapeText(key), write_ts, data: JSON.parse(data) };
}

export function documents(shards: Shards): Documents {
  return {
    put: async (userId, { key, write_ts, data }) => {
      const [name, text] = [escapeText(key), jsonText(data)];
      const file = shards.of(userId).usercache;
      return file.write(() => {
        const user = userFor(file, userId);
        const insert = 'INSERT INTO documents (user, key, write_ts, data) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING';
        if (file.sql(insert).run(user, name, write_ts, text).changes === 1) return 'inserted';
        const update = 'UPDATE documents SET write_ts = ?, data = ? WHERE user = ? AND key = ?';
        file.sql(update).run(write_ts, text, user, name);
        return 'updated';
      });
    },
    get: async (userId, key) => {
      const file = shards.of(userId).usercache;
      return file.read(() => {
        const sql = 'SELECT key, write_ts, data FROM documents WHERE user = ? AND key = ?';
        const row = file.sql(sql).get<Row>(userIn(file, userId), escapeText(key));
        return row === undefined ? null : documentOf(row);
      });
    },
    list: async (userId) => {
      const file = shards.of(userId).usercache;
      return file.read(() => {
        const sql = 'SELECT key, write_ts, data FROM documents WHERE user = ?';
        const found = file.sql(sql).all<Row>(userIn(file, userId)).map(documentOf);
        return found.sort((a, b) => a.write_ts - b.write_ts || compareTexts(a.key, b.key));
      });
    },
    keys: async (userId) => {
      const file = shards.of(userId).usercache;
      return file.read(() => {
        const rows = file.sql('SELECT key FROM documents WHERE user = ?').all<{ key: string }>(userIn(file, userId));
        return rows.map((row) => unescapeText(row.key)).sort(compareTexts);
      });
    },
    remove: async (userId, key) => {
      const file = shards.of(userId).usercache;
      return file.write(() => {
        const sql = 'DELETE FROM documents WHERE user = ? AND key = ?';
        return file.sql(sql).run(userIn(file, userId), escapeText(key)).changes > 0;
      });
    },
  };
}
