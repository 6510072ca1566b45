// Statistics of the app, alike on both platforms.
import type { Entry } from '../../model/entry.ts';
import { type Conversion, checkText, timeOf, unchanged } from './common.ts';

/**
 * Payload `StatsEvent`: the data stay as pushed, without local times. An event without `ts` has its `write_ts` only.
 */
export function convertStats(entry: Entry): Conversion {
  const { name, ts } = entry.data;
  checkText(name, 'data.name');
  if (ts !== undefined && ts !== null) timeOf(ts, 'data.ts');
  return unchanged(entry);
}
