// A Log that makes whole lines of messages and hands them on as text; what both kinds of writers have in common.
import { createStamp, fileLine, threadWord } from './format.ts';
import type { Level, Log } from './log.ts';

/** The least level kept, as the settings spell it. */
export type LeastLevel = Lowercase<Level>;

export interface LineLogOptions {
  level: LeastLevel;
  threadId: string;
  /** Time zone of the timestamps. */
  zone: string;
  /** Seconds since the epoch. */
  now: () => number;
  /** Takes `count` lines, joined by line breaks, none at the end. */
  emit: (lines: string, count: number) => void;
}

const ranks: Readonly<Record<Level, number>> = { DEBUG: 0, INFO: 1, WARNING: 2, ERROR: 3 };

/** Makes a log whose lines go to `emit`; lines below `level` are never built. */
export function createLineLog({ level, threadId, zone, now, emit }: LineLogOptions): Log {
  const least = ranks[level.toUpperCase() as Level];
  const stamp = createStamp(zone);
  const enabled = (asked: Level): boolean => ranks[asked] >= least;
  const ofThread = (thread: string): Log => ({
    enabled,
    write: (of, message) => {
      if (enabled(of)) emit(fileLine(stamp(now()), of, thread, message), 1);
    },
    writeAll: (of, messages) => {
      if (messages.length === 0 || !enabled(of)) return;
      const time = stamp(now());
      emit(messages.map((message) => fileLine(time, of, thread, message)).join('\n'), messages.length);
    },
    child: (suffix) => ofThread(threadWord(`${thread}-${suffix}`)),
  });
  return ofThread(threadWord(threadId));
}
