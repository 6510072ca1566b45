// Reads log files back: every source, finished and compressed parts too, in order of time, never whole in memory.
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { errorText, MobilityError } from '../model/errors.ts';
import { type FileLine, parseFileLine, tornMark } from './format.ts';
import { compareLogNames, inodeOf, type LogKind, type LogName, logNames } from './names.ts';

const chunkBytes = 64 * 1024;
const maxLine = 64 * 1024; // characters held of a line; what we write is far below
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

/** What was found in log files besides lines. */
export interface ReadStats {
  files: number;
  lines: number;
  /** Lines that no log of ours writes. */
  foreign: number;
  /** Lines cut short by a crash or a full disk. */
  torn: number;
  /** Files that could not be read, or not to their end. */
  unreadable: { file: string; reason: string }[];
  /** How often a reader that follows has looked for news. */
  looks: number;
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
  const stats: ReadStats = { files: 0, lines: 0, foreign: 0, torn: 0, unreadable: [], looks: 0 };
  return { lines: readAll(options, stats), stats };
}

async function* readAll(options: ReadOptions, stats: ReadStats): AsyncGenerator<LogLine[]> {
  const { since, follow = false, signal } = options;
  const plain: PlainFiles = new Map();
  try {
    const compressed = await openFolder(options, plain, stats);
    stats.files = compressed.length + plain.size;
    if (follow && since === undefined) for (const file of plain.values()) await file.skipToEnd();
    else yield* linesOf([...compressed, ...plain.values()], options, stats);
    while (follow && signal?.aborted !== true) {
      await openPlain(options.dir, await listLogs(options), plain, stats);
      yield* linesOf([...plain.values()], options, stats);
      for (const [inode, file] of plain) {
        if (!file.isRemoved()) continue;
        plain.delete(inode);
        await file.close();
      }
      stats.looks += 1;
      await sleep(pollSeconds * 1000, undefined, { signal }).catch(() => {});
    }
  } finally {
    for (const file of plain.values()) await file.close();
  }
}

// ---------------------------------------------------------------- the files of a folder

interface LogFile {
  name: LogName;
  /** The lines that were not read yet. */
  lines(): AsyncGenerator<FileLine[]>;
}

/** A file that is not compressed: it may grow, get another name, or vanish while it is being read. */
interface PlainFile extends LogFile {
  skipToEnd(): Promise<void>;
  /** True if it had no name any more before its last lines were read. */
  isRemoved(): boolean;
  close(): Promise<void>;
}

/** By inode: it stays when the name changes. */
type PlainFiles = Map<string, PlainFile>;

async function listLogs({ dir, kinds }: ReadOptions): Promise<LogName[]> {
  try {
    return logNames(await readdir(dir)).filter(({ kind }) => kinds === undefined || kinds.includes(kind));
  } catch (error) {
    const found = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'nothing' : errorText(error);
    throw new MobilityError(
      'MOBILITY_LOG_UNREADABLE',
      `expected a folder of log files at ${dir}, found ${found}; name another one with MOBILITY_LOG_DIR or --dir`,
      { cause: error },
    );
  }
}

/**
 * Opens what is not compressed before anything is read, so that a rotation in between hides nothing; returns the
 * compressed files.
 */
async function openFolder(options: ReadOptions, plain: PlainFiles, stats: ReadStats): Promise<LogFile[]> {
  const names = (logs: LogName[]): string => JSON.stringify(logs.map(({ name }) => name).sort());
  for (let attempt = 1; ; attempt += 1) {
    const logs = await listLogs(options);
    await openPlain(options.dir, logs, plain, stats);
    const after = await listLogs(options);
    if (attempt === mostAttempts || names(logs) === names(after)) {
      const open = new Set([...plain.values()].map(({ name }) => `${name.name}.gz`));
      const compressed = after.filter((log) => log.compressed && !open.has(log.name));
      return compressed.map((name) => ({ name, lines: () => readCompressed(join(options.dir, name.name), stats) }));
    }
    for (const file of plain.values()) await file.close();
    plain.clear();
    await sleep(Math.min(attempt, 20));
  }
}

/** Opens files that are new, and takes note of new names of those that are open. */
async function openPlain(dir: string, logs: LogName[], plain: PlainFiles, stats: ReadStats): Promise<void> {
  for (const name of logs.filter(({ compressed }) => !compressed)) {
    try {
      let inode = inodeOf(await stat(join(dir, name.name)));
      if (!plain.has(inode)) {
        // The name may be another file's by now: what counts is what was opened.
        const handle = await open(join(dir, name.name), 'r');
        inode = inodeOf(await handle.stat());
        if (plain.has(inode)) await handle.close();
        else plain.set(inode, plainFile(name, handle, stats));
      }
      plain.get(inode)!.name = name;
    } catch (error) {
      note(stats, name, error);
    }
  }
}

function note(stats: ReadStats, { name }: LogName, error: unknown): void {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return; // removed as one too many, or compressed meanwhile
  if (stats.unreadable.some(({ file }) => file === name)) return;
  stats.unreadable.push({ file: name, reason: errorText(error) });
}

function plainFile(name: LogName, handle: FileHandle, stats: ReadStats): PlainFile {
  const splitter = createSplitter(stats);
  const buffer = Buffer.alloc(chunkBytes);
  let position = 0;
  let removed = false;
  return {
    name,
    lines: async function* () {
      removed = (await handle.stat()).nlink === 0; // asked first: a removed file was complete before
      for (;;) {
        const { bytesRead } = await handle.read(buffer, 0, chunkBytes, position);
        if (bytesRead === 0) break;
        position += bytesRead;
        yield splitter.feed(buffer.subarray(0, bytesRead));
      }
      if ((await handle.stat()).size < position) position = 0; // emptied in place by another tool
    },
    skipToEnd: async () => {
      position = (await handle.stat()).size;
    },
    isRemoved: () => removed,
    close: () => {
      splitter.end();
      return handle.close();
    },
  };
}

async function* readCompressed(path: string, stats: ReadStats): AsyncGenerator<FileLine[]> {
  const splitter = createSplitter(stats);
  const unzipped = pipeline(createReadStream(path), createGunzip(), () => {});
  try {
    for await (const bytes of unzipped) yield splitter.feed(bytes as Buffer);
  } finally {
    splitter.end();
  }
}

/** Splits the bytes of one file into lines. What is left at the `end` is a torn line. */
function createSplitter(stats: ReadStats) {
  const decoder = new TextDecoder();
  let rest = '';
  const parse = (text: string): FileLine | null => {
    const line = text.length < maxLine ? parseFileLine(text.endsWith('\r') ? text.slice(0, -1) : text) : null;
    if (line !== null) stats.lines += 1;
    else if (text.endsWith(tornMark)) stats.torn += 1;
    else if (text !== '') stats.foreign += 1;
    return line;
  };
  return {
    feed: (bytes: Uint8Array): FileLine[] => {
      const pieces = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = pieces.pop()!.slice(0, maxLine);
      return pieces.map(parse).filter((line) => line !== null);
    },
    end: (): void => {
      if (rest !== '') stats.torn += 1;
      rest = '';
    },
  };
}

// ---------------------------------------------------------------- their lines

/** The lines of the period asked for. */
async function* linesOf(files: LogFile[], options: ReadOptions, stats: ReadStats): AsyncGenerator<LogLine[]> {
  const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = options;
  const bySource = new Map<string, LogFile[]>();
  for (const file of files.filter(({ name }) => mayHold(name, since, until))) {
    bySource.set(file.name.source, [...(bySource.get(file.name.source) ?? []), file]);
  }
  const sources = [...bySource].map(([source, some]) => readInOrder(source, some, stats));
  for await (const lines of mergeByTime(sources)) yield lines.filter(({ time }) => time >= since && time < until);
}

/** Files are named by local day; two days to spare cover every zone. */
function mayHold({ day }: LogName, since: number, until: number): boolean {
  const start = Date.parse(`${day}T00:00:00Z`) / 1000;
  return start + 3 * daySeconds >= since && start - 2 * daySeconds < until;
}

/** The files of one source in the order of writing, each from where it was left. */
async function* readInOrder(source: string, files: LogFile[], stats: ReadStats): AsyncGenerator<LogLine[]> {
  for (const file of files.sort((a, b) => compareLogNames(a.name, b.name))) {
    try {
      for await (const lines of file.lines()) {
        // Written out: copying by `...` takes three times as long, and this is done for each line.
        yield lines.map(({ time, stamp, level, thread, message }) => ({ time, stamp, level, thread, message, source }));
      }
    } catch (error) {
      note(stats, file.name, error);
    }
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
