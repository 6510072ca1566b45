// Converting a store that an earlier version wrote, user by user, ahead of their use.
import { everyUser } from '../store/pages.ts';
import type { Store } from '../store/store.ts';

/** Users and entries. */
export interface ConvertedCount {
  users: number;
  entries: number;
}

/** What a conversion did, and what it left because it was interrupted, or was a dry run. */
export interface StoreConversion {
  converted: ConvertedCount;
  left: ConvertedCount;
}

/** What a conversion gets from outside. */
export interface ConversionOptions {
  /** Only counts. */
  dryRun?: boolean;
  /** Ends the conversion after the transaction in work. */
  signal?: AbortSignal;
  /** Called after each user who had something to convert. */
  onUser?: (name: string, entries: number) => void;
}

/**
 * Brings the entries of all users into the form of today, while the store is in use. An interruption loses nothing: the
 * next conversion goes on.
 */
export async function convertStore(
  store: Pick<Store, 'users' | 'timeseries'>,
  { dryRun = false, signal, onUser }: ConversionOptions = {},
): Promise<StoreConversion> {
  const converted: ConvertedCount = { users: 0, entries: 0 };
  const left: ConvertedCount = { users: 0, entries: 0 };
  for await (const { uuid, user_email } of everyUser(store)) {
    if (!dryRun && signal?.aborted !== true) {
      const entries = await store.timeseries.convert(uuid, signal);
      if (entries > 0) {
        add(converted, entries);
        onUser?.(user_email, entries);
      }
    }
    const older = dryRun || signal?.aborted === true ? await store.timeseries.older(uuid) : 0;
    if (older > 0) add(left, older);
  }
  return { converted, left };
}

function add(count: ConvertedCount, entries: number): void {
  count.users += 1;
  count.entries += entries;
}
