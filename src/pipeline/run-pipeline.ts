// The main flow of the pipeline: takes one user through every stage.

import { randomUUID } from 'node:crypto';
import { shippedSegmenter } from '../analysis/segment.ts';
import type { Segmenter } from '../analysis/segmenter.ts';
import type { Log } from '../log/log.ts';
import { line } from '../log/messages.ts';
import { codedText, errorText, isMobilityError } from '../model/mobility-error.ts';
import type { Lease, Store } from '../store/store.ts';
import { type HeldLease, holdLease } from './lease.ts';
import { endOfRun, type RunContext, runStage, type Stage, type StageReport } from './stage.ts';
import { stages } from './stages.ts';
import { feedsDiffer, loadFeeds, type TransitFeeds } from './transit-feeds.ts';

/** Options of a run. */
export interface PipelineOptions {
  log: Log;
  /** Seconds since the epoch. */
  now: () => number;
  /** The owner of the lease, which other processes see. Default: a random name. */
  owner?: string;
  /** s until the lease of a killed run expires. */
  leaseSeconds?: number;
  /** Called before each stage. */
  onStage?: (stage: string) => void;
  /** The first data time to analyse again. Default: only changed data. */
  reanalyseFrom?: number;
  /** Locations per stretch, at least 2. It bounds the memory; the result does not depend on it. Default 5000. */
  stretchSize?: number;
  /** The segmenter; default: the shipped one. Trips that came from another version are derived again. */
  segmenter?: Segmenter;
  /** The transit feeds of the store. Default: the run reads them from the store. */
  feeds?: TransitFeeds | null;
}

/** How the run of a user ended. */
export interface UserReport {
  user_id: string;
  /** `nothing_new`: nothing was written. `busy`: another run holds the lease, or acquired it during this run. */
  status: 'done' | 'nothing_new' | 'busy' | 'failed';
  stages: StageReport[];
  seconds: number;
  /** The reason of a failure, or the owner of the lease. */
  message?: string;
  /**
   * With `busy`: when the other run's lease expires unless it is renewed; missing if the other run acquired the lease
   * during this run.
   */
  busy_until?: number;
}

const defaultLeaseSeconds = 60;

/** Runs the pipeline for one user. A failure that concerns only this user is reported, not thrown. */
export async function runPipeline(store: Store, userId: string, options: PipelineOptions): Promise<UserReport> {
  const started = options.now();
  const report: UserReport = { user_id: userId, status: 'nothing_new', stages: [], seconds: 0 };
  try {
    const feeds = options.feeds === undefined ? await loadFeeds(store) : options.feeds;
    if (options.reanalyseFrom === undefined && !(await hasWork(store, userId, started, options.segmenter, feeds)))
      return report;
    const owner = options.owner ?? randomUUID();
    const taken = await holdLease(store, userId, owner, options.leaseSeconds ?? defaultLeaseSeconds);
    if ('heldBy' in taken) {
      report.status = 'busy';
      report.busy_until = taken.heldBy.expires_ts;
      report.message = `${taken.heldBy.owner} works on this user; its lease ends in ${secondsLeft(taken.heldBy, options.now()).toFixed(0)} s unless renewed`;
      // No warning: this is how parallel runs share the users.
      options.log.write('INFO', line.aboutUser(userId, report.message));
      return report;
    }
    let done = false;
    try {
      const context = contextOf(store, userId, { ...options, feeds }, taken.held);
      await runStages(stages, context, report, options.onStage);
      done = true;
    } finally {
      await taken.held.end(done ? 'released' : undefined);
    }
  } catch (error) {
    // The user was erased meanwhile, or an erasure or a copy of the user is incomplete.
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

/** s until a lease ends. At most its term, even if the clock of this host is wrong. */
function secondsLeft({ expires_ts, seconds }: Lease, now: number): number {
  return Math.min(Math.max(0, expires_ts - now), seconds);
}

function contextOf(
  store: Store,
  userId: string,
  options: PipelineOptions,
  { current: lease, state }: HeldLease,
): RunContext {
  const { log, now, stretchSize, feeds = null, segmenter = feeds?.segmenter ?? shippedSegmenter } = options;
  const reanalyseFrom = options.reanalyseFrom ?? null;
  const whole = state.changed === null && !state.documents_due && reanalyseFrom === null;
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
    changedTrips: whole ? [] : null,
    ...(stretchSize && { stretchSize }),
  };
}

/**
 * The message and the stack of an error in one line. The message of a `SyntaxError` is left out, since it quotes the
 * text, which contains data of users.
 */
function failureText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const places = (error.stack ?? '').split('\n').filter((text) => text.startsWith('    at '));
  const message = error instanceof SyntaxError ? 'a stored text has an unexpected form' : error.message;
  return [`${error.name}: ${message}`, ...places.map((place) => place.trim())].join(' ');
}

/**
 * Runs the stages in order. A failing stage ends the run; the next run repeats what was not stored. The last stage also
 * records the end of the run.
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

/** True if a run would have work: new entries, changed data time, due documents, newer analysis or other feeds. */
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
