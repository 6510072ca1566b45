// Worker processes of `pipeline --all --workers N`: the parent sends each process one user at a time and gets a report.
import type { ChildProcess } from 'node:child_process';
import { errorText, usageError } from '../model/mobility-error.ts';
import { withoutChanges } from '../pipeline/run-all.ts';
import { runPipeline, type UserReport } from '../pipeline/run-pipeline.ts';
import type { CommandContext } from './context.ts';
import { forkProgram, leaveSignalsToParent } from './fork-program.ts';
import { pipelineOptions } from './pipeline-options.ts';

/** Processes that run the pipeline for users. */
export interface WorkerPool {
  /**
   * Runs the pipeline for a user in an idle process, or in a new one. If the process ends meanwhile, the user is
   * reported as `busy`, because the lease of that process must expire first. Throws if a process ends before it is
   * ready. `reanalyseFrom`: see `PipelineOptions`; the report then contains the changed trips.
   */
  run(userId: string, reanalyseFrom?: number): Promise<UserReport>;
  /** How processes ended that were working on a user, since the last call: signals or exit codes. */
  takeLost(): string[];
  /** Stops the processes. Resolves when all have ended. */
  stop(): Promise<void>;
}

interface Worker {
  child: ChildProcess;
  /** Resolves with the signal or exit code when it has ended. */
  exit: Promise<string>;
  /** Resolves with null when it is ready, or like `exit` if it ends before. */
  ready: Promise<string | null>;
}

/** Starts no process yet: `run` does when there is work. `words`: flags for the processes. */
export function workerPool(context: CommandContext, words: readonly string[]): WorkerPool {
  const workers = new Set<Worker>();
  const idle: Worker[] = [];
  let lost: string[] = [];
  const start = (): Worker => {
    const worker = startWorker(context, words);
    workers.add(worker);
    void worker.exit.then(() => {
      workers.delete(worker);
      if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
    });
    return worker;
  };
  return {
    async run(userId, reanalyseFrom) {
      const worker = idle.pop() ?? start();
      const failure = await worker.ready;
      if (failure !== null) {
        // Ctrl-C reaches all processes. This process may notice the end of a worker before it gets the signal itself.
        if (context.signal.aborted || failure === 'SIGINT') return unfinished(context, userId, failure);
        throw new Error(`a pipeline worker ended before it was ready: ${failure}`);
      }
      const answer = await runIn(worker, { userId, reanalyseFrom });
      if (typeof answer === 'string') {
        lost.push(answer);
        return unfinished(context, userId, answer);
      }
      idle.push(worker);
      return answer;
    },
    takeLost() {
      const taken = lost;
      lost = [];
      return taken;
    },
    async stop() {
      const exits = [...workers].map(({ child, exit }) => {
        if (child.connected) child.disconnect();
        return exit;
      });
      await Promise.all(exits);
    },
  };
}

function startWorker(context: CommandContext, words: readonly string[]): Worker {
  const child = forkProgram(context, ['pipeline', '--all', '--worker', ...words]);
  const exit = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(errorText(error)));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const isReady = new Promise<null>((resolve) => child.once('message', () => resolve(null)));
  return { child, exit, ready: Promise.race([isReady, exit]) };
}

/** The message to a process. */
interface Task {
  userId: string;
  reanalyseFrom?: number | undefined;
}

/** Resolves with the report, or with the signal or exit code of a process that ended. */
function runIn({ child, exit }: Worker, task: Task): Promise<UserReport | string> {
  const answer = new Promise<UserReport>((resolve) => child.once('message', (report) => resolve(report as UserReport)));
  child.send(task, () => {}); // if it cannot be sent, the process ends
  return Promise.race([answer, exit]);
}

async function unfinished(context: CommandContext, userId: string, how: string): Promise<UserReport> {
  const lease = await (await context.store()).leases.get(userId);
  const message = `the worker ended (${how})`;
  const report: UserReport = { user_id: userId, status: 'busy', stages: [], seconds: 0, message };
  return lease === null ? report : { ...report, busy_until: lease.expires_ts };
}

/**
 * Works for a parent process until the parent disconnects or ends. The parent lets it finish the user in progress.
 */
export async function workForParent(context: CommandContext): Promise<void> {
  if (process.send === undefined) throw usageError('expected a parent process for --worker');
  leaveSignalsToParent();
  const store = await context.store();
  const options = await pipelineOptions(context);
  const send = (message: string | UserReport): void => void process.send!(message, undefined, undefined, () => {});
  let work = Promise.resolve();
  const disconnected = new Promise<void>((resolve) => process.once('disconnect', resolve));
  process.on('message', ({ userId, reanalyseFrom }: Task) => {
    const isRebuild = reanalyseFrom !== undefined;
    work = runPipeline(store, userId, { ...options, ...(isRebuild && { reanalyseFrom }) }).then((report) =>
      send(isRebuild ? report : { ...report, stages: report.stages.map(withoutChanges) }),
    );
  });
  send('ready');
  await disconnected;
  await work;
}
