// Log files: written through winston, rotated by day and size, compressed when finished, safe with several processes
// and a full disk.
import { accessSync, constants, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { errorText, MobilityError } from '../model/errors.ts';
import { localDay } from '../model/time.ts';
import { archiveFiles, finishLive, letGoSeconds, limitFiles } from './archive.ts';
import { type Claim, claimSource, renewSeconds } from './claim.ts';
import { createStamp, fileLine, hostZone, threadWord } from './format.ts';
import { createLineLog, type LeastLevel, type Lines, linesOf } from './line-log.ts';
import type { Log } from './log.ts';
import { line } from './messages.ts';
import { type LogKind, liveName } from './names.ts';
import { type LogFileWriter, openWriter } from './writer.ts';

const retrySeconds = 1; // between attempts to write again after a failure
const lookSeconds = 1; // between two looks whether the file is still in its place
const maxBacklog = 64 * 1024 * 1024; // bytes that wait for the disk before lines are dropped
const mebibyte = 1024 * 1024;

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
  const threadId = threadWord(options.threadId ?? `p${process.pid}`);
  const maxSize = Math.max(1024, options.maxSizeMiB * mebibyte);
  const stamp = createStamp(zone);
  const drops = countDrops(warn);
  const retired = new Map<LogFileWriter, Promise<void>>();
  let claim: Claim | null = null;
  let writer: LogFileWriter | null = null;
  let closing: Promise<void> | null = null;
  let failedAt = Number.NEGATIVE_INFINITY;
  let looked = { at: 0, lines: 0 }; // when the file was last found in place, and what was handed to it since

  const today = (): string => localDay(now(), hostZone());
  const sourceOf = (): string => claim?.source ?? name;
  const open = (): LogFileWriter => {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    if (name === 'server') claim ??= claimSource(dir, now());
    checkWritable(join(dir, liveName(sourceOf(), today())));
    looked = { at: now(), lines: 0 };
    const opened = openWriter({
      dir,
      source: sourceOf(),
      onClosed: tidy,
      onFailure: (error, lost) => {
        if (writer === opened) writer = null;
        failedAt = now();
        drops.add(lost, stamp(failedAt), errorText(error));
      },
      onReported: drops.reported,
    });
    return opened;
  };
  const reopen = (): LogFileWriter | null => {
    if (Math.abs(now() - failedAt) < retrySeconds) return null;
    try {
      return open();
    } catch (error) {
      failedAt = now();
      drops.add(0, stamp(failedAt), errorText(error));
      return null;
    }
  };
  const retire = (): void => {
    const old = writer;
    writer = null;
    if (old !== null)
      retired.set(
        old,
        old.end().finally(() => retired.delete(old)),
      );
  };
  /** Leaves a file that is full, or no longer in its place because somebody removed it or gave it another name. */
  const leaveFile = (): void => {
    const file = writer?.file() ?? null;
    if (writer === null || file === null) return;
    if (Math.abs(now() - looked.at) >= lookSeconds) {
      const standing = writer.standing();
      if (standing === 'removed') drops.add(looked.lines, stamp(looked.at), 'the log file was removed');
      looked = { at: now(), lines: 0 };
      if (standing !== 'in place') retire();
    }
    if (writer === null || file.size < maxSize) return;
    try {
      finishLive(dir, sourceOf(), file.day);
      retire();
    } catch (error) {
      warnOnce(`a full log file in ${dir} is gone on with: ${errorText(error)}`);
    }
  };
  const report = (): void => {
    if (writer === null || writer.backlog() > maxBacklog / 2) return;
    const dropped = drops.toReport();
    if (dropped === null) return;
    const text = line.linesDropped(dropped.lines, dropped.since, dropped.reason);
    writer.write(fileLine(stamp(now()), 'WARNING', threadId, text), 0, dropped.lines);
  };
  const hand = (lines: string, count: number): void => {
    try {
      leaveFile();
    } catch {
      // the file system has trouble: writing will tell
    }
    writer ??= reopen();
    report();
    if (writer === null) drops.add(count, stamp(now()));
    else if (writer.backlog() > maxBacklog) drops.add(count, stamp(now()), 'the disk is too slow');
    else {
      writer.write(lines, count, 0);
      looked.lines += count;
    }
  };
  const gathered = gather(Math.min(mostGathered, options.maxSizeMiB / 4), hand);
  const emit = (lines: Lines): void => {
    if (closing === null) gathered.add(lines);
  };

  const warnOnce = once(warn);
  const tidy = oneAfterAnother(async () => {
    try {
      const { maxFiles, quietSeconds = letGoSeconds } = options;
      const holds = (inode: string): boolean => [writer, ...retired.keys()].some((one) => one?.holds(inode) === true);
      const own = claim?.source ?? null;
      await archiveFiles({ folder: dir, kind: name, today: today(), own, holds, quietSeconds });
      await limitFiles(dir, name, maxFiles);
    } catch (error) {
      warnOnce(`log files in ${dir} could not be compressed: ${errorText(error)}`);
    }
  });

  try {
    writer = open();
    tidy();
  } catch (error) {
    if (!isTransient(error)) throw unwritable(dir, error);
    failedAt = now();
  }
  const renewal = setInterval(() => {
    if (claim === null || stillOurs(claim, now())) return;
    claim = null; // another server writes these files now: take others
    retire();
  }, renewSeconds * 1000).unref();
  const close = async (): Promise<void> => {
    clearInterval(renewal);
    gathered.flush();
    if (drops.any()) writer ??= reopen();
    report();
    retire();
    await Promise.all(retired.values());
    tidy();
    await tidy.done();
    claim?.release();
  };
  return {
    log: createLineLog({ level: options.level, threadId, zone, now, emit }),
    append: (lines) => emit(linesOf(lines, lines.split('\n').length)),
    close: () => (closing ??= close()),
  };
}

const isTransient = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'EIO', 'EAGAIN'].includes((error as NodeJS.ErrnoException).code ?? '');

/** A file that somebody else owns is found out now, and not when the first line is written. */
function checkWritable(path: string): void {
  try {
    accessSync(path, constants.W_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function unwritable(dir: string, error: unknown): MobilityError {
  return new MobilityError(
    'MOBILITY_CONFIG',
    `expected a folder for log files that can be written, found ${dir} (${errorText(error)}); ` +
      'give another one with MOBILITY_LOG_DIR or --log-dir',
    { cause: error },
  );
}

function stillOurs(claim: Claim, now: number): boolean {
  try {
    return claim.renew(now);
  } catch {
    return true; // the file system has trouble, not the claim
  }
}

function once(tell: (text: string) => void): (text: string) => void {
  let told = false;
  return (text) => {
    if (!told) tell(text);
    told = true;
  };
}

/** Runs `work` at each call, one run after another; calls that wait are one. */
function oneAfterAnother(work: () => Promise<void>): { (): void; done(): Promise<void> } {
  let running = Promise.resolve();
  let waiting = false;
  const start = (): void => {
    if (waiting) return;
    waiting = true;
    running = running.then(() => {
      waiting = false;
      return work();
    });
  };
  return Object.assign(start, { done: () => running });
}

// ---------------------------------------------------------------- lines of one turn

const mostGathered = 8; // MiB; more than that, or than a quarter of a file, is handed on at once

/**
 * Gathers what is logged in one turn of the event loop: handing it on costs much, and nobody's answer should wait for
 * it.
 */
function gather(limitMiB: number, hand: (lines: string, count: number) => void) {
  let all: Lines[] = [];
  let size = 0;
  let due = false;
  const flush = (): void => {
    const some = all;
    all = [];
    size = 0;
    if (some.length === 0) return;
    hand(
      some.map((lines) => lines.text()).join('\n'),
      some.reduce((sum, { count }) => sum + count, 0),
    );
  };
  const add = (lines: Lines): void => {
    all.push(lines);
    size += lines.size;
    if (size > limitMiB * 2 ** 20) flush();
    else if (!due) {
      due = true;
      setImmediate(() => {
        due = false;
        flush();
      });
    }
  };
  return { add, flush };
}

// ---------------------------------------------------------------- lines that could not be written

interface Dropped {
  lines: number;
  since: string;
  reason: string;
}

function countDrops(warn: (text: string) => void) {
  let dropped: Dropped | null = null;
  let reporting = false;
  return {
    /** Counts lines; from the first one on, until a report of them is written, it is one trouble. */
    add: (lines: number, since: string, reason = 'unknown'): void => {
      reporting = false;
      if (dropped === null) {
        dropped = { lines: 0, since, reason };
        warn(`log lines are being dropped since ${since}: ${reason}`);
      }
      dropped.lines += lines;
    },
    any: (): boolean => dropped !== null && dropped.lines > 0,
    /** What to report; null when there is nothing, or a report is on its way. */
    toReport: (): Dropped | null => {
      if (dropped === null || dropped.lines === 0 || reporting) return null;
      reporting = true;
      return dropped;
    },
    /** A report has reached the disk. */
    reported: (lines: number): void => {
      reporting = false;
      if (dropped === null) return;
      dropped.lines -= lines;
      if (dropped.lines <= 0) dropped = null;
    },
  };
}
