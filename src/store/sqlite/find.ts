// Entries of the timeseries by one of their two times: a merge of one index range per key, so that a page costs what it
// holds.
import { justAfter } from '../../model/time.ts';
import { firstBound, type OrderPoint } from '../chunks/chunk.ts';
import { type Collector, PickedEntries, WholeEntries } from '../chunks/collect.ts';
import { type ChunkRun, countOf } from '../chunks/runs.ts';
import { Heap } from '../heap.ts';
import type { EntryCursor, EntryFields, EntryPage, EntryQuery, EntryVisitor, PickedPage, PickQuery } from '../store.ts';
import { compareTexts } from '../text-order.ts';
import { type FileChunk, type FileHead, openChunk } from './chunks.ts';
import type { StoreFile } from './file.ts';
import { lastPoint, runsBehind } from './find-chunks.ts';
import { userIn } from './ids.ts';
import { pageBytes } from './rows.ts';

/** The entries of one key that are still to come. */
interface Source {
  id: number;
  /** No entry comes before this time; known before any is read. */
  near: number | null;
  /** Those found, the first run with one to come, and how many of it were taken. */
  runs: ChunkRun<FileHead>[];
  run: number;
  taken: number;
  /** False when the file has no more than those found. */
  more: boolean;
  /** Entries come strictly beyond this point of time and write_ts; null: nothing was read yet. */
  bound: OrderPoint | null;
}

const mostRows = 1024; // read ahead of one key
const manyKeys = 2_000; // with more than that it is asked first where each begins

/**
 * Numbers of the keys of a user, `most` of them at most (-1: all): one step in the index for each, whatever their
 * chunks.
 */
export function keysOf(file: StoreFile, user: number, most = -1): number[] {
  const next = 'SELECT min(key) FROM chunks WHERE user = ?1 AND key >';
  const sql = `
    WITH RECURSIVE found(key) AS (
      ${next} -1 UNION ALL SELECT (${next} found.key) FROM found WHERE found.key IS NOT NULL LIMIT ?2
    ) SELECT key FROM found WHERE key IS NOT NULL`;
  return file
    .sql(sql)
    .all<{ key: number }>(user, most)
    .map(({ key }) => key);
}

/** Names and numbers of the keys that a query asks for and the file knows, by name. */
export function chosenKeys(file: StoreFile, user: number, names?: readonly string[]): { key: string; id: number }[] {
  const keys =
    names === undefined
      ? keysOf(file, user).map((id) => ({ key: file.keys.nameOf(id), id }))
      : [...new Set(names)].flatMap((key) => {
          const id = file.keys.find(key);
          return id === null ? [] : [{ key, id }];
        });
  return keys.sort((a, b) => compareTexts(a.key, b.key));
}

/** One page of a query. Inside `read` only. */
export function findPage(file: StoreFile, userId: string, query: EntryQuery): EntryPage {
  const into = new WholeEntries();
  const next = collectPage(file, userId, query, into);
  return { entries: into.entries, received_ts: into.received_ts, next };
}

/** What `read` makes of one page of a query. Inside `read` of the file only. */
export function pickPage<Picked>(
  file: StoreFile,
  userId: string,
  query: PickQuery,
  fields: EntryFields,
  read: EntryVisitor<Picked>,
): PickedPage<Picked> {
  const into = new PickedEntries(fields, read);
  const next = collectPage(file, userId, query, into);
  return { picked: into.picked, next };
}

/** Returns where the next page begins. */
function collectPage(file: StoreFile, userId: string, query: PickQuery, into: Collector): EntryCursor | null {
  const user = userIn(file, userId);
  if (user === null || query.limit < 1) return null;
  const sources = sourcesOf(file, user, query);
  const ahead = Math.max(1, Math.min(mostRows, Math.ceil((2 * query.limit) / sources.length), query.limit + 1));
  return merge(file, sources, query, chunkReader(file, user, query, ahead), into);
}

/** The keys to read. Of very many those that have something to give, with where that begins. */
function sourcesOf(file: StoreFile, user: number, query: EntryQuery): Source[] {
  const asked = query.keys && new Set(query.keys.flatMap((key) => file.keys.find(key) ?? []));
  const ids = [...(asked ?? keysOf(file, user, manyKeys + 1))];
  const sourceOf = (id: number, near: number | null): Source => {
    return { id, near, runs: [], run: 0, taken: 0, more: true, bound: null };
  };
  if (ids.length <= manyKeys) return ids.map((id) => sourceOf(id, null));
  const { time, after, descending } = query;
  let { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = query;
  if (after !== undefined && !descending) from = Math.max(from, after.time);
  if (after !== undefined && descending) to = Math.min(to, justAfter(after.time));
  const [low, high] = time === 'ts' ? ['first_ts', 'last_ts'] : ['first', 'last'];
  return file
    .sql(`
      SELECT key, ${descending ? `max(${high})` : `min(${low})`} AS near FROM chunks
      WHERE user = ? AND ${high} >= ? AND ${low} < ? GROUP BY key`)
    .all<{ key: number; near: number }>(user, from, to)
    .filter(({ key }) => asked === undefined || asked.has(key))
    .map(({ key, near }) => sourceOf(key, near));
}

/** A function that finds the next entries of a source. */
type Refill = (source: Source) => void;

function chunkReader(file: StoreFile, user: number, query: PickQuery, ahead: number): Refill {
  return (source) => {
    source.bound ??= firstBound(query, file.keys.nameOf(source.id));
    source.runs = runsBehind(file, user, source.id, query, source.bound, ahead);
    source.run = 0;
    source.taken = 0;
    source.more = countOf(source.runs) === ahead;
    if (source.runs.length > 0) source.bound = lastPoint(source.runs);
  };
}

/** True where a source has an entry at hand. */
const hasNext = ({ runs, run }: Source): boolean => run < runs.length;

function merge(
  file: StoreFile,
  sources: Source[],
  { limit, descending }: EntryQuery,
  refill: Refill,
  into: Collector,
): EntryCursor | null {
  const sign = descending ? -1 : 1;
  const nameOf = ({ id }: Source): string => file.keys.nameOf(id);
  // What is not read yet comes before what stands at the same time: it has to be read to tell.
  const compare = (a: Source, b: Source): number =>
    sign * (timeOf(a) - timeOf(b)) ||
    Number(hasNext(a)) - Number(hasNext(b)) ||
    (hasNext(a) ? sign * compareTexts(nameOf(a), nameOf(b)) : 0);
  for (const source of sources) if (source.near === null) refill(source);
  const heap = new Heap(
    sources.filter((source) => source.near !== null || hasNext(source)),
    compare,
  );
  const page = new PageInto(file, into, limit);
  for (let source = heap.first(); source !== undefined; source = heap.first()) {
    if (hasNext(source) && !page.take(source, heap.size === 1)) return page.end();
    if (!hasNext(source) && source.more) refill(source);
    if (hasNext(source)) heap.firstChanged();
    else heap.removeFirst();
  }
  return null;
}

/** A page as it fills. */
class PageInto {
  private readonly file: StoreFile;
  private readonly into: Collector;
  private readonly limit: number;
  private count = 0;
  private bytes = 0;
  // The key and the point of the last entry, and its chunk.
  private last: { id: number; run: ChunkRun<FileHead>; at: number } | null = null;
  private chunk: FileChunk | null = null;

  constructor(file: StoreFile, into: Collector, limit: number) {
    this.file = file;
    this.into = into;
    this.limit = limit;
  }

  /** Takes the next entry of a source, or `all` that it has at hand; false where one is too many. */
  take(source: Source, all: boolean): boolean {
    do {
      const run = source.runs[source.run]!;
      const end = all ? run.count : source.taken + 1;
      const taken = this.takeFrom(run, source.taken, end);
      if (taken > source.taken) this.last = { id: source.id, run, at: taken - 1 };
      source.taken = taken;
      if (taken < end) return false;
      if (taken < run.count) return true;
      source.run++;
      source.taken = 0;
    } while (all && hasNext(source));
    return true;
  }

  /** Takes entries of a run, from `start` up to `end` or up to the first that is too many: returns which that is. */
  private takeFrom(run: ChunkRun<FileHead>, start: number, end: number): number {
    const { into, limit } = this;
    if (this.count >= limit) return start;
    if (this.chunk?.head.id !== run.head.id) this.chunk = openChunk(this.file, run.head);
    const { chunk } = this;
    for (let i = start; i < end; i++) {
      if (this.count >= limit) return i;
      const place = run.placeAt(i);
      this.bytes += into.sizeOf(chunk, place);
      if (this.count > 0 && this.bytes > pageBytes) return i;
      into.add(chunk, place);
      this.count++;
    }
    return end;
  }

  /** The position of the last entry taken. */
  end(): EntryCursor | null {
    if (this.last === null) return null;
    const { id, run, at } = this.last;
    const { time, write_ts } = run.pointAt(at);
    return { time, key: this.file.keys.nameOf(id), write_ts };
  }
}

/** The time of the next entry, or that before which none comes. */
function timeOf({ runs, run, taken, near }: Source): number {
  return runs[run]?.timeAt(taken) ?? near!;
}
