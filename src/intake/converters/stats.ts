// Converts statistics of the app, which are the same on both platforms.
import type { Entry } from '../../model/entry.ts';
import { type Conversion, checkText, timeOf, unchanged } from './common.ts';

/** The data stay as pushed. `reading` is in seconds if it is a duration, -1 for an event without a value. */
export function convertStats(entry: Entry): Conversion {
  const { name, ts } = entry.data;
  checkText(name, 'data.name');
  if (ts !== undefined && ts !== null) timeOf(ts, 'data.ts');
  return unchanged(entry);
}
