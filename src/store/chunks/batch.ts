// Entries that wait, as rows: a few thousand of one put each.
import type { Entry } from '../../model/entry.ts';
import type { BatchRow } from '../rows/tables.ts';
import { levels, packText, unpackText } from './pack.ts';

/** An entry that waits, with the JSON text of it. */
export interface WaitingEntry {
  key: string;
  write_ts: number;
  /** The data time of its payload, see `dataTime`. */
  ts: number | null;
  received_ts: number;
  /** Earlier failures of an entry that was taken back from the errors. */
  failed: { first_ts: number; tries: number } | null;
  text: string;
}

/** What a row says of its entries without their content, each list in their order. */
export interface Waiting {
  /** Each key and how many entries of it follow. */
  keys: [key: string, count: number][];
  write_ts: number[];
  ts: (number | null)[];
  received_ts: number[];
  /** By the place of the entry. */
  failed: Record<number, { first_ts: number; tries: number }>;
}

/** s; phones' clocks are often wrong by minutes or hours. More than a day means that the clock was ahead. */
const believedAhead = 86_400;

/**
 * When an entry may be processed: 0 for at once. One whose `write_ts` is more than a day after its first receipt waits
 * until that time has come.
 */
export function dueTime({ write_ts, received_ts }: { write_ts: number; received_ts: number }): number {
  return write_ts > received_ts + believedAhead ? write_ts : 0;
}

/** Entries and characters of JSON in a row: one is read and moved as a whole. */
const mostEntries = 2_000;
const mostCharacters = 4_000_000;

/**
 * The rows of entries, numbered from `id` on. Entries that must wait for their time are in rows of their own, so that
 * the others' rows can go.
 */
export function batchRows(user: string, id: number, entries: readonly WaitingEntry[]): BatchRow[] {
  const parts: WaitingEntry[][] = [];
  for (const some of [entries.filter((one) => dueTime(one) === 0), entries.filter((one) => dueTime(one) > 0)]) {
    let characters = Number.POSITIVE_INFINITY;
    for (const one of some) {
      characters += one.text.length;
      if (characters > mostCharacters || parts.at(-1)!.length >= mostEntries) {
        parts.push([]);
        characters = one.text.length;
      }
      parts.at(-1)!.push(one);
    }
  }
  return parts.map((part, i) => rowOf(user, id + i, part));
}

function rowOf(user: string, id: number, entries: readonly WaitingEntry[]): BatchRow {
  const waiting: Waiting = { keys: [], write_ts: [], ts: [], received_ts: [], failed: {} };
  let [first, last, due_ts] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  let [first_ts, last_ts]: [number | null, number | null] = [null, null];
  for (const [place, one] of entries.entries()) {
    const { key, write_ts, ts, received_ts, failed } = one;
    const run = waiting.keys.at(-1);
    if (run?.[0] === key) run[1] += 1;
    else waiting.keys.push([key, 1]);
    waiting.write_ts.push(write_ts);
    waiting.ts.push(ts);
    waiting.received_ts.push(received_ts);
    if (failed !== null) waiting.failed[place] = failed;
    first = Math.min(first, write_ts);
    last = Math.max(last, write_ts);
    due_ts = Math.min(due_ts, dueTime(one));
    if (ts !== null) {
      first_ts = Math.min(first_ts ?? ts, ts);
      last_ts = Math.max(last_ts ?? ts, ts);
    }
  }
  const text = `[${entries.map((one) => one.text).join(',')}]`;
  return {
    ...{ user, id, count: entries.length, first, last, first_ts, last_ts, due_ts },
    waiting: JSON.stringify(waiting),
    entries: packText(text, levels.brief),
  };
}

/** Calls `visit` with each identity of a row and its place. */
export function eachIdentity(
  { keys, write_ts }: Pick<Waiting, 'keys' | 'write_ts'>,
  visit: (key: string, writeTs: number, place: number) => void,
): void {
  let place = 0;
  for (const [key, count] of keys) {
    for (const end = place + count; place < end; place++) visit(key, write_ts[place]!, place);
  }
}

/** What a row says of its entries. */
export function waitingIn(row: Pick<BatchRow, 'waiting'>): Waiting {
  return JSON.parse(row.waiting) as Waiting;
}

/** The entries of a row, in its order, and about how many characters of JSON they have. Throws if it is damaged. */
export function entriesIn(row: Pick<BatchRow, 'entries'>): { list: Entry[]; size: number } {
  const text = unpackText(row.entries);
  return { list: JSON.parse(text) as Entry[], size: text.length };
}
