// Log files: written through winston, rotated by day and size, compressed when finished, safe with several processes
// and a full disk.
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFolders } from '../make-folders.ts';
import { errorText, MobilityError } from '../model/errors.ts';
import { localDay } from '../model/time.ts';
import { archiveFiles, finishLive, letGoSeconds, limitFiles, QuietFiles } from './archive.ts';
import { type Claim, claimSource } from './claim.ts';
import { hostZone } from './format.ts';
import type { LeastLevel } from './line-log.ts';
import type { Log } from './log.ts';
import { type LogKind, liveName } from './names.ts';
import { createQueue } from './queue.ts';
import { type LogFile, openLogFile } from './writer.ts';

const retrySeconds = 1; // between attempts to write again after a failure
const lookSeconds = 1; // between two looks whether the file is still in its place
const tidySeconds = 5; // between two looks for finished files
const closeSeconds = 30; // that `close` waits for a disk that does not answer
const mebibyte = 1024 * 1024;
const mostAtOnce = 8 * mebibyte; // characters of one write

/** How a process writes log files. */
export interface FileLogOptions {
  /** Folder of the log files; made when it is not there. */
  dir: string;
  /** Which program's log. */
  name: LogKind;
  /**
   * The source that another process of this server has claimed: this process appends to its file, and leaves finished
   * files to it. Default: one of its own.
   */
  source?: string;
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
  /** Seconds after its last change in which a finished file may still be written; default: `letGoSeconds`. */
  quietSeconds?: number;
}

/** An open log. */
export interface FileLog {
  readonly log: Log;
  /** The source under whose name the files are, such as `server-2`; other processes of this server need it. */
  source(): string;
  /** Whose its lines are: the given thread id, in a further server with its number, such as `w1.2`. */
  readonly threadId: string;
  /** Resolves when every line is on disk and finished files are compressed. Lines written later are lost. */
  close(): Promise<void>;
}

/**
 * Opens the log files of a kind for writing. A server has files of its own, to which all its processes append;
 * pipelines append to one file together. Throws `MOBILITY_CONFIG` when the folder cannot be written, unless another
 * process of this server has found that it can. After that nothing throws: what cannot be written, as on a full disk,
 * is dropped and counted, and the count is logged when writing works again.
 */
export function openFileLog(options: FileLogOptions): FileLog {
  const { dir, name, now = () => Date.now() / 1000, zone = hostZone(), warn = () => {} } = options;
  const { quietSeconds = letGoSeconds } = options;
  const maxSize = Math.max(1024, options.maxSizeMiB * mebibyte);
  const tidies = options.source === undefined;
  const quiet = new QuietFiles();
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
  const source = (): string => options.source ?? claim?.source ?? name;
  /** A file that somebody else owns is found out now, and not when the first line is written. */
  const makePlace = (): void => {
    makeFolders(dir);
    if (claim?.stands() === false) {
      claim.release();
      claim = null;
    }
    if (name === 'server' && tidies) claim ??= claimSource(dir);
    closeSync(openSync(join(dir, liveName(source(), today())), 'a', 0o600));
  };
  /** `own`: a source that nobody writes any more. */
  const tidy = async (own: string | null): Promise<void> => {
    try {
      // The folder was removed: before another server takes this one's source for free.
      if (claim?.stands() === false) makePlace();
      await archiveFiles({ folder: dir, kind: name, today: today(), own, quietSeconds, quiet });
      await limitFiles(dir, name, options.maxFiles);
    } catch (error) {
      warnOnce(`log files in ${dir} could not be compressed: ${errorText(error)}`);
    }
  };
  const startTidy = (own: string | null = null): void => {
    if (tidies) tidied = tidied.then(() => tidy(own));
  };
  const closeFile = async (): Promise<void> => {
    const old = file;
    file = null;
    await old?.close();
  };
  /** True for a file that is full or not in its place: removed, or finished by another process. */
  const isOver = (open: LogFile): boolean => {
    const isDue = Math.abs(now() - looked.at) >= lookSeconds;
    if (!isDue && open.size() < maxSize) return false;
    const standing = open.look();
    if (standing === 'removed') queue.lost(looked.lines, looked.at, 'the log file was removed');
    looked = { at: now(), lines: 0 };
    if (standing !== 'in place') return true;
    if (open.size() < maxSize) return false;
    try {
      finishLive(dir, source(), open.day());
      return true;
    } catch (error) {
      warnOnce(`a full log file in ${dir} is gone on with: ${errorText(error)}`);
      return false;
    }
  };
  const write = async (lines: () => Buffer, count: number): Promise<void> => {
    if (file === null && Math.abs(now() - failed.at) < retrySeconds) throw failed.error;
    try {
      if (file !== null && isOver(file)) await closeFile();
      if (file === null) {
        makePlace();
        looked = { at: now(), lines: 0 };
        file = await openLogFile(dir, source());
      }
      await file.write(lines());
      looked.lines += count;
    } catch (error) {
      failed = { at: now(), error };
      await closeFile().catch(() => {}); // it failed already
      throw error;
    }
  };
  const batch = Math.min(mostAtOnce, maxSize / 4);
  try {
    makePlace();
    startTidy();
  } catch (error) {
    // A worker that replaces another one works without a log rather than not at all.
    const isFirst = options.source === undefined;
    if (isFirst && !transientCodes.has((error as NodeJS.ErrnoException).code ?? '')) throw unwritable(dir, error);
  }
  const threadId = `${options.threadId ?? `p${process.pid}`}${source().replace(name, '').replace('-', '.')}`;
  const queue = createQueue({ write, batch, level: options.level, threadId, now, zone, warn });
  const tidying = setInterval(startTidy, tidySeconds * 1000).unref();
  const close = async (): Promise<void> => {
    clearInterval(tidying);
    const written = queue.close().then(closeFile);
    await Promise.race([written, sleep(closeSeconds * 1000, undefined, { ref: false })]).catch(() => {});
    startTidy(claim?.alone ? claim.source : null); // the other processes of this server have ended before
    await tidied;
    claim?.release();
  };
  return { log: queue.log, source, threadId, close: () => (closing ??= close()) };
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
