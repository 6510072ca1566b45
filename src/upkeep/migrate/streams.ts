// Everything of a user as streams of rows in order, read page by page through the Store interface.
import type { Entry } from '../../model/entry.ts';
import { justAfter } from '../../model/time.ts';
import type { TripRecord } from '../../model/trip.ts';
import type { UserRecord } from '../../model/user.ts';
import type { EntryCursor, ErrorRow, Store, WaitingEntry } from '../../store/store.ts';

const pageSize = 500;
const linksAtOnce = 50; // a link holds the whole line of its trip

/** Registered users by UUID. */
export async function* usersOf(store: Store): AsyncGenerator<UserRecord> {
  for (let after: string | undefined; ; ) {
    const page = await store.users.list({ ...(after !== undefined && { after }), limit: pageSize });
    if (page.length === 0) return;
    yield* page;
    after = page.at(-1)!.uuid;
  }
}

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

/** Entries of the timeseries of one key by `write_ts`. */
export async function* timeseriesOf(store: Store, userId: string, key: string): AsyncGenerator<Entry> {
  for (let after: EntryCursor | null = null; ; ) {
    const query = { keys: [key], time: 'write_ts', limit: pageSize } as const;
    const page = await store.timeseries.find(userId, after === null ? query : { ...query, after });
    yield* page.entries;
    if (page.next === null) return;
    after = page.next;
  }
}

/** Errors by id. */
export async function* errorsOf(store: Store, userId: string): AsyncGenerator<ErrorRow> {
  for (let after: string | undefined; ; ) {
    const page = await store.errors.list(userId, { ...(after !== undefined && { after }), limit: pageSize });
    if (page.length === 0) return;
    yield* page;
    after = page.at(-1)!.id;
  }
}

/** Links of the chain of trips by `chain_ts`. */
export async function* linksOf(store: Store, userId: string): AsyncGenerator<TripRecord> {
  for (let from = Number.NEGATIVE_INFINITY; ; ) {
    const page = await store.trips.chain(userId, { from, limit: linksAtOnce });
    if (page.length === 0) return;
    yield* page;
    from = justAfter(page.at(-1)!.chain_ts);
  }
}
