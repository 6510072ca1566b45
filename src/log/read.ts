// Reads log files of all sources, compressed ones too, without holding a file in memory.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorText, MobilityError } from '../model/errors.ts';
import { type FileLine, parseFileLine } from './format.ts';
import { linesOf } from './lines.ts';
import { type LogKind, type LogName, logNames } from './names.ts';

const pollTime = 250; // ms between two looks at files that are followed
const day = 86_400; // s

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
 * Reads the logs of a folder, file after file, by day: lines of one source come as they were written. A file that
 * cannot be read is noted in `stats`. Throws `MOBILITY_LOG_UNREADABLE` if the folder cannot be read.
 */
export function readLogs(options: ReadOptions): { lines: AsyncGenerator<LogLine>; stats: ReadStats } {
  const stats: ReadStats = { foreign: 0, unreadable: [], looks: 0 };
  return { lines: readAll(options, stats), stats };
}

async function* readAll(options: ReadOptions, stats: ReadStats): AsyncGenerator<LogLine> {
  const { since, until = Infinity, follow = false, signal } = options;
  const files = new Map<string, LogFile>();
  for (; signal?.aborted !== true; stats.looks += 1) {
    const logs = await listLogs(options);
    for (const log of logs) if (!files.has(log.name)) files.set(log.name, new LogFile(log, options, stats));
    for (const file of files.values()) {
      if (follow && since === undefined && stats.looks === 0) await file.skipToEnd();
      for await (const lines of file.lines()) yield* lines.filter(({ time }) => time >= (since ?? 0) && time < until);
    }
    if (!follow) return;
    await sleep(pollTime, undefined, { signal }).catch(() => {});
  }
}

async function listLogs({ dir, kinds, since = -Infinity, until = Infinity }: ReadOptions): Promise<LogName[]> {
  const names = await readdir(dir).catch((error) => {
    const found = error.code === 'ENOENT' ? 'nothing' : errorText(error);
    throw new MobilityError(
      'MOBILITY_LOG_UNREADABLE',
      `expected a folder of log files at ${dir}, found ${found}; name another one with MOBILITY_LOG_DIR or --dir`,
      { cause: error },
    );
  });
  return logNames(names).filter((log) => {
    const start = Date.parse(log.day) / 1000; // of a local day: two days to spare cover every zone
    return (kinds?.includes(log.kind) ?? true) && start + 3 * day >= since && start - 2 * day < until;
  });
}

/** A log file, which may grow and be compressed between two reads. */
class LogFile {
  readonly #log: LogName;
  readonly #options: ReadOptions;
  readonly #stats: ReadStats;
  #position = 0; // byte after the last line that was read
  #isDone = false;

  constructor(log: LogName, options: ReadOptions, stats: ReadStats) {
    this.#log = log;
    this.#options = options;
    this.#stats = stats;
  }

  async skipToEnd(): Promise<void> {
    const found = await stat(join(this.#options.dir, this.#log.name)).catch(() => null);
    this.#isDone = found === null; // compressed: nobody adds to it
    this.#position = found?.size ?? 0;
  }

  /** The lines that were not read before. */
  async *lines(): AsyncGenerator<LogLine[]> {
    const { name } = this.#log;
    for (const file of this.#isDone ? [] : [name, `${name}.gz`]) {
      try {
        yield* this.#read(join(this.#options.dir, file), file === name ? this.#position : 0);
        this.#isDone = file !== name;
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
        this.#isDone = true;
        this.#stats.unreadable.push({ file, reason: errorText(error) });
        return;
      }
    }
  }

  async *#read(path: string, start: number): AsyncGenerator<LogLine[]> {
    let position = start;
    for await (const lines of linesOf(path, start)) {
      const parsed: LogLine[] = [];
      for (const line of lines) {
        position += line.length;
        const isWhole = line.endsWith('\n');
        if (position <= this.#position || (!isWhole && this.#options.follow)) continue;
        this.#position = position;
        const found = isWhole ? parseFileLine(Buffer.from(line, 'latin1').toString().slice(0, -1)) : null;
        if (found !== null) parsed.push({ ...found, source: this.#log.source });
        else if (line !== '\n') this.#stats.foreign += 1;
      }
      yield parsed;
    }
  }
}
