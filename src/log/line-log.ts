import { createStamp, fileLine } from './line-format.ts';
import type { Level, Log, Messages } from './log.ts';

export interface LineLogOptions {
  level: Lowercase<Level>;
  threadId: string;
  zone: string;
  now: () => number;
  emit: (lines: Lines) => void;
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
