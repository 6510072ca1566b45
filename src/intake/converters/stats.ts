// Converts statistics of the app, which are the same on both platforms.
import type { Entry } from '../../model/entry.ts';
import { type Conversion, checkText, timeOf, unchanged } from './common.ts';

/** To payload `StatsEvent`: the data stay as pushed, without local times. Without `ts`, only `write_ts` counts. */
export function convertStats(entry: Entry): Conversion {
  const { name, ts } = entry.data;
  checkText(name, 'data.name');
  if (ts !== undefined && ts !== null) timeOf(ts, 'data.ts');
  return unchanged(entry);
}
