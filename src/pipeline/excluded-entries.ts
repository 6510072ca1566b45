// Excludes entries by corrections: the analysis reads the timeseries as if these entries did not exist.

import { holding } from '../diary/corrections/read-corrections.ts';
import { convertedTime } from '../intake/converters/convert.ts';
import type { Stated } from '../model/correction.ts';
import { unionOf } from '../model/dirty-range.ts';
import type { Entry } from '../model/entry.ts';
import type { Exclusion } from '../model/pipeline-state.ts';
import { sourceNames } from '../model/sources.ts';
import type { TimeRange } from '../model/time.ts';
import type { Timeseries } from '../store/store.ts';

/** The exclusions among the corrections, by time. */
export function exclusionsIn(corrections: readonly Stated[]): Exclusion[] {
  const setAside = holding(corrections).flatMap((one): Exclusion[] => {
    if (one.kind !== 'set_aside') return [];
    const { start_ts, end_ts, source, token_id } = one;
    return [{ start_ts, end_ts, ...(source && { source }), ...(token_id && { token_id }) }];
  });
  setAside.sort((a, b) => a.start_ts - b.start_ts || a.end_ts - b.end_ts || (textOf(a) < textOf(b) ? -1 : 1));
  return setAside;
}

const textOf = (one: Exclusion): string => JSON.stringify(one);

/** The range of times in which the excluded entries have changed. */
export function exclusionChange(before: readonly Exclusion[], after: readonly Exclusion[]): TimeRange | null {
  const [old, fresh] = [new Set(before.map(textOf)), new Set(after.map(textOf))];
  const changed = [...before.filter((one) => !fresh.has(textOf(one))), ...after.filter((one) => !old.has(textOf(one)))];
  return changed.reduce<TimeRange | null>(
    (all, { start_ts, end_ts }) => unionOf(all, { from: start_ts, to: end_ts }),
    null,
  );
}

/** The timeseries without excluded entries. A page may have fewer entries than its limit, or none. */
export function withoutExcluded<T extends Pick<Timeseries, 'find'>>(timeseries: T, setAside: readonly Exclusion[]): T {
  if (setAside.length === 0) return timeseries;
  const find: Timeseries['find'] = async (userId, query) => {
    const page = await timeseries.find(userId, query);
    const kept = page.entries.map((entry) => !setAside.some((one) => isExcluded(one, entry)));
    const left = <V>(list: readonly V[]): V[] => list.filter((_, i) => kept[i]);
    return { ...page, entries: left(page.entries), received_ts: left(page.received_ts) };
  };
  return { ...timeseries, find };
}

/** True for an excluded entry. */
export function isExcluded({ start_ts, end_ts, source, token_id }: Exclusion, entry: Entry): boolean {
  if (token_id !== undefined && token_id !== entry.metadata.token_id) return false;
  const ts = timeIn(entry);
  if (ts === null || ts < start_ts || ts > end_ts) return false;
  return source === undefined || sourceNames(entry).includes(source);
}

/** The data time of an entry. null also if its converter rejects the entry: the analysis does not read it either. */
function timeIn(entry: Entry): number | null {
  try {
    return convertedTime(entry);
  } catch {
    return null;
  }
}
