// Reads the log files of all sources, plain or compressed, without holding a file in memory.

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorText, MobilityError } from '../model/mobility-error.ts';
import { day } from '../model/time.ts';
import { linesOf } from './file-lines.ts';
import { type LogKind, type LogName, logNames } from './file-names.ts';
import { type FileLine, parseFileLine } from './line-format.ts';

const pollTime = 250; // ms between two searches for new lines

/** A line and its source: `server`, `pipeline`, or with a number if several processes ran at once. */
export type LogLine = FileLine & { source: string };

/** Selects the lines to read. */
export interface ReadOptions {
  dir: string;
  /** Default: all kinds. */
  kinds?: readonly LogKind[] | undefined;
  /** Lines in `[since, until)`, seconds since the epoch. */
  since?: number | undefined;
  until?: number;
  /** Continues with new lines until the signal is aborted. Without `since`, returns only new lines. */
  follow?: AbortSignal | undefined;
}

/** Facts about the log files that were read. */
export interface ReadStats {
  /** Lines that are not in the log's format, or that a crash or a full disk cut off. */
  foreign: number;
  /** Files that could not be read to their end. */
  unreadable: { file: string; reason: string }[];
  /** How often the files were searched for new lines. */
  looks: number;
}

/**
 * Reads the logs of a folder, file after file, by day. Lines of one source keep their order. A file that cannot be read
 * is recorded in `stats`. Throws `MOBILITY_LOG_UNREADABLE` if the folder cannot be read.
 */
export function readLogs(options: ReadOptions): { lines: AsyncGenerator<LogLine>; stats: ReadStats } {
  const stats: ReadStats = { foreign: 0, unreadable: [], looks: 0 };
  return { lines: readAll(options, stats), stats };
}

async function* readAll(options: ReadOptions, stats: ReadStats): AsyncGenerator<LogLine> {
  const { dir, since = -Infinity, until = Infinity, follow } = options;
  const ends = new Map<string, number>(); // bytes that were read, by name without `.gz`; Infinity: all
  for (; follow?.aborted !== true; stats.looks += 1) {
    const isSkipping = follow !== undefined && options.since === undefined && stats.looks === 0;
    const logs = await listLogs(options);
    for (let log = logs.shift(); log !== undefined; log = logs.shift()) {
      const file = log.compressed ? `${log.name}.gz` : log.name;
      const path = join(dir, file);
      try {
        if (isSkipping) ends.set(log.name, log.compressed ? Infinity : (await stat(path)).size);
        for await (const lines of newLines(path, log, ends, stats, follow !== undefined))
          yield* lines.filter(({ time }) => time >= since && time < until);
      } catch (error) {
        const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
        // another process compressed it meanwhile
        if (isMissing && !log.compressed) logs.unshift({ ...log, compressed: true });
        if (isMissing) continue;
        ends.set(log.name, Infinity);
        stats.unreadable.push({ file, reason: errorText(error) });
      }
    }
    if (follow === undefined) return;
    await sleep(pollTime, undefined, { signal: follow }).catch(() => {});
  }
}

/** The lines of a file that were not read before. If reading `goesOn`, a line without its end is left for later. */
async function* newLines(path: string, log: LogName, ends: Map<string, number>, stats: ReadStats, goesOn: boolean) {
  const before = ends.get(log.name) ?? 0;
  if (before === Infinity) return;
  let position = log.compressed ? 0 : before;
  for await (const texts of linesOf(path, position)) {
    const lines: LogLine[] = [];
    for (const text of texts) {
      const isWhole = text.endsWith('\n');
      if (!isWhole && goesOn) continue;
      position += text.length;
      if (position <= before) continue;
      const line = isWhole ? parseFileLine(Buffer.from(text, 'latin1').toString().slice(0, -1)) : null;
      if (line !== null) lines.push({ ...line, source: log.source });
      else if (text !== '\n') stats.foreign += 1;
    }
    ends.set(log.name, position);
    yield lines;
  }
  if (log.compressed) ends.set(log.name, Infinity); // no process appends to it
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
    const start = Date.parse(log.day) / 1000; // start of a local day; two more days on each side cover every zone
    return (kinds?.includes(log.kind) ?? true) && start + 3 * day >= since && start - 2 * day < until;
  });
}
