// Judges whether trips can be made of a location, by the facts that are known when it arrives.
//
//   arrives     2026-11-28        2026-11-28       2026-11-28
//   accuracy    12 m              2,500 m          12 m
//   ts          2026-11-28        2026-11-28       2007-04-14
//   result      usable            inexact          misdated
import { inexactFrom } from '../analysis/clean/observations.ts';
import { dataTime, type Entry } from '../model/entry.ts';
import { day } from '../model/time.ts';

/** s. Phones at rest repeat their last location for weeks. Receivers whose week counter overflowed are years behind. */
const mostStale = 365 * day;
/** s. Apps that send no write time may send old recordings. */
const mostLate = 5 * mostStale;

/** `at`: when the location arrives, seconds since the epoch. */
export function judgeLocation({ metadata, data }: Entry, at: number): 'usable' | 'inexact' | 'misdated' {
  if (typeof data.accuracy === 'number' && data.accuracy >= inexactFrom) return 'inexact';
  const ts = dataTime(data) ?? metadata.write_ts;
  const stale = metadata.write_ts - ts;
  return stale > mostStale || stale < -day || at - ts > mostLate ? 'misdated' : 'usable';
}
