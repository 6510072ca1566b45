import { shippedSegmenter } from '../analysis/segment.ts';
import { silentLog } from '../log/log.ts';
import { analyseTrips } from '../pipeline/analyse-trips.ts';
import { type PipelineOptions, runPipeline, type UserReport } from '../pipeline/run-pipeline.ts';
import type { TripChange } from '../pipeline/stage.ts';
import { loadFeeds } from '../pipeline/transit-feeds.ts';
import type { Store } from '../store/store.ts';

/** The result of a rebuild for a user, with the changed trips. */
export interface RebuildReport extends UserReport {
  changes: TripChange[];
}

/**
 * Runs the pipeline so that it derives again every trip since data time `from`; default: all trips. It replaces trips
 * stretch by stretch. So after an interruption the diary is complete, and the next run continues the rebuild.
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

/**
 * Returns the changes that `rebuild` with the same options would make. Ignores pending entries. Writes nothing and
 * needs no lease.
 */
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
