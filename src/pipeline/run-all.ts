// Every user through the pipeline: alone, or with other workers on this or other hosts, who are known only by their leases.
import type { Store } from '../store/store.ts';
import { analysedBefore, type PipelineOptions, runPipeline, type UserReport } from './run-pipeline.ts';

export interface AllOptions extends PipelineOptions {
  /** Called after each user that had work. */
  onUser?: (report: UserReport, done: number) => void;
  /** Waits; injected for tests. s */
  wait?: (seconds: number) => Promise<void>;
}

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

const pageSize = 500;
const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/**
 * Runs the pipeline for every user who has work. A user in another's hands is passed over and looked at again at the end: one
 * whose lease has run out by then belonged to a worker that died, and is done here.
 */
export async function runAll(store: Store, options: AllOptions): Promise<AllReport> {
  const started = options.now();
  const report: AllReport = { users: 0, done: 0, nothing_new: 0, busy: 0, failed: 0, seconds: 0, reports: [] };
  const busy: UserReport[] = [];
  for await (const userId of usersWithWork(store, report)) {
    const one = await runPipeline(store, userId, options);
    if (one.status === 'busy') busy.push(one);
    else settle(report, one, options);
  }
  for (const one of busy) settle(report, await secondTry(store, one, options), options);
  report.seconds = options.now() - started;
  return report;
}

function settle(report: AllReport, one: UserReport, options: AllOptions): void {
  report[one.status] += 1;
  if (one.status !== 'nothing_new') report.reports.push(one);
  options.onUser?.(one, report.done + report.failed);
}

async function* usersWithWork(store: Store, report: AllReport): AsyncGenerator<string> {
  let after: string | undefined;
  for (;;) {
    const page = await store.users.list({ ...(after && { after }), limit: pageSize });
    const ids = page.map((user) => user.uuid);
    const withWork = await store.pipeline.withWork(ids);
    for (const id of ids) {
      report.users += 1;
      if (withWork.has(id) || (await analysedBefore(store, id))) yield id;
      else report.nothing_new += 1;
    }
    if (page.length < pageSize) return;
    after = ids.at(-1);
  }
}

/** Waits until the other's lease has ended or been renewed; a renewed one shows that its owner lives and does the work. */
async function secondTry(store: Store, first: UserReport, options: AllOptions): Promise<UserReport> {
  const wait = options.wait ?? pause;
  const remaining = (first.busy_until ?? 0) - options.now();
  for (let waited = 0; waited < remaining; waited += 1) {
    const lease = await store.leases.get(first.user_id);
    if (!lease || lease.expires_ts > (first.busy_until ?? 0)) break;
    await wait(Math.min(1, remaining - waited));
  }
  const again = await runPipeline(store, first.user_id, options);
  return again.status === 'busy' ? first : again;
}
