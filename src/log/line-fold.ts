// Shows the first of the messages that differ only in `write_ts`, and later how many followed.
//
//   … key = a, write_ts = 1 = rejected (r)    shown
//   … key = a, write_ts = 2 = rejected (r)    1 more like: … key = a, = rejected (r)
import { createStamp, fileLine } from './line-format.ts';
import type { Level, Log } from './log.ts';
import { oneLine } from './text.ts';

const entryTime = / write_ts = [-\d.e+]+/g;

export class LineFold {
  readonly #counts = new Map<string, number>();

  /** False if an earlier message was the same, or differed only in `write_ts`. */
  isNew(message: string): boolean {
    if (!message.includes(' write_ts = ')) return true;
    const name = message.replace(entryTime, '');
    const count = this.#counts.get(name) ?? 0;
    this.#counts.set(name, count + 1);
    return count === 0;
  }

  rest(): string[] {
    const repeated = [...this.#counts].filter(([, count]) => count > 1);
    return repeated.map(([name, count]) => `${(count - 1).toLocaleString('en-US')} more like: ${name}`);
  }
}

/** `now`: seconds since the epoch. */
type Screen = { now: () => number; zone: string; writeErr: (text: string) => void };

/** Writes every line to `log`, and the lines that `fold` has not shown before to standard error. */
export function alsoOnScreen(log: Log, fold: LineFold, { now, zone, writeErr }: Screen): Log {
  const stamp = createStamp(zone);
  const show = (level: Level, message: string): void => {
    const text = oneLine(message);
    if (fold.isNew(text)) writeErr(`${fileLine(stamp(now()), level, `p${process.pid}`, text)}\n`);
  };
  return {
    enabled: () => true,
    write: (level, message) => {
      log.write(level, message);
      show(level, message);
    },
    writeAll: (level, messages) => {
      log.writeAll(level, messages);
      for (let i = 0; i < messages.length; i++) show(level, messages.at(i)!);
    },
  };
}
