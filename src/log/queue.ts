import { setImmediate as nextSlice } from 'node:timers/promises';
import { errorText } from '../model/mobility-error.ts';
import { mapInSlices } from '../util/slices.ts';
import { createStamp, fileLine } from './line-format.ts';
import { createLineLog, type LineLogOptions, type Lines } from './line-log.ts';
import { line } from './messages.ts';

const mostQueued = 64 * 1024 * 1024; // characters in memory that are not written yet; further lines are dropped
const batchSize = 64 * 1024; // characters per write

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
  let isClosed = false;

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
    await nextSlice();
    while (queued.length > 0) await writeBatch();
    working = null;
  };
  const push = (lines: Lines): void => {
    if (isClosed) return;
    if (size > mostQueued) drop(lines.text(), 'the disk is too slow');
    else {
      queued.push(lines);
      size += lines.size;
      working ??= work();
    }
  };
  const close = async (): Promise<void> => {
    isClosed = true;
    await working;
    if (dropped !== null) await writeBatch();
  };
  return { log: createLineLog({ ...options, emit: push }), push, close };
}
