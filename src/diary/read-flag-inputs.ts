import { firstLaterIn } from '../analysis/sorted-times.ts';
import { dataTime, type Entry } from '../model/entry.ts';
import { distance, type LatLon } from '../model/geo/distance.ts';
import { keys } from '../model/keys.ts';
import { sourceOf } from '../model/sources.ts';
import { justBefore, type TimeRange } from '../model/time.ts';
import { type EntrySelection, type EntryStore, entryPages } from '../store/paging.ts';
import type { ChunkFacts, Store } from '../store/store.ts';
import type { FlagInputs, Mark } from './flags.ts';
import type { Unobserved } from './observed-time.ts';

/** Chosen by hand. */
const limits = {
  clock: 300, // s; a smaller error of the clock is ignored
  apart: 1000, // m, plus both accuracies and the distance at `speed`; sources farther apart disagree
  together: 60, // s; locations of two sources are compared within this time
  speed: 50, // m/s; how fast a person may have moved between the locations of two sources
};

export type ReadFlagInputs = FlagInputs & { clocks: readonly Unobserved[] };

/** `accuracy`: m; 0 if unknown. */
type SourceLocation = LatLon & { ts: number; source: string; accuracy: number };

/** `at`: the data time or `write_ts`, by which the query selects the entry. */
interface Sighting {
  at: number;
  write_ts: number;
  ts: unknown;
  received_ts: number;
  location: SourceLocation | null;
}

type FlagStore = Pick<Store, 'timeseries' | 'usercache' | 'pipeline'>;

/** Reads the inputs of flags, also from pending entries whose phone had a clock that was ahead. */
export const readFlagInputs = async (store: FlagStore, userId: string, range: TimeRange): Promise<ReadFlagInputs> =>
  (await flagInputsWithin(store, userId, range))(range);

/** Reads a range once. Returns a function that makes the inputs of flags in a part of the range. */
export async function flagInputsWithin(
  { timeseries, usercache, pipeline }: FlagStore,
  userId: string,
  range: TimeRange,
): Promise<(part: TimeRange) => ReadFlagInputs> {
  const read = async (store: EntryStore, query: EntrySelection): Promise<Sighting[]> => {
    const found: Sighting[] = [];
    for await (const { entries, received_ts } of entryPages(store, userId, { ...query, limit: 5000 })) {
      for (const [i, entry] of entries.entries()) {
        const { write_ts } = entry.metadata;
        const [at, location] = query.time === 'ts' ? [dataTime(entry.data)!, toLocation(entry)] : [write_ts, null];
        const one = { at, write_ts, ts: entry.data.ts, received_ts: received_ts[i]!, location };
        if (location !== null || isAhead(one) || isBehind(one)) found.push(one);
      }
    }
    return found;
  };
  const locations = { keys: [keys.location, keys.filteredLocation], time: 'ts', ...range } as const;
  const fields = ['platform', 'origin', 'latitude', 'longitude', 'accuracy'];
  const times = await readPlainTimes(timeseries, userId, locations);
  const located = times === null ? await read(timeseries, { ...locations, fields }) : [];
  const moves = { keys: [keys.transition], time: 'write_ts', from: range.from, to: range.to + 86_400 } as const;
  const areSound = (await timeseries.facts(userId, moves))?.every(hasSoundTimes) ?? false;
  const moved = areSound ? [] : await read(timeseries, { ...moves, fields: ['ts'] });
  const pending = await read(usercache, { time: 'write_ts', from: range.from });
  const removedBefore = (await pipeline.get(userId)).retained?.raw_before ?? -Infinity;
  return ({ from, to }) => {
    const locations: SourceLocation[] = [];
    const clock = new ClockEvidence();
    const look = (found: readonly Sighting[], until: number): void => {
      for (const one of found) {
        if (one.at < from || one.at >= until) continue;
        clock.check(one);
        if (one.location !== null) locations.push(one.location);
      }
    };
    look(located, to);
    look(moved, to + 86_400);
    look(pending, Infinity);
    locations.sort((a, b) => a.ts - b.ts);
    return {
      locations: times?.slice(firstLaterIn(times, justBefore(from)), firstLaterIn(times, justBefore(to))) ?? [
        ...new Set(locations.map(({ ts }) => ts)),
      ],
      removedBefore,
      marks: [...findDisagreements(locations), ...clock.marks()],
      clocks: clock.causes(),
    };
  };
}

/** Reads the times of locations; null: they may be wrong or of several sources, so read all entries. */
async function readPlainTimes(
  timeseries: FlagStore['timeseries'],
  userId: string,
  query: Parameters<FlagStore['timeseries']['facts']>[1],
): Promise<number[] | null> {
  const facts = await timeseries.facts(userId, query);
  if (!facts?.every((one) => hasSoundTimes(one) && one.source === facts[0]!.source)) return null;
  // An array of doubles is filled and sorted several times as fast as a list.
  const all = new Float64Array(facts.reduce((sum, { times }) => sum + times.length, 0));
  let length = 0;
  for (const { times } of facts) {
    all.set(times, length);
    length += times.length;
  }
  const times: number[] = [];
  for (const ts of all.sort()) if (ts !== times.at(-1)) times.push(ts);
  return times;
}

// 1 s below the limit, because `ahead` and `behind` are rounded. No wrong time may be missed.
const hasSoundTimes = ({ ahead, behind }: ChunkFacts): boolean => Math.max(ahead, behind) < limits.clock - 1;

const isAhead = ({ write_ts, received_ts }: Sighting): boolean => write_ts > received_ts + limits.clock;
const isBehind = ({ write_ts, ts }: Sighting): boolean => typeof ts === 'number' && ts > write_ts + limits.clock;

function toLocation(entry: Entry): SourceLocation | null {
  const { latitude, longitude, accuracy } = entry.data;
  const ts = dataTime(entry.data);
  if (ts === null || typeof latitude !== 'number' || typeof longitude !== 'number') return null;
  return { ts, source: sourceOf(entry), latitude, longitude, accuracy: typeof accuracy === 'number' ? accuracy : 0 };
}

function findDisagreements(locations: readonly SourceLocation[]): Mark[] {
  const last = new Map<string, SourceLocation>();
  const marks: Mark[] = [];
  for (const location of locations) {
    const { ts, source, accuracy } = location;
    for (const other of last.values()) {
      const seconds = ts - other.ts;
      const explained = limits.apart + limits.speed * seconds + accuracy + other.accuracy;
      if (other.source === source || seconds > limits.together || distance(location, other) <= explained) continue;
      const before = marks.at(-1);
      if (before !== undefined && other.ts - before.to <= limits.together) before.to = ts;
      else marks.push({ flag: 'sources_disagree', from: other.ts, to: ts });
    }
    last.set(source, location);
  }
  return marks;
}

/** Evidence: entries with a `write_ts` after they were received, or before their data time. */
class ClockEvidence {
  readonly #ahead = new Map<number, TimeRange>();
  readonly #behind: TimeRange[] = [];

  check(one: Sighting): void {
    const { write_ts, received_ts } = one;
    if (isBehind(one)) this.#behind.push({ from: write_ts, to: one.ts as number });
    if (!isAhead(one)) return;
    const { from, to } = this.#ahead.get(received_ts) ?? { from: write_ts, to: write_ts };
    this.#ahead.set(received_ts, { from: Math.min(from, write_ts), to: Math.max(to, write_ts) });
  }

  /**
   * The times when the clock was ahead. For example, entries received together at 12:00 with
   * `write_ts` from 14:00 to 15:00 were written within one hour: from 11:00 to 12:00.
   */
  causes(): Unobserved[] {
    return [...this.#ahead].map(([to, claimed]) => ({
      from: to - (claimed.to - claimed.from),
      to,
      reason: 'clock wrong',
    }));
  }

  marks(): Mark[] {
    const ranges = [...this.causes(), ...this.#ahead.values(), ...this.#behind];
    return ranges.map(({ from, to }) => ({ flag: 'clock_moved', from, to }));
  }
}
