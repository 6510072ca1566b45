// The documents of a run of the pipeline: which there are, read once and kept as the run changes them.
import { escapeText, unescapeText } from '../../model/json-text.ts';
import type { Documents } from '../store.ts';
import type { Connection } from './connection.ts';
import { changeDocuments, documentRows, type KnownDocument } from './documents.ts';
import { knownFields } from './rows.ts';
import type { RunTransactions } from './under-lease.ts';

/** The documents for one run. `base` does what is not answered from memory. */
export function documentsOfRun(
  connection: Connection,
  base: Documents,
  run: RunTransactions,
  userId: string,
): Documents {
  let kept: Map<string, KnownDocument> | null = null;
  const known = async (): Promise<Map<string, KnownDocument>> => {
    kept ??= await connection.reading(userId, async (from) => {
      const options = { sort: { key: 1 } } as const;
      const rows = await from
        .rows('documents')
        .pick({}, ['key', ...knownFields], options)
        .toArray();
      return new Map(rows.map((row) => [row.key, row]));
    });
    return kept;
  };
  return {
    ...base,
    keys: async (user) => (user === userId ? [...(await known()).keys()].map(unescapeText) : base.keys(user)),
    async get(user, key) {
      if (user === userId && !(await known()).has(escapeText(key))) return null;
      return base.get(user, key);
    },
    async holds(user, key, data) {
      if (user === userId && !(await known()).has(escapeText(key))) return false;
      return base.holds(user, key, data);
    },
    async apply(user, change, lease, end = {}) {
      if (user !== userId) return base.apply(user, change, lease, end);
      const there = await known();
      const rows = documentRows(userId, change);
      kept = null; // `keys` is not asked again by a run that has ended
      return run.underLease(userId, lease, (tx, tries) => changeDocuments(tx, rows, tries === 1 ? there : null), end);
    },
  };
}
