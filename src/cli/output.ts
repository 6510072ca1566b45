// What commands say: data to standard output, notes and progress to standard error, and `--json` instead of text.
import { fstatSync, writeSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { errorText, MobilityError } from '../model/errors.ts';

/** A stream as commands need it; `process.stdout` and `process.stderr` are two. */
export interface Sink {
  write(text: string, done?: (error?: Error | null) => void): boolean;
  isTTY?: boolean;
  columns?: number;
}

/** Something that takes a while. Shown only on a terminal. */
export interface Progress {
  update(text: string): void;
  /** Takes the progress away; `text` stays as a note. */
  done(text?: string): void;
}

/** The mouth of a command. */
export interface Output {
  /** True when the caller asked for `--json`. */
  readonly json: boolean;
  /** True when people read standard output, and no program. */
  readonly isTerminal: boolean;
  /** Columns of the terminal, at most 100; 80 when standard output is no terminal. */
  readonly columns: number;
  /** The result of a command: `value` as JSON with `--json`, else `text`. Resolves when the reader has taken it. */
  result(value: unknown, text: string | (() => string)): Promise<void>;
  /**
   * Data as it is, to standard output. Waits for a slow reader. Throws `OutputClosed` when the reader has gone, and
   * `MOBILITY_OUTPUT` when it cannot be written, as on a full disk.
   */
  write(text: string): Promise<void>;
  /** One line of data, or of JSON lines. */
  line(text: string): Promise<void>;
  /** A remark for people, to standard error. */
  note(text: string): void;
  /** Shows that work goes on: a spinner on a terminal, nothing elsewhere. */
  progress(text: string): Progress;
  /** Styles for a terminal; the text itself without a terminal, or with NO_COLOR. */
  bold(text: string): string;
  dim(text: string): string;
  /** Text in one of the 256 colours of a terminal. */
  tint(text: string, colour: number): string;
}

/** Thrown by `Output.write` after the reader has gone (`mobility … | head`). Ends a command quietly. */
export class OutputClosed extends Error {
  constructor() {
    super('nobody reads standard output any more');
    this.name = 'OutputClosed';
  }
}

const notWritten = (cause: Error): MobilityError =>
  new MobilityError('MOBILITY_OUTPUT', `cannot write to standard output: ${errorText(cause)}`, { cause });

/**
 * A sink for a stream of the process. Whoever writes is told of a failure. The stream's event about it would end the
 * program, a server too, so nobody gets it.
 */
export function sinkOf(stream: NodeJS.WriteStream & { fd: number }): Sink {
  stream.on('error', () => {});
  return fstatSync(stream.fd).isFile() ? fileSink(stream.fd) : stream;
}

/** Node's stream takes a part for the whole where a disk has room for the part only: the rest would be lost unseen. */
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

/** Where output goes and what decides about its form. */
export interface OutputOptions {
  stdout: Sink;
  stderr: Sink;
  env: Record<string, string | undefined>;
  /** Asked on each use, since flags are known only after parsing. */
  json: () => boolean;
}

/** Makes the output of one run of the program. */
export function createOutput({ stdout, stderr, env, json }: OutputOptions): Output {
  const noColor = (env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb';
  const marked = stdout.isTTY === true && !noColor;
  const write = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      stdout.write(text, (error) => {
        if (error == null) resolve();
        else reject((error as NodeJS.ErrnoException).code === 'EPIPE' ? new OutputClosed() : notWritten(error));
      });
    });
  const note = (text: string): void => {
    stderr.write(`${text}\n`);
  };
  return {
    get json() {
      return json();
    },
    isTerminal: stdout.isTTY === true,
    columns: stdout.isTTY === true ? Math.min(stdout.columns || 80, 100) : 80,
    write,
    line: (text) => write(`${text}\n`),
    result: (value, text) => {
      const shown = json() ? JSON.stringify(value, null, 2) : typeof text === 'function' ? text() : text;
      return shown === '' ? Promise.resolve() : write(`${shown.replace(/\n+$/, '')}\n`);
    },
    note,
    // A terminal without a width, as some programs pretend to be, would keep the spinner busy forever.
    progress: (text) => (stderr.isTTY === true && stderr.columns ? spin(text, stderr, !noColor) : silent(note)),
    bold: (text) => (marked ? `\u001b[1m${text}\u001b[22m` : text),
    tint: (text, colour) => (marked ? `\u001b[38;5;${colour}m${text}\u001b[39m` : text),
    dim: (text) => (marked ? `\u001b[2m${text}\u001b[22m` : text),
  };
}

function spin(first: string, stream: Sink, color: boolean): Progress {
  let text = first;
  let spinner: { text: string; stop(): unknown } | null = null;
  let ended = false;
  // Loaded on a terminal only: it takes longer than many a command.
  void import('ora').then(({ default: ora }) => {
    if (ended) return;
    spinner = ora({
      text,
      stream: stream as NodeJS.WriteStream,
      discardStdin: false,
      ...(color ? {} : { color: false }),
    }).start();
  });
  return {
    update: (next) => {
      text = next;
      if (spinner !== null) spinner.text = next;
    },
    done: (last) => {
      ended = true;
      spinner?.stop();
      if (last !== undefined) stream.write(`${last}\n`);
    },
  };
}

function silent(note: (text: string) => void): Progress {
  return { update: () => {}, done: (last) => last !== undefined && note(last) };
}

/** Rows as aligned columns, two blanks apart; columns named in `right` are aligned to the right. */
export function table(rows: readonly (readonly string[])[], right: readonly number[] = []): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, textWidth(cell));
  }
  const pad = (cell: string, i: number): string => {
    const fill = ' '.repeat(widths[i]! - textWidth(cell));
    return right.includes(i) ? fill + cell : cell + fill;
  };
  return rows.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}

/** Columns a text takes, without marks. Letters beyond the basic plane count as one. */
export function textWidth(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}

/** `1 trip`, `2 trips`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}
