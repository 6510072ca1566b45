// Pages of entries in chunks by one of their two times. One statement gives the next chunks of all keys that are asked
// for; a page ends where a chunk that was not read may begin.
import type { Document } from 'mongodb';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import { justAfter } from '../../model/time.ts';
import { firstBound, firstPlace, type OrderPoint } from '../chunks/chunk.ts';
import { type Collector, PickedEntries, WholeEntries } from '../chunks/collect.ts';
import { earliestBeside, latestBeside } from '../chunks/edit.ts';
import { runsIn } from '../chunks/runs.ts';
import type { EntryCursor, EntryFields, EntryPage, EntryQuery, EntryVisitor, PickedPage, PickQuery } from '../store.ts';
import { compareTexts } from '../text-order.ts';
import { openChunks, type RowChunk } from './chunk-rows.ts';
import type { ChunkDocument, UserRows } from './user-rows.ts';

/** Entries that a chunk is expected to have: decides how many are asked for at first. */
const usualCount = 128;
const mostChunks = 256;

/** A page made of fewer chunks is read anew with more of them rather than be short. */
const fewChunks = 32;

/** Characters of a page, as for rows. */
const charactersOfPage = 32 * 2 ** 20;

/** One page of entries. */
export async function findInChunks(from: UserRows, query: EntryQuery): Promise<EntryPage> {
  const into = new WholeEntries();
  const next = await collectPage(from, query, into);
  return { entries: into.entries, received_ts: into.received_ts, next };
}

/** What `read` makes of one page of entries. */
export async function pickInChunks<Picked>(
  from: UserRows,
  query: PickQuery,
  fields: EntryFields,
  read: EntryVisitor<Picked>,
): Promise<PickedPage<Picked>> {
  const into = new PickedEntries(fields, read);
  const next = await collectPage(from, query, into);
  return { picked: into.picked, next };
}

/** Returns where the next page begins. */
async function collectPage(from: UserRows, query: PickQuery, into: Collector): Promise<EntryCursor | null> {
  if (query.limit < 1 || query.keys?.length === 0) return null;
  const keys = await keysAsked(from, query);
  if (keys.length === 0) return null;
  for (let wanted = Math.min(keys.length + Math.ceil(query.limit / usualCount) + 1, mostChunks); ; wanted *= 2) {
    const documents = await nextDocuments(from, query, keys, wanted);
    const chunks = await openChunks(from, documents);
    const edge = documents.length < wanted ? null : edgeOf(documents.at(-1)!, query);
    const page = collectFrom(chunks, query, edge, into, wanted < fewChunks ? query.limit : 1);
    if (page !== null) return page.next;
  }
}

/** In the form of rows. */
async function keysAsked(from: UserRows, { keys }: EntryQuery): Promise<string[]> {
  return keys === undefined ? from.rows('chunks').distinct('key') : [...new Set(keys.map(escapeText))];
}

/** The fields of the least and the greatest time of a chunk. */
function fieldsOf({ time }: EntryQuery): ['first_ts', 'last_ts'] | ['first', 'last'] {
  return time === 'ts' ? ['first_ts', 'last_ts'] : ['first', 'last'];
}

/**
 * The next chunks that may have entries of the page: by their least time, or, descending, by their greatest. No chunk
 * spans more than `widestSpan`, so that both ends are bounded in the index.
 */
async function nextDocuments(
  from: UserRows,
  query: EntryQuery,
  keys: readonly string[],
  limit: number,
): Promise<ChunkDocument[]> {
  const [low, high] = fieldsOf(query);
  const { after, descending } = query;
  let { from: start = -Number.MAX_VALUE, to: end = Number.MAX_VALUE } = query;
  if (after !== undefined && descending) end = Math.min(end, after.time);
  if (after !== undefined && !descending) start = Math.max(start, after.time);
  const filter: Document = {
    key: keys.length === 1 ? keys[0]! : { $in: keys },
    [low]: { $gte: earliestBeside(start), $lt: justAfter(end) },
    [high]: { $gte: start, $lte: latestBeside(end) },
  };
  const sort: Record<string, 1 | -1> = descending ? { [high]: -1 } : { [low]: 1 };
  return from
    .rows('chunks')
    .find(filter, { sort, limit, hint: descending ? high : low })
    .toArray();
}

/** Chunks that were not read have no entry before this time; descending, none after it. */
function edgeOf(document: ChunkDocument, query: EntryQuery): number {
  const [low, high] = fieldsOf(query);
  return document[query.descending ? high : low]!;
}

/** An entry that was found: its chunk, its place in it, and where it comes in its key. */
interface Found extends OrderPoint {
  chunk: RowChunk;
  place: number;
}

/**
 * Collects the page, as far as the chunks reach, and returns where the next one begins; null, and nothing is collected,
 * if they reach to fewer entries than `least`.
 */
export function collectFrom(
  chunks: readonly RowChunk[],
  query: PickQuery,
  edge: number | null,
  into: Collector,
  least = 1,
): { next: EntryCursor | null } | null {
  const { descending, limit } = query;
  const sign = descending ? -1 : 1;
  const names = new Map(chunks.map(({ head: { key } }) => [key, unescapeText(key)]));
  const found: Found[] = [];
  for (const chunk of chunks) {
    const bound = firstBound(query, names.get(chunk.head.key)!);
    for (const run of runsIn(chunk, query, bound, limit + 1)) {
      for (let i = 0; i < run.count; i++) {
        const { time, write_ts } = run.pointAt(i);
        found.push({ chunk, place: run.placeAt(i), time, write_ts });
      }
    }
  }
  const nameOf = ({ chunk }: Found): string => names.get(chunk.head.key)!;
  found.sort((a, b) => sign * (a.time - b.time || compareTexts(nameOf(a), nameOf(b)) || a.write_ts - b.write_ts));
  const certain = edge === null ? found.length : firstPlace(found.length, (i) => sign * (found[i]!.time - edge) >= 0);
  if (edge !== null && certain < least) return null;
  const end = Math.min(certain, limit);
  let [count, characters] = [0, 0];
  for (; count < end; count++) {
    const { chunk, place } = found[count]!;
    characters += into.sizeOf(chunk, place);
    if (count > 0 && characters > charactersOfPage) break;
    into.add(chunk, place);
  }
  if (edge === null && count === found.length) return { next: null };
  const last = found[count - 1]!;
  return { next: { time: last.time, key: nameOf(last), write_ts: last.write_ts } };
}
