// Stores entries of the timeseries in chunks. All entries of a chunk have the same user, key, UTC day of
// `write_ts` and span of data times.
//
//     entries (write_ts, ts)         chunks of key background/location
//     May 1 09:00, May 1 09:00       May 1: 09:00, 18:00
//     May 1 18:00, May 1 17:59
//     May 1 20:00, March 3 12:00     May 1: 20:00, its data time lies in another span of 30 days
//     May 2 07:00, May 2 07:00       May 2: 07:00
import type { JsonObject } from '../../model/json.ts';
import { affectsOf } from '../../model/keys.ts';
import { zoneNamed } from '../../model/time.ts';
import { columnsText, listOf } from '../../util/column-codec.ts';
import type { ChunkRow } from '../rows/tables.ts';
import { type StoredEntry, splitFacts, withFacts } from './chunk-facts.ts';
import { inParts, packText, spanOf, unpackText } from './pack.ts';

export type { StoredEntry } from './chunk-facts.ts';

/** Entries by ascending `write_ts`. `size`: characters of their JSON. */
export interface StoredEntries {
  readonly list: readonly StoredEntry[];
  readonly size: number;
}

/** s. A chunk covers one UTC day of `write_ts` at most. */
export const chunkDay = 86_400;

/** s. The data times of a chunk lie in one span of this length, so a search reads few chunks. */
export const chunkSpan = 30 * 86_400;

const mostEntries = 2_000; // per chunk

/** Names the day and span of an entry. Entries may share a chunk if key and name are equal. */
export function chunkOf({ write_ts, ts }: StoredEntry): string {
  return `${Math.floor(write_ts / chunkDay)} ${spanIndexOf(ts)}`;
}

export function spanIndexOf(ts: number | null): number | null {
  return ts === null ? null : Math.floor(ts / chunkSpan);
}

export interface WrittenChunk {
  row: ChunkRow;
  entries: StoredEntries;
}

/** Makes chunks of ascending entries with one `chunkOf`: usually one chunk, see `inParts`. */
export function chunkRows(user: string, key: string, list: readonly StoredEntry[]): WrittenChunk[] {
  const textOf = (part: readonly StoredEntry[]): string => columnsText(part as unknown as readonly JsonObject[]);
  return inParts(list, mostEntries, textOf, (part, text) => {
    const zoned = part.filter(({ entry }) => zoneNamed(entry) !== null).length;
    const row = {
      user,
      key,
      first: part[0]!.write_ts,
      last: part.at(-1)!.write_ts,
      ...spanOf(part.map(({ ts }) => ts)),
      count: part.length,
      zoned,
      zoneless: affectsOf(key) === 'trips' ? part.length - zoned : 0,
      entries: withFacts(key, part, packText(text)),
    };
    return { row, entries: { list: part, size: text.length } };
  });
}

/** Fields that every read of entries needs. */
const ownFields = ['write_ts', 'ts', 'received_ts', 'key'];

/** Unpacks entries. `fields`: see `EntryQuery.fields`. Throws if the bytes are damaged. */
export function entriesOf(row: Pick<ChunkRow, 'entries'>, fields?: readonly string[]): StoredEntries {
  const text = unpackText(splitFacts(row.entries).packed);
  const list = listOf(text, fields && new Set([...ownFields, ...fields]));
  return { list: list as unknown as StoredEntry[], size: text.length };
}
