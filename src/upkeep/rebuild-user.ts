import { shippedSegmenter } from '../analysis/segment.ts';
import { silentLog } from '../log/log.ts';
import { analyseTrips } from '../pipeline/analyse-trips.ts';
import { type PipelineOptions, runPipeline, type UserReport } from '../pipeline/run-pipeline.ts';
import type { ByMode, TripChange } from '../pipeline/stage.ts';
import { loadFeeds } from '../pipeline/transit-feeds.ts';
import type { Store } from '../store/store.ts';

/** `changes`: the trips that differ after the rebuild. */
export type RebuildReport = UserReport & { changes: TripChange[] };

/**
 * Derives every trip since data time `from` again; default: all trips. Replaces trips stretch by
 * stretch, so that after an interruption the diary is complete and the next run continues.
 */
export async function rebuild(
  store: Store,
  userId: string,
  options: PipelineOptions & { from?: number },
): Promise<RebuildReport> {
  const { from, ...rest } = options;
  const report = await runPipeline(store, userId, { ...rest, reanalyseFrom: from ?? -Number.MAX_VALUE });
  return { ...report, changes: report.stages.flatMap((stage) => stage.changes ?? []) };
}

/** Returns the changes that `rebuild` would make without pending entries. Writes nothing. */
export async function previewRebuild(
  store: Store,
  userId: string,
  { now, segmenter, from = -Number.MAX_VALUE }: Pick<PipelineOptions, 'now' | 'segmenter'> & { from?: number },
): Promise<TripChange[]> {
  const apply: Store['trips']['apply'] = async () => {};
  const feeds = await loadFeeds(store);
  const { changes = [] } = await analyseTrips.run({
    store: { ...store, trips: { ...store.trips, apply } },
    userId,
    lease: () => ({ user_id: userId, owner: '', fence: 0, expires_ts: 0, seconds: 0 }), // `apply` ignores it
    state: await store.pipeline.get(userId),
    changedTrips: null,
    segmenter: segmenter ?? feeds?.segmenter ?? shippedSegmenter,
    feeds,
    log: silentLog,
    now,
    started: now(),
    reanalyseFrom: from,
  });
  return changes;
}

export interface DayChange {
  user_id: string;
  day: string;
  added: number;
  removed: number;
  changed: number;
  /** Distance and duration of the changed trips by mode, before the rebuild and after it. */
  before: ByMode;
  after: ByMode;
}

/** The changes of all users. The size of a summary does not depend on the number of users. */
export interface RebuildSummary extends Omit<DayChange, 'user_id' | 'day'> {
  users: number;
  users_changed: number;
  days_changed: number;
  /** The 10 days with the most metres that were added, removed or got another mode. */
  worst: DayChange[];
}

export function emptySummary(): RebuildSummary {
  const none = { users: 0, users_changed: 0, days_changed: 0, added: 0, removed: 0, changed: 0 };
  return { ...none, before: {}, after: {}, worst: [] };
}

const mostDays = 10; // days in `worst`

/** A user without changed days counts in `users` only. */
export function addUser(summary: RebuildSummary, days: readonly DayChange[]): void {
  summary.users += 1;
  summary.users_changed += days.length > 0 ? 1 : 0;
  summary.days_changed += days.length;
  for (const day of days) {
    for (const what of ['added', 'removed', 'changed'] as const) summary[what] += day[what];
    addModes(summary.before, day.before);
    addModes(summary.after, day.after);
  }
  summary.worst = [...summary.worst, ...days].sort((a, b) => metresChanged(b) - metresChanged(a)).slice(0, mostDays);
}

export function dayChanges(userId: string, changes: readonly TripChange[]): DayChange[] {
  const days = new Map<string, DayChange>();
  for (const { day, what, before, after } of changes) {
    const sum = days.get(day) ?? { user_id: userId, day, added: 0, removed: 0, changed: 0, before: {}, after: {} };
    days.set(day, sum);
    sum[what] += 1;
    addModes(sum.before, before ?? {});
    addModes(sum.after, after ?? {});
  }
  return [...days.values()].sort((a, b) => (a.day < b.day ? -1 : 1));
}

/** Returns the modes; the mode with the most metres comes first. */
export function modesOf({ before, after }: Pick<DayChange, 'before' | 'after'>): string[] {
  const metres = (mode: string): number => Math.max(before[mode]?.distance_m ?? 0, after[mode]?.distance_m ?? 0);
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].sort((a, b) => metres(b) - metres(a));
}

function addModes(sum: ByMode, added: ByMode): void {
  for (const [mode, { distance_m, duration_s }] of Object.entries(added)) {
    const total = sum[mode] ?? { distance_m: 0, duration_s: 0 };
    sum[mode] = { distance_m: total.distance_m + distance_m, duration_s: total.duration_s + duration_s };
  }
}

/** Returns the sum of the absolute changes in distance of all modes, in m. */
function metresChanged(day: DayChange): number {
  const difference = (mode: string): number =>
    Math.abs((day.after[mode]?.distance_m ?? 0) - (day.before[mode]?.distance_m ?? 0));
  return modesOf(day).reduce((sum, mode) => sum + difference(mode), 0);
}
