// An entry for the timeseries, in one form.
import { dataTime } from '../model/entry.ts';
import type { KeptEntry, TimeseriesChange } from './store.ts';

/** An element of `TimeseriesChange.put` with the data time by which it is indexed. */
export function keptEntry(one: TimeseriesChange['put'][number]): KeptEntry {
  return 'entry' in one ? (one as KeptEntry) : { entry: one, ts: dataTime(one.data) };
}
