// One user through every stage: the main flow of the pipeline.

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

/** What a run of the pipeline gets from outside. */
export interface PipelineOptions {
  log: Log;
  /** Seconds since the epoch. */
  now: () => number;
  /** The owner of the lease, shown to others; default: a random name. */
  owner?: string;
  /** s; how long a killed run keeps the user. */
  leaseSeconds?: number;
  /** Called before each stage. */
  onStage?: (stage: string) => void;
  /** Analyse again from this data time on. */
  reanalyseFrom?: number;
  /** Locations analysed at a time, at least 2: bounds memory; the outcome does not depend on it. Default 5000. */
  stretchSize?: number;
  /** The segmenter; default: the shipped one. A user whose trips come from another one is analysed again. */
  segmenter?: Segmenter;
  /** The transit feeds of the store; default: read from it. */
  feeds?: TransitFeeds | null;
}

/** How the run of a user ended. */
export interface UserReport {
  user_id: string;
  /** `nothing_new`: nothing was written. `busy`: another run holds the user, or took the user over. */
  status: 'done' | 'nothing_new' | 'busy' | 'failed';
  stages: StageReport[];
  seconds: number;
  /** The reason of a failure, or the holder of the lease. */
  message?: string;
  /** With `busy`: when the lease of the other run ends unless renewed; absent if the user was taken over. */
  busy_until?: number;
}

const defaultLeaseSeconds = 60;

/** Runs the pipeline for one user. Reports failures that concern this user only, and does not throw them. */
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
      // No warning: this is how runs side by side divide the users among them.
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
    // The user was erased meanwhile, or an erasure or a copy of the user has not ended.
    if (isMobilityError(error, 'MOBILITY_USER_UNKNOWN')) return report;
    report.message = errorText(error);
    // Another run took the user over from this one, which was too slow, and does the work.
    const lost = isMobilityError(error, 'MOBILITY_LEASE_LOST');
    report.status = lost ? 'busy' : 'failed';
    if (lost) options.log.write('WARNING', line.aboutUser(userId, report.message));
    else options.log.write('ERROR', line.pipelineFailed(userId, failureText(error)));
  } finally {
    report.seconds = options.now() - started;
  }
  return report;
}

/** s to the end of a lease: its length at most, whatever the clock of this host says. */
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
 * Message and place of an error. The message of a `SyntaxError` is left out: it quotes the text, which is people's
 * data.
 */
function failureText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const places = (error.stack ?? '').split('\n').filter((text) => text.startsWith('    at '));
  const message = error instanceof SyntaxError ? 'a stored text is not what was expected' : error.message;
  return [`${error.name}: ${message}`, ...places.map((place) => place.trim())].join(' ');
}

/**
 * Runs the stages in order. A failing stage ends the run, and the next run does what it did not store. The last stage
 * also notes the end of the run.
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

/** True when a run would have something to do: new entries, changed data time, documents due, or a newer analysis. */
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
