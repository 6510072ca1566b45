// The log of a server worker: its lines travel in batches to the primary process, which alone writes the file.
import { errorText } from '../model/errors.ts';
import type { FileLog } from './files.ts';
import { createStamp, fileLine, hostZone, threadWord } from './format.ts';
import { createLineLog, type LeastLevel, type Lines } from './line-log.ts';
import type { Log } from './log.ts';
import { line } from './messages.ts';

const maxWaiting = 16 * 1024 * 1024; // characters that wait for the primary before lines are dropped

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
 * Makes the log of a worker: lines are built and filtered here, gathered during one turn of the event loop, and sent
 * one batch at a time. Never throws: lines that cannot be sent, or wait beyond 16 Mi characters, are dropped, counted
 * and reported.
 */
export function workerLog({ send, threadId, level, now, zone = hostZone() }: WorkerLogOptions): WorkerLog {
  const stamp = createStamp(zone);
  let waiting: Lines[] = [];
  let size = 0;
  let dropped: { lines: number; since: string; reason: string } | null = null;
  let sending: Promise<void> | null = null;
  let closed = false;

  const drop = (lines: number, reason: string): void => {
    dropped ??= { lines: 0, since: stamp(now()), reason };
    dropped.lines += lines;
  };
  const takeBatch = (): string => {
    const batch = waiting.map((lines) => lines.text());
    if (dropped !== null) {
      const text = line.linesDropped(dropped.lines, dropped.since, dropped.reason);
      batch.push(fileLine(stamp(now()), 'WARNING', threadWord(threadId), text));
      dropped = null;
    }
    waiting = [];
    size = 0;
    return batch.join('\n');
  };
  const sendAll = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const batch = takeBatch();
      try {
        await send(batch);
      } catch (error) {
        drop(batch.split('\n').length, errorText(error));
      }
    }
    sending = null;
  };
  const emit = (lines: Lines): void => {
    if (closed) return;
    if (size > maxWaiting) {
      drop(lines.count, 'the primary process is too slow');
      return;
    }
    waiting.push(lines);
    size += lines.size;
    sending ??= sendAll();
  };
  return {
    log: createLineLog({ level, threadId, zone, now, emit }),
    close: async () => {
      closed = true;
      await sending;
      if (dropped !== null) await send(takeBatch()).catch(() => {}); // nobody is left to tell
    },
  };
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
