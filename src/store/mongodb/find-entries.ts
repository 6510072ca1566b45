// Pages of entries by time. Rows of each key come from the server in order; they are merged here, so that indexes need
// no order over all keys.
import type { Document, FindCursor } from 'mongodb';
import { escapeText } from '../../model/json-text.ts';
import { justAfter } from '../../model/time.ts';
import { Heap } from '../heap.ts';
import type { EntryCursor, EntryPage, EntryQuery } from '../store.ts';
import { compareEscaped } from '../text-order.ts';
import { entriesOf, receivedOf } from './entries.ts';
import { identityOfRow } from './identities.ts';
import { newPage } from './rows.ts';
import type { EntryCollection, EntryRow, Statements, UserRows } from './user-rows.ts';

/** With more keys than this the server sorts: each key costs a statement. */
const mostMerged = 32;

/** One page of entries. */
export async function findRows(from: UserRows, collection: EntryCollection, query: EntryQuery): Promise<EntryPage> {
  const all: Statements<EntryRow> = from.rows(collection);
  if (query.limit <= 0) return { entries: [], received_ts: [], next: null };
  const keys = await keysOf(all, query);
  const rows = keys.length > mostMerged ? sorted : merged;
  const page = newPage<EntryRow>(query.limit);
  let more = false;
  for await (const row of rows(all, query, keys)) {
    more = page.full;
    if (more) break;
    page.add(row);
  }
  const entries = await entriesOf(from, page.rows);
  return { entries, received_ts: page.rows.map(receivedOf), next: more ? cursorAt(page.rows.at(-1)!, query) : null };
}

function cursorAt(row: EntryRow, query: EntryQuery): EntryCursor {
  return { time: timeOf(row, query), ...identityOfRow(row) };
}

/** The keys asked for, or all keys of the user, in the form of rows. */
async function keysOf(all: Statements<EntryRow>, query: EntryQuery): Promise<string[]> {
  if (query.keys !== undefined) return [...new Set(query.keys.map(escapeText))];
  return all.distinct('key');
}

type Rows = AsyncGenerator<EntryRow>;

/** The rows of all keys, sorted by the server. */
async function* sorted(all: Statements<EntryRow>, query: EntryQuery, keys: readonly string[]): Rows {
  const { time, after, limit } = query;
  const filter: Document = { ...(query.keys && { key: { $in: keys } }), [time]: boundsOf(query) };
  if (after !== undefined) {
    const key = escapeText(after.key);
    const beyond = query.descending ? '$lt' : '$gt';
    filter.$or = [
      { [time]: { [beyond]: after.time } },
      { [time]: after.time, key: { [beyond]: key } },
      { [time]: after.time, key, write_ts: { [beyond]: after.write_ts } },
    ];
  }
  const direction = query.descending ? -1 : 1;
  const sort = [time, 'key', 'write_ts'].map((field) => [field, direction] as [string, 1 | -1]);
  const order = new Map(sort.filter(([field], i) => sort.findIndex(([other]) => other === field) === i));
  yield* all.find(filter, { sort: order, limit: limit + 1, allowDiskUse: true });
}

/** The rows of all keys: the rows of each key are read in order and merged. */
async function* merged(all: Statements<EntryRow>, query: EntryQuery, keys: readonly string[]): Rows {
  const sources = keys.map((key) => rowsOfKey(all, query, key, keys.length));
  try {
    const heads = await Promise.all(sources.map(async (source) => ({ source, row: await nextOf(source) })));
    const heap = new Heap(
      heads.filter(({ row }) => row !== null),
      (a, b) => compareRows(a.row!, b.row!, query),
    );
    for (let head = heap.first(); head !== undefined; head = heap.first()) {
      yield head.row!;
      head.row = await nextOf(head.source);
      if (head.row === null) heap.removeFirst();
      else heap.firstChanged();
    }
  } finally {
    await Promise.all(sources.map((source) => source.return(undefined)));
  }
}

/** Rows without data time are in no page by it. */
function timeOf(row: EntryRow, { time }: EntryQuery): number {
  return row[time] ?? Number.NaN;
}

function compareRows(a: EntryRow, b: EntryRow, query: EntryQuery): number {
  const order = timeOf(a, query) - timeOf(b, query) || compareEscaped(a.key, b.key) || a.write_ts - b.write_ts;
  return query.descending ? -order : order;
}

async function nextOf(rows: Rows): Promise<EntryRow | null> {
  const { done, value } = await rows.next();
  return done ? null : value;
}

/** The rows of one key after the cursor of the query, in order. */
async function* rowsOfKey(all: Statements<EntryRow>, query: EntryQuery, key: string, sources: number): Rows {
  const { time, after, limit, descending } = query;
  const direction = descending ? -1 : 1;
  const sort = (time === 'ts' ? { ts: direction, write_ts: direction } : { write_ts: direction }) as Record<string, 1>;
  const batchSize = Math.max(Math.ceil((limit + 1) / sources), 20);
  const read = (bounds: Document): FindCursor<EntryRow> =>
    all.find({ key, ...bounds }, { sort, limit: limit + 1, batchSize });
  if (after === undefined) {
    yield* read({ [time]: boundsOf(query) });
    return;
  }
  const order = compareEscaped(key, escapeText(after.key)) * direction;
  if (order === 0 && time === 'ts' && isInRange(after.time, query)) {
    yield* read({ ts: after.time, write_ts: { [descending ? '$lt' : '$gt']: after.write_ts } });
  }
  yield* read({ [time]: boundsOf(query, after.time, order > 0 || (order === 0 && isBeyondItself(query))) });
}

/**
 * By `write_ts`: whether the entry of the cursor's key and time comes after the cursor, whose `write_ts` may be
 * another.
 */
function isBeyondItself({ time, after, descending }: EntryQuery): boolean {
  if (time !== 'write_ts' || after === undefined) return false;
  return descending ? after.time < after.write_ts : after.time > after.write_ts;
}

function isInRange(time: number, { from, to }: EntryQuery): boolean {
  return (from === undefined || time >= from) && (to === undefined || time < to);
}

/** Bounds of the time, the upper one never included: those of the query, and beyond `after` in its order. */
function boundsOf({ from, to, descending }: EntryQuery, after?: number, included = false): Document {
  const lower = from ?? Number.NEGATIVE_INFINITY;
  const upper = to ?? Number.POSITIVE_INFINITY;
  if (after !== undefined && descending) {
    return { $gte: lower, $lt: Math.min(upper, included ? justAfter(after) : after) };
  }
  if (after === undefined || after < lower) return { $gte: lower, $lt: upper };
  return { [included ? '$gte' : '$gt']: after, $lt: upper };
}
