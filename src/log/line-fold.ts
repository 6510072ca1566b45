// Shows the first of messages that differ only in the entry, and the number of the others at the
// end.
//
//   … key = a, write_ts = 1 = rejected (r)    shown
//   … key = a, write_ts = 2 = rejected (r)    1 more like: … key = a, = rejected (r)
import { parseFileLine } from './line-format.ts';
import { createLineLog, type LineLogOptions, type Lines } from './line-log.ts';
import type { Log } from './log.ts';

const entryTime = / write_ts = [-\d.e+]+/g;

export class LineFold {
  readonly #counts = new Map<string, number>();

  /** False if the message differs from an earlier message at most in `write_ts`. */
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

type Screen = Pick<LineLogOptions, 'now' | 'zone'> & { writeErr: (text: string) => void };

/** Writes every line to `log`, and the lines that `fold` has not shown before to standard error. */
export function alsoOnScreen(log: Log, fold: LineFold, { now, zone, writeErr }: Screen): Log {
  const emit = (lines: Lines): void => {
    for (const text of lines.text().split('\n'))
      if (fold.isNew(parseFileLine(text)?.message ?? text)) writeErr(`${text}\n`);
  };
  const screen = createLineLog({ level: 'debug', threadId: `p${process.pid}`, zone, now, emit });
  return {
    enabled: () => true,
    write: (level, message) => {
      log.write(level, message);
      screen.write(level, message);
    },
    writeAll: (level, messages) => {
      log.writeAll(level, messages);
      screen.writeAll(level, messages);
    },
  };
}
