// Runs the pipeline for one user: acquires the lease, runs every stage, and reports the result.
import { shippedSegmenter } from '../analysis/segment.ts';
import type { Segmenter } from '../analysis/segmenter.ts';
import type { Log } from '../log/log.ts';
import { line } from '../log/messages.ts';
import { codedText, errorText, isMobilityError } from '../model/mobility-error.ts';
import type { Lease, Store } from '../store/store.ts';
import { analyseTrips } from './analyse-trips.ts';
import { type HeldLease, holdLease, type LeaseOptions } from './lease.ts';
import { moveToLongTerm } from './move-to-long-term.ts';
import { endOfRun, type RunContext, runStage, type Stage, type StageReport } from './stage.ts';
import { feedsDiffer, loadFeeds, type TransitFeeds } from './transit-feeds.ts';
import { writeDocuments } from './write-documents.ts';

export const stages: readonly Stage[] = [moveToLongTerm, analyseTrips, writeDocuments];

/** The options of a run for one user. */
export interface PipelineOptions extends LeaseOptions {
  log: Log;
  now: () => number;
  onStage?: (stage: string) => void; // before each stage
  /** Data since this data time are analysed again. Default: only changed data. */
  reanalyseFrom?: number;
  /** Locations per stretch, at least 2. Limits the memory of the run and does not change its result. Default 5000. */
  stretchSize?: number;
  /** Default: the shipped segmenter. Trips of a segmenter of another version are derived again. */
  segmenter?: Segmenter;
  /** The transit feeds of the store. Default: the run reads them from the store. */
  feeds?: TransitFeeds | null;
}

/** How the run of a user ended. */
export interface UserReport {
  user_id: string;
  /** `nothing_new`: there was no work. `busy`: another run holds the lease, or acquired it during this run. */
  status: 'done' | 'nothing_new' | 'busy' | 'failed';
  stages: StageReport[];
  seconds: number;
  /** With `failed`: the error. With `busy`: who holds the lease. */
  message?: string;
  /** With `busy`: when the lease of the other run expires; missing if it was acquired during this run. */
  busy_until?: number;
}

/** Runs the pipeline for one user. A failure that concerns only this user is reported, not thrown. */
export async function runPipeline(store: Store, userId: string, options: PipelineOptions): Promise<UserReport> {
  const started = options.now();
  const report: UserReport = { user_id: userId, status: 'nothing_new', stages: [], seconds: 0 };
  try {
    const feeds = options.feeds === undefined ? await loadFeeds(store) : options.feeds;
    if (options.reanalyseFrom === undefined && !(await hasWork(store, userId, started, options.segmenter, feeds)))
      return report;
    const taken = await holdLease(store, userId, options);
    if ('heldBy' in taken) {
      report.status = 'busy';
      report.busy_until = taken.heldBy.expires_ts;
      report.message = `${taken.heldBy.owner} works on this user; its lease ends in ${secondsLeft(taken.heldBy, options.now()).toFixed(0)} s unless renewed`;
      // INFO and no warning, because parallel runs share the users by their leases.
      options.log.write('INFO', line.aboutUser(userId, report.message));
      return report;
    }
    let done = false;
    try {
      const context = createContext(store, userId, { ...options, feeds }, taken.held);
      await runStages(stages, context, report, options.onStage);
      done = true;
    } finally {
      await taken.held.end(done ? 'released' : undefined);
    }
  } catch (error) {
    // Not a failure: the user is not admitted, because an erasure has begun or a copy of the user is not complete.
    if (isMobilityError(error, 'MOBILITY_USER_UNKNOWN')) return report;
    report.message = errorText(error);
    // This run was too slow: another run acquired the lease and does the work.
    const lost = isMobilityError(error, 'MOBILITY_LEASE_LOST');
    report.status = lost ? 'busy' : 'failed';
    if (lost) options.log.write('WARNING', line.aboutUser(userId, report.message));
    else options.log.write('ERROR', line.pipelineFailed(userId, failureText(error)));
  } finally {
    report.seconds = options.now() - started;
  }
  return report;
}

/** Seconds until a lease ends, at most its term: `now` may come from a host whose clock differs from the store's. */
function secondsLeft({ expires_ts, seconds }: Lease, now: number): number {
  return Math.min(Math.max(0, expires_ts - now), seconds);
}

function createContext(
  store: Store,
  userId: string,
  options: PipelineOptions,
  { current: lease, state }: HeldLease,
): RunContext {
  const { log, now, stretchSize, feeds = null, segmenter = feeds?.segmenter ?? shippedSegmenter } = options;
  const reanalyseFrom = options.reanalyseFrom ?? null;
  const areDocumentsCurrent = state.changed === null && !state.documents_due && reanalyseFrom === null;
  return {
    store,
    userId,
    log,
    now,
    started: now(),
    lease,
    state,
    segmenter,
    feeds,
    reanalyseFrom,
    changedTrips: areDocumentsCurrent ? [] : null,
    ...(stretchSize && { stretchSize }),
  };
}

/**
 * The message and the stack of an error in one line. The message of a `SyntaxError` is left out: it quotes the text
 * that could not be parsed, which may contain data of users.
 */
function failureText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const places = (error.stack ?? '').split('\n').filter((text) => text.startsWith('    at '));
  const message = error instanceof SyntaxError ? 'a stored text has an unexpected form' : error.message;
  return [`${error.name}: ${message}`, ...places.map((place) => place.trim())].join(' ');
}

/**
 * Runs the stages in order. An error of a stage ends the run and is stored in the state; the next run repeats the work
 * that was not stored. The last stage records the end of a successful run itself.
 */
async function runStages(
  list: readonly Stage[],
  context: RunContext,
  report: UserReport,
  onStage?: (stage: string) => void,
): Promise<void> {
  const { store, userId, lease } = context;
  try {
    for (const stage of list) {
      onStage?.(stage.name);
      report.stages.push(await runStage(stage, context));
    }
    report.status = 'done';
  } catch (error) {
    const failed = { ...endOfRun(context), last_error: codedText(error) };
    await store.pipeline.merge(userId, failed, lease()).catch(() => {});
    throw error;
  }
}

/** True if a run has work: pending entries, a dirty range, due documents, another analysis version or other feeds. */
export async function hasWork(
  store: Store,
  userId: string,
  now: number,
  { version }: Segmenter = shippedSegmenter,
  feeds: TransitFeeds | null = null,
): Promise<boolean> {
  if ((await store.pipeline.withWork([userId], now, version)).has(userId)) return true;
  return feeds !== null && feedsDiffer(await store.pipeline.get(userId), feeds);
}
