// The entries of a user as streams in order, key by key, read page by page through the Store interface.
import type { Entry } from '../../model/entry.ts';
import { entryPages } from '../../store/pages.ts';
import type { Store, WaitingEntry } from '../../store/store.ts';

const pageSize = 500;

/** Keys of waiting entries. One look for each. */
export async function waitingKeys(store: Store, userId: string): Promise<string[]> {
  const keys: string[] = [];
  for (;;) {
    const after = keys.length === 0 ? {} : { after: { key: keys.at(-1)!, write_ts: Number.POSITIVE_INFINITY } };
    const [first] = await store.usercache.read(userId, { ...after, limit: 1 });
    if (first === undefined) return keys;
    keys.push(first.entry.metadata.key);
  }
}

/** Waiting entries of one key by `write_ts`. */
export async function* waitingOf(store: Store, userId: string, key: string): AsyncGenerator<WaitingEntry> {
  for (let write_ts = Number.NEGATIVE_INFINITY; ; ) {
    const page = await store.usercache.read(userId, { after: { key, write_ts }, limit: pageSize });
    for (const row of page) {
      if (row.entry.metadata.key !== key) return;
      yield row;
    }
    if (page.length === 0) return;
    write_ts = page.at(-1)!.entry.metadata.write_ts;
  }
}

/** Keys of the timeseries. */
export async function timeseriesKeys(store: Store, userId: string): Promise<string[]> {
  return (await store.timeseries.summary(userId)).map(({ key }) => key);
}

/** An entry of the timeseries, and when the service received it first. */
export interface Received {
  entry: Entry;
  received_ts: number;
}

/** Entries of the timeseries of one key by `write_ts`. */
export async function* timeseriesOf(store: Store, userId: string, key: string): AsyncGenerator<Received> {
  for await (const page of entryPages(store.timeseries, userId, { keys: [key], time: 'write_ts' })) {
    for (const [i, entry] of page.entries.entries()) yield { entry, received_ts: page.received_ts[i]! };
  }
}
