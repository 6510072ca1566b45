import { setTimeout as pause } from 'node:timers/promises';
import { errorText } from '../model/mobility-error.ts';
import { mapInSlices } from '../util/slices.ts';
import { createStamp, fileLine } from './line-format.ts';
import type { Level, Log, Messages } from './log.ts';
import { line } from './messages.ts';

const mostQueued = 64 * 1024 * 1024; // characters in memory that are not written yet; further lines are dropped
const batchSize = 64 * 1024; // characters after which a write ends
const writeDelay = 20; // ms in which lines collect for a write: one write per line takes more CPU

interface LineLogOptions {
  level: Lowercase<Level>;
  threadId: string;
  zone: string;
  now: () => number;
  emit: (lines: Lines) => void;
}

interface QueueOptions extends Omit<LineLogOptions, 'emit'> {
  /** Rejects if the lines could not be written. */
  write: (lines: string) => Promise<void>;
  /** Called when a line is dropped, and again only after the log has reported all dropped lines. */
  warn: (text: string) => void;
}

/**
 * Collects lines in memory and writes them in batches. `push` adds lines that another process
 * formatted. The log never throws: it drops and counts lines that cannot be written, for example to
 * a full disk, and writes the count before the next lines.
 */
export function createQueue(options: QueueOptions) {
  const { write, now, zone, threadId, warn } = options;
  const stamp = createStamp(zone);
  const queued: Lines[] = [];
  let size = 0;
  let dropped: { lines: number; since: string; reason: string } | null = null;
  let working: Promise<void> | null = null;
  const closing = new AbortController();

  const reportLine = ({ lines, since, reason }: NonNullable<typeof dropped>): string =>
    fileLine(stamp(now()), 'WARNING', threadId, line.dropped('Log lines', lines, since, reason));
  const drop = (text: string, reason: string): void => {
    if (dropped === null) {
      dropped = { lines: 0, since: stamp(now()), reason };
      warn(`log lines have been dropped since ${dropped.since}: ${reason}`);
    }
    dropped.lines += text.split('\n').length;
  };
  const takeBatch = (): Lines[] => {
    let [count, taken] = [0, 0];
    while (count < queued.length && taken < batchSize) taken += queued[count++]!.size;
    size -= taken;
    return queued.splice(0, count);
  };
  const writeBatch = async (): Promise<void> => {
    // Urgent: if other work ran first, lines could arrive faster than they are written.
    const lines = await mapInSlices(takeBatch(), (some) => some.text(), { urgent: true });
    const report = dropped;
    const reported = report?.lines ?? 0;
    const texts = [...(report === null ? [] : [reportLine(report)]), ...lines];
    try {
      await write(texts.join('\n'));
      if (report !== null) report.lines -= reported;
      if (report?.lines === 0) dropped = null;
    } catch (error) {
      for (const text of lines) drop(text, errorText(error));
    }
  };
  const work = async (): Promise<void> => {
    await pause(writeDelay, undefined, { signal: closing.signal }).catch(() => {});
    while (queued.length > 0) await writeBatch();
    working = null;
  };
  const push = (lines: Lines): void => {
    if (closing.signal.aborted) return;
    if (size > mostQueued) drop(lines.text(), 'the disk is too slow');
    else {
      queued.push(lines);
      size += lines.size;
      working ??= work();
    }
  };
  const close = async (): Promise<void> => {
    closing.abort();
    await working;
    if (dropped !== null) await writeBatch();
  };
  return { log: createLineLog({ ...options, emit: push }), push, close };
}

/** Lines that are not formatted yet. `text` formats them, which takes time. */
export interface Lines {
  size: number; // approximate number of characters
  text(): string;
}

const linesAtOnce = 500; // the maximum number of lines in one `Lines`
const levels: readonly Level[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR'];

/** Lines below `level` are never formatted. */
export function createLineLog({ level, threadId, zone, now, emit }: LineLogOptions): Log {
  const least = levels.indexOf(level.toUpperCase() as Level);
  const enabled = (asked: Level): boolean => levels.indexOf(asked) >= least;
  const stamp = createStamp(zone);
  const logOf = (thread: string): Log => {
    const writeAll = (of: Level, messages: Messages): void => {
      if (!enabled(of)) return;
      const time = stamp(now());
      for (let from = 0; from < messages.length; from += linesAtOnce) {
        const count = Math.min(linesAtOnce, messages.length - from);
        const lineAt = (_: unknown, i: number): string => fileLine(time, of, thread, messages.at(from + i)!);
        const size = count * (time.length + thread.length + messages.at(from)!.length);
        emit({ size, text: () => Array.from({ length: count }, lineAt).join('\n') });
      }
    };
    const child = (suffix: string): Log => logOf(`${thread}-${suffix}`);
    return { enabled, write: (of, message) => writeAll(of, [message]), writeAll, child };
  };
  return logOf(threadId);
}
