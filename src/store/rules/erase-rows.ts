import type { Engine, Rows, Table } from '../rows/rows.ts';
import * as tables from '../rows/tables.ts';
import type { Collection, Erasure, Unfinished } from '../store.ts';
import { accountOf, released } from './accounts.ts';
import type { ChunkCache } from './chunk-cache.ts';
import { keepErasedTokens } from './people.ts';

type Counts = Record<Collection, number>;

/** Rows per transaction. Puts of other users wait during a transaction. */
const rowsAtOnce = 200;

export function countsOf(engine: Engine, user: string): Promise<Counts> {
  return engine.read(async (rows) => ({
    usercache: await rows.total(tables.batches, { user }, 'count'),
    documents: await rows.total(tables.documents, { user }),
    errors: await rows.total(tables.errors, { user }),
    profiles: await rows.total(tables.profiles, { user }),
    timeseries: await rows.total(tables.chunks, { user }, 'count'),
    trips: await rows.total(tables.trips, { user }),
    tokens: await rows.total(tables.tokens, { user }),
    users: await rows.total(tables.people, { uuid: user }),
  }));
}

/**
 * The first transaction removes the tokens, so that no phone has access, and lets the store refuse
 * writes about the user. The last removes the row in `people`: an erasure can be repeated till then.
 */
export async function erase(engine: Engine, cache: ChunkCache, userId: string, how: Erasure = {}): Promise<Counts> {
  const removed = await countsOf(engine, userId);
  await engine.write(userId, async (rows) => {
    const account = await accountOf(rows, userId);
    if (account !== null) await rows.put(tables.accounts, [{ ...released(account), stage: 'erasing' }]);
    await keepErasedTokens(rows, userId);
    await rows.remove(tables.tokens, { user: userId });
  });
  for (const table of tables.userTables as readonly Table<{ user: string }>[]) {
    while ((await engine.write(userId, (rows) => rows.remove(table, { user: userId }, rowsAtOnce))) === rowsAtOnce);
  }
  cache.forget(userId);
  if (how.keepRecord) return removed;
  await engine.write(null, async (rows) => {
    await rows.remove(tables.people, { uuid: userId });
    await rows.remove(tables.arrivals, { user: userId });
    await rows.remove(tables.accounts, { user: userId });
  });
  if (!how.keepTraces) await engine.forget();
  return removed;
}

export async function unfinished(rows: Rows): Promise<Unfinished[]> {
  const where = { stage: { in: ['erasing', 'arriving'] } };
  const found = await rows.find(tables.accounts, { where, order: ['user'] }, ['user', 'stage']);
  return found.map(({ user, stage }) => ({ user_id: user, stage: stage as Unfinished['stage'] }));
}
