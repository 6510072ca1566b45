// The log of a server worker: its lines travel in batches to the primary process, which alone writes the file.
import { hostZone } from './format.ts';
import type { LineLogOptions } from './line-log.ts';
import { createQueue, type Queue } from './queue.ts';

const mostWaiting = 16 * 1024 * 1024; // characters that wait for the primary before lines are dropped

/** How a worker hands its log lines to the primary process. */
export interface WorkerLogOptions extends Omit<LineLogOptions, 'emit' | 'zone'> {
  /** Carries lines, joined by line breaks, to the primary; resolves when the next ones may follow. */
  send: (lines: string) => Promise<void>;
  /** Time zone of the timestamps; default: the host's. */
  zone?: string;
}

/**
 * Makes the log of a worker: lines are built and filtered here, and sent one batch at a time; `close` resolves when all
 * have been sent. Never throws: lines that cannot be sent, or wait beyond 16 Mi characters, are dropped, counted and
 * reported.
 */
export function workerLog({ send, zone = hostZone(), ...options }: WorkerLogOptions): Pick<Queue, 'log' | 'close'> {
  const tooSlow = 'the primary process is too slow';
  return createQueue({
    ...{ ...options, zone, write: send },
    ...{ batch: Number.POSITIVE_INFINITY, most: mostWaiting, tooSlow },
  });
}
