// A log whose lines are gathered during one turn of the event loop, written one batch after another, and counted where
// they are lost.
import { setImmediate as turn } from 'node:timers/promises';
import { errorText } from '../model/errors.ts';
import { mapInSlices } from '../turns.ts';
import { createStamp, fileLine, threadWord } from './format.ts';
import { createLineLog, type LineLogOptions, type Lines } from './line-log.ts';
import type { Log } from './log.ts';
import { line } from './messages.ts';

const mostWaiting = 64 * 1024 * 1024; // characters that wait before lines are dropped

/** Where lines go, and what happens to those that cannot go there. */
export interface QueueOptions extends Omit<LineLogOptions, 'emit'> {
  /**
   * Resolves when `count` lines are written; throws if they are not. It asks for them, each with a line break at its
   * end, when it knows where they go: losses that it finds on the way are reported in them.
   */
  write: (lines: () => Buffer, count: number) => Promise<void>;
  /** Characters of a batch. */
  batch: number;
  /** Called once per trouble, when the first lines are dropped. */
  warn: (text: string) => void;
}

/** A queue of lines. Nothing throws: what cannot be written is dropped, counted, and reported with the next lines. */
export interface Queue {
  readonly log: Log;
  /** Counts lines that were lost later, at some time since `since`. */
  lost(lines: number, since: number, reason: string): void;
  /** Resolves when all lines are written or dropped. Later ones are ignored. */
  close(): Promise<void>;
}

/** Makes a queue. */
export function createQueue(options: QueueOptions): Queue {
  const { write, batch, threadId, now, zone, warn } = options;
  const stamp = createStamp(zone);
  const waiting: Lines[] = [];
  let size = 0;
  let dropped: { lines: number; since: string; reason: string } | null = null;
  let working: Promise<void> | null = null;
  let closed = false;

  const lost = (lines: number, since: number, reason: string): void => {
    if (lines === 0) return;
    if (dropped === null) {
      dropped = { lines: 0, since: stamp(since), reason };
      warn(`log lines are being dropped since ${dropped.since}: ${reason}`);
    }
    dropped.lines += lines;
  };
  const take = (): Lines[] => {
    let [count, taken] = [0, 0];
    while (count < waiting.length && (count === 0 || taken + waiting[count]!.size <= batch)) {
      taken += waiting[count]!.size;
      count += 1;
    }
    size -= taken;
    return waiting.splice(0, count);
  };
  const writeBatch = async (): Promise<void> => {
    const some = take();
    const count = some.reduce((sum, lines) => sum + lines.count, 0);
    try {
      // Urgent: beside much other work lines would come faster than they go, and be dropped in the end.
      const pieces = await mapInSlices(some, bytesOf, { urgent: true });
      let reported = 0;
      const withReport = (): Buffer => {
        if (dropped === null) return ended(pieces);
        reported = dropped.lines;
        const report = line.linesDropped(dropped.lines, dropped.since, dropped.reason);
        return ended([Buffer.from(fileLine(stamp(now()), 'WARNING', threadWord(threadId), report)), ...pieces]);
      };
      await write(withReport, count);
      if (dropped !== null) dropped.lines -= reported;
      if (dropped?.lines === 0) dropped = null;
    } catch (error) {
      lost(count, now(), errorText(error));
    }
  };
  const work = async (): Promise<void> => {
    await turn();
    while (waiting.length > 0) await writeBatch();
    working = null;
  };
  const emit = (lines: Lines): void => {
    if (closed) return;
    if (size > mostWaiting) {
      lost(lines.count, now(), 'the disk is too slow');
      return;
    }
    waiting.push(lines);
    size += lines.size;
    working ??= work();
  };
  return {
    log: createLineLog({ ...options, emit }),
    lost,
    close: async () => {
      closed = true;
      await working;
      if (dropped !== null) await writeBatch();
    },
  };
}

const bytesOf = (lines: Lines): Buffer => lines.bytes();

const lineBreak = Buffer.from('\n');

/** The pieces as one, each with a line break behind it. */
function ended(pieces: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [];
  for (const piece of pieces) parts.push(piece, lineBreak);
  return Buffer.concat(parts);
}
