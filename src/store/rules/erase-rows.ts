// Erases a user, and counts the rows of a user.
import type { Engine, Rows, Table } from '../rows/rows.ts';
import {
  accounts,
  arrivals,
  batches,
  chunks,
  documents,
  errors,
  people,
  places,
  profiles,
  tokens,
  trips,
} from '../rows/tables.ts';
import type { Collection, Erasure, Unfinished } from '../store.ts';
import { accountOf, released } from './accounts.ts';
import type { ChunkCache } from './chunk-cache.ts';
import { keepErasedTokens } from './erased-tokens.ts';

type Counts = Record<Collection, number>;

/** Tables with rows of a user, in the order of an erasure. `column`: holds the number of entries of a row. */
const tables = [
  { collection: 'usercache', table: batches, column: 'count' },
  { collection: 'documents', table: documents },
  { collection: 'errors', table: errors },
  { collection: 'profiles', table: profiles },
  { collection: 'timeseries', table: chunks, column: 'count' },
  { collection: 'trips', table: trips },
] as unknown as { collection: Collection; table: Table<{ user: string }>; column?: 'user' }[];

/** Rows per transaction of an erasure. Puts of other users wait during a transaction. */
const rowsAtOnce = 200;

/** The number of entries or rows of a user in each collection. */
export function countsOf(engine: Engine, userId: string): Promise<Counts> {
  return engine.read(async (rows) => {
    const counts = {} as Counts;
    for (const { collection, table, column } of tables) {
      counts[collection] = await rows.total(table, { user: userId }, column);
    }
    counts.tokens = await rows.total(tokens, { user: userId });
    counts.users = await rows.total(people, { uuid: userId });
    return counts;
  });
}

/**
 * Removes a user. The tokens are removed first, so that no phone has access any more. The row in `people` is removed
 * last, so that an interrupted erasure can be repeated. As soon as it begins, the store refuses writes about the
 * user.
 */
export async function erase(
  engine: Engine,
  cache: ChunkCache,
  userId: string,
  { keepRecord = false, keepTraces = false }: Erasure = {},
): Promise<Counts> {
  const removed = await countsOf(engine, userId);
  await engine.write(userId, async (rows) => {
    const account = await accountOf(rows, userId);
    if (account !== null) await rows.put(accounts, [{ ...released(account), stage: 'erasing' }]);
    await keepErasedTokens(rows, userId);
    await rows.remove(tokens, { user: userId });
    await rows.remove(places, { user: userId });
  });
  for (const { table } of tables) {
    while ((await engine.write(userId, (rows) => rows.remove(table, { user: userId }, rowsAtOnce))) === rowsAtOnce);
  }
  cache.forget(userId);
  if (keepRecord) return removed;
  await engine.write(null, async (rows) => {
    await rows.remove(people, { uuid: userId });
    await rows.remove(arrivals, { user: userId });
    await rows.remove(accounts, { user: userId });
  });
  if (!keepTraces) await engine.forget();
  return removed;
}

/** See `Store.unfinished`. */
export async function unfinished(rows: Rows): Promise<Unfinished[]> {
  const where = { stage: { in: ['erasing', 'arriving'] } };
  const found = await rows.find(accounts, { where, order: ['user'] }, ['user', 'stage']);
  return found.map(({ user, stage }) => ({ user_id: user, stage: stage as Unfinished['stage'] }));
}
