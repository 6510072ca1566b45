// Rows of entries, in the usercache and the timeseries, and what all queries by time share.
import type { Document } from 'mongodb';
import { dataTime, type Entry, type Metadata } from '../../model/entry.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import type { Connection } from './connection.ts';
import { rowIdentityOf } from './identities.ts';
import { knownFields, type NewRow, newRow, payloadsOf } from './rows.ts';

/** What is read of a waiting entry that is going to be replaced or to leave: `failed` is what is known of earlier failures. */
export const waitingFields = { ...knownFields, failed: 1 } as const;

/** The row of an entry. `ts` is the time by which it is found; left out where it has none. */
export function entryRow(
  collection: 'usercache' | 'timeseries',
  userId: string,
  entry: Entry,
  plain: Document,
  ts = dataTime(entry.data),
): NewRow {
  const at = rowIdentityOf(entry);
  const { metadata, data } = entry;
  return newRow(
    { in: collection, user_id: userId, at: { ...at } },
    { ...(ts === null ? {} : { ts }), ...plain },
    { metadata: metadata as unknown as JsonValue, data },
  );
}

/** The entries that rows hold, in their order. */
export async function entriesOf(connection: Connection, rows: readonly Document[]): Promise<Entry[]> {
  const metadata = await payloadsOf(connection, rows, 'metadata');
  const data = await payloadsOf(connection, rows, 'data');
  return rows.map((_, i) => ({ metadata: metadata[i] as unknown as Metadata, data: data[i] as JsonObject }));
}
