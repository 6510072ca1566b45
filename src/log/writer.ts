// One stream of lines into the log file of the day: winston and its rotating transport, and the count of what reached
// the disk.
import * as fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import winston from 'winston';
import DailyRotateFile from 'winston-daily-rotate-file';
import { tornMark } from './format.ts';

const closeSeconds = 30; // that `end` waits for a disk that does not answer

/** An open stream of lines. */
export interface LogFileWriter {
  /** Passes on `lines` lines; `reports`: the number of dropped lines that they report. */
  write(text: string, lines: number, reports: number): void;
  /** Bytes handed over that have not reached a file yet. */
  backlog(): number;
  /** The file being written, its bytes with those on their way; null while it is being opened. */
  file(): { day: string; size: number } | null;
  /** Whether the file is still found under its name. */
  standing(): 'in place' | 'renamed' | 'removed';
  /** True for a file, `<device>:<inode>`, that this stream has open. */
  holds(inode: string): boolean;
  /** Resolves when everything handed over is on disk and the files are closed, or the stream has failed. */
  end(): Promise<void>;
}

/** How one series of log files is written. */
export interface WriterOptions {
  dir: string;
  /** Files are called `<source>-<day>.log`. */
  source: string;
  /** A file was closed: it may be finished. */
  onClosed: () => void;
  /** The stream is dead; `lost` lines with it. Called once. */
  onFailure: (error: unknown, lost: number) => void;
  /** So many dropped lines have been reported on disk. */
  onReported: (lines: number) => void;
}

interface OpenFile {
  path: string;
  inode: string;
  /** Bytes that were there, and `total` of the stream when it was opened. */
  before: number;
  from: number;
}

type Done = (error: NodeJS.ErrnoException | null, ...results: unknown[]) => void;

/** Names a file whatever it is called. */
export const inodeOf = ({ dev, ino }: { dev: number; ino: number }): string => `${dev}:${ino}`;

/**
 * Opens a stream. The transport changes the file with the day; it appends, so that processes may share a file. Its own
 * compression is not used: it reads a file that may still be written, and never one that an earlier process left.
 */
export function openWriter({ dir, source, onClosed, onFailure, onReported }: WriterOptions): LogFileWriter {
  const open = new Map<number, OpenFile>();
  let handed: { end: number; lines: number; reports: number }[] = [];
  let total = 0;
  let written = 0;
  let opened = 0;
  let failed = false;
  let onChange = (): void => {};

  // Node's streams take the functions that reach the file system as an option: here they count.
  const counted =
    (done: Done): Done =>
    (error, bytes, ...rest) => {
      if (error === null) written += bytes as number;
      const onDisk = handed.findIndex(({ end }) => end > written);
      for (const { reports } of handed.splice(0, onDisk < 0 ? handed.length : onDisk)) {
        if (reports > 0) onReported(reports);
      }
      done(error, bytes, ...rest);
      onChange();
    };
  const watched = {
    open: (path: string, flags: string, mode: number, done: Done) =>
      fs.open(path, flags, mode, (error, fd) => {
        if (error === null) {
          const { size, ...id } = fs.fstatSync(fd);
          endTornLine(fd, size);
          open.set(fd, { path, inode: inodeOf(id), before: size, from: written });
          opened += 1;
        }
        done(error, fd);
      }),
    close: (fd: number, done: Done) =>
      fs.close(fd, (error) => {
        open.delete(fd);
        done(error);
        onChange();
        onClosed();
      }),
    fsync: fs.fsync,
    write: (fd: number, data: Buffer, offset: number, length: number, position: number, done: Done) =>
      fs.write(fd, data, offset, length, position, counted(done)),
    writev: (fd: number, chunks: Buffer[], position: number, done: Done) =>
      fs.writev(fd, chunks, position, counted(done)),
  };
  const transport = new DailyRotateFile({
    dirname: dir,
    filename: `${source}-%DATE%`,
    extension: '.log',
    datePattern: 'YYYY-MM-DD',
    frequency: 'daily',
    eol: '\n',
    auditFile: `${dir}/.${source}-audit.json`,
    options: { flags: 'a+', mode: 0o600, flush: true, fs: watched },
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
    onChange();
  };
  const emitters: NodeJS.EventEmitter[] = [logger, transport, transport.logStream];
  for (const emitter of emitters) emitter.on('error', fail);
  const current = (): [number, OpenFile] | undefined => [...open].at(-1);

  return {
    backlog: () => total - written,
    file: () => {
      const file = current()?.[1];
      return file === undefined ? null : { day: file.path.slice(-14, -4), size: file.before + total - file.from };
    },
    holds: (inode) => [...open.values()].some((file) => file.inode === inode),
    standing: () => {
      const file = current();
      if (file === undefined) return 'in place';
      const [fd, { path, inode }] = file;
      const there = fs.statSync(path, { throwIfNoEntry: false });
      if (there !== undefined && inodeOf(there) === inode) return 'in place';
      return fs.fstatSync(fd).nlink > 0 ? 'renamed' : 'removed';
    },
    write: (text, lines, reports) => {
      total += Buffer.byteLength(text) + 1;
      handed.push({ end: total, lines, reports });
      logger.info(text);
    },
    end: async () => {
      let closed = false;
      const over = new Promise<void>((resolve) => {
        onChange = () => {
          if (!closed && !failed && opened > 0 && written >= total) {
            closed = true;
            logger.close();
          }
          if (failed || (closed && open.size === 0)) resolve();
        };
      });
      transport.logStream.on('open', () => onChange());
      onChange();
      const limit = new AbortController();
      await Promise.race([over, sleep(closeSeconds * 1000, undefined, { signal: limit.signal }).catch(() => {})]);
      limit.abort();
    },
  };
}

/**
 * A file that ends within a line was left by a crash: its last line is marked, so that the next one is not lost with
 * it.
 */
function endTornLine(fd: number, size: number): void {
  if (size === 0 || !fs.fstatSync(fd).isFile()) return;
  const last = Buffer.alloc(1);
  fs.readSync(fd, last, 0, 1, size - 1);
  if (last[0] !== 0x0a) fs.writeSync(fd, `${tornMark}\n`);
}
