// One open log file: winston and its transport, which starts a new file each day and when a file is full.
import { once } from 'node:events';
import * as fs from 'node:fs';
import winston from 'winston';
import DailyRotateFile from 'winston-daily-rotate-file';

/** An open log file. */
export interface LogFile {
  /** Path of the current file. */
  path(): string;
  /** Resolves when the lines are on disk; wait before the next call. After a rejection, close the file. */
  write(lines: string): Promise<void>;
  /** Resolves when the file is synchronised and closed. */
  close(): Promise<void>;
}

type Written = (error: NodeJS.ErrnoException | null, bytes: number, data: unknown) => void;

/**
 * Opens a log file for appending. `name` has no extension, and `%DATE%` for the day; a full file has `maxSizeMiB`.
 * `onRotate` is called when a file is finished and its last line on disk. Rejects with the file system's error.
 *
 * `archive.ts` replaces the transport's options `zippedArchive` and `maxFiles`: the transport compresses into files
 * that everybody can read, ignores files of killed processes, and deletes only files of a list, which a full disk
 * empties.
 */
export async function openLogFile(
  dir: string,
  name: string,
  maxSizeMiB: number,
  onRotate: () => void,
): Promise<LogFile> {
  let path = '';
  let missing = 0; // bytes that are not on disk yet
  let failure: unknown = null;
  let settle = (): void => {};

  // The transport neither reports when lines are on disk nor limits how many wait. The stream that it opens accepts the
  // functions of the file system as an option; this one counts.
  const write = (to: number, data: Buffer, offset: number, length: number, at: number, done: Written): void =>
    fs.write(to, data, offset, length, at, (error, bytes) => {
      if (error === null) missing -= bytes;
      done(error, bytes, data);
      settle();
    });
  const transport = new DailyRotateFile({
    ...{ dirname: dir, filename: name, extension: '.log', datePattern: 'YYYY-MM-DD', eol: '\n' },
    maxSize: Math.round(maxSizeMiB * 1024 * 1024),
    options: { flags: 'a+', mode: 0o600, flush: true, fs: { open: fs.open, close: fs.close, fsync: fs.fsync, write } },
  });
  const format = winston.format.printf(({ message }) => String(message));
  const logger = winston.createLogger({ format, transports: [transport], exitOnError: false });
  const stream: NodeJS.EventEmitter = transport.logStream;
  const fail = (error: unknown): void => {
    failure ??= error;
    settle();
  };
  for (const emitter of [logger, transport, stream]) emitter.on('error', fail);
  transport.on('new', (file: string) => {
    path = file;
  });
  transport.on('rotate', onRotate);

  const close = async (): Promise<void> => {
    const closed = failure === null ? once(stream, 'close') : null;
    logger.close();
    await closed;
  };
  const [fd] = await once(stream, 'open').catch((error) => [fail(error)]);
  if (failure !== null) {
    await close();
    throw failure;
  }
  let lineBreak = endsWithinLine(fd as number) ? '\n' : '';
  return {
    path: () => path,
    write: async (lines) => {
      const text = lineBreak + lines;
      lineBreak = '';
      missing = Buffer.byteLength(text) + 1;
      await new Promise<void>((resolve) => {
        settle = () => {
          if (failure !== null || missing <= 0) resolve();
        };
        logger.info(text);
      });
      if (failure !== null) throw failure;
    },
    close,
  };
}

/** True if a crash or a full disk cut off the last line: the next line must not continue it. */
function endsWithinLine(fd: number): boolean {
  const { size } = fs.fstatSync(fd);
  const last = Buffer.alloc(1);
  return size > 0 && fs.readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
}
