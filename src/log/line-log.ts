// A Log that formats messages as lines and passes them on as text.
import { createStamp, fileLine, threadWord } from './format.ts';
import type { Level, Log, Messages } from './log.ts';

/** The lowest level that is kept, as the settings spell it. */
export type LeastLevel = Lowercase<Level>;

/** How log lines are formatted and where they go. */
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

/** Some lines of a log. Formatting many lines takes time, so the receiver does it when no call waits. */
export interface Lines {
  /** Approximate number of characters. */
  size: number;
  /** The lines, joined by line breaks, without a line break at the end. */
  text(): string;
}

const linesAtOnce = 500; // lines formatted in one go; other work gets its turn in between
const levels: readonly Level[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR'];

/** Creates a log whose lines go to `emit`; lines below `level` are never built. */
export function createLineLog({ level, threadId, zone, now, emit }: LineLogOptions): Log {
  const least = levels.indexOf(level.toUpperCase() as Level);
  const enabled = (asked: Level): boolean => levels.indexOf(asked) >= least;
  const stamp = createStamp(zone);
  const logOf = (thread: string, pass: LineLogOptions['emit']): Log => {
    const writeAll = (of: Level, messages: Messages): void => {
      if (!enabled(of)) return;
      const time = stamp(now());
      for (let from = 0; from < messages.length; from += linesAtOnce) {
        const count = Math.min(linesAtOnce, messages.length - from);
        const lineAt = (_: unknown, i: number): string => fileLine(time, of, thread, messages.at(from + i)!);
        const size = count * (time.length + thread.length + messages.at(from)!.length);
        pass({ size, text: () => Array.from({ length: count }, lineAt).join('\n') });
      }
    };
    const hold: Log['hold'] = () => {
      const held: Lines[] = [];
      let next: typeof pass = (lines) => held.push(lines);
      const end = (then: typeof pass): void => {
        next = then;
        held.splice(0).forEach(then);
      };
      const log = logOf(thread, (lines) => next(lines));
      return { log, release: () => end(pass), discard: () => end(() => {}) };
    };
    const child = (suffix: string): Log => logOf(threadWord(`${thread}-${suffix}`), pass);
    return { enabled, write: (of, message) => writeAll(of, [message]), writeAll, child, hold };
  };
  return logOf(threadWord(threadId), emit);
}
