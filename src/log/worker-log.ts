// The log of a server worker: its lines travel in batches to the primary process, which alone writes the file.
import type { FileLog } from './files.ts';
import { hostZone, threadWord } from './format.ts';
import { createLineLog, type LeastLevel } from './line-log.ts';
import type { Log } from './log.ts';
import { createQueue } from './queue.ts';

const mostWaiting = 16 * 1024 * 1024; // characters that wait for the primary before lines are dropped

/** How a worker hands its log lines to the primary process. */
export interface WorkerLogOptions {
  /** Carries lines, joined by line breaks, to the primary; resolves when the next ones may follow. */
  send: (lines: string) => Promise<void>;
  /** Whose lines they are, such as `w1`. */
  threadId: string;
  level: LeastLevel;
  /** Seconds since the epoch. */
  now: () => number;
  /** Time zone of the timestamps; default: the host's. */
  zone?: string;
}

/** The log of a worker. `close` resolves when everything has been sent. */
export interface WorkerLog {
  readonly log: Log;
  close(): Promise<void>;
}

/**
 * Makes the log of a worker: lines are built and filtered here, and sent one batch at a time. Never throws: lines that
 * cannot be sent, or wait beyond 16 Mi characters, are dropped, counted and reported.
 */
export function workerLog({ send, threadId, level, now, zone = hostZone() }: WorkerLogOptions): WorkerLog {
  const { add, close } = createQueue({
    write: send,
    batch: Number.POSITIVE_INFINITY,
    most: mostWaiting,
    tooSlow: 'the primary process is too slow',
    threadId: threadWord(threadId),
    now,
    zone,
  });
  return { log: createLineLog({ level, threadId, zone, now, emit: add }), close };
}

/**
 * Makes the primary's end of `workerLog`: adds what a worker has sent to the primary's files; anything but a text is
 * ignored.
 */
export function receiveWorkerLog(files: Pick<FileLog, 'append'>): (lines: unknown) => void {
  return (lines) => {
    if (typeof lines === 'string' && lines !== '') files.append(lines);
  };
}
