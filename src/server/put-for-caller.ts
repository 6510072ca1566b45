// Stores what callers send. Routes and pages store entries only through this, so that every limit of a caller applies.
import type { CheckedEntry } from '../intake/check-entry.ts';
import { type PutCheckedOptions, putChecked } from '../intake/put-batch.ts';
import type { Log } from '../log/log.ts';
import type { PutCounts } from '../log/messages.ts';
import type { UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { type CallerLimiter, limitCorrections } from './caller-limits.ts';

/** The sender, and how to store the entries. A form of a page has no `sentWith`, and is not recorded in the profile. */
interface SentBy extends Pick<PutCheckedOptions, 'sentWith' | 'inProfile' | 'receipts' | 'onStored'> {
  user: UserRecord;
  log: Log;
}

/**
 * Stores checked values of a caller. Rejects entries beyond the limits of keys, statements and corrections. Throws a
 * 429 `Problem`, and stores nothing, if too many entries would be pending or rejected.
 */
export async function putForCaller(
  { store, limiter, now }: { store: Store; limiter: CallerLimiter; now: () => number },
  { user, ...options }: SentBy,
  checked: readonly CheckedEntry[],
): Promise<PutCounts> {
  await limiter.countEntries(user, checked.length, store);
  const withinKeys = await limiter.limitKeys(user, checked, store);
  const withinStatements = await limiter.limitStatements(user, withinKeys, store);
  try {
    const allowed = await limitCorrections(user.uuid, withinStatements.allowed, store);
    const mostLines = limiter.countLines(user.uuid, checked.length);
    return await putChecked(user.uuid, allowed, { store, now, mostLines, ...options });
  } catch (error) {
    withinStatements.uncount();
    throw error;
  }
}
