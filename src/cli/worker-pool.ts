// Worker processes that share the people of a command: the parent sends each process one task at a time and gets an
// answer.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type ErrorCode, errorText, isMobilityError, MobilityError, usageError } from '../model/mobility-error.ts';
import type { CommandContext } from './context.ts';

export interface WorkerPool<Task, Answer> {
  /**
   * Carries out a task in an idle process, or in a new one. Throws `WorkerEnded` if the process ends before it answers,
   * and the error of the task.
   */
  run(task: Task): Promise<Answer>;
  /** Ends the processes; resolves when they are gone. */
  stop(): Promise<void>;
}

export class WorkerEnded extends Error {
  /** The signal, or `exit code 1`. */
  readonly how: string;
  /** False: it ended before it could take a task. */
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
  /** Resolves with how it ended. */
  exit: Promise<string>;
  /** Resolves with null when it can take tasks, or with how it ended before. */
  ready: Promise<string | null>;
}

/** What a process sends for each task. */
type Message<Answer> = { answer: Answer } | { error: { code: ErrorCode | null; message: string } };

/** `run` starts the processes when there is work. `words`: their command line. */
export function workerPool<Task extends object, Answer>(
  context: CommandContext,
  words: readonly string[],
): WorkerPool<Task, Answer> {
  const workers = new Set<Worker>();
  const idle: Worker[] = [];
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
    async run(task) {
      const worker = idle.pop() ?? start();
      const failure = await worker.ready;
      if (failure !== null) throw new WorkerEnded(failure, false);
      const { child, exit } = worker;
      const answered = new Promise<Message<Answer>>((resolve) =>
        child.once('message', (message) => resolve(message as Message<Answer>)),
      );
      child.send(task, () => {}); // if it cannot be sent, the process ends
      const message = await Promise.race([answered, exit]);
      if (typeof message === 'string') throw new WorkerEnded(message, true);
      idle.push(worker);
      if (!('error' in message)) return message.answer;
      const { code, message: text } = message.error;
      throw code === null ? new Error(text) : new MobilityError(code, text);
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
  const child = forkProgram(context, words);
  const exit = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(errorText(error)));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const isReady = new Promise<null>((resolve) => child.once('message', () => resolve(null)));
  return { child, exit, ready: Promise.race([isReady, exit]) };
}

/**
 * Carries out the tasks of a parent process until the parent disconnects or ends. The parent lets it finish its task.
 */
export async function workForParent<Task, Answer>(work: (task: Task) => Promise<Answer>): Promise<void> {
  if (process.send === undefined) throw usageError('expected a parent process for --worker');
  leaveSignalsToParent();
  const send = (message: string | Message<Answer>): void => void process.send!(message, undefined, undefined, () => {});
  const disconnected = new Promise<void>((resolve) => process.once('disconnect', resolve));
  let last: Promise<void> = Promise.resolve();
  process.on('message', (task) => {
    last = work(task as Task).then(
      (answer) => send({ answer }),
      (error) => send({ error: { code: isMobilityError(error) ? error.code : null, message: errorText(error) } }),
    );
  });
  send('ready');
  await disconnected;
  await last;
}

const program = fileURLToPath(new URL('../../bin/mobility.js', import.meta.url));

/** Starts `mobility` with these words and the settings of this process, and with a channel for messages. */
export function forkProgram(
  context: CommandContext,
  words: readonly string[],
  stdout: 'ignore' | 'pipe' = 'ignore',
): ChildProcess {
  // Settings travel as variables: all accounts of the host can see arguments, and an address may hold a password.
  const { store, logDir } = context.config();
  const env = { ...context.env, MOBILITY_STORE: store, MOBILITY_LOG_DIR: logDir };
  return fork(program, words, { env, stdio: ['ignore', stdout, 'inherit', 'ipc'] });
}

/** In a forked process: ignores signals that Ctrl-C and systemd send to all processes, so that the parent decides. */
export function leaveSignalsToParent(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
}
