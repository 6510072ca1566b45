// Starts processes for the work of a command. The parent sends them tasks: users to process.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type ErrorCode, errorText, isMobilityError, MobilityError, usageError } from '../model/mobility-error.ts';
import type { CommandContext } from './context.ts';

/** All tasks of a process that has ended throw the same object. */
export class WorkerEnded extends Error {
  /** The name of the signal that ended the process, or a text such as `exit code 1`. */
  readonly how: string;
  /** False: the process ended before it could take a task. */
  readonly wasReady: boolean;

  constructor(how: string, wasReady: boolean) {
    super(`a worker process ended${wasReady ? '' : ' before it was ready'}: ${how}`);
    this.name = 'WorkerEnded';
    this.how = how;
    this.wasReady = wasReady;
  }
}

interface Worker {
  child: ChildProcess;
  exit: Promise<WorkerEnded>;
  /** Resolves when the process can take tasks. */
  ready: Promise<void>;
  /** Functions that receive the answers to tasks in progress, by the number of the task. */
  tasks: Map<number, (message: Message<never>) => void>;
}

type Message<Answer> = { task: number } & ({ answer: Answer } | { error: { code: ErrorCode | null; message: string } });

const mostKills = 3; // of starting processes in a row, by signals: more are no accident

/** `run` starts up to `most` processes when there is work. `words`: their command line. */
export function workerPool<Task extends object, Answer>(
  context: CommandContext,
  words: readonly string[],
  most: number,
) {
  const workers = new Set<Worker>();
  let [count, kills] = [0, 0];
  const pick = (): Worker => {
    const [least] = [...workers].sort((a, b) => a.tasks.size - b.tasks.size);
    if (least !== undefined && (least.tasks.size === 0 || workers.size >= most)) return least;
    const worker = startWorker(context, words);
    workers.add(worker);
    void worker.exit.then(({ wasReady }) => {
      workers.delete(worker);
      kills = wasReady ? 0 : kills + 1;
    });
    return worker;
  };
  const run = async (task: Task): Promise<Answer> => {
    const { child, exit, ready, tasks } = pick();
    const number = count++;
    const answered = new Promise<Message<Answer>>((resolve) => tasks.set(number, resolve));
    const early = await Promise.race([ready, exit]);
    // Another process can take the task. Ctrl-C ends all of them.
    if (early && /^SIG(?!INT)/.test(early.how) && kills < mostKills && !context.signal.aborted) return run(task);
    child.send({ number, task }, () => {}); // ignores errors: `exit` reports the end
    const message = await Promise.race([answered, exit]);
    tasks.delete(number);
    if (message instanceof WorkerEnded) throw message;
    if (!('error' in message)) return message.answer;
    const { code, message: text } = message.error;
    throw code === null ? new Error(text) : new MobilityError(code, text);
  };
  return {
    /** Runs a task in the least busy process. Throws its error, or `WorkerEnded`. */
    run,
    async stop(): Promise<void> {
      const exits = [...workers].map(({ child, exit }) => {
        if (child.connected) child.disconnect();
        return exit;
      });
      await Promise.all(exits);
    },
  };
}

function startWorker(context: CommandContext, words: readonly string[]): Worker {
  const child = forkProgram(context, words);
  const tasks: Worker['tasks'] = new Map();
  let isReady = false;
  const exit = new Promise<WorkerEnded>((resolve) => {
    child.once('error', (error) => resolve(new WorkerEnded(errorText(error), isReady)));
    child.once('exit', (code, signal) => resolve(new WorkerEnded(signal ?? `exit code ${code}`, isReady)));
  });
  const ready = new Promise<void>((resolve) =>
    child.on('message', (message: 'ready' | Message<never>) => {
      if (message !== 'ready') return tasks.get(message.task)?.(message);
      isReady = true;
      resolve();
    }),
  );
  return { child, exit, ready, tasks };
}

/** Runs `work` for each task of the parent, until the parent has left and all tasks are done. */
export async function workForParent<Task, Answer>(work: (task: Task) => Promise<Answer>): Promise<void> {
  if (process.send === undefined) throw usageError('expected a parent process for --worker');
  leaveSignalsToParent();
  const send = (message: string | Message<Answer>): void => void process.send!(message, undefined, undefined, () => {});
  const disconnected = new Promise<void>((resolve) => process.once('disconnect', resolve));
  const running = new Set<Promise<void>>();
  process.on('message', ({ number, task }: { number: number; task: Task }) => {
    const one = work(task).then(
      (answer) => send({ task: number, answer }),
      (error) =>
        send({ task: number, error: { code: isMobilityError(error) ? error.code : null, message: errorText(error) } }),
    );
    running.add(one);
    void one.then(() => running.delete(one));
  });
  send('ready');
  await disconnected;
  await Promise.all(running);
}

const program = fileURLToPath(new URL('../../bin/mobility.js', import.meta.url));

/** Starts a process with the settings of this process and a channel for messages. */
export function forkProgram(
  context: CommandContext,
  words: readonly string[],
  stdout: 'ignore' | 'pipe' = 'ignore',
): ChildProcess {
  // All accounts can see arguments, but not variables. An address may contain a password.
  const { store, logDir } = context.config();
  const env = { ...context.env, MOBILITY_STORE: store, MOBILITY_LOG_DIR: logDir };
  return fork(program, words, { env, stdio: ['ignore', stdout, 'inherit', 'ipc'] });
}

/** Ignores Ctrl-C and signals of systemd, which all processes receive: the parent handles them. */
export function leaveSignalsToParent(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
}
