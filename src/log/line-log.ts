// A Log that makes whole lines of messages and hands them on as text; what both kinds of writers have in common.
import { createStamp, fileLine, threadWord } from './format.ts';
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

/** Some lines of a log. Joining many lines takes time, so the receiver does it when no call waits. */
export interface Lines {
  count: number;
  /** About how many characters there are. */
  size: number;
  /** The lines, joined by line breaks, none at the end. */
  text(): string;
}

/** Lines that are text already. */
export function linesOf(text: string, count: number): Lines {
  return { count, size: text.length, text: () => text };
}

const ranks: Readonly<Record<Level, number>> = { DEBUG: 0, INFO: 1, WARNING: 2, ERROR: 3 };

/** Makes a log whose lines go to `emit`; lines below `level` are never built. */
export function createLineLog({ level, threadId, zone, now, emit }: LineLogOptions): Log {
  const least = ranks[level.toUpperCase() as Level];
  const stamp = createStamp(zone);
  const enabled = (asked: Level): boolean => ranks[asked] >= least;
  const ofThread = (thread: string, hand: (lines: Lines) => void): Log => ({
    enabled,
    write: (of, message) => {
      if (enabled(of)) hand(linesOf(fileLine(stamp(now()), of, thread, message), 1));
    },
    writeAll: (of, messages) => {
      if (messages.length === 0 || !enabled(of)) return;
      const time = stamp(now());
      const text = (): string => messages.map((message) => fileLine(time, of, thread, message)).join('\n');
      const each = time.length + thread.length + messages[0]!.length;
      hand({ count: messages.length, size: messages.length * each, text });
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
