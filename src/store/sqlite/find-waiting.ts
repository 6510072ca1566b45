// Entries that wait, in order: by key and `write_ts` for the pipeline, and by one of their times for everybody.
import type { Identity } from '../../model/entry.ts';
import { HeldEntry } from '../chunks/held-piece.ts';
import { isAhead } from '../receipts.ts';
import type { EntryPage, EntryQuery, WaitingEntry } from '../store.ts';
import { compareTexts } from '../text-order.ts';
import type { TextsAt } from './batch-form.ts';
import { type Batch, type BatchHead, headsOf, openBatch } from './batches.ts';
import type { StoreFile } from './file.ts';
import { userIn } from './ids.ts';
import { pageBytes, parseEntry } from './rows.ts';

/** An entry in its batch. */
interface Found {
  batch: Batch;
  place: number;
  key: number;
  write_ts: number;
  /** The time that a query sorts by. */
  time: number;
}

/** A source of entries in an order: none of them comes before `least`. */
interface Source<Least> {
  least: Least;
  read(): Iterable<Found>;
}

/**
 * The first `count` entries of sources that come in the order of their `least`. Sources whose turn does not come are
 * not read.
 */
function firstOf(
  sources: readonly Source<number>[],
  count: number,
  compare: (a: Found, b: Found) => number,
  timeOf: (found: Found) => number,
): Found[] {
  let found: Found[] = [];
  let isSorted = true;
  const sort = (): void => {
    if (!isSorted) found = found.sort(compare).slice(0, count);
    isSorted = true;
  };
  for (const { least, read } of sources) {
    if (found.length >= count) sort();
    if (found.length >= count && timeOf(found[count - 1]!) < least) break;
    for (const one of read()) {
      found.push(one);
      isSorted = false;
    }
  }
  sort();
  return found;
}

// ---------------------------------------------------------------- by key and write_ts

const byWriteTime = (a: Found, b: Found): number => a.write_ts - b.write_ts;
const writeTimeOf = ({ write_ts }: Found): number => write_ts;

/** One page of what waits, by key and `write_ts`. Inside `read` only. */
export function readPage(
  file: StoreFile,
  userId: string,
  { after, limit, at, lazily }: { after: Identity | null; limit: number; at: number; lazily: boolean },
): WaitingEntry[] {
  const user = userIn(file, userId);
  if (user === null || limit < 1) return [];
  const heads = headsOf(file, user);
  const open = opener(file);
  const found: Found[] = [];
  for (const { key, id } of namedKeys(file, heads)) {
    const order = after === null ? 1 : compareTexts(key, after.key);
    if (order < 0) continue;
    const beyond = order === 0 ? after!.write_ts : Number.NEGATIVE_INFINITY;
    const sources = heads.flatMap((head): Source<number>[] => {
      const span = head.keys.find((one) => one.key === id);
      if (span === undefined || span.last <= beyond) return [];
      return [{ least: span.first, read: () => waitingBehind(open(head), id, beyond, at) }];
    });
    sources.sort((a, b) => a.least - b.least);
    for (const one of firstOf(sources, limit - found.length, byWriteTime, writeTimeOf)) found.push(one);
    if (found.length >= limit) break;
  }
  const page: WaitingEntry[] = [];
  const textsFound = new FoundTexts(found);
  for (const one of found) {
    const texts = textsFound.of(one.batch);
    if (texts === null) return page;
    const held = lazily ? heldEntry(one, file.keys.nameOf(one.key), texts) : null;
    page.push(held ?? waitingEntry(one, texts));
  }
  return lazily && page.length >= limit ? withoutPart(page) : page;
}

/** The least part of a page that is left when it ends with a piece. */
const leastOfPage = 512;

/** A full page without the begun piece at its end: the timeseries takes whole ones as they are. */
function withoutPart(page: readonly WaitingEntry[]): WaitingEntry[] {
  const last = page.at(-1);
  if (!(last instanceof HeldEntry) || last.place === last.piece.count - 1) return [...page];
  let end = page.length;
  for (let one = page[end - 1]; one instanceof HeldEntry && one.piece === last.piece; one = page[end - 1]) end -= 1;
  return page.slice(0, end < leastOfPage ? page.length : end);
}

/** An entry that lies in columns; null for others, and for those of which more is known than their receipt. */
function heldEntry({ batch, place, write_ts }: Found, key: string, texts: TextsAt): HeldEntry | null {
  const held = batch.columns.rare === null ? texts.held(place) : null;
  if (held === null) return null;
  return new HeldEntry({ key, write_ts }, String(batch.head.id + place), batch.columns.received_ts[place]!, held);
}

function waitingBehind(batch: Batch, key: number, beyond: number, at: number): Found[] {
  const found: Found[] = [];
  const { write_ts: times, received_ts: receipts } = batch.columns;
  const { from, to } = batch.runOf(key)!;
  for (let place = from; place < to; place++) {
    const write_ts = times[place]!;
    if (write_ts <= beyond || !batch.waits(place)) continue;
    if (isAhead({ write_ts, received_ts: receipts[place]! }, at)) continue;
    found.push({ batch, place, key, write_ts, time: write_ts });
  }
  return found;
}

function waitingEntry({ batch, place }: Found, texts: TextsAt): WaitingEntry {
  const text = texts.at(place);
  const waiting: WaitingEntry = {
    entry: parseEntry(text),
    text,
    revision: String(batch.head.id + place),
    received_ts: batch.columns.received_ts[place]!,
  };
  if (batch.keptAt(place)) waiting.kept = true;
  const failed = batch.failedAt(place);
  if (failed !== null) waiting.failed = failed;
  return waiting;
}

/** The keys of batches, by name. */
function namedKeys(file: StoreFile, heads: readonly BatchHead[]): { key: string; id: number }[] {
  const ids = new Set(heads.flatMap(({ keys }) => keys.map(({ key }) => key)));
  return [...ids].map((id) => ({ key: file.keys.nameOf(id), id })).sort((a, b) => compareTexts(a.key, b.key));
}

/** Batches, each read once. */
function opener(file: StoreFile): (head: BatchHead) => Batch {
  const open = new Map<number, Batch>();
  return (head) => {
    const batch = open.get(head.id) ?? openBatch(file, head);
    open.set(head.id, batch);
    return batch;
  };
}

/**
 * The texts of entries that were found, a batch at a time. Texts of a batch share one memory, so those of a large batch
 * of which few are wanted are copied: a page of a rare key may be from many large puts.
 */
class FoundTexts {
  private readonly wanted = new Map<Batch, number[]>();
  private readonly read = new Map<Batch, TextsAt>();
  private last: { batch: Batch; texts: TextsAt } | null = null;
  private unpacked = 0; // characters

  constructor(found: readonly Found[]) {
    for (const { batch, place } of found) {
      const places = this.wanted.get(batch);
      if (places === undefined) this.wanted.set(batch, [place]);
      else places.push(place);
    }
  }

  /** The texts of a batch; null where too much would be unpacked for one page, which the first batch never is. */
  of(batch: Batch): TextsAt | null {
    if (this.last?.batch === batch) return this.last.texts;
    let texts = this.read.get(batch);
    if (texts === undefined) {
      const whole = batch.readTexts();
      this.unpacked += whole.size;
      if (this.read.size > 0 && this.unpacked > pageBytes) return null;
      texts = whole.only(this.wanted.get(batch)!);
      this.read.set(batch, texts);
    }
    this.last = { batch, texts };
    return texts;
  }
}

// ---------------------------------------------------------------- by time

/** One page of a query of what waits. Inside `read` only. */
export function findWaiting(file: StoreFile, userId: string, query: EntryQuery): EntryPage {
  const user = userIn(file, userId);
  const { time, limit, descending, keys } = query;
  if (user === null || limit < 1) return { entries: [], received_ts: [], next: null };
  const heads = headsOf(file, user);
  const wanted = keys && new Set(keys.flatMap((key) => file.keys.find(key) ?? []));
  const ranks = new Map<number, number>();
  for (const { id } of namedKeys(file, heads)) {
    if (wanted === undefined || wanted.has(id)) ranks.set(id, ranks.size);
  }
  const sign = descending ? -1 : 1;
  const compare = (a: Found, b: Found): number =>
    sign * (a.time - b.time || ranks.get(a.key)! - ranks.get(b.key)! || a.write_ts - b.write_ts);
  const isBehind = cursorOf(file, query, sign);
  const open = opener(file);
  const sources = heads.flatMap((head): Source<number>[] => {
    const [low, high] = time === 'ts' ? [head.first_ts, head.last_ts] : [head.first, head.last];
    if (low === null || high === null || !meets(query, low, high)) return [];
    if (!head.keys.some(({ key }) => ranks.has(key))) return [];
    return [{ least: sign * (descending ? high : low), read: () => entriesOf(open(head), query, ranks, isBehind) }];
  });
  sources.sort((a, b) => a.least - b.least);
  const found = firstOf(sources, limit + 1, compare, (one) => sign * one.time);
  const page: EntryPage = { entries: [], received_ts: [], next: null };
  const textsFound = new FoundTexts(found.slice(0, limit));
  for (const one of found) {
    if (page.entries.length === limit) return page;
    const { batch, place, key, write_ts } = one;
    const texts = textsFound.of(batch);
    if (texts === null) return page;
    page.entries.push(parseEntry(texts.at(place)));
    page.received_ts.push(batch.columns.received_ts[place]!);
    page.next = { time: one.time, key: file.keys.nameOf(key), write_ts };
  }
  return { ...page, next: null };
}

/** False where no time from `low` to `high` can be on the page. */
function meets({ from, to, after, descending }: EntryQuery, low: number, high: number): boolean {
  if (from !== undefined && high < from) return false;
  if (to !== undefined && low >= to) return false;
  return after === undefined || (descending ? low <= after.time : high >= after.time);
}

function* entriesOf(
  batch: Batch,
  { time, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY }: EntryQuery,
  ranks: ReadonlyMap<number, number>,
  isBehind: (time: number, key: number, writeTs: number) => boolean,
): Generator<Found> {
  const { runs, write_ts: written } = batch.columns;
  const times = batch.columns[time];
  for (const { key, from: begin, to: end } of runs) {
    if (!ranks.has(key)) continue;
    for (let place = begin; place < end; place++) {
      const at = times[place]!;
      // Not a number: the entry has no such time.
      if (!(at >= from && at < to) || !batch.waits(place)) continue;
      const write_ts = written[place]!;
      if (isBehind(at, key, write_ts)) yield { batch, place, key, write_ts, time: at };
    }
  }
}

/** True for what comes after the cursor of a query. */
function cursorOf(
  file: StoreFile,
  { after }: EntryQuery,
  sign: number,
): (time: number, key: number, writeTs: number) => boolean {
  if (after === undefined) return () => true;
  return (time, key, writeTs) => {
    if (time !== after.time) return sign * (time - after.time) > 0;
    return sign * (compareTexts(file.keys.nameOf(key), after.key) || writeTs - after.write_ts) > 0;
  };
}
