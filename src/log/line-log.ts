// A Log that makes whole lines of messages and hands them on as text.
import { createStamp, fileLine, framedLines, threadWord } from './format.ts';
import type { Level, Log } from './log.ts';

/** The least level kept, as the settings spell it. */
export type LeastLevel = Lowercase<Level>;

/** How log lines are formed and where they go. */
export interface LineLogOptions {
  level: LeastLevel;
  threadId: string;
  /** Time zone of the timestamps. */
  zone: string;
  /** Seconds since the epoch. */
  now: () => number;
  /** Takes lines. */
  emit: (lines: Lines) => void;
}

/** Some lines of a log. Making many lines takes time, so the receiver does it when no call waits. */
export interface Lines {
  count: number;
  /** About how many characters there are. */
  size: number;
  /** The lines, joined by line breaks, none at the end. */
  text(): string;
}

const linesAtOnce = 500; // made in one go: others have their turn in between

const ranks: Readonly<Record<Level, number>> = { DEBUG: 0, INFO: 1, WARNING: 2, ERROR: 3 };

/** Makes a log whose lines go to `emit`; lines below `level` are never built. */
export function createLineLog({ level, threadId, zone, now, emit }: LineLogOptions): Log {
  const least = ranks[level.toUpperCase() as Level];
  const stamp = createStamp(zone);
  const enabled = (asked: Level): boolean => ranks[asked] >= least;
  const ofThread = (thread: string, hand: (lines: Lines) => void): Log => ({
    enabled,
    write: (of, message) => {
      if (!enabled(of)) return;
      const text = fileLine(stamp(now()), of, thread, message);
      hand({ count: 1, size: text.length, text: () => text });
    },
    writeAll: (of, messages) => {
      if (messages.length === 0 || !enabled(of)) return;
      const time = stamp(now());
      const text = (): string => framedLines(time, of, thread, messages);
      const each = time.length + thread.length + messages[0]!.length;
      hand({ count: messages.length, size: messages.length * each, text });
    },
    writeLater: (of, count, messageOf) => {
      if (!enabled(of)) return;
      const time = stamp(now());
      for (let start = 0; start < count; start += linesAtOnce) {
        const length = Math.min(linesAtOnce, count - start);
        const messages = (): string[] => Array.from({ length }, (_, i) => messageOf(start + i));
        const each = time.length + thread.length + messageOf(start).length;
        hand({ count: length, size: length * each, text: () => framedLines(time, of, thread, messages()) });
      }
    },
    child: (suffix) => ofThread(threadWord(`${thread}-${suffix}`), hand),
    hold: () => {
      const kept: Lines[] = [];
      let next = (lines: Lines): void => void kept.push(lines);
      return {
        log: ofThread(thread, (lines) => next(lines)),
        release: () => {
          next = hand;
          for (const lines of kept.splice(0)) hand(lines);
        },
        discard: () => {
          next = () => {};
          kept.length = 0;
        },
      };
    },
  });
  return ofThread(threadWord(threadId), emit);
}
