// Defines what a stage of a user's run is. Runs stages and measures, logs and reports them.
import type { Segmenter } from '../analysis/segmenter.ts';
import type { Log } from '../log/log.ts';
import { type Counts, line } from '../log/messages.ts';
import type { Stated } from '../model/correction.ts';
import type { TripRecord } from '../model/trip.ts';
import type { Lease, PipelineState, Store } from '../store/store.ts';
import type { TransitFeeds } from './transit-feeds.ts';

export interface RunContext {
  store: Store;
  userId: string;
  /** The lease as last renewed. The store refuses a write under a lost lease. */
  lease: () => Lease;
  /** The state of the user as read at the start. A stage that stores a new state also changes this object. */
  state: PipelineState;
  /** Trips that this run changed. null: any trip may have changed, so the run builds all documents. */
  changedTrips: { day: string; chain_ts: number }[] | null;
  /** This run changed no link up to this `chain_ts`; missing: it changed no link, because it did not analyse. */
  unchangedUntil?: number;
  /** The last trip before corrections; missing if this run did not analyse up to the end of the data. */
  lastTrip?: TripRecord;
  corrections?: readonly Stated[]; // the corrections that are not pending; missing until a stage has read them
  segmenter: Segmenter;
  feeds: TransitFeeds | null;
  log: Log;
  now: () => number;
  started: number; // when the run began
  /** The first data time to analyse again, regardless of the state; null: only changed data. */
  reanalyseFrom: number | null;
  stretchSize?: number; // locations, at least 2
}

export function endOfRun({ now, started }: RunContext): Pick<PipelineState, 'last_run_ts' | 'last_run_seconds'> {
  const ended = now();
  return { last_run_ts: ended, last_run_seconds: Math.max(0, ended - started) };
}

/** A stage: reads its input, computes with pure functions, and writes results and state in one transaction. */
export interface Stage {
  name: string;
  run(context: RunContext): Promise<StageResult>;
}

export interface StageResult {
  counts: Counts;
  changes?: TripChange[];
  problems?: string[]; // descriptions of trips that were left out because of an error
}

/** A trip that a run added, removed or changed. `before`: null for an added trip. `after`: null for a removed trip. */
export interface TripChange {
  what: 'added' | 'removed' | 'changed';
  day: string;
  start_ts: number;
  end_ts: number;
  before: ByMode | null;
  after: ByMode | null;
}

export type ByMode = Record<string, { distance_m: number; duration_s: number }>;

/** The result of a stage, with its duration. */
export interface StageReport extends StageResult {
  stage: string;
  seconds: number;
}

export async function runStage(stage: Stage, context: RunContext): Promise<StageReport> {
  const { log, userId, now } = context;
  log.write('INFO', line.stage(userId, stage.name));
  const started = now();
  const result = await stage.run(context);
  const seconds = now() - started;
  log.write('INFO', line.stageFinished(userId, stage.name, result.counts, seconds));
  return { stage: stage.name, seconds, ...result };
}
