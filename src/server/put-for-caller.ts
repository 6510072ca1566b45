// Stores what callers send. Routes and pages store entries only through this, so that every limit of a caller applies.
import type { Taken } from '../intake/check-entry.ts';
import { putTaken, type TakenOptions } from '../intake/put-batch.ts';
import type { Log } from '../log/log.ts';
import type { PutCounts } from '../log/messages.ts';
import type { UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { type CallerCounts, limitCorrections } from './caller-limits.ts';

/** The sender, and how to store the entries. A form of a page has no `sentWith`, and is not recorded in the profile. */
interface SentBy extends Pick<TakenOptions, 'sentWith' | 'inProfile' | 'receipts' | 'onStored'> {
  user: UserRecord;
  log: Log;
}

/**
 * Stores checked values of a caller. Rejects entries beyond the limits of keys, statements and corrections. Throws a
 * 429 `Problem`, and stores nothing, if too many entries would be pending or rejected.
 */
export async function putForCaller(
  { store, counts, now }: { store: Store; counts: CallerCounts; now: () => number },
  { user, ...options }: SentBy,
  taken: readonly Taken[],
): Promise<PutCounts> {
  await counts.countEntries(user, taken.length, store);
  const withinKeys = await counts.limitKeys(user, taken, store);
  const withinStatements = await counts.limitStatements(user, withinKeys, store);
  try {
    const allowed = await limitCorrections(user.uuid, withinStatements.allowed, store);
    const mostLines = counts.countLines(user.uuid, taken.length);
    return await putTaken(user.uuid, allowed, { store, now, mostLines, ...options });
  } catch (error) {
    withinStatements.uncount();
    throw error;
  }
}
