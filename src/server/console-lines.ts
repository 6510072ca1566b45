// Lines of standard output: a full disk behind it costs lines, which are counted, and never a call.
import { createStamp, hostZone } from '../log/format.ts';
import type { Log } from '../log/log.ts';
import { line } from '../log/messages.ts';
import { errorText } from '../model/errors.ts';

/** Writes text and tells what came of it. */
export type Write = (text: string, done?: (error?: Error | null) => void) => unknown;

/** Where lines go, and who is told of those that are lost. */
export interface ConsoleOptions {
  write: Write;
  /** Gets the number of lost lines as soon as writing works again. */
  log: Log;
  /** Told once per trouble, when the first line is lost. */
  warn: (text: string) => void;
  /** Seconds since the epoch. */
  now: () => number;
}

/** A writer of lines that never fails. */
export interface ConsoleLines {
  /** Writes one line. */
  write(text: string): void;
  /** Tells of lost lines that nobody was told of. */
  close(): void;
}

/** Makes a writer of lines. */
export function consoleLines({ write, log, warn, now }: ConsoleOptions): ConsoleLines {
  const stamp = createStamp(hostZone());
  let dropped: { lines: number; since: string; reason: string } | null = null;

  const lost = (error: Error): void => {
    if (dropped === null) {
      dropped = { lines: 0, since: stamp(now()), reason: errorText(error) };
      warn(`lines of standard output are being dropped since ${dropped.since}: ${dropped.reason}`);
    }
    dropped.lines += 1;
  };
  const report = (): void => {
    if (dropped === null) return;
    const { lines, since, reason } = dropped;
    dropped = null;
    log.write('WARNING', line.outputDropped(lines, since, reason));
  };
  return {
    // The lost line may have been written in part: the next one must not continue it.
    write: (text) => {
      write(dropped === null ? `${text}\n` : `\n${text}\n`, (error) => (error == null ? report() : lost(error)));
    },
    close: report,
  };
}
