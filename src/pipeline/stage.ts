// What a stage of a user's run is, and the runner that times, logs and reports it.
import type { Segmenter } from '../analysis/segmenter.ts';
import type { Log } from '../log/log.ts';
import { type Counts, line } from '../log/messages.ts';
import type { Stated } from '../model/correction.ts';
import type { TripRecord } from '../model/trip.ts';
import type { Lease, PipelineState, Store } from '../store/store.ts';
import type { TransitFeeds } from './transit-feeds.ts';

/** What every stage of one user's run works with. */
export interface RunContext {
  store: Store;
  userId: string;
  /** The present lease; the store refuses a write under a lost one. */
  lease: () => Lease;
  /** The pipeline's state for the user: read once per run, and updated by each stage that writes it. */
  state: PipelineState;
  /** Trips that came, went or changed in this run; null where that is not all that documents may have missed. */
  changedTrips: { day: string; chain_ts: number }[] | null;
  /** The last trip of the chain; absent where this run did not come to its end. */
  lastTrip?: TripRecord;
  /** The moved corrections of the user, once a stage has read them. */
  corrections?: readonly Stated[];
  /** What finds the trips. */
  segmenter: Segmenter;
  /** Transit feeds around people; null: the store never had one. */
  feeds: TransitFeeds | null;
  log: Log;
  /** Seconds since the epoch. */
  now: () => number;
  /** When the run began, seconds since the epoch. */
  started: number;
  /** Analyse again from this data time on, regardless of the state; null: only changed data. */
  reanalyseFrom: number | null;
  /** Locations analysed at a time, at least 2: bounds memory; the outcome does not depend on it. */
  stretchSize?: number;
}

/** What the state notes when a run ends now. */
export function endOfRun({ now, started }: RunContext): Pick<PipelineState, 'last_run_ts' | 'last_run_seconds'> {
  const ended = now();
  return { last_run_ts: ended, last_run_seconds: Math.max(0, ended - started) };
}

/** One stage: it reads what it needs, computes through pure functions, and writes results and state together. */
export interface Stage {
  name: string;
  run(context: RunContext): Promise<StageResult>;
}

/** What a stage did. */
export interface StageResult {
  counts: Counts;
  /** Trips that came, went or changed. */
  changes?: TripChange[];
  /** What was left out so that the run could finish. */
  problems?: string[];
}

/** A trip that a run added, removed or changed. */
export interface TripChange {
  what: 'added' | 'removed' | 'changed';
  day: string;
  start_ts: number;
  end_ts: number;
  /** Its sections by mode before and after; null: there was, or is, no such trip. */
  before: ByMode | null;
  after: ByMode | null;
}

/** m and s of the sections of each mode. */
export type ByMode = Record<string, { distance_m: number; duration_s: number }>;

/** What a stage did and how long it took. */
export interface StageReport extends StageResult {
  stage: string;
  seconds: number;
}

/** Runs one stage; its log lines name the user, so that one user's story can be followed. */
export async function runStage(stage: Stage, context: RunContext): Promise<StageReport> {
  const { log, userId, now } = context;
  log.write('INFO', line.stage(userId, stage.name));
  const started = now();
  const result = await stage.run(context);
  const seconds = now() - started;
  log.write('INFO', line.stageFinished(userId, stage.name, result.counts, seconds));
  return { stage: stage.name, seconds, ...result };
}
