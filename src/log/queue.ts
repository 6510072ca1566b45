// A log whose lines go to a file or to another process: gathered during one turn of the event loop, handed on one batch
// after another, and counted where they are lost.
import { setImmediate as turn } from 'node:timers/promises';
import { errorText } from '../model/errors.ts';
import { mapInSlices } from '../turns.ts';
import { createStamp, fileLine, threadWord } from './format.ts';
import { createLineLog, type LineLogOptions, type Lines } from './line-log.ts';
import type { Log } from './log.ts';
import { line } from './messages.ts';

/** Where lines go, and what happens to those that cannot go there. */
export interface QueueOptions extends Omit<LineLogOptions, 'emit'> {
  /** Called before each batch; throws if nothing can be written now. */
  prepare?: () => Promise<void>;
  /** Resolves when `count` lines, joined by line breaks, have arrived; throws if they have not. */
  write: (text: string, count: number) => Promise<void>;
  /** Characters of a batch. */
  batch: number;
  /** Characters that wait before lines are dropped, for this reason. */
  most: number;
  tooSlow: string;
  /** Called once per trouble, when the first lines are dropped. */
  warn?: (text: string) => void;
}

/** A queue of lines. Nothing throws: what cannot be handed on is dropped, counted, and reported with the next lines. */
export interface Queue {
  readonly log: Log;
  /** Adds lines that another log built. */
  add(lines: Lines): void;
  /** Counts lines that were lost later, at some time since `since`. */
  lost(lines: number, since: number, reason: string): void;
  /** Resolves when all lines are handed on or dropped. Later ones are ignored. */
  close(): Promise<void>;
}

/** Makes a queue, and prepares it for its first batch. */
export function createQueue(options: QueueOptions): Queue {
  const { prepare = async () => {}, write, batch, most, tooSlow, threadId, now, zone, warn = () => {} } = options;
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
  const handOn = async (): Promise<void> => {
    const some = take();
    const count = some.reduce((sum, lines) => sum + lines.count, 0);
    try {
      await prepare();
      // Urgent: beside much other work lines would come faster than they go, and be dropped in the end.
      const texts = await mapInSlices(some, (lines) => lines.text(), { urgent: true });
      const reported = dropped?.lines ?? 0;
      if (dropped !== null) {
        const report = line.linesDropped(dropped.lines, dropped.since, dropped.reason);
        texts.unshift(fileLine(stamp(now()), 'WARNING', threadWord(threadId), report));
      }
      if (texts.length > 0) await write(texts.join('\n'), count);
      if (dropped !== null) dropped.lines -= reported;
      if (dropped?.lines === 0) dropped = null;
    } catch (error) {
      lost(count, now(), errorText(error));
    }
  };
  const work = async (): Promise<void> => {
    await turn();
    do await handOn();
    while (waiting.length > 0);
    working = null;
  };

  const add = (lines: Lines): void => {
    if (closed) return;
    if (size > most) {
      lost(lines.count, now(), tooSlow);
      return;
    }
    waiting.push(lines);
    size += lines.size;
    working ??= work();
  };

  working = work();
  return {
    log: createLineLog({ ...options, emit: add }),
    add,
    lost,
    close: async () => {
      closed = true;
      await working;
      if (dropped !== null) await handOn();
    },
  };
}
