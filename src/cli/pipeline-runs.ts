import { hostname } from 'node:os';
import { withoutChanges } from '../pipeline/run-all.ts';
import { type PipelineOptions, runPipeline, type UserReport } from '../pipeline/run-pipeline.ts';
import type { Store } from '../store/store.ts';
import type { CommandContext } from './context.ts';
import { WorkerEnded, workerPool, workForParent } from './worker-pool.ts';

/** `owner`: the name that other runs show while they wait for the lease of this run. */
export async function pipelineOptions(context: CommandContext): Promise<PipelineOptions & { owner: string }> {
  const { leaseSeconds } = context.config();
  const owner = `pipeline ${process.pid} on ${hostname()}`;
  await context.store();
  const log = await context.log('pipeline');
  log.writeAll('WARNING', context.storeWarnings);
  return { log, now: context.now, owner, leaseSeconds };
}

/** On Ctrl-C, releases the lease of the user given to the last call of the returned function. */
export function releaseWhenStopped(context: CommandContext, store: Store, owner: string): (userId: string) => void {
  let current: string | null = null;
  const releaseLease = async (): Promise<void> => {
    const lease = current === null ? null : await store.leases.get(current);
    if (lease?.owner === owner) await store.leases.release(lease);
  };
  context.interruptible().addEventListener('abort', () => void releaseLease().catch(() => {}), { once: true });
  return (userId) => {
    current = userId;
  };
}

export type PipelinePool = ReturnType<typeof pipelinePool>;

type Task = { userId: string; reanalyseFrom?: number | undefined };

/** `words`: further flags for the command line of the processes. */
export function pipelinePool(context: CommandContext, workers: number, words: readonly string[] = []) {
  const pool = workerPool<Task, UserReport>(context, ['pipeline', '--all', '--worker', ...words], workers);
  const lost = new Set<WorkerEnded>();
  return {
    workers,
    /**
     * If the process of a user ends, the report is `busy`, because its lease has to expire first.
     * Throws if no process gets ready. With `reanalyseFrom`, the report has the changed trips.
     */
    async run(userId: string, reanalyseFrom?: number): Promise<UserReport> {
      try {
        return await pool.run({ userId, reanalyseFrom });
      } catch (error) {
        if (!(error instanceof WorkerEnded)) throw error;
        // Ctrl-C ends workers, too. This process may notice that before its own signal.
        if (!error.wasReady && !context.signal.aborted && error.how !== 'SIGINT') throw error;
        if (error.wasReady) lost.add(error);
        const lease = await (await context.store()).leases.get(userId);
        const message = `the worker ended (${error.how})`;
        const report: UserReport = { user_id: userId, status: 'busy', stages: [], seconds: 0, message };
        return lease === null ? report : { ...report, busy_until: lease.expires_ts };
      }
    },
    /** Returns how each process ended that ended during a task since the last call. */
    takeLost(): string[] {
      const taken = [...lost].map(({ how }) => how);
      lost.clear();
      return taken;
    },
    stop: pool.stop,
  };
}

export async function runForParent(context: CommandContext): Promise<void> {
  const store = await context.store();
  const options = await pipelineOptions(context);
  await workForParent(async ({ userId, reanalyseFrom }: Task) => {
    if (reanalyseFrom !== undefined) return runPipeline(store, userId, { ...options, reanalyseFrom });
    const report = await runPipeline(store, userId, options);
    return { ...report, stages: report.stages.map(withoutChanges) };
  });
}
