// Log files: written through winston, rotated by day and size, compressed when finished, safe with several processes
// and a full disk.
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFolders } from '../make-folders.ts';
import { errorText, MobilityError } from '../model/errors.ts';
import { localDay } from '../model/time.ts';
import { archiveFiles, finishLive, letGoSeconds, limitFiles } from './archive.ts';
import { type Claim, claimSource } from './claim.ts';
import { hostZone } from './format.ts';
import { type LeastLevel, linesOf } from './line-log.ts';
import type { Log } from './log.ts';
import { type LogKind, liveName } from './names.ts';
import { createQueue } from './queue.ts';
import { type LogFile, openLogFile } from './writer.ts';

const retrySeconds = 1; // between attempts to write again after a failure
const lookSeconds = 1; // between two looks whether the file is still in its place
const closeSeconds = 30; // that `close` waits for a disk that does not answer
const mebibyte = 1024 * 1024;
const mostWaiting = 64 * mebibyte; // characters that wait for the disk before lines are dropped
const mostAtOnce = 8 * mebibyte; // characters of one write

/** How a process writes log files. */
export interface FileLogOptions {
  /** Folder of the log files; made when it is not there. */
  dir: string;
  /** Which program's log. */
  name: LogKind;
  /** Least level kept. */
  level: LeastLevel;
  /** Whose lines they are; default: `p` and the process number. */
  threadId?: string;
  /** MiB a file may reach before the next one begins. */
  maxSizeMiB: number;
  /** Finished files kept of this kind. */
  maxFiles: number;
  /** Seconds since the epoch; default: the clock. */
  now?: () => number;
  /** Time zone of the timestamps; default: the host's. */
  zone?: string;
  /** Called once per fault: when lines are dropped, or files cannot be compressed. */
  warn?: (text: string) => void;
  /** Seconds after its last change in which a finished file may be another process's; default: `letGoSeconds`. */
  quietSeconds?: number;
}

/** An open log. */
export interface FileLog {
  readonly log: Log;
  /** Adds lines that another process's `workerLog` wrote, joined by line breaks. */
  append(lines: string): void;
  /** Resolves when every line is on disk and finished files are compressed. Lines written later are lost. */
  close(): Promise<void>;
}

/**
 * Opens the log files of a kind for writing. A server has files of its own; pipelines append to one file together.
 * Throws `MOBILITY_CONFIG` when the folder cannot be written. After that nothing throws: what cannot be written, as on
 * a full disk, is dropped and counted, and the count is logged when writing works again.
 */
export function openFileLog(options: FileLogOptions): FileLog {
  const { dir, name, now = () => Date.now() / 1000, zone = hostZone(), warn = () => {} } = options;
  const { threadId = `p${process.pid}` } = options;
  const maxSize = Math.max(1024, options.maxSizeMiB * mebibyte);
  let claim: Claim | null = null;
  let file: LogFile | null = null;
  let failed = { at: Number.NEGATIVE_INFINITY, error: null as unknown };
  let looked = { at: 0, lines: 0 }; // when the file was last found in place, and what was written to it since
  let tidied = Promise.resolve();
  let closing: Promise<void> | null = null;
  let warned = false;

  const warnOnce = (text: string): void => {
    if (!warned) warn(text);
    warned = true;
  };
  const today = (): string => localDay(now(), hostZone());
  const sourceOf = (): string => claim?.source ?? name;
  /** A file that somebody else owns is found out now, and not when the first line is written. */
  const makePlace = (): void => {
    makeFolders(dir);
    if (claim?.stands() === false) {
      claim.release();
      claim = null;
    }
    if (name === 'server') claim ??= claimSource(dir);
    closeSync(openSync(join(dir, liveName(sourceOf(), today())), 'a', 0o600));
  };
  const tidy = async (): Promise<void> => {
    try {
      const { maxFiles, quietSeconds = letGoSeconds } = options;
      const holds = (inode: string): boolean => file?.inode() === inode;
      const own = claim?.source ?? null;
      await archiveFiles({ folder: dir, kind: name, today: today(), own, holds, quietSeconds });
      await limitFiles(dir, name, maxFiles);
    } catch (error) {
      warnOnce(`log files in ${dir} could not be compressed: ${errorText(error)}`);
    }
  };
  const startTidy = (): void => {
    tidied = tidied.then(tidy);
  };
  const closeFile = async (): Promise<void> => {
    const old = file;
    file = null;
    await old?.close();
  };
  /** True for a file that is full or not in its place: removed, or under another name. */
  const isOver = (open: LogFile): boolean => {
    if (Math.abs(now() - looked.at) >= lookSeconds) {
      const standing = open.standing();
      if (standing === 'removed') queue.lost(looked.lines, looked.at, 'the log file was removed');
      looked = { at: now(), lines: 0 };
      if (standing !== 'in place') return true;
    }
    if (open.size() < maxSize) return false;
    try {
      finishLive(dir, sourceOf(), open.day());
      return true;
    } catch (error) {
      warnOnce(`a full log file in ${dir} is gone on with: ${errorText(error)}`);
      return false;
    }
  };
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      failed = { at: now(), error };
      await closeFile().catch(() => {}); // it failed already
      throw error;
    }
  };
  const queue = createQueue({
    prepare: async () => {
      if (file === null && Math.abs(now() - failed.at) < retrySeconds) throw failed.error;
      await attempt(async () => {
        if (file !== null && isOver(file)) await closeFile();
        if (file !== null) return;
        makePlace();
        looked = { at: now(), lines: 0 };
        file = await openLogFile(dir, sourceOf(), startTidy);
      });
    },
    write: (text, count) =>
      attempt(async () => {
        await file!.write(text);
        looked.lines += count;
      }),
    batch: Math.min(mostAtOnce, maxSize / 4),
    most: mostWaiting,
    tooSlow: 'the disk is too slow',
    ...{ level: options.level, threadId, now, zone, warn },
  });

  try {
    makePlace();
    startTidy();
  } catch (error) {
    if (!transientCodes.has((error as NodeJS.ErrnoException).code ?? '')) throw unwritable(dir, error);
  }
  const close = async (): Promise<void> => {
    const written = queue.close().then(closeFile);
    await Promise.race([written, sleep(closeSeconds * 1000, undefined, { ref: false })]).catch(() => {});
    startTidy();
    await tidied;
    claim?.release();
  };
  return {
    log: queue.log,
    append: (lines) => queue.add(linesOf(lines, countLines(lines))),
    close: () => (closing ??= close()),
  };
}

function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

const transientCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'EIO', 'EAGAIN']);

function unwritable(dir: string, error: unknown): MobilityError {
  return new MobilityError(
    'MOBILITY_CONFIG',
    `expected a folder for log files that can be written, found ${dir} (${errorText(error)}); ` +
      'give another one with MOBILITY_LOG_DIR or --log-dir',
    { cause: error },
  );
}
