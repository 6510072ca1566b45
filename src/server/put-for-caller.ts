// Stores what callers send. Routes and pages store entries only through this, so that every limit of a caller applies.
import type { Taken } from '../intake/check-entry.ts';
import { putTaken } from '../intake/put-batch.ts';
import type { Log } from '../log/log.ts';
import type { PutCounts } from '../log/messages.ts';
import type { Entry } from '../model/entry.ts';
import type { UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { type CallerCounts, withinCorrections } from './caller-limits.ts';

/** The sender, and how to store the entries. */
export interface SentBy {
  user: UserRecord;
  log: Log;
  /** The id of the token. null: tokens are user names. Missing: the entries come from a form of a page. */
  sentWith?: string | null;
  /** False for a form of a page: the profile records only when phones sent entries. */
  inProfile?: boolean;
  /** When another service first received an entry, seconds since the epoch. */
  receipts?: ReadonlyMap<Entry, number>;
}

/**
 * Stores checked values of a caller. Resolves when all of them are durable. Rejects entries beyond the limits of keys,
 * statements and corrections. Throws a 429 `Problem`, and stores nothing, if too many entries would be pending or
 * rejected.
 */
export async function putForCaller(
  { store, counts, now }: { store: Store; counts: CallerCounts; now: () => number },
  { user, ...options }: SentBy,
  taken: readonly Taken[],
): Promise<PutCounts> {
  await counts.entries(user, taken.length, store);
  const ofKeys = await counts.keys(user, taken, store);
  const stated = await counts.statements(user, ofKeys, store);
  try {
    const allowed = await withinCorrections(user.uuid, stated.allowed, store);
    const mostLines = counts.lines(user.uuid, taken.length);
    return await putTaken(user.uuid, allowed, { store, now, mostLines, ...options });
  } catch (error) {
    stated.forget();
    throw error;
  }
}
