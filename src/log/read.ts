// Reads log files of all sources, compressed ones too, merged by time, without holding a file in memory.
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { errorText, MobilityError } from '../model/errors.ts';
import { type FileLine, parseFileLine } from './format.ts';
import { type LogKind, type LogName, logNames } from './names.ts';

const maxLine = 64 * 1024; // characters held of a line; lines that the log writes are far shorter
const pollSeconds = 0.25; // between two looks at files that are followed
const daySeconds = 86_400;

/** A line and the source that wrote it: `server`, `pipeline`, or with a number if several ran at once. */
export interface LogLine extends FileLine {
  source: string;
}

/** Which lines of which log files are read. */
export interface ReadOptions {
  dir: string;
  /** Default: all. */
  kinds?: readonly LogKind[];
  /** Lines from `since` on and before `until`, seconds since the epoch. */
  since?: number;
  until?: number;
  /** Continues with lines that are written from now on, until `signal`; without `since`, returns only those. */
  follow?: boolean;
  signal?: AbortSignal;
}

/** What was found in log files besides lines. */
export interface ReadStats {
  /** Lines that are not in the log's format, or were cut short by a crash or a full disk. */
  foreign: number;
  /** Files that could not be read to their end. */
  unreadable: { file: string; reason: string }[];
  /** How often a reader that follows has looked for new lines. */
  looks: number;
}

/**
 * Reads the logs of a folder. Sources are merged by time; lines of one source come as they were written. A file that
 * cannot be read is noted in `stats`. Throws `MOBILITY_LOG_UNREADABLE` if the folder cannot be read.
 */
export function readLogs(options: ReadOptions): { lines: AsyncGenerator<LogLine>; stats: ReadStats } {
  const stats: ReadStats = { foreign: 0, unreadable: [], looks: 0 };
  return { lines: readAll(options, stats), stats };
}

async function* readAll(options: ReadOptions, stats: ReadStats): AsyncGenerator<LogLine> {
  const { dir, since, follow = false, signal } = options;
  const files = new Map<string, LogFile>();
  for (; signal?.aborted !== true; stats.looks += 1) {
    const logs = await listLogs(options);
    for (const log of logs) if (!files.has(log.name)) files.set(log.name, new LogFile(dir, log, stats));
    if (follow && since === undefined && stats.looks === 0) {
      for (const file of files.values()) await file.skipToEnd();
    } else {
      yield* merge(sourcesOf([...files.values()], options));
    }
    if (!follow) break;
    await sleep(pollSeconds * 1000, undefined, { signal }).catch(() => {});
  }
  if (!follow) for (const file of files.values()) file.countTornLine();
}

async function listLogs({ dir, kinds, since = -Infinity, until = Infinity }: ReadOptions): Promise<LogName[]> {
  try {
    // Files are named by local day; two days to spare cover every zone.
    const start = ({ day }: LogName): number => Date.parse(`${day}T00:00:00Z`) / 1000;
    return logNames(await readdir(dir)).filter(
      (log) =>
        (kinds?.includes(log.kind) ?? true) &&
        start(log) + 3 * daySeconds >= since &&
        start(log) - 2 * daySeconds < until,
    );
  } catch (error) {
    const found = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'nothing' : errorText(error);
    throw new MobilityError(
      'MOBILITY_LOG_UNREADABLE',
      `expected a folder of log files at ${dir}, found ${found}; name another one with MOBILITY_LOG_DIR or --dir`,
      { cause: error },
    );
  }
}

/** A log file, which may grow and be compressed between two reads. */
class LogFile {
  readonly log: LogName;
  readonly #path: string;
  readonly #stats: ReadStats;
  readonly #decoder = new TextDecoder();
  #position = 0;
  #isDone = false;
  #rest = '';

  constructor(dir: string, log: LogName, stats: ReadStats) {
    this.log = log;
    this.#path = join(dir, log.name);
    this.#stats = stats;
  }

  async skipToEnd(): Promise<void> {
    const found = await stat(this.#path).catch(() => null);
    this.#isDone = found === null; // compressed: nobody adds to it
    this.#position = found?.size ?? 0;
  }

  /** The lines that were not read before. */
  async *lines(): AsyncGenerator<FileLine[]> {
    if (this.#isDone) return;
    try {
      for await (const chunk of createReadStream(this.#path, { start: this.#position })) yield this.#split(chunk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') yield* this.#compressedLines();
      else this.#fail(this.log.name, error);
    }
  }

  async *#compressedLines(): AsyncGenerator<FileLine[]> {
    this.#isDone = true;
    let skip = this.#position;
    try {
      for await (const chunk of pipeline(createReadStream(`${this.#path}.gz`), createGunzip(), () => {})) {
        yield this.#split((chunk as Buffer).subarray(skip));
        skip = Math.max(0, skip - (chunk as Buffer).length);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#fail(`${this.log.name}.gz`, error);
    }
  }

  #fail(file: string, error: unknown): void {
    this.#isDone = true;
    this.#stats.unreadable.push({ file, reason: errorText(error) });
  }

  #split(chunk: Buffer): FileLine[] {
    this.#position += chunk.length;
    const texts = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n');
    this.#rest = texts.pop()!.slice(0, maxLine);
    const parsed = texts.filter((text) => text !== '').map(parseFileLine);
    const lines = parsed.filter((line) => line !== null);
    this.#stats.foreign += parsed.length - lines.length;
    return lines;
  }

  countTornLine(): void {
    if (this.#rest !== '') this.#stats.foreign += 1;
  }
}

/** The lines of the period, a generator for each source. */
function sourcesOf(files: LogFile[], { since = -Infinity, until = Infinity }: ReadOptions): AsyncGenerator<LogLine>[] {
  const sources = new Set(files.map(({ log }) => log.source));
  return [...sources].map(async function* (source) {
    for (const file of files.filter(({ log }) => log.source === source)) {
      for await (const lines of file.lines()) {
        for (const line of lines) if (line.time >= since && line.time < until) yield { ...line, source };
      }
    }
  });
}

/** Merges sources by time; within a source the order stays. */
async function* merge(sources: AsyncGenerator<LogLine>[]): AsyncGenerator<LogLine> {
  let heads = await Promise.all(sources.map(async (from) => ({ from, line: (await from.next()).value as LogLine })));
  try {
    for (;;) {
      heads = heads.filter(({ line }) => line !== undefined);
      if (heads.length === 0) return;
      const first = heads.reduce((a, b) => (b.line.time < a.line.time ? b : a));
      yield first.line;
      first.line = (await first.from.next()).value;
    }
  } finally {
    for (const { from } of heads) await from.return(undefined);
  }
}
