// Derives a user's trips again and reports the differences.

import { type PipelineOptions, runPipeline, type UserReport } from '../pipeline/run-pipeline.ts';
import type { TripChange } from '../pipeline/stage.ts';
import type { Store } from '../store/store.ts';

/** What a rebuild did for a user, with the trips that changed. */
export interface RebuildReport extends UserReport {
  changes: TripChange[];
}

/**
 * Runs the pipeline with every trip from data time `from` on (without it, every trip) derived again. Stretches are
 * replaced one by one, so an interrupted rebuild leaves a complete diary, and the next run continues it.
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
