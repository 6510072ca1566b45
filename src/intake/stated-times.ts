// Bounds the times in corrections: from 1990 to a day after the receipt, ranges of up to 7 days.
import { type Correction, correctionKinds } from '../model/correction.ts';
import { type Entry, identityOf } from '../model/entry.ts';
import { keys } from '../model/keys.ts';
import { day, maxTime } from '../model/time.ts';
import type { UnusableEntry } from '../store/store.ts';

const earliest = 631_152_000; // 1990-01-01. No phone recorded data earlier.
/** s. A correction about the current day may end this long after its receipt. */
const ahead = day;
/** s. A longer trip or stay is a mistake, and would slow down every page with its days. */
export const longestStated = 7 * day;

/**
 * Moves the times of a correction into the bounds. A trip or stay that is too long keeps its end.
 * Excluded time may have any length, and may end in the future.
 */
export function withinBounds<T extends Correction>(one: T, received_ts: number): T {
  const fields = correctionKinds[one.kind];
  const within = (ts: number, from = earliest, to = received_ts + ahead): number => Math.max(from, Math.min(ts, to));
  const times = one as unknown as { ts: number; start_ts: number; end_ts: number };
  if (fields.includes('ts')) return { ...one, ts: within(times.ts) };
  if (!fields.includes('end_ts')) return one;
  const isExclusion = one.kind === 'set_aside';
  const end_ts = within(times.end_ts, earliest, isExclusion ? maxTime : undefined);
  const start_ts = within(times.start_ts, isExclusion ? earliest : Math.max(earliest, end_ts - longestStated));
  return { ...one, start_ts, end_ts };
}

/** Rejects a correction that `withinBounds` would change; null: the entry is not rejected. */
export function beyondBounds(entry: Entry, received_ts: number): UnusableEntry | null {
  const { metadata, data } = entry;
  const kind = data.kind as Correction['kind'];
  if (metadata.key !== keys.correction || typeof kind !== 'string' || !Object.hasOwn(correctionKinds, kind))
    return null;
  const names = ['ts', 'start_ts', 'end_ts'].filter((name) => correctionKinds[kind].includes(name));
  if (!names.every((name) => typeof data[name] === 'number')) return null; // the converter rejects the entry
  const bounded = withinBounds(data as unknown as Correction, received_ts) as unknown as typeof data;
  const name = names.find((one) => bounded[one] !== data[one]);
  if (name === undefined) return null;
  const expected = `a time from 1990 to a day after its receipt, and trips and stays of at most ${longestStated / day} days`;
  return {
    entry: entry as unknown as UnusableEntry['entry'],
    identity: identityOf(entry),
    reason: 'out_of_range',
    message: `data.${name}: expected ${expected}, found ${String(data[name])}`,
  };
}
