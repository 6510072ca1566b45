import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { errorText, MobilityError } from '../model/mobility-error.ts';
import { day } from '../model/time.ts';
import { type LogKind, type LogName, logNames } from './file-names.ts';
import { type FileLine, parseFileLine } from './line-format.ts';

const pollTime = 250; // ms between two searches for new lines

/** `source`: `server`, `pipeline`, or `server-2` if two servers ran at the same time. */
export type LogLine = FileLine & { source: string };

export interface ReadOptions {
  dir: string;
  kinds?: readonly LogKind[] | undefined;
  /** Seconds since the epoch: `since` inclusive, `until` exclusive. */
  since?: number | undefined;
  until?: number;
  /** If given, waits for new lines until the signal aborts. Without `since`, skips older lines. */
  follow?: AbortSignal | undefined;
}

export interface ReadStats {
  foreign: number; // lines that are not in the log's format: a full disk may have cut them off
  unreadable: { file: string; reason: string }[];
  polls: number;
}

/**
 * Reads log files by day, plain or compressed, without holding a file in memory. Lines of one
 * source keep their order. `stats` is complete when `lines` ends. Throws `MOBILITY_LOG_UNREADABLE`
 * if the folder cannot be read.
 */
export function readLogs(options: ReadOptions): { lines: AsyncGenerator<LogLine>; stats: ReadStats } {
  const stats: ReadStats = { foreign: 0, unreadable: [], polls: 0 };
  return { lines: readAll(options, stats), stats };
}

async function* readAll(options: ReadOptions, stats: ReadStats): AsyncGenerator<LogLine> {
  const { dir, since = -Infinity, until = Infinity, follow } = options;
  const ends = new Map<string, number>(); // by name without `.gz`: bytes already read; Infinity: the file is done
  for (; follow?.aborted !== true; stats.polls += 1) {
    const isSkipping = follow !== undefined && options.since === undefined && stats.polls === 0;
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
        // The server or pipeline compressed the file meanwhile.
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

/** Yields the lines after those already read. When following, leaves an unfinished last line. */
async function* newLines(
  path: string,
  log: LogName,
  ends: Map<string, number>,
  stats: ReadStats,
  isFollowing: boolean,
) {
  const before = ends.get(log.name) ?? 0;
  if (before === Infinity) return;
  let position = log.compressed ? 0 : before;
  for await (const texts of readLines(path, position)) {
    const lines: LogLine[] = [];
    for (const text of texts) {
      const isWhole = text.endsWith('\n');
      if (!isWhole && isFollowing) continue;
      position += text.length;
      if (position <= before) continue;
      const line = isWhole ? parseFileLine(Buffer.from(text, 'latin1').toString().slice(0, -1)) : null;
      if (line !== null) lines.push({ ...line, source: log.source });
      else if (text !== '\n') stats.foreign += 1;
    }
    ends.set(log.name, position);
    yield lines;
  }
  if (log.compressed) ends.set(log.name, Infinity);
}

async function listLogs({ dir, kinds, since = -Infinity, until = Infinity }: ReadOptions): Promise<LogName[]> {
  const names = await readdir(dir).catch((error) => {
    const found = error.code === 'ENOENT' ? 'nothing' : errorText(error);
    throw new MobilityError(
      'MOBILITY_LOG_UNREADABLE',
      `expected a folder of log files at ${dir}, found ${found}; name another one with MOBILITY_LOG_DIR or --log-dir`,
      { cause: error },
    );
  });
  return logNames(names).filter((log) => {
    const start = Date.parse(log.day) / 1000; // the day in UTC; two more days on each side cover every zone
    return (kinds?.includes(log.kind) ?? true) && start + 3 * day >= since && start - 2 * day < until;
  });
}

/**
 * Reads lines from byte `start` on, and yields them in groups, with their line breaks. Each
 * character is one byte (Latin 1), so a line has its length in the file. `start`: the start of a
 * line; 0 for a compressed file.
 */
export async function* readLines(path: string, start = 0): AsyncGenerator<string[]> {
  const file = createReadStream(path, { start });
  const bytes = path.endsWith('.gz') ? pipeline(file, createGunzip(), () => {}) : file;
  let rest = '';
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    const lines = (rest + chunk.toString('latin1')).split(/(?<=\n)/);
    rest = lines.at(-1)!.endsWith('\n') ? '' : lines.pop()!;
    yield lines;
  }
  if (rest !== '') yield [rest];
}
