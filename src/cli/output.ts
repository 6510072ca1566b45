import { fstatSync, writeSync } from 'node:fs';
import { durationText } from '../diary/number-text.ts';
import { counted, oneLine, printable, quoted } from '../log/text.ts';
import { errorText, MobilityError } from '../model/mobility-error.ts';
import { writeNewFile } from '../util/file-access.ts';

export { counted };

export interface Sink {
  write(text: string, done?: (error?: Error | null) => void): boolean;
  isTTY?: boolean;
  columns?: number;
}

export type Progress = { update(text: string): void };

export type Output = ReturnType<typeof createOutput>;

/** Thrown when the reader of standard output has ended. The exit code is then 0. */
export class OutputClosed extends Error {
  override readonly name = 'OutputClosed';
}

/** Ignores error events, which would end the program. Each write reports its own error. */
export function sinkOf(stream: NodeJS.WriteStream & { fd: number }): Sink {
  stream.on('error', () => {});
  return fstatSync(stream.fd).isFile() ? fileSink(stream.fd) : stream;
}

/** Writes whole texts: if the disk fills, Node's own stream loses the rest without an error. */
const fileSink = (fd: number): Sink => ({
  write: (text, done) => {
    try {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    } catch (error) {
      done?.(error as Error);
      return false;
    }
    done?.();
    return true;
  },
});

interface OutputOptions {
  stdout: Sink;
  stderr: Sink;
  env: Record<string, string | undefined>;
  /** Read on each use, because flags are known only after parsing. */
  flags: { json: boolean; quiet: boolean };
}

/** Writes data to standard output, notes and progress to standard error. */
export function createOutput({ stdout, stderr, env, flags }: OutputOptions) {
  const color = (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
  const isTerminal = stdout.isTTY === true;
  const marked = (text: string, on: number | string, off: number): string =>
    isTerminal && color ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  let spinning = silent;
  /** Throws `MOBILITY_OUTPUT`, for example if the disk is full. */
  const write = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      spinning.done();
      stdout.write(text, (error) => (error == null ? resolve() : reject(writeError(error))));
    });
  const line = (text: string): Promise<void> => write(`${shownText(text)}\n`);
  return {
    get json(): boolean {
      return flags.json;
    },
    get quiet(): boolean {
      return flags.quiet;
    },
    /** Columns of the terminal, at most 100; 80 if standard output is not a terminal. */
    columns: isTerminal ? Math.min(stdout.columns || 80, 100) : 80,
    write,
    line,
    /**
     * Prints `value` as JSON with `--json`, else `text`. `value` must not be a list, so that fields
     * can be added later. The `uuid` of a user becomes `user_id`.
     */
    result: async <T extends object>(
      value: T extends readonly unknown[] ? never : T,
      text: string | (() => string),
    ): Promise<void> => {
      const makeText = typeof text === 'function' ? text : () => text;
      const shown = flags.json ? JSON.stringify(value, renameUuid, 2) : makeText();
      if (shown !== '') await line(shown.replace(/\n+$/, ''));
    },
    note: (text: string): void => {
      spinning.done();
      if (!flags.quiet) stderr.write(`${shownText(text)}\n`);
    },
    /** On a terminal, shows a spinner until other text is written or the command ends. */
    progress: (text: string): Progress => {
      // On a simulated terminal without a width, the spinner would loop forever.
      spinning = stderr.isTTY && stderr.columns && !flags.quiet ? spinner(text, stderr, color) : silent;
      return spinning;
    },
    endProgress: (): void => spinning.done(),
    /** Adds a style on a terminal, unless NO_COLOR is set. `colour`: 0 to 255. */
    bold: (text: string): string => marked(text, 1, 22),
    dim: (text: string): string => marked(text, 2, 22),
    tint: (text: string, colour: number): string => marked(text, `38;5;${colour}`, 39),
    /** Shows a QR code in white on black, independent of the colours of the terminal. */
    code: (lines: string): string =>
      isTerminal ? lines.replace(/^.*$/gm, '\u001b[38;5;231;48;5;16m$&\u001b[39;49m') : lines,
  };
}

export async function writeResult(output: Output, file: string, text: string, what: string): Promise<void> {
  if (file === '-') await output.write(text);
  else await writeNewFile(file, text);
  output.note(file === '-' ? what : `${what} written to ${file}`);
}

const ownMarks = new RegExp(`(${'\u001b'}\\[(?:1|2|22|39|38;5;\\d+|38;5;231;48;5;16|39;49)m)`);

/** Escapes characters that control a terminal or reorder text, but not the program's colours. */
const shownText = (text: string): string =>
  text
    .split(ownMarks)
    .map((piece, i) => (i % 2 === 1 ? piece : printable(piece)))
    .join('');

function renameUuid(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('uuid' in value)) return value;
  const { uuid: user_id, ...rest } = value;
  return { user_id, ...rest };
}

function writeError(cause: Error): Error {
  if ((cause as NodeJS.ErrnoException).code === 'EPIPE') return new OutputClosed();
  return new MobilityError('MOBILITY_OUTPUT', `cannot write to standard output: ${errorText(cause)}`, { cause });
}

/** `done` removes the spinner from the screen, the next `update` shows it again. */
type Spinner = Progress & { done(): void };

const silent: Spinner = { update: () => {}, done: () => {} };

function spinner(first: string, sink: Sink, color: boolean): Spinner {
  let text: string | null = first; // null: hidden
  let spinning: { start(text: string): unknown; stop(): unknown } | null = null;
  const stream = sink as NodeJS.WriteStream;
  // `ora` is loaded only for a terminal, because loading it takes longer than many commands.
  void import('ora').then(({ default: ora }) => {
    spinning = ora({ stream, discardStdin: false, ...(!color && { color }) });
    if (text !== null) spinning.start(text);
  });
  return {
    update: (next) => {
      text = next;
      spinning?.start(next);
    },
    done: () => {
      if (text !== null) spinning?.stop();
      text = null;
    },
  };
}

/** `right`: the columns that are aligned to the right, from 0. */
export function table(texts: readonly (readonly string[])[], right: readonly number[] = []): string {
  const rows = texts.map((row) => row.map(oneLine));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, [...cell].length);
  }
  const pad = (cell: string, i: number): string => {
    const fill = ' '.repeat(widths[i]! - [...cell].length);
    return right.includes(i) ? fill + cell : cell + fill;
  };
  return rows.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}

/** Returns a table with a header; without rows, an empty text. */
export function listing(header: readonly string[], rows: readonly (readonly string[])[], right?: readonly number[]) {
  return rows.length === 0 ? '' : table([header, ...rows], right);
}

/** A phone may send any text as a key, so control characters are escaped. */
export function errorKeyText(key: string | null): string {
  if (key === null) return '(no key)';
  return key === '' ? '""' : quoted(key);
}

export function workTimeText(seconds: number): string {
  return `${seconds < 9.995 ? seconds.toFixed(2) : seconds.toFixed(0)} s`;
}

/** Returns a text such as `, about 2 h 5 min left`, or an empty text without an estimate. */
export const leftText = (seconds: number, done: number, all: number): string =>
  done > 0 && done < all ? `, about ${durationText((seconds * (all - done)) / done)} left` : '';

export const withZone = (text: string, zone: string): string => (text === '' ? '' : `${text}\n\ntimes: ${zone}`);

export function outdatedText(people: number, days: number, run: 'next' | 'this'): string {
  const whose = `${counted(days, 'day')} of ${counted(people, 'person', 'people')}`;
  const before = run === 'this' ? '' : '; preview: `mobility rebuild --all --dry-run`';
  return `the analysis changed: ${run === 'this' ? run : 'the next'} run derives the trips of ${whose} again${before}`;
}
