// Writes lines to standard output. If the disk is full, lines are lost and counted, but no call
// fails.
import { createStamp, hostZone } from '../log/line-format.ts';
import type { Log } from '../log/log.ts';
import { line } from '../log/messages.ts';
import { errorText } from '../model/mobility-error.ts';

export type Write = (text: string, done?: (error?: Error | null) => void) => unknown;

interface ConsoleOptions {
  write: Write;
  log: Log; // gets the number of lost lines when writing works again
  warn: (text: string) => void; // called when the first line is lost
  now: () => number;
}

/** `write` never fails. `close` reports how many lines were lost. */
export function consoleLines({ write, log, warn, now }: ConsoleOptions) {
  const stamp = createStamp(hostZone());
  let lost: { lines: number; since: string; reason: string } | null = null;
  const report = (): void => {
    if (lost !== null)
      log.write('WARNING', line.dropped('Lines of standard output', lost.lines, lost.since, lost.reason));
    lost = null;
  };
  const fail = (error: Error): void => {
    if (lost === null) {
      lost = { lines: 0, since: stamp(now()), reason: errorText(error) };
      warn(`lines of standard output have been dropped since ${lost.since}: ${lost.reason}`);
    }
    lost.lines += 1;
  };
  return {
    // A lost line may have been written in part, so the next one begins on a new line.
    write: (text: string): void => {
      write(lost === null ? `${text}\n` : `\n${text}\n`, (error) => (error == null ? report() : fail(error)));
    },
    close: report,
  };
}
