// Every user through the pipeline: alone, or with other workers on this or other hosts, who are known only by their
// leases.
import { shippedSegmenter } from '../analysis/sequence/segment.ts';
import { isMobilityError } from '../model/errors.ts';
import { everyUser } from '../store/pages.ts';
import { clockSlack, type Store } from '../store/store.ts';
import { type PipelineOptions, runPipeline, type UserReport } from './run-pipeline.ts';

/** How a run over all users is done. */
export interface AllOptions extends PipelineOptions {
  /** Users in work at once in this process; more than one pays where the store is across a network. */
  lanes?: number;
  /** UUID, or the beginning of one, at which to start; workers that start apart meet less often. */
  startAt?: string;
  /** Once aborted, users in work are finished and no others begun. */
  signal?: AbortSignal;
  /** Called after each user that had work. */
  onUser?: (report: UserReport, done: number) => void;
  /** Called when a user is waited for longer than a moment: who works on them, and how many s it takes at most. */
  onWait?: (report: UserReport, seconds: number) => void;
  /** Waits; injected for tests. s */
  wait?: (seconds: number) => Promise<void>;
}

/** How many users there were, and how their runs ended. */
export interface AllReport {
  users: number;
  done: number;
  nothing_new: number;
  busy: number;
  failed: number;
  seconds: number;
  /** Users that had work or failed. */
  reports: UserReport[];
}

/** Few enough that work begins soon, and that what was asked is not long out of date. */
const pageSize = 100;
/** s between two looks at a lease that is waited for: nearly always a sibling is about to end. */
const firstStep = 1 / 16;
const longestStep = 1;
/** s after which a wait is told. */
const untold = 1;
const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/**
 * Runs the pipeline for every user who has work. A user whom another run holds is skipped and tried again at the
 * end: if the lease has expired by then, its owner died, and this run processes the user. Throws if the store becomes
 * unreachable; users who are done stay done.
 */
export async function runAll(store: Store, options: AllOptions): Promise<AllReport> {
  const started = options.now();
  const report: AllReport = { users: 0, done: 0, nothing_new: 0, busy: 0, failed: 0, seconds: 0, reports: [] };
  const busy: UserReport[] = [];
  const work = usersWithWork(store, report, options);
  const lane = async (): Promise<void> => {
    for (let next = await work.next(); !next.done && !options.signal?.aborted; next = await work.next()) {
      const one = await runPipeline(store, next.value, options);
      if (one.status === 'busy') busy.push(one);
      else await settle(store, report, one, options);
    }
  };
  await Promise.all(Array.from({ length: options.lanes ?? 1 }, lane));
  const ended = aborted(options.signal);
  for (const one of busy) {
    await settle(store, report, options.signal?.aborted ? one : await secondTry(store, one, options, ended), options);
  }
  report.seconds = options.now() - started;
  return report;
}

async function settle(store: Store, report: AllReport, one: UserReport, options: AllOptions): Promise<void> {
  report[one.status] += 1;
  // The lists of changed trips are for one user's report; of many users they would not fit in bounded memory.
  const stages = one.stages.map(({ changes: _, ...rest }) => rest);
  if (one.status !== 'nothing_new') report.reports.push({ ...one, stages });
  options.onUser?.(one, report.done + report.failed);
  if (one.status === 'failed') await expectStore(store);
}

/** Throws if the store is unreachable: every user would fail, each after all retries. */
async function expectStore(store: Store): Promise<void> {
  await store.ping().catch((error) => {
    if (isMobilityError(error, 'MOBILITY_STORE_UNAVAILABLE')) throw error;
  });
}

/** Users with something to do: from `startAt` to the last, then from the first to `startAt`. */
async function* usersWithWork(
  store: Store,
  report: AllReport,
  { startAt = '', now, segmenter = shippedSegmenter }: AllOptions,
): AsyncGenerator<string> {
  for (const part of [
    { after: startAt, before: '~' },
    { after: '', before: startAt },
  ]) {
    for await (const ids of usersBetween(store, part.after, part.before)) {
      const withWork = await store.pipeline.withWork(ids, now(), segmenter.version);
      for (const id of ids) {
        report.users += 1;
        if (withWork.has(id)) yield id;
        else report.nothing_new += 1;
      }
    }
  }
}

/** UUIDs after one and up to another, so many at a time. */
async function* usersBetween(store: Store, after: string, upTo: string): AsyncGenerator<string[]> {
  let ids: string[] = [];
  for await (const { uuid } of everyUser(store, { ...(after && { after }), limit: pageSize })) {
    if (uuid > upTo) break;
    ids.push(uuid);
    if (ids.length < pageSize) continue;
    yield ids;
    ids = [];
  }
  if (ids.length > 0) yield ids;
}

/**
 * Waits until the other's lease, as it stood when it was met, has ended or been renewed; a renewed one shows that its
 * owner lives and does the work. Whether it has ended the store says, by its clock; the wait takes the length of the
 * lease at most, whatever the clocks say, and ends at the signal.
 */
async function secondTry(
  store: Store,
  first: UserReport,
  options: AllOptions,
  ended: Promise<void>,
): Promise<UserReport> {
  const wait = options.wait ?? pause;
  let isTold = false;
  for (let waited = 0, longest = firstStep; ; longest = Math.min(2 * longest, longestStep)) {
    const held = await store.leases.get(first.user_id);
    if (held === null || held.expires_ts !== first.busy_until) break;
    if (waited >= untold && !isTold) {
      isTold = true;
      options.onWait?.(first, held.seconds);
    }
    const left = held.seconds + clockSlack - waited;
    if (left <= 0) break;
    const step = Math.min(longest, left);
    await Promise.race([wait(step), ended]);
    if (options.signal?.aborted) return first;
    waited += step;
  }
  const again = await runPipeline(store, first.user_id, options);
  return again.status === 'busy' ? first : again;
}

/** Resolves when the signal is given; never without one. */
function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}
