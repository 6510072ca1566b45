// Reads the inputs of flags from entries: times of locations, times when two sources disagree, and times when the
// phone's clock was wrong.

import { dataTime, type Entry } from '../model/entry.ts';
import { distance } from '../model/geo/distance.ts';
import { keys } from '../model/keys.ts';
import { sourceOf } from '../model/sources.ts';
import type { TimeRange } from '../model/time.ts';
import { type EntryPart, type EntrySelection, entryPages } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import type { FlagInputs, Mark } from './flags.ts';
import type { Unobserved } from './observed-time.ts';

/** Thresholds, by hand. */
const limits = {
  /** s; a smaller error of the clock is ignored */
  clock: 300,
  /** m and s; two sources this far apart, this close in time, are not with one person, even in a fast vehicle */
  apart: 1000,
  together: 60,
  /** m/s; the highest speed of a person between two such locations */
  speed: 50,
};

/** Inputs of flags, and times that were not observed because the clock was wrong. */
export interface ReadFlagInputs extends FlagInputs {
  clocks: readonly Unobserved[];
}

interface Fix {
  ts: number;
  source: string;
  latitude: number;
  longitude: number;
  accuracy: number;
}

/** Reads the inputs of a time range from its entries, and from pending entries that a fast clock dated ahead. */
export async function readFlagInputs(
  { timeseries, usercache, pipeline }: Pick<Store, 'timeseries' | 'usercache' | 'pipeline'>,
  userId: string,
  range: TimeRange,
): Promise<ReadFlagInputs> {
  const fixes: Fix[] = [];
  const clock = new Clock();
  const read = async (part: EntryPart, query: EntrySelection, isFixes: boolean): Promise<void> => {
    for await (const { entries, received_ts } of entryPages(part, userId, { ...query, limit: 5000 })) {
      for (const [i, entry] of entries.entries()) {
        clock.look(entry, received_ts[i]!);
        const fix = isFixes ? toFix(entry) : null;
        if (fix !== null) fixes.push(fix);
      }
    }
  };
  const fields = ['platform', 'origin', 'latitude', 'longitude', 'accuracy'];
  await read(timeseries, { keys: [keys.location, keys.filteredLocation], time: 'ts', ...range, fields }, true);
  const written = { time: 'write_ts', from: range.from, to: range.to + 86_400, fields: ['ts'] } as const;
  await read(timeseries, { keys: [keys.transition], ...written }, false);
  await read(usercache, { time: 'write_ts', from: range.from }, false);
  fixes.sort((a, b) => a.ts - b.ts);
  return {
    locations: [...new Set(fixes.map(({ ts }) => ts))],
    removedBefore: (await pipeline.get(userId)).retained?.raw_before ?? -Infinity,
    marks: [...findDisagreements(fixes), ...clock.marks()],
    clocks: clock.causes(),
  };
}

function toFix(entry: Entry): Fix | null {
  const { latitude, longitude, accuracy } = entry.data;
  const ts = dataTime(entry.data);
  if (ts === null || typeof latitude !== 'number' || typeof longitude !== 'number') return null;
  return { ts, source: sourceOf(entry), latitude, longitude, accuracy: typeof accuracy === 'number' ? accuracy : 0 };
}

/** Finds locations of different sources within a minute that are too far apart for one person. */
function findDisagreements(fixes: readonly Fix[]): Mark[] {
  const last = new Map<string, Fix>();
  const marks: Mark[] = [];
  for (const fix of fixes) {
    for (const other of last.values()) {
      const seconds = fix.ts - other.ts;
      const explained = limits.apart + limits.speed * seconds + fix.accuracy + other.accuracy;
      if (other.source === fix.source || seconds > limits.together || distance(fix, other) <= explained) continue;
      const before = marks.at(-1);
      if (before !== undefined && other.ts - before.to <= limits.together) before.to = fix.ts;
      else marks.push({ flag: 'sources_disagree', from: other.ts, to: fix.ts });
    }
    last.set(fix.source, fix);
  }
  return marks;
}

/**
 * Collects evidence of a wrong clock: entries with a `write_ts` after they were received, or before their data time.
 */
class Clock {
  readonly #ahead = new Map<number, TimeRange>();
  readonly #behind: TimeRange[] = [];

  look({ metadata: { write_ts }, data }: Entry, received: number): void {
    if (typeof data.ts === 'number' && data.ts > write_ts + limits.clock)
      this.#behind.push({ from: write_ts, to: data.ts });
    if (write_ts <= received + limits.clock) return;
    const { from, to } = this.#ahead.get(received) ?? { from: write_ts, to: write_ts };
    this.#ahead.set(received, { from: Math.min(from, write_ts), to: Math.max(to, write_ts) });
  }

  /** Times when the clock was wrong. Entries received together cover as much time before it as their `write_ts` do. */
  causes(): Unobserved[] {
    return [...this.#ahead].map(([to, claimed]) => ({
      from: to - (claimed.to - claimed.from),
      to,
      reason: 'clock wrong',
    }));
  }

  /** Times when the clock was wrong, and the times that the entries have. */
  marks(): Mark[] {
    const ranges = [...this.causes(), ...this.#ahead.values(), ...this.#behind];
    return ranges.map(({ from, to }) => ({ flag: 'clock_moved', from, to }));
  }
}
