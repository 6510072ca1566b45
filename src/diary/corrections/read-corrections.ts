// Reads corrections, and finds the active ones: neither undone nor beyond the limits.
//
//   write_ts   1 drop a trip   2 undo 1   3 undo 2   4 mode of a section
//   active     1 and 4: the undo at 2 is itself undone
import { convert } from '../../intake/converters/convert.ts';
import { withinBounds } from '../../intake/stated-times.ts';
import { type Correction, correctionKinds, type Stated } from '../../model/correction.ts';
import type { Entry } from '../../model/entry.ts';
import { keys } from '../../model/keys.ts';
import { day, type TimeRange } from '../../model/time.ts';
import { type EntryStore, entryPages } from '../../store/paging.ts';

/** Limits for a user, by hand, because each read of trips reads all corrections of the user. */
export const mostCorrections = { active: 1000, inAll: 2000 };

/** At most this many are read: `inAll`, and an undo of each active correction beyond this limit. */
const mostRead = mostCorrections.inAll + mostCorrections.active;

export interface CorrectionStore {
  timeseries: EntryStore;
  usercache?: EntryStore;
  corrections?: readonly Stated[];
}

/** Also reads pending and undone corrections. Only the first `mostRead` have an effect. */
export async function readCorrections(
  { timeseries, usercache, corrections }: CorrectionStore,
  userId: string,
): Promise<readonly Stated[]> {
  if (corrections !== undefined) return corrections;
  // Read the usercache first: a run of the pipeline may move entries between the two reads.
  const pending = usercache === undefined ? [] : await correctionsIn(usercache, userId);
  const moved = await correctionsIn(timeseries, userId);
  const all = new Map([...moved, ...pending].map((one) => [one.write_ts, one]));
  return [...all.values()].sort((a, b) => a.write_ts - b.write_ts).slice(0, mostRead);
}

async function correctionsIn(store: EntryStore, userId: string): Promise<Stated[]> {
  const found: Stated[] = [];
  for await (const page of entryPages(store, userId, { keys: [keys.correction], time: 'write_ts' })) {
    for (const [i, entry] of page.entries.entries()) found.push(...parseCorrection(entry, page.received_ts[i]!));
    if (found.length >= mostRead) break;
  }
  return found.slice(0, mostRead);
}

/** Moves impossible times to the bounds. Returns [] if the converter rejects the entry. */
function parseCorrection(entry: Entry, received_ts: number): Stated[] {
  try {
    const { data, metadata } = convert(entry);
    const stated: unknown = { ...data, write_ts: metadata.write_ts, received_ts };
    return [withinBounds(stated as Stated, received_ts)];
  } catch {
    return [];
  }
}

/** True if `correction` repeats the newest active correction of its subject. */
export function repeatsNewest(all: readonly Stated[], correction: Correction): boolean {
  const undone = undoneTimes(all);
  const subject = (one: Correction): string =>
    JSON.stringify(one.kind === 'undo' ? [one.kind, one.of] : [one.kind, concernedTime(one)]);
  const last = all.findLast((one) => !undone.has(one.write_ts) && subject(one) === subject(correction));
  const fields = last as Record<string, unknown> | undefined;
  return fields !== undefined && Object.entries(correction).every(([name, value]) => fields[name] === value);
}

/** The `write_ts` of undone corrections. An undone undo has no effect. `all` ascend by `write_ts`. */
export function undoneTimes(all: readonly Stated[]): ReadonlySet<number> {
  const undone = new Set<number>();
  for (const one of all.toReversed())
    if (one.kind === 'undo' && !undone.has(one.write_ts) && one.of < one.write_ts) undone.add(one.of);
  return undone;
}

export function withoutUndone(all: readonly Stated[]): Stated[] {
  const undone = undoneTimes(all);
  return all.filter((one) => one.kind !== 'undo' && !undone.has(one.write_ts));
}

const mostOfDay = 100; // corrections about one day (by hand: people make fewer)

/** Returns the corrections with an effect: the first 100 about each UTC day, at most 1,000 in all. */
export function activeCorrections(all: readonly Stated[]): Stated[] {
  const counts = new Map<number, number>();
  const counting = withoutUndone(all).filter((one) => {
    const utcDay = Math.floor(concernedTime(one).from / day);
    const count = (counts.get(utcDay) ?? 0) + 1;
    counts.set(utcDay, count);
    return count <= mostOfDay;
  });
  return counting.slice(0, mostCorrections.active);
}

/** Returns the time that a correction is about; `NaN` for an undo. */
export function concernedTime(one: Correction): TimeRange {
  if ('ts' in one && correctionKinds[one.kind].includes('ts')) return { from: one.ts, to: one.ts };
  return 'end_ts' in one ? { from: one.start_ts, to: one.end_ts } : { from: NaN, to: NaN };
}

export const tooManyCorrections = 'too_many_corrections';

export const limitText = `expected at most ${mostCorrections.active} active corrections of a person, and at most ${mostCorrections.inAll} in all, counting undone corrections and undos`;

export async function beyondLimit(
  store: { timeseries: EntryStore; usercache: EntryStore },
  userId: string,
  entries: readonly Entry[],
): Promise<ReadonlySet<Entry>> {
  const beyond = new Set<Entry>();
  const stated = entries.filter(({ metadata }) => metadata.key === keys.correction);
  if (stated.length === 0) return beyond;
  const all = await readCorrections(store, userId);
  const found = new Map(all.map((one) => [one.write_ts, one]));
  const active = new Set(withoutUndone(all).map((one) => one.write_ts));
  const { active: most, inAll } = mostCorrections;
  for (const entry of stated) {
    const { write_ts } = entry.metadata;
    const [one] = parseCorrection(entry, write_ts);
    if (one === undefined || found.has(write_ts)) continue;
    const undoes = one.kind === 'undo' && active.has(one.of);
    // An undo of an undo makes the correction active again.
    const states = one.kind !== 'undo' || found.get(one.of)?.kind === 'undo';
    const isBeyond = undoes ? found.size >= inAll + most : found.size >= inAll || (states && active.size >= most);
    if (isBeyond) beyond.add(entry);
    else {
      found.set(write_ts, one);
      if (undoes) active.delete(one.of);
      else if (states) active.add(write_ts);
    }
  }
  return beyond;
}
