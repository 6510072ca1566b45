import { type Identity, identityText } from '../../model/entry.ts';
import type { PendingEntry } from '../chunks/batch.ts';
import type { Engine } from '../rows/rows.ts';
import { errors, type RejectedRow } from '../rows/tables.ts';
import type { ErrorRow, ErrorTimeseries, RecoveredError } from '../store.ts';
import { writeAdmitted } from './accounts.ts';
import type { ChunkCache, WritableUserRows } from './chunk-cache.ts';
import { errorOf, rowOf } from './error-rows.ts';
import { loadKnown } from './identities.ts';
import { addPending } from './usercache.ts';

const mostErrors = 100; // in a page
const pageSize = 16 * 2 ** 20; // characters of JSON in a page, unless its first error alone has more

export function errorTimeseries(engine: Engine, cache: ChunkCache): ErrorTimeseries {
  return {
    list: async (userId, { id, key, reason, after, limit }) => {
      const where = { user: userId, id: after === undefined ? id : { gt: after }, key, reason };
      const page = { where, order: ['id'] as const, limit: Math.min(limit, mostErrors) };
      const found: ErrorRow[] = [];
      let total = 0;
      for (const row of await engine.read((rows) => rows.find(errors, page))) {
        const { error, size } = errorOf(row);
        total += size;
        if (total > pageSize && found.length > 0) break;
        found.push(error);
      }
      return found;
    },
    count: (userId) => engine.read((rows) => rows.total(errors, { user: userId })),
    recover: async (userId, back) => {
      if (back.length === 0) return 0;
      return writeAdmitted(engine, userId, (rows) => recover({ rows, cache, user: userId }, back));
    },
    put: async (userId, list) => {
      const made = list.map((error) => rowOf(userId, error));
      const identities = list.flatMap(({ identity }) => identity ?? []);
      await writeAdmitted(engine, userId, async (rows) => {
        const known = await loadKnown({ rows, cache, user: userId }, identities);
        const isPending = ({ key, write_ts }: RejectedRow): boolean =>
          write_ts !== null && !!known.get(identityText({ key: key!, write_ts }))?.pending;
        const kept = made.filter((row) => !isPending(row));
        await rows.put(errors, kept);
      });
    },
    remove: (userId, ids, before) => {
      const where = { user: userId, id: { in: ids }, last_ts: { lt: before } };
      return writeAdmitted(engine, userId, (rows) => rows.remove(errors, where));
    },
  };
}

async function recover(own: WritableUserRows, taken: readonly RecoveredError[]): Promise<number> {
  const { rows, user } = own;
  const identities = taken.map(({ entry }): Identity => entry.metadata);
  const known = await loadKnown(own, identities);
  const where = { user, id: { in: taken.map(({ id }) => id) } };
  const columns = ['id', 'write_ts', 'first_ts', 'last_ts', 'tries', 'received_ts'] as const;
  const found = new Map((await rows.find(errors, { where }, columns)).map((row) => [row.id, row]));
  const pending = new Map<string, PendingEntry>();
  const gone: string[] = [];
  for (const { id, entry, ...read } of taken) {
    const error = found.get(id);
    if (error?.last_ts !== read.last_ts || error.tries !== read.tries) continue;
    found.delete(id);
    const name = identityText(entry.metadata);
    const before = known.get(name);
    if (error.write_ts === null && before !== undefined) {
      // If the stored entry was received after the error, the error is outdated. Otherwise the
      // error may be newer than the entry, and stays.
      if (before.received_ts > error.last_ts) gone.push(id);
      continue;
    }
    gone.push(id);
    if (before?.pending || pending.has(name)) continue;
    const { first_ts, tries, received_ts } = error;
    pending.set(name, { entry, received_ts, failed: { first_ts, tries } });
  }
  if (gone.length > 0) await rows.remove(errors, { user, id: { in: gone } });
  await addPending(own, [...pending.values()]);
  return pending.size;
}
