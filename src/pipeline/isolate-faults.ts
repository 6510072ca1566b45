// Entries that a correction sets aside: the analysis reads the timeseries as if they were not there.

import { holding, readCorrections } from '../diary/corrections/read-corrections.ts';
import { timeMeant } from '../intake/converters/convert.ts';
import { united } from '../model/dirty-range.ts';
import type { Entry } from '../model/entry.ts';
import type { SetAside } from '../model/pipeline-state.ts';
import { sourceNames } from '../model/sources.ts';
import type { TimeRange } from '../model/time.ts';
import type { Timeseries } from '../store/store.ts';

/** What is set aside, in the order of times. */
export async function readSetAside(timeseries: Pick<Timeseries, 'find'>, userId: string): Promise<SetAside[]> {
  const all = await readCorrections({ timeseries }, userId);
  const setAside = holding(all).flatMap((one): SetAside[] => {
    if (one.kind !== 'set_aside') return [];
    const { start_ts, end_ts, source, token_id } = one;
    return [{ start_ts, end_ts, ...(source && { source }), ...(token_id && { token_id }) }];
  });
  setAside.sort((a, b) => a.start_ts - b.start_ts || a.end_ts - b.end_ts || (textOf(a) < textOf(b) ? -1 : 1));
  return setAside;
}

const textOf = (one: SetAside): string => JSON.stringify(one);

/** The time in which more or less is set aside than before. */
export function changeBetween(before: readonly SetAside[], after: readonly SetAside[]): TimeRange | null {
  const [old, fresh] = [new Set(before.map(textOf)), new Set(after.map(textOf))];
  const changed = [...before.filter((one) => !fresh.has(textOf(one))), ...after.filter((one) => !old.has(textOf(one)))];
  return changed.reduce<TimeRange | null>(
    (all, { start_ts, end_ts }) => united(all, { from: start_ts, to: end_ts }),
    null,
  );
}

/** The timeseries without what is set aside; a page of it may be shorter than its limit, and empty. */
export function withoutSetAside<T extends Pick<Timeseries, 'find'>>(timeseries: T, setAside: readonly SetAside[]): T {
  if (setAside.length === 0) return timeseries;
  const find: Timeseries['find'] = async (userId, query) => {
    const page = await timeseries.find(userId, query);
    const kept = page.entries.map((entry) => !setAside.some((one) => isMeant(one, entry)));
    const left = <V>(list: readonly V[]): V[] => list.filter((_, i) => kept[i]);
    return { ...page, entries: left(page.entries), received_ts: left(page.received_ts) };
  };
  return { ...timeseries, find };
}

/** True for an entry that is set aside. */
export function isMeant({ start_ts, end_ts, source, token_id }: SetAside, entry: Entry): boolean {
  if (token_id !== undefined && token_id !== entry.metadata.token_id) return false;
  const ts = timeIn(entry);
  if (ts === null || ts < start_ts || ts > end_ts) return false;
  return source === undefined || sourceNames(entry).includes(source);
}

/** null also for an entry that its converter refuses: the analysis reads it neither. */
function timeIn(entry: Entry): number | null {
  try {
    return timeMeant(entry);
  } catch {
    return null;
  }
}
