// Reads log files back: every source, finished and compressed parts too, in order of time, never whole in memory.
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { errorText, MobilityError } from '../model/errors.ts';
import type { FileLine } from './format.ts';
import { compareLogNames, type LogKind, type LogName, parseLogName } from './names.ts';
import { createSplitter, newStats, type ReadStats, type Splitter } from './split-lines.ts';

export type { ReadStats } from './split-lines.ts';

const chunkBytes = 64 * 1024;
const pollSeconds = 0.25; // between two looks at files that are followed
const mostAttempts = 100; // to find a folder at rest; only one that rotates all the time needs more than two
const daySeconds = 86_400;

/** A line and the source that wrote it: `server`, `pipeline`, or with a number where several ran at once. */
export interface LogLine extends FileLine {
  source: string;
}

/** Which lines of which log files are read. */
export interface ReadOptions {
  dir: string;
  /** Without: all. */
  kinds?: readonly LogKind[];
  /** Lines from this time on, seconds since the epoch. */
  since?: number;
  /** Lines before this time. */
  until?: number;
  /**
   * Goes on with what is written from now on, until `signal`; without `since` that is all. It looks four times a
   * second: a file that is begun, finished and compressed between two looks is missed.
   */
  follow?: boolean;
  signal?: AbortSignal;
}

/** Lines being read, and what was skipped so far. */
export interface LogReader {
  lines: AsyncGenerator<LogLine[]>;
  stats: ReadStats;
}

/**
 * Reads the logs of a folder in batches. Sources are merged by time; lines of one source come as they were written. A
 * file that cannot be read is noted in `stats`. Throws `MOBILITY_LOG_UNREADABLE` when the folder cannot be read.
 */
export function readLogs(options: ReadOptions): LogReader {
  const stats = newStats();
  return { lines: readAll(options, stats), stats };
}

async function* readAll(options: ReadOptions, stats: ReadStats): AsyncGenerator<LogLine[]> {
  const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY, follow = false } = options;
  const inRange = (lines: LogLine[]): LogLine[] => lines.filter(({ time }) => time >= since && time < until);
  const files = await openFolder(options, stats);
  try {
    if (follow && options.since === undefined) {
      for (const file of files.plain.values()) await file.skipToEnd();
    } else {
      for await (const lines of mergeByTime(sourcesOf(files, options, stats))) yield inRange(lines);
    }
    files.compressed = [];
    while (follow && options.signal?.aborted !== true) {
      await openPlain(options.dir, await listLogs(options), files, stats);
      for await (const lines of mergeByTime(sourcesOf(files, options, stats))) yield inRange(lines);
      stats.looks += 1;
      await sleep(pollSeconds * 1000, undefined, { signal: options.signal }).catch(() => {});
    }
    for (const file of files.plain.values()) file.splitter.end();
  } finally {
    for (const file of files.plain.values()) await file.handle.close();
  }
}

// ---------------------------------------------------------------- the files of a folder

/** A file that is not compressed: it may grow, get another name, or vanish while it is being read. */
interface PlainFile {
  name: LogName;
  handle: FileHandle;
  splitter: Splitter;
  /** What was written since the last time, up to one chunk; null at the end of what is there. */
  next(): Promise<LogLine[] | null>;
  skipToEnd(): Promise<void>;
}

interface Folder {
  compressed: LogName[];
  /** By inode. */
  plain: Map<string, PlainFile>;
}

async function listLogs({ dir, kinds }: ReadOptions): Promise<LogName[]> {
  try {
    const logs = (await readdir(dir)).map(parseLogName).filter((log) => log !== null);
    return logs.filter(({ kind }) => kinds === undefined || kinds.includes(kind));
  } catch (error) {
    throw new MobilityError(
      'MOBILITY_LOG_UNREADABLE',
      `expected a folder of log files, found ${dir} (${errorText(error)}); name another one with MOBILITY_LOG_DIR or --dir`,
      { cause: error },
    );
  }
}

/** Opens what is not compressed before anything is read, so that a rotation in between hides nothing. */
async function openFolder(options: ReadOptions, stats: ReadStats): Promise<Folder> {
  const folder: Folder = { compressed: [], plain: new Map() };
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    const logs = await listLogs(options);
    const seen = await openPlain(options.dir, logs, folder, stats);
    for (const [inode, { handle }] of folder.plain) {
      if (seen.has(inode)) continue;
      folder.plain.delete(inode); // compressed or removed meanwhile
      await handle.close();
    }
    const after = await listLogs(options);
    const names = (of: LogName[]): string =>
      of
        .map(({ name }) => name)
        .sort()
        .join('\n');
    const finished = new Set([...folder.plain.values()].map(({ name }) => `${name.name}.gz`));
    folder.compressed = after.filter(({ name, compressed }) => compressed && !finished.has(name));
    if (names(logs) === names(after)) break;
    await sleep(Math.min(attempt, 20));
  }
  stats.files = folder.compressed.length + folder.plain.size;
  return folder;
}

/** Opens files that are new, and takes note of new names of those that are open. */
async function openPlain(dir: string, logs: LogName[], folder: Folder, stats: ReadStats): Promise<Set<string>> {
  const seen = new Set<string>();
  for (const name of logs) {
    if (name.compressed) continue;
    try {
      let inode = inodeOf(await stat(join(dir, name.name)));
      if (!folder.plain.has(inode)) {
        // The name may be another file's by now: what counts is what was opened.
        const handle = await open(join(dir, name.name), 'r');
        inode = inodeOf(await handle.stat());
        if (folder.plain.has(inode)) await handle.close();
        else folder.plain.set(inode, plainFile(name, handle, stats));
      }
      folder.plain.get(inode)!.name = name;
      seen.add(inode);
    } catch (error) {
      note(stats, name, error);
    }
  }
  return seen;
}

const inodeOf = ({ dev, ino }: { dev: number; ino: number }): string => `${dev}:${ino}`;

function note(stats: ReadStats, { name }: LogName, error: unknown): void {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return; // removed as one too many, or compressed meanwhile
  if (stats.unreadable.some(({ file }) => file === name)) return;
  stats.unreadable.push({ file: name, reason: errorText(error) });
}

function plainFile(name: LogName, handle: FileHandle, stats: ReadStats): PlainFile {
  const splitter = createSplitter(stats);
  const buffer = Buffer.alloc(chunkBytes);
  let position = 0;
  const file: PlainFile = {
    name,
    handle,
    splitter,
    next: async () => {
      const { bytesRead } = await handle.read(buffer, 0, chunkBytes, position);
      if (bytesRead === 0) {
        if ((await handle.stat()).size < position) position = 0; // emptied in place by another tool
        return null;
      }
      position += bytesRead;
      return ofSource(file.name.source, splitter.feed(buffer.subarray(0, bytesRead)));
    },
    skipToEnd: async () => {
      position = (await handle.stat()).size;
    },
  };
  return file;
}

function ofSource(source: string, lines: FileLine[]): LogLine[] {
  // Written out: copying by `...` takes three times as long, and this is done for each line.
  return lines.map(({ time, stamp, level, thread, message }) => ({ time, stamp, level, thread, message, source }));
}

// ---------------------------------------------------------------- their lines

/** One stream of batches for each source: its files in the order of writing, each from where it was left. */
function sourcesOf(folder: Folder, options: ReadOptions, stats: ReadStats): AsyncGenerator<LogLine[]>[] {
  const bySource = new Map<string, (LogName | PlainFile)[]>();
  for (const file of [...folder.compressed, ...folder.plain.values()]) {
    const name = nameOf(file);
    if (!mayHold(name, options)) continue;
    bySource.set(name.source, [...(bySource.get(name.source) ?? []), file]);
  }
  return [...bySource.values()].map((files) =>
    readInOrder(
      files.sort((a, b) => compareLogNames(nameOf(a), nameOf(b))),
      folder,
      options,
      stats,
    ),
  );
}

const nameOf = (file: LogName | PlainFile): LogName => ('handle' in file ? file.name : file);

/** Files are named by local day; two days to spare cover every zone. A file that is followed is always read. */
function mayHold({ day }: LogName, { since, until }: ReadOptions): boolean {
  const start = Date.parse(`${day}T00:00:00Z`) / 1000;
  if (since !== undefined && start + 3 * daySeconds < since) return false;
  return until === undefined || start - 2 * daySeconds < until;
}

async function* readInOrder(
  files: (LogName | PlainFile)[],
  { plain }: Folder,
  { dir, follow }: ReadOptions,
  stats: ReadStats,
): AsyncGenerator<LogLine[]> {
  for (const file of files) {
    try {
      if (!('handle' in file)) {
        yield* readCompressed(dir, file, stats);
        continue;
      }
      const found = await file.handle.stat(); // asked first: a file that is gone was complete before it went
      for (let lines = await file.next(); lines !== null; lines = await file.next()) yield lines;
      if (follow !== true || found.nlink > 0) continue;
      file.splitter.end();
      plain.delete(inodeOf(found));
      await file.handle.close();
    } catch (error) {
      note(stats, nameOf(file), error);
    }
  }
}

async function* readCompressed(dir: string, { name, source }: LogName, stats: ReadStats): AsyncGenerator<LogLine[]> {
  const splitter = createSplitter(stats);
  const unzipped = pipeline(createReadStream(join(dir, name)), createGunzip(), () => {});
  try {
    for await (const bytes of unzipped) yield ofSource(source, splitter.feed(bytes as Buffer));
  } finally {
    splitter.end();
  }
}

interface Head {
  from: AsyncGenerator<LogLine[]>;
  batch: LogLine[];
  at: number;
}

/** Merges sources by time; within a source the order stays. Holds one batch of each. */
async function* mergeByTime(sources: AsyncGenerator<LogLine[]>[]): AsyncGenerator<LogLine[]> {
  let heads: Head[] = [];
  try {
    for (const from of sources) {
      const head = { from, batch: [], at: 0 };
      if (await refill(head)) heads.push(head);
    }
    while (heads.length > 0) {
      const { merged, empty } = takeUntilOneIsEmpty(heads);
      yield merged;
      if (!(await refill(empty))) heads = heads.filter((head) => head !== empty);
    }
  } finally {
    for (const { from } of heads) await from.return(undefined);
  }
}

function takeUntilOneIsEmpty(heads: readonly Head[]): { merged: LogLine[]; empty: Head } {
  const merged: LogLine[] = [];
  for (;;) {
    const first = heads.reduce((a, b) => (b.batch[b.at]!.time < a.batch[a.at]!.time ? b : a));
    merged.push(first.batch[first.at]!);
    first.at += 1;
    if (first.at === first.batch.length) return { merged, empty: first };
  }
}

async function refill(head: Head): Promise<boolean> {
  for (let next = await head.from.next(); next.done !== true; next = await head.from.next()) {
    if (next.value.length === 0) continue;
    head.batch = next.value;
    head.at = 0;
    return true;
  }
  return false;
}
