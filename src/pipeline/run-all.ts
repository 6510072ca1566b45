// Every user through the pipeline, also beside other runs on this or other hosts, which are known only by their leases.
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

/** How a run over all users is done. */
export interface AllOptions extends PipelineOptions {
  /** Users in work at the same time; more than 1 pays with a store across a network, or with `run`. Default 1. */
  lanes?: number;
  /** Runs the pipeline for one user, for example in another process. Default: `runPipeline`. */
  run?: (userId: string) => Promise<UserReport>;
  /**
   * s from the beginning after which no user is begun who has no new data, but trips of another version of the analysis
   * or of other feeds. One of them is begun in any case. Default: no limit.
   */
  olderFor?: number;
  /** Once aborted, the run finishes the users in work and begins no others. */
  signal?: AbortSignal;
  /** Called after each user that had work. */
  onUser?: (report: UserReport, done: number) => void;
  /** Called when the run waits for a lease for more than a second: whose lease, and how many s it takes at most. */
  onWait?: (report: UserReport, seconds: number) => void;
  /** Waits; injected for tests. s */
  wait?: (seconds: number) => Promise<void>;
}

/** How many users there were, and how their runs ended. Its size does not depend on the number of users. */
export interface AllReport {
  users: number;
  done: number;
  nothing_new: number;
  busy: number;
  failed: number;
  seconds: number;
  /** What the stages did for all users together. */
  stages: StageReport[];
  /** The first users that failed. */
  failures: UserReport[];
  /** The longest run; null: no user had work. */
  longest: { user_id: string; seconds: number } | null;
}

/** Failed users, and problems of a stage, that a report lists. */
const listed = 20;
/** Users asked for at a time: few, so that work begins soon and the answer is not long out of date. */
const pageSize = 100;
/** s between two looks at a lease: the first ones follow soon, since most runs end within a moment. */
const firstStep = 1 / 16;
const longestStep = 1;
/** s of waiting before `onWait` is called. */
const silence = 1;
const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/**
 * Removes expired accounts, then runs the pipeline for every user who has work. It skips a user whom another run holds,
 * and tries again at the end: if the lease has expired by then, its owner died, and this run processes the user. Throws
 * if the store becomes unreachable; users who are done stay done.
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

/** Accounts removed in one transaction. */
const expiredAtOnce = 100;

/** Removes accounts of people who joined a study by its link and sent nothing since: a full study has room again. */
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

/** Tries users again whom another run held. */
async function retry(
  store: Store,
  report: AllReport,
  busy: readonly UserReport[],
  run: (userId: string) => Promise<UserReport>,
  options: AllOptions,
): Promise<void> {
  const over = new AbortController(); // takes the listener off a signal that outlives many runs
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

/** Throws if the store is unreachable or must not be written: every user would fail, each after all retries. */
async function expectStore(store: Store): Promise<void> {
  await store.ping().catch((error) => {
    if (isMobilityError(error, 'MOBILITY_STORE_UNAVAILABLE', 'MOBILITY_STORE_READONLY')) throw error;
  });
}

/**
 * Users with something to do; counts all others as having nothing new. First those with new data, then those whose
 * trips only come from another version of the analysis or from other transit feeds: that may take hours.
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
 * Waits until the lease of the other run, as it stood at the first try, has ended or been renewed. A renewed lease
 * shows that its owner lives and does the work. The store decides by its clock whether the lease has ended; the wait
 * takes the length of the lease at most, whatever the clocks say, and ends at the signal.
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

/** Resolves when the signal is given; never without one. Stops listening when `over` is given. */
function aborted(signal: AbortSignal | undefined, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener('abort', () => resolve(), { once: true, signal: over });
  });
}
