// Entries by one of their two times: a merge of one index range per key, so that a page costs what it holds. The one
// exception is the data time of waiting entries: an index for it would slow every put, so those of a key are sorted for
// each page.
import type { Entry } from '../../model/entry.ts';
import type { EntryCursor, EntryPage, EntryQuery } from '../store.ts';
import { compareTexts } from '../text-order.ts';
import type { StoreFile } from './file.ts';
import { type ChunkPlace, comparePoints, type OrderPoint, placesBehind, readPlace } from './find-chunks.ts';
import { userIn } from './ids.ts';
import { largeEntry, pageBytes, parseEntry, type SizedEntry, sizedEntry } from './rows.ts';

/** The tables that hold entries by user and key. */
export type EntryTable = 'waiting' | 'chunks';

/** A row of `waiting`. */
interface WaitingRow extends SizedEntry {
  received_ts: number;
  time: number;
  write_ts: number;
  id: number;
}

type Row = WaitingRow | ChunkPlace;

/** The rows of one key that are still to come. */
interface Source {
  key: string;
  id: number;
  rows: Row[];
  next: number;
  /** False when the file has no more rows than those in `rows`. */
  more: boolean;
  /** Rows come strictly beyond this point of time and write_ts. */
  bound: OrderPoint;
}

const mostRows = 256; // read ahead of one key
const mostKeysReadAhead = 64; // with more keys than that, rows ahead come without their entries

/** Numbers of the keys of a user in a table: one step in the index for each, whatever their rows. */
export function keysOf(file: StoreFile, table: EntryTable, user: number): number[] {
  const step = file.sql(`SELECT min(key) AS key FROM ${table} WHERE user = ? AND key > ?`);
  const found: number[] = [];
  for (let last = -1; ; last = found.at(-1)!) {
    const key = step.get<{ key: number | null }>(user, last)?.key ?? null;
    if (key === null) return found;
    found.push(key);
  }
}

/** Names and numbers of the keys that a query asks for and the file knows, by name. */
export function chosenKeys(
  file: StoreFile,
  table: EntryTable,
  user: number,
  names?: readonly string[],
): { key: string; id: number }[] {
  const keys =
    names === undefined
      ? keysOf(file, table, user).map((id) => ({ key: file.keys.nameOf(id), id }))
      : [...new Set(names)].flatMap((key) => {
          const id = file.keys.find(key);
          return id === null ? [] : [{ key, id }];
        });
  return keys.sort((a, b) => compareTexts(a.key, b.key));
}

/** One page of a query. Inside `read` only. */
export function findPage(file: StoreFile, table: EntryTable, userId: string, query: EntryQuery): EntryPage {
  const user = userIn(file, userId);
  if (user === null || query.limit < 1) return { entries: [], received_ts: [], next: null };
  const keys = chosenKeys(file, table, user, query.keys);
  const ahead = Math.max(1, Math.min(mostRows, Math.ceil((2 * query.limit) / keys.length), query.limit + 1));
  const refill =
    table === 'chunks' ? chunkReader(file, user, query, ahead) : waitingReader(file, user, query, ahead, keys.length);
  const sources = keys.map(({ key, id }): Source => {
    return { key, id, rows: [], next: 0, more: true, bound: firstBound(query, key) };
  });
  return merge(sources, query, refill, (row) => ('place' in row ? readPlace(file, row) : readWaiting(file, row)));
}

function readWaiting(file: StoreFile, { entry, id, received_ts }: WaitingRow): { text: string; received_ts: number } {
  const text = entry ?? file.sql('SELECT entry FROM waiting WHERE id = ?').get<{ entry: string }>(id)!.entry;
  return { text, received_ts };
}

/** Where the rows of a key begin: at the range, or after the cursor, whose key may stand before or after this one. */
function firstBound({ from, to, after, descending }: EntryQuery, key: string): OrderPoint {
  const edge = descending
    ? { time: to ?? Number.POSITIVE_INFINITY, write_ts: Number.NEGATIVE_INFINITY }
    : { time: from ?? Number.NEGATIVE_INFINITY, write_ts: Number.NEGATIVE_INFINITY };
  if (after === undefined) return edge;
  const order = compareTexts(key, after.key);
  const write_ts = order === 0 ? after.write_ts : order < 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  const start = { time: after.time, write_ts };
  const sign = descending ? -1 : 1;
  return sign * comparePoints(start, edge) > 0 ? start : edge;
}

/** A function that reads the next rows of a source. */
type Refill = (source: Source) => void;

function refillWith(read: (id: number, bound: OrderPoint) => Row[], ahead: number): Refill {
  return (source) => {
    source.rows = read(source.id, source.bound);
    source.next = 0;
    source.more = source.rows.length === ahead;
    const last = source.rows.at(-1);
    if (last !== undefined) source.bound = { time: last.time, write_ts: last.write_ts };
  };
}

function chunkReader(file: StoreFile, user: number, query: EntryQuery, ahead: number): Refill {
  return refillWith((key, bound) => placesBehind(file, user, key, query, bound, ahead), ahead);
}

function waitingReader(file: StoreFile, user: number, query: EntryQuery, ahead: number, keys: number): Refill {
  const { time, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, descending } = query;
  const inline = keys > mostKeysReadAhead ? 0 : largeEntry;
  const statement = file.sql(`
    SELECT ${time} AS time, write_ts, received_ts, id, ${sizedEntry(inline)} FROM waiting
    WHERE user = ? AND key = ?
      AND ${descending ? `${time} >= ? AND ${time} <= ?` : `${time} < ? AND ${time} >= ?`}
      AND (${time}, write_ts) ${descending ? '<' : '>'} (?, ?)
    ORDER BY ${time} ${descending ? 'DESC, write_ts DESC' : ', write_ts'} LIMIT ${ahead}`);
  const end = descending ? from : to;
  return refillWith(
    (key, bound) => statement.all<WaitingRow>(user, key, end, bound.time, bound.time, bound.write_ts),
    ahead,
  );
}

function merge(
  sources: Source[],
  { limit, descending }: EntryQuery,
  refill: Refill,
  read: (row: Row) => { text: string; received_ts: number },
): EntryPage {
  const entries: Entry[] = [];
  const received_ts: number[] = [];
  const sign = descending ? -1 : 1;
  let last: EntryCursor | null = null;
  for (let bytes = 0; ; ) {
    const source = nextSource(sources, sign, refill);
    if (source === null) return { entries, received_ts, next: null };
    const row = source.rows[source.next]!;
    if (entries.length >= limit) return { entries, received_ts, next: last };
    const found = read(row);
    bytes += found.text.length;
    if (entries.length > 0 && bytes > pageBytes) return { entries, received_ts, next: last };
    source.next++;
    entries.push(parseEntry(found.text));
    received_ts.push(found.received_ts);
    last = { time: row.time, key: source.key, write_ts: row.write_ts };
  }
}

/** The source whose row is next; sources that have no more rows are dropped from the list. */
function nextSource(sources: Source[], sign: number, refill: Refill): Source | null {
  let best: Source | null = null;
  for (let i = 0; i < sources.length; i++) {
    const source = sources[i]!;
    if (source.next >= source.rows.length) {
      if (source.more) refill(source);
      if (source.rows.length === source.next) {
        sources.splice(i--, 1);
        continue;
      }
    }
    if (best === null || sign * compareSources(source, best) < 0) best = source;
  }
  return best;
}

function compareSources(a: Source, b: Source): number {
  return a.rows[a.next]!.time - b.rows[b.next]!.time || compareTexts(a.key, b.key);
}
