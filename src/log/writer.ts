// One open log file: winston and its transport, which begins a new file with the day, and an answer to each write.
import { once } from 'node:events';
import * as fs from 'node:fs';
import winston from 'winston';
import DailyRotateFile from 'winston-daily-rotate-file';
import { isFinished } from './archive.ts';
import { tornMark } from './format.ts';
import { inodeOf } from './names.ts';

/** An open log file. */
export interface LogFile {
  /** Resolves when whole lines are on disk. If it rejects, the file is of no use any more. */
  write(lines: Buffer): Promise<void>;
  /** The day in the file's name, `YYYY-MM-DD`. */
  day(): string;
  /** Bytes of the file, without those of other processes since the last look. */
  size(): number;
  /** Whether the file is still found under its name, or was finished by another process. */
  look(): 'in place' | 'finished' | 'removed';
  /** Resolves when the file is synchronised and closed. */
  close(): Promise<void>;
}

type Written = (error: NodeJS.ErrnoException | null, bytes: number, data: unknown) => void;

/**
 * Takes lines as the bytes that the file gets. Text would be counted and made bytes on its way, four looks at all of
 * it.
 */
class LinesToFile extends DailyRotateFile {
  override log({ message }: { message: Buffer }, next: () => void): void {
    this.logStream.write(message);
    next();
  }
}

/**
 * Opens `<source>-<day>.log` for appending, so that processes may share it. The transport's own limits and compression
 * are not used: it compresses a file that may still be written, and never one that an earlier process left.
 */
export async function openLogFile(dir: string, source: string): Promise<LogFile> {
  let path = '';
  let [fd, inode, size] = [0, '', 0];
  let missing = 0; // bytes handed on that have not arrived
  let failure: unknown = null;
  let settle = (): void => {};

  // The transport does not tell when a write has arrived. `fs.createWriteStream`, whose options it hands on, does: it
  // takes the functions that reach the file system as its option `fs`.
  const write = (to: number, data: Buffer, offset: number, length: number, at: number, done: Written): void =>
    fs.write(to, data, offset, length, at, (error, bytes) => {
      if (error === null) missing -= bytes;
      done(error, bytes, data);
      settle();
    });
  const transport = new LinesToFile({
    dirname: dir,
    filename: `${source}-%DATE%`,
    extension: '.log',
    datePattern: 'YYYY-MM-DD',
    frequency: 'daily',
    eol: '\n',
    options: { flags: 'a+', mode: 0o600, flush: true, fs: { open: fs.open, close: fs.close, fsync: fs.fsync, write } },
  });
  const logger = winston.createLogger({
    format: winston.format((info) => info)(), // its own makes JSON
    transports: [transport],
    exitOnError: false,
  });
  const stream: NodeJS.EventEmitter = transport.logStream;
  const fail = (error: unknown): void => {
    failure ??= error;
    settle();
  };
  for (const emitter of [logger, transport, stream]) emitter.on('error', fail);
  transport.on('new', (file: string) => {
    path = file;
  });
  stream.on('open', (opened: number) => {
    try {
      const found = fs.fstatSync(opened);
      [fd, inode, size] = [opened, inodeOf(found), found.size];
      endTornLine(fd, found);
    } catch (error) {
      fail(error); // such as a full disk
    }
  });
  await once(stream, 'open').catch(fail);
  if (failure !== null) {
    logger.close();
    throw failure;
  }

  return {
    write: async (lines) => {
      missing += lines.length;
      await new Promise<void>((resolve) => {
        settle = () => {
          if (failure !== null || missing <= 0) resolve();
        };
        logger.info({ message: lines });
      });
      if (failure !== null) throw failure;
      size += lines.length;
    },
    day: () => path.slice(-14, -4),
    size: () => size,
    look: () => {
      const there = fs.statSync(path, { throwIfNoEntry: false });
      if (there === undefined || inodeOf(there) !== inode) return isFinished(fs.fstatSync(fd)) ? 'finished' : 'removed';
      size = there.size;
      return 'in place';
    },
    close: async () => {
      const closed = failure === null ? once(stream, 'close') : null;
      logger.close();
      await closed;
    },
  };
}

/**
 * A file that ends within a line was left by a crash: its last line is marked, so that the next one is not lost with
 * it.
 */
function endTornLine(fd: number, found: fs.Stats): void {
  if (found.size === 0 || !found.isFile()) return;
  const last = Buffer.alloc(1);
  fs.readSync(fd, last, 0, 1, found.size - 1);
  const isGrowing = fs.fstatSync(fd).size > found.size; // another process is within a write
  if (last[0] !== 0x0a && !isGrowing) fs.writeSync(fd, `${tornMark}\n`);
}
