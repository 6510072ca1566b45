// Runs the pipeline for every user. Other runs on this or other hosts may do the same at the same time: leases decide
// which run works on a user.
import { setTimeout } from 'node:timers/promises';
import { shippedSegmenter } from '../analysis/segment.ts';
import { line } from '../log/messages.ts';
import { isMobilityError } from '../model/mobility-error.ts';
import { clockSlack } from '../model/pipeline-state.ts';
import { idleLife } from '../model/study.ts';
import { everyUser } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { readInParts } from '../util/parts-of.ts';
import { type PipelineOptions, runPipeline, type UserReport } from './run-pipeline.ts';
import type { StageReport } from './stage.ts';
import { feedsDiffer, loadFeeds } from './transit-feeds.ts';

/** Options of a run for all users. */
export interface AllOptions extends PipelineOptions {
  /** Number of users processed in parallel, whose writes share commits. Default 1. */
  parallel?: number;
  /** Runs the pipeline for one user, for example in another process. Default: `runPipeline`. */
  run?: (userId: string) => Promise<UserReport>;
  /** s after which the run begins no more users with outdated trips only, see `usersWithWork`. Default: no limit. */
  outdatedSeconds?: number;
  signal?: AbortSignal; // once aborted, the run finishes the users in progress and begins no others
  onUser?: (report: UserReport, done: number) => void; // after each user who had work
  /** Called when the run has waited for a lease for over a second. `seconds`: the longest that it may still wait. */
  onWait?: (report: UserReport, seconds: number) => void;
  /** Waits for a number of seconds, or until the signal is aborted. Tests pass their own function. */
  wait?: (seconds: number, signal?: AbortSignal) => Promise<void>;
}

/** Numbers of users by result, and sums. The size of the report does not grow with the number of users. */
export interface AllReport {
  users: number;
  done: number;
  nothing_new: number;
  busy: number;
  failed: number;
  seconds: number;
  stages: StageReport[]; // summed over all users
  failures: UserReport[]; // the first users whose run failed
  /** The longest run; null: no user had work. */
  longest: { user_id: string; seconds: number } | null;
}

const mostListed = 20; // failed users in a report, and problems of a stage
const pageSize = 100; // users per query; with more users, a record may be outdated before the run reaches its user
const firstStep = 1 / 16; // s until a lease is checked again; doubled after each check, because most runs end soon
const longestStep = 1; // s; the longest time until a lease is checked again
const reportAfter = 1; // s of waiting after which `onWait` is called
const pause = (seconds: number, signal?: AbortSignal): Promise<void> =>
  setTimeout(seconds * 1000, undefined, signal && { signal }).catch(() => {});

/**
 * Removes expired accounts, then runs the pipeline for every user who has work. Skips users whose lease another run
 * holds, and tries them again at the end. If the lease has expired by then, the other run was killed, and this run does
 * its work. Throws if the store becomes unreachable; the work on finished users stays stored.
 */
export async function runAll(store: Store, options: AllOptions): Promise<AllReport> {
  const started = options.now();
  const counts = { users: 0, done: 0, nothing_new: 0, busy: 0, failed: 0, seconds: 0 };
  const report: AllReport = { ...counts, stages: [], failures: [], longest: null };
  const busy: UserReport[] = [];
  const feeds = await loadFeeds(store);
  const run = options.run ?? ((userId) => runPipeline(store, userId, { ...options, feeds }));
  await removeExpired(store, options);
  const work = usersWithWork(store, report, { ...options, feeds });
  let failure: { error: unknown } | null = null;
  const processUsers = async (): Promise<void> => {
    while (failure === null && !options.signal?.aborted) {
      const next = await work.next();
      if (next.done) return;
      const result = await run(next.value);
      if (result.status === 'busy') busy.push(result);
      else await addResult(store, report, result, options);
    }
  };
  const guarded = (): Promise<void> =>
    processUsers().catch((error) => {
      failure ??= { error };
    });
  await Promise.all(Array.from({ length: options.parallel ?? 1 }, guarded));
  if (failure !== null) throw (failure as { error: unknown }).error;
  for (const one of busy) {
    const last = options.signal?.aborted ? one : await secondTry(store, one, run, options);
    await addResult(store, report, last, options);
  }
  report.seconds = options.now() - started;
  return report;
}

const expiredAtOnce = 100; // accounts removed per transaction

/** Removes accounts of people who joined a study by its link and never sent data, to make room in a full study. */
async function removeExpired({ studies }: Store, { now, log }: AllOptions): Promise<void> {
  const to = now() - idleLife;
  for (const { name } of await studies.list()) {
    for (let count = expiredAtOnce; count === expiredAtOnce; ) {
      const expired = await studies.removeIdle(name, { to, limit: expiredAtOnce });
      for (const { uuid } of expired) log.write('INFO', line.accountExpired(uuid, name));
      count = expired.length;
    }
  }
}

async function addResult(store: Store, report: AllReport, result: UserReport, options: AllOptions): Promise<void> {
  report[result.status] += 1;
  for (const stage of result.stages) addStage(report.stages, stage);
  const { user_id, seconds } = result;
  if (result.stages.length > 0 && seconds >= (report.longest?.seconds ?? 0)) report.longest = { user_id, seconds };
  if (result.status === 'failed' && report.failures.length < mostListed) {
    report.failures.push({ ...result, stages: result.stages.map(withoutChanges) });
  }
  options.onUser?.(result, report.done + report.failed);
  if (result.status === 'failed') await expectStore(store);
}

function addStage(stages: StageReport[], { stage, seconds, counts, problems = [] }: StageReport): void {
  let sum = stages.find((other) => other.stage === stage);
  if (sum === undefined) {
    sum = { stage, seconds: 0, counts: {}, problems: [] };
    stages.push(sum);
  }
  sum.seconds += seconds;
  sum.problems = [...sum.problems!, ...problems].slice(0, mostListed);
  const before = sum.counts;
  const added = Object.entries(counts).map(([name, count]) => [name, (before[name] ?? 0) + count] as const);
  sum.counts = { ...before, ...Object.fromEntries(added) };
}

/** Removes the changed trips from the report of a stage: after a first run over years the list is long. */
export function withoutChanges({ changes: _, ...rest }: StageReport): StageReport {
  return rest;
}

/** Throws if the store is unreachable or read-only, because then the run of every further user would fail. */
async function expectStore(store: Store): Promise<void> {
  await store.ping().catch((error) => {
    if (isMobilityError(error, 'MOBILITY_STORE_UNAVAILABLE', 'MOBILITY_STORE_READONLY')) throw error;
  });
}

/**
 * Yields the users with work, and counts the others as `nothing_new`. Users whose only work is trips of another
 * analysis version or of other feeds come last, as they may take hours: at least one, even after `outdatedSeconds`.
 */
async function* usersWithWork(
  store: Store,
  report: AllReport,
  {
    now,
    segmenter: { version } = shippedSegmenter,
    feeds = null,
    outdatedSeconds = Number.POSITIVE_INFINITY,
  }: AllOptions,
): AsyncGenerator<string> {
  const until = now() + outdatedSeconds;
  const begun = new Set<string>();
  for await (const ids of userPages(store)) {
    const withNew = await store.pipeline.withWork(ids, now());
    for (const id of ids) {
      report.users += 1;
      if (!withNew.has(id)) report.nothing_new += 1;
      else {
        begun.add(id);
        yield id;
      }
    }
  }
  const { people } = await store.pipeline.outdated(version);
  if (people === 0 && feeds === null) return;
  for await (const ids of userPages(store)) {
    const due = people === 0 ? new Set<string>() : await store.pipeline.withWork(ids, now(), version);
    const others = feeds === null ? [] : ids.filter((id) => !due.has(id));
    for (const [id, state] of others.length === 0 ? [] : await store.pipeline.of(others)) {
      if (feedsDiffer(state, feeds)) due.add(id);
    }
    for (const id of ids) {
      if (!due.has(id) || begun.has(id)) continue;
      report.nothing_new -= 1;
      yield id;
      if (now() >= until) return;
    }
  }
}

async function* userPages(store: Store): AsyncGenerator<string[]> {
  const users = readInParts(everyUser(store, { limit: pageSize }), pageSize);
  for await (const page of users) yield page.map(({ uuid }) => uuid);
}

/**
 * Runs a user again whose lease another run held at the first try. Before that, waits until
 * - the lease was renewed: its owner is alive and does the work, so this run finds the user `busy` again,
 * - the lease has ended, by the store's clock,
 * - the term of the lease is over, in case clocks differ,
 * - the signal is aborted: then there is no second try.
 */
async function secondTry(
  store: Store,
  first: UserReport,
  run: (userId: string) => Promise<UserReport>,
  options: AllOptions,
): Promise<UserReport> {
  const wait = options.wait ?? pause;
  let isReported = false;
  for (let waited = 0, longest = firstStep; ; longest = Math.min(2 * longest, longestStep)) {
    const lease = await store.leases.get(first.user_id);
    if (lease === null || lease.expires_ts !== first.busy_until) break;
    if (waited >= reportAfter && !isReported) {
      isReported = true;
      options.onWait?.(first, lease.seconds);
    }
    const left = lease.seconds + clockSlack - waited;
    if (left <= 0) break;
    const step = Math.min(longest, left);
    await wait(step, options.signal);
    if (options.signal?.aborted) return first;
    waited += step;
  }
  const again = await run(first.user_id);
  return again.status === 'busy' ? first : again;
}
