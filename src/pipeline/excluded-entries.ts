// Excludes entries by corrections. The analysis reads the timeseries as if excluded entries did not exist.
import { activeCorrections } from '../diary/corrections/read-corrections.ts';
import { convertedTime } from '../intake/converters/convert.ts';
import type { Stated } from '../model/correction.ts';
import { unionOf } from '../model/dirty-range.ts';
import type { Entry } from '../model/entry.ts';
import type { Exclusion } from '../model/pipeline-state.ts';
import { sourceNames } from '../model/sources.ts';
import type { TimeRange } from '../model/time.ts';
import type { Timeseries } from '../store/store.ts';

export function exclusionsIn(corrections: readonly Stated[]): Exclusion[] {
  const exclusions = activeCorrections(corrections).flatMap((one): Exclusion[] => {
    if (one.kind !== 'set_aside') return [];
    const { start_ts, end_ts, source, token_id } = one;
    return [{ start_ts, end_ts, ...(source && { source }), ...(token_id && { token_id }) }];
  });
  exclusions.sort((a, b) => a.start_ts - b.start_ts || a.end_ts - b.end_ts || (textOf(a) < textOf(b) ? -1 : 1));
  return exclusions;
}

const textOf = (one: Exclusion): string => JSON.stringify(one);

export function exclusionChange(before: readonly Exclusion[], after: readonly Exclusion[]): TimeRange | null {
  const missingIn = (list: readonly Exclusion[], others: readonly Exclusion[]): Exclusion[] => {
    const texts = new Set(others.map(textOf));
    return list.filter((one) => !texts.has(textOf(one)));
  };
  const changed = [...missingIn(before, after), ...missingIn(after, before)];
  return changed.reduce<TimeRange | null>((all, one) => unionOf(all, { from: one.start_ts, to: one.end_ts }), null);
}

/** Returns the timeseries without excluded entries. `find` may return fewer entries than its limit, even none. */
export function withoutExcluded<T extends Pick<Timeseries, 'find'>>(
  timeseries: T,
  exclusions: readonly Exclusion[],
): T {
  if (exclusions.length === 0) return timeseries;
  const find: Timeseries['find'] = async (userId, query) => {
    const page = await timeseries.find(userId, query);
    const kept = page.entries.map((entry) => !exclusions.some((one) => isExcluded(one, entry)));
    const left = <V>(list: readonly V[]): V[] => list.filter((_, i) => kept[i]);
    return { ...page, entries: left(page.entries), received_ts: left(page.received_ts) };
  };
  return { ...timeseries, find };
}

export function isExcluded({ start_ts, end_ts, source, token_id }: Exclusion, entry: Entry): boolean {
  if (token_id !== undefined && token_id !== entry.metadata.token_id) return false;
  const ts = timeIn(entry);
  if (ts === null || ts < start_ts || ts > end_ts) return false;
  return source === undefined || sourceNames(entry).includes(source);
}

/** The data time of an entry. null: it has none, or a converter rejects the entry, so the analysis ignores it. */
function timeIn(entry: Entry): number | null {
  try {
    return convertedTime(entry);
  } catch {
    return null;
  }
}
