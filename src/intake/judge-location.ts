// Judges whether trips can be made of a location, by the facts that are known when it arrives.
//
//   arrives     2026-11-28        2026-11-28       2026-11-28
//   accuracy    12 m              2,500 m          12 m
//   ts          2026-11-28        2026-11-28       2007-04-14
//   result      usable            inexact          misdated
import { inexactFrom } from '../analysis/clean/observations.ts';
import { dataTime, type Entry } from '../model/entry.ts';
import { day } from '../model/time.ts';

/** s; the longest time from `ts` to `write_ts`. A phone at rest repeats a location for weeks. */
const mostStale = 365 * day;
/** s; the longest time from `ts` to the arrival. Some apps send recordings of years ago. */
const mostLate = 5 * mostStale;

/** `at`: when the location arrives, seconds since the epoch. */
export function judgeLocation({ metadata, data }: Entry, at: number): 'usable' | 'inexact' | 'misdated' {
  if (typeof data.accuracy === 'number' && data.accuracy >= inexactFrom) return 'inexact';
  const ts = dataTime(data) ?? metadata.write_ts;
  const stale = metadata.write_ts - ts;
  return stale > mostStale || stale < -day || at - ts > mostLate ? 'misdated' : 'usable';
}
