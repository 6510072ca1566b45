// Runs the pipeline for every user, also while other runs work on this or other hosts. Runs know of each other only
// through leases.
import { shippedSegmenter } from '../analysis/segment.ts';
import { line } from '../log/messages.ts';
import { isMobilityError } from '../model/mobility-error.ts';
import { clockSlack } from '../model/pipeline-state.ts';
import { idleLife } from '../model/study.ts';
import { everyUser } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { type PipelineOptions, runPipeline, type UserReport } from './run-pipeline.ts';
import type { StageReport } from './stage.ts';
import { feedsDiffer, loadFeeds } from './transit-feeds.ts';

/** Options of a run over all users. */
export interface AllOptions extends PipelineOptions {
  /** Users processed in parallel. More than 1 helps only with a store across a network, or with `run`. Default 1. */
  lanes?: number;
  /** Runs the pipeline for one user, for example in another process. Default: `runPipeline`. */
  run?: (userId: string) => Promise<UserReport>;
  /**
   * s after the start of the run. After this time it begins no user whose only work is trips of another analysis
   * version or of other feeds, except the first such user. Default: no limit.
   */
  olderFor?: number;
  /** Once aborted, the run finishes the users in progress and begins no others. */
  signal?: AbortSignal;
  /** Called after each user who had work. */
  onUser?: (report: UserReport, done: number) => void;
  /** Called when the run has waited for a lease for over a second. `seconds`: the longest that it may still wait. */
  onWait?: (report: UserReport, seconds: number) => void;
  /** Waits for so many seconds. Tests pass their own function. */
  wait?: (seconds: number) => Promise<void>;
}

/** The number of users, and how their runs ended. The report's size does not depend on the number of users. */
export interface AllReport {
  users: number;
  done: number;
  nothing_new: number;
  busy: number;
  failed: number;
  seconds: number;
  /** The reports of the stages, added up over all users. */
  stages: StageReport[];
  /** The first users whose run failed. */
  failures: UserReport[];
  /** The longest run; null: no user had work. */
  longest: { user_id: string; seconds: number } | null;
}

/** The most failed users, and problems of a stage, in a report. */
const listed = 20;
/** Users per query: few, so that work begins soon and the answer is not outdated for long. */
const pageSize = 100;
/** s between two checks of a lease. The first checks follow quickly, since most runs end soon. */
const firstStep = 1 / 16;
const longestStep = 1;
/** s of waiting after which `onWait` is called. */
const silence = 1;
const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/**
 * Removes expired accounts, then runs the pipeline for every user who has work. Skips users whom another run holds, and
 * tries them again at the end: if the lease has expired by then, its owner died and this run processes the user. Throws
 * if the store becomes unreachable; finished users stay finished.
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
  const lane = async (): Promise<void> => {
    while (failure === null && !options.signal?.aborted) {
      const next = await work.next();
      if (next.done) return;
      const one = await run(next.value);
      if (one.status === 'busy') busy.push(one);
      else await add(store, report, one, options);
    }
  };
  const guarded = (): Promise<void> =>
    lane().catch((error) => {
      failure ??= { error };
    });
  await Promise.all(Array.from({ length: options.lanes ?? 1 }, guarded));
  if (failure !== null) throw (failure as { error: unknown }).error;
  await retry(store, report, busy, run, options);
  report.seconds = options.now() - started;
  return report;
}

/** Accounts removed per transaction. */
const expiredAtOnce = 100;

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

/** Processes the users whom another run held at the first try. */
async function retry(
  store: Store,
  report: AllReport,
  busy: readonly UserReport[],
  run: (userId: string) => Promise<UserReport>,
  options: AllOptions,
): Promise<void> {
  const over = new AbortController(); // removes the listener from a signal that outlives many runs
  const ended = aborted(options.signal, over.signal);
  try {
    for (const one of busy) {
      const last = options.signal?.aborted ? one : await secondTry(store, one, run, options, ended);
      await add(store, report, last, options);
    }
  } finally {
    over.abort();
  }
}

async function add(store: Store, report: AllReport, one: UserReport, options: AllOptions): Promise<void> {
  report[one.status] += 1;
  for (const stage of one.stages) addStage(report.stages, stage);
  const { user_id, seconds } = one;
  if (one.stages.length > 0 && seconds >= (report.longest?.seconds ?? 0)) report.longest = { user_id, seconds };
  if (one.status === 'failed' && report.failures.length < listed) {
    report.failures.push({ ...one, stages: one.stages.map(withoutChanges) });
  }
  options.onUser?.(one, report.done + report.failed);
  if (one.status === 'failed') await expectStore(store);
}

function addStage(stages: StageReport[], { stage, seconds, counts, problems = [] }: StageReport): void {
  let sum = stages.find((other) => other.stage === stage);
  if (sum === undefined) {
    sum = { stage, seconds: 0, counts: {}, problems: [] };
    stages.push(sum);
  }
  sum.seconds += seconds;
  sum.problems = [...sum.problems!, ...problems].slice(0, listed);
  const before = sum.counts;
  const added = Object.entries(counts).map(([name, count]) => [name, (before[name] ?? 0) + count] as const);
  sum.counts = { ...before, ...Object.fromEntries(added) };
}

/** The report of a stage without its list of trips, which is long after a first run over years. */
export function withoutChanges({ changes: _, ...rest }: StageReport): StageReport {
  return rest;
}

/** Throws if the store is unreachable or read-only: every further user would fail after all retries. */
async function expectStore(store: Store): Promise<void> {
  await store.ping().catch((error) => {
    if (isMobilityError(error, 'MOBILITY_STORE_UNAVAILABLE', 'MOBILITY_STORE_READONLY')) throw error;
  });
}

/**
 * Users with work; counts all others as having nothing new. First users with new data, then users whose only work is
 * trips of another analysis version or of other transit feeds: these may take hours.
 */
async function* usersWithWork(
  store: Store,
  report: AllReport,
  { now, segmenter: { version } = shippedSegmenter, feeds = null, olderFor = Number.POSITIVE_INFINITY }: AllOptions,
): AsyncGenerator<string> {
  const until = now() + olderFor;
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

/** UUIDs of users, page by page. */
async function* userPages(store: Store): AsyncGenerator<string[]> {
  let ids: string[] = [];
  for await (const { uuid } of everyUser(store, { limit: pageSize })) {
    if (ids.push(uuid) < pageSize) continue;
    yield ids;
    ids = [];
  }
  if (ids.length > 0) yield ids;
}

/**
 * Waits until the other run's lease of the first try has ended or was renewed. A renewed lease shows that its owner is
 * alive and does the work. The store's clock decides whether the lease has ended. The wait never takes longer than the
 * lease's term, even if the clocks differ, and ends when the signal is aborted.
 */
async function secondTry(
  store: Store,
  first: UserReport,
  run: (userId: string) => Promise<UserReport>,
  options: AllOptions,
  ended: Promise<void>,
): Promise<UserReport> {
  const wait = options.wait ?? pause;
  let isReported = false;
  for (let waited = 0, longest = firstStep; ; longest = Math.min(2 * longest, longestStep)) {
    const lease = await store.leases.get(first.user_id);
    if (lease === null || lease.expires_ts !== first.busy_until) break;
    if (waited >= silence && !isReported) {
      isReported = true;
      options.onWait?.(first, lease.seconds);
    }
    const left = lease.seconds + clockSlack - waited;
    if (left <= 0) break;
    const step = Math.min(longest, left);
    await Promise.race([wait(step), ended]);
    if (options.signal?.aborted) return first;
    waited += step;
  }
  const again = await run(first.user_id);
  return again.status === 'busy' ? first : again;
}

/** Resolves when `signal` is aborted; never without a signal. Stops listening when `over` is aborted. */
function aborted(signal: AbortSignal | undefined, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener('abort', () => resolve(), { once: true, signal: over });
  });
}
