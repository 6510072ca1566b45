// Rows of entries, in the usercache and the timeseries, and what all queries by time share.
import type { Document } from 'mongodb';
import { dataTime, type Entry, type Metadata } from '../../model/entry.ts';
import type { JsonObject } from '../../model/json.ts';
import { rowIdentityOf } from './identities.ts';
import { type NewRow, newRow, payloadsOf } from './rows.ts';
import type { EntryCollection, EntryRow, UserRows } from './user-rows.ts';

/** The row of an entry. `ts` is the time by which it is found; left out where it has none. */
export function entryRow(
  collection: EntryCollection,
  userId: string,
  entry: Entry,
  plain: Document,
  ts = dataTime(entry.data),
): NewRow {
  const { metadata, data } = entry;
  const at = { ...rowIdentityOf(entry) };
  return newRow(collection, userId, at, { ...(ts === null ? {} : { ts }), ...plain }, { metadata, data });
}

/**
 * When the service received an entry first. A row of a program that did not note it counts as received when it was
 * written.
 */
export function receivedOf({ received_ts, revision }: Pick<EntryRow, 'received_ts' | 'revision'>): number {
  return received_ts ?? revision.getTimestamp().getTime() / 1000;
}

/** The entries that rows hold, in their order. */
export async function entriesOf(from: UserRows, rows: readonly EntryRow[]): Promise<Entry[]> {
  const metadata = await payloadsOf<Metadata>(from, rows, 'metadata');
  const data = await payloadsOf<JsonObject>(from, rows, 'data');
  return rows.map((_, i) => ({ metadata: metadata[i]!, data: data[i]! }));
}
