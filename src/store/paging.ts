import type { Entry, Identity } from '../model/entry.ts';
import { justAfter } from '../model/time.ts';
import type { TripRecord } from '../model/trip.ts';
import type { UserRecord } from '../model/user.ts';
import { withFields } from '../model/with-fields.ts';
import { everyOf } from '../util/parts-of.ts';
import { startSlices } from '../util/slices.ts';
import type { EntryPage, EntryQuery, ErrorRow, Store, Trips, Usercache } from './store.ts';

/** Rows per request. Links are large: each holds the whole path of its trip. */
const pageSizes = { users: 500, entries: 500, errors: 500, links: 50 };

/** The usercache or the timeseries. */
export type EntryStore = Pick<Usercache, 'find'>;

export type EntrySelection = Omit<EntryQuery, 'limit'> & { limit?: number };

type Sequence<T> = AsyncGenerator<T, undefined>;

export async function hasEntry(
  { usercache, timeseries }: Pick<Store, 'usercache' | 'timeseries'>,
  userId: string,
  { key, write_ts }: Identity,
): Promise<boolean> {
  const query = { time: 'write_ts', from: write_ts, to: justAfter(write_ts), keys: [key], limit: 1 } as const;
  const { entries } = await timeseries.find(userId, query);
  return entries.length > 0 || (await usercache.find(userId, query)).entries.length > 0;
}

/** Yields the registered users in order of UUID. */
export function everyUser({ users }: Pick<Store, 'users'>, { limit = pageSizes.users } = {}): Sequence<UserRecord> {
  return everyOf(limit, (last) => users.list({ after: last?.uuid, limit }));
}

/** Yields the entries of a query part by part. */
export async function* entryPages(store: EntryStore, userId: string, selection: EntrySelection): Sequence<EntryPage> {
  const query: EntryQuery = withFields(selection, { limit: selection.limit ?? pageSizes.entries });
  const slices = startSlices();
  let page = await store.find(userId, query);
  for (;;) {
    yield page;
    if (page.next === null) return;
    // An embedded store answers at once. Without a pause a long history would block the event loop.
    if (slices.isOver()) await slices.next();
    page = await store.find(userId, withFields(query, { after: page.next }));
  }
}

/** Yields the entries of a query one by one. */
export async function* everyEntry(...args: Parameters<typeof entryPages>): Sequence<Entry> {
  for await (const { entries } of entryPages(...args)) yield* entries;
}

/** Yields the errors of a user by id, part by part. */
export async function* errorPages(
  { errors }: Pick<Store, 'errors'>,
  userId: string,
  { limit = pageSizes.errors, ...which }: { key?: string; reason?: string; limit?: number } = {},
): Sequence<ErrorRow[]> {
  for (let after: string | undefined; ; ) {
    const page = await errors.list(userId, { ...which, after, limit });
    if (page.length === 0) return;
    yield page;
    after = page.at(-1)!.id;
  }
}

/** Yields the errors of a user in order of id. */
export async function* everyError(...args: Parameters<typeof errorPages>): Sequence<ErrorRow> {
  for await (const page of errorPages(...args)) yield* page;
}

/** Yields the links of the chain of trips by `chain_ts`, in `[from, to)` if given. */
export function everyLink(
  { trips }: { trips: Pick<Trips, 'chain'> },
  userId: string,
  { from = Number.NEGATIVE_INFINITY, to, limit = pageSizes.links }: { from?: number; to?: number; limit?: number } = {},
): Sequence<TripRecord> {
  return everyOf(limit, (last) => {
    return trips.chain(userId, { from: last === undefined ? from : justAfter(last.chain_ts), to, limit });
  });
}
