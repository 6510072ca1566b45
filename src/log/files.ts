// Log files: written and rotated through winston, compressed when finished, safe with several processes and on a full disk.
import { accessSync, constants, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import winston from 'winston';
import DailyRotateFile from 'winston-daily-rotate-file';
import { errorText, MobilityError } from '../model/errors.ts';
import { localDay } from '../model/time.ts';
import { archiveSource, limitFiles, sourcesWithLeftovers } from './archive.ts';
import { type Claim, claimOne, claimSource, renewSeconds } from './claim.ts';
import { createStamp, fileLine, hostZone, line, threadWord } from './format.ts';
import { createLineLog, type LeastLevel, type Lines, linesOf } from './line-log.ts';
import type { Log } from './log.ts';
import { type LogKind, liveName } from './names.ts';
import { trackFiles } from './tracked-files.ts';

const retrySeconds = 1; // between attempts to write again after a failure
const maxBacklog = 64 * 1024 * 1024; // bytes that wait for the disk before lines are dropped
const closeSeconds = 30; // that `close` waits for a disk that does not answer

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
  /** Told, once for each trouble, that lines are being dropped or files cannot be compressed. */
  warn?: (text: string) => void;
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
 * Opens the log files of a kind for writing. Throws `MOBILITY_CONFIG` when the folder cannot be written. After that nothing
 * throws: what cannot be written, as on a full disk, is dropped and counted, and the count is logged when writing works again.
 */
export function openFileLog(options: FileLogOptions): FileLog {
  const { dir, name, now = () => Date.now() / 1000, zone = hostZone(), warn = () => {} } = options;
  const threadId = threadWord(options.threadId ?? `p${process.pid}`);
  const stamp = createStamp(zone);
  const drops = countDrops(warn);
  let claim: Claim | null = null;
  let writer: Writer | null = null;
  const retired: Promise<void>[] = [];
  let closing: Promise<void> | null = null;
  let failedAt = Number.NEGATIVE_INFINITY;

  const open = (): Writer => {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    claim ??= claimSource(dir, name, now());
    checkWritable(join(dir, liveName(claim.source, localDay(now(), hostZone()))));
    const opened = openWriter({
      ...{ dir, source: claim.source, maxSizeMiB: options.maxSizeMiB },
      onChange: tidy,
      onFailure: (error, lost) => {
        if (writer === opened) writer = null;
        failedAt = now();
        drops.add(lost, stamp(failedAt), errorText(error));
      },
      onReported: drops.reported,
    });
    return opened;
  };
  const reopen = (): Writer | null => {
    if (Math.abs(now() - failedAt) < retrySeconds) return null;
    try {
      return open();
    } catch (error) {
      failedAt = now();
      drops.add(0, stamp(failedAt), errorText(error));
      return null;
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
    writer ??= reopen();
    report();
    if (writer === null) drops.add(count, stamp(now()));
    else if (writer.backlog() > maxBacklog) drops.add(count, stamp(now()), 'the disk is too slow');
    else writer.write(lines, count, 0);
  };
  const gathered = gather(Math.min(mostGathered, options.maxSizeMiB / 4), hand);
  const emit = (lines: Lines): void => {
    if (closing === null) gathered.add(lines);
  };
  const tidy = tidier({ ...options, now, warn, held: () => ({ claim, open: writer?.openNames() ?? new Set() }) });

  try {
    writer = open();
  } catch (error) {
    if (!isTransient(error)) throw unwritable(dir, error);
    failedAt = now();
  }
  const renewal = setInterval(() => {
    if (claim === null || stillOurs(claim, now())) return;
    claim = null; // somebody else writes these files now: take others
    if (writer !== null) retired.push(writer.end());
    writer = null;
  }, renewSeconds * 1000).unref();
  const close = async (): Promise<void> => {
    clearInterval(renewal);
    gathered.flush();
    if (drops.any()) writer ??= reopen();
    report();
    await Promise.all([...retired, writer?.end()]);
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

// ---------------------------------------------------------------- lines of one turn

const mostGathered = 8; // MiB; more than that, or than a quarter of a file, is handed on at once

/** Gathers what is logged in one turn of the event loop: handing it on costs much, and nobody's answer should wait for it. */
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

// ---------------------------------------------------------------- one rotating stream

interface Writer {
  /** Hands over `lines` lines; `reports`: how many dropped lines they tell of. */
  write(text: string, lines: number, reports: number): void;
  /** Bytes handed over that have not reached a file yet. */
  backlog(): number;
  openNames(): ReadonlySet<string>;
  /** Resolves when everything handed over is on disk, or was lost and counted. */
  end(): Promise<void>;
}

interface WriterOptions {
  dir: string;
  source: string;
  maxSizeMiB: number;
  onChange: () => void;
  /** The stream is dead; `lost` lines with it. Called once. */
  onFailure: (error: unknown, lost: number) => void;
  onReported: (lines: number) => void;
}

interface Handed {
  end: number;
  lines: number;
  reports: number;
}

/**
 * winston's rotating transport, with what it lacks: it is known which lines have reached the disk. The transport compresses a
 * rotated file while it may still be written, and never one that an earlier process left, so that is not its task here.
 */
function openWriter({ dir, source, maxSizeMiB, onChange, onFailure, onReported }: WriterOptions): Writer {
  let handed: Handed[] = [];
  let total = 0;
  let written = 0;
  let failed = false;
  const files = trackFiles({
    folder: dir,
    source,
    onChange,
    onWritten: (bytes) => {
      written += bytes;
      let done = 0;
      for (; done < handed.length && handed[done]!.end <= written; done += 1) {
        if (handed[done]!.reports > 0) onReported(handed[done]!.reports);
      }
      if (done > 0) handed = handed.slice(done);
    },
  });
  const transport = new DailyRotateFile({
    dirname: dir,
    filename: `${source}-%DATE%`,
    extension: '.log',
    datePattern: 'YYYY-MM-DD',
    maxSize: `${Math.max(1, Math.round(maxSizeMiB * 1024))}k`,
    eol: '\n',
    auditFile: `${dir}/.${source}-audit.json`,
    options: { flags: 'a', mode: 0o600, flush: true, fs: files.fs },
  });
  const logger = winston.createLogger({
    format: winston.format.printf((info) => String(info.message)),
    transports: [transport],
    exitOnError: false,
  });
  const fail = (error: unknown): void => {
    if (failed) return;
    failed = true;
    logger.close();
    onFailure(
      error,
      handed.reduce((sum, { lines }) => sum + lines, 0),
    );
    handed = [];
  };
  const emitters: NodeJS.EventEmitter[] = [logger, transport, transport.logStream];
  for (const emitter of emitters) emitter.on('error', fail);
  return {
    openNames: files.openNames,
    backlog: () => total - written,
    write: (text, lines, reports) => {
      total += Buffer.byteLength(text) + 1;
      handed.push({ end: total, lines, reports });
      logger.info(text);
    },
    end: async () => {
      const waits = async (until: () => boolean): Promise<void> => {
        for (let waited = 0; !until() && !failed && waited < closeSeconds; waited += 0.002) await sleep(2);
      };
      await waits(() => written >= total && files.openNames().size > 0);
      logger.close();
      await waits(() => files.openNames().size === 0);
    },
  };
}

// ---------------------------------------------------------------- finished files

interface TidyOptions extends FileLogOptions {
  now: () => number;
  warn: (text: string) => void;
  /** What this process writes at the moment. */
  held: () => { claim: Claim | null; open: ReadonlySet<string> };
}

/** Compresses and limits finished files, one call after another; calls that wait are one. */
function tidier({ dir, name, maxFiles, now, warn, held }: TidyOptions): { (): void; done(): Promise<void> } {
  let work = Promise.resolve();
  let waiting = false;
  let warned = false;
  const tidyOnce = async (): Promise<void> => {
    waiting = false;
    const today = localDay(now(), hostZone());
    const { claim, open } = held();
    if (claim !== null) await archiveSource({ folder: dir, source: claim.source, today, open });
    for (const source of await sourcesWithLeftovers(dir, name, today)) {
      if (source === claim?.source) continue;
      const other = claimOne(dir, source, now());
      if (other === null) continue;
      try {
        await archiveSource({ folder: dir, source, today, open: new Set() });
      } finally {
        other.release();
      }
    }
    await limitFiles(dir, name, maxFiles);
  };
  const tidy = (): void => {
    if (waiting) return;
    waiting = true;
    work = work.then(tidyOnce).catch((error: unknown) => {
      if (!warned) warn(`log files in ${dir} could not be compressed: ${errorText(error)}`);
      warned = true;
    });
  };
  return Object.assign(tidy, { done: () => work });
}
