import type { LineFold } from './line-fold.ts';
import { parseFileLine } from './line-format.ts';
import { createLineLog, type Lines } from './line-log.ts';
import type { Log } from './log.ts';

interface Screen {
  now: () => number;
  zone: string;
  writeErr: (text: string) => void;
}

/** Returns a log that writes to `log` and to standard error. There, `fold` decides which lines are shown. */
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
