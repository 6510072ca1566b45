import { once } from 'node:events';
import * as fs from 'node:fs';
import { basename, join } from 'node:path';
import winston from 'winston';
import DailyRotateFile from 'winston-daily-rotate-file';
import type { Config } from '../config.ts';
import { errorText } from '../model/mobility-error.ts';
import { localDay } from '../model/time.ts';
import { makeFolders } from '../util/make-folders.ts';
import { archiveFiles } from './compress-files.ts';
import { claimSource } from './file-lock.ts';
import { type LogKind, nameTemplate, newFileRequest } from './file-names.ts';
import { hostZone } from './line-format.ts';

const retryAfter = 1000; // ms after a failure; until then, lines are dropped without an attempt to write

export interface FileLogOptions extends Pick<Config, 'logDir' | 'logLevel' | 'logMaxFiles'> {
  kind: LogKind;
  threadId?: string | undefined;
  maxSizeMiB?: number; // MiB after which a new file starts
  /** Called once for each failure, when lines are dropped or files cannot be compressed. */
  warn: (text: string) => void;
}

export class LogFiles {
  readonly #options: FileLogOptions;
  #claim: ReturnType<typeof claimSource> | null = null;
  #file: Awaited<ReturnType<typeof openFile>> | null = null;
  #failure: { at: number; error: unknown } | null = null;
  #archiving = Promise.resolve();

  constructor(options: FileLogOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { logDir, kind } = this.#options;
    makeFolders(logDir);
    this.#claim?.release(); // lock again: an operator may have removed the locked file with the folder
    this.#claim = claimSource(logDir, kind);
    const names = fs.readdirSync(logDir);
    const isAsked = names.includes(newFileRequest(this.#claim.source));
    const name = nameTemplate(names, this.#claim.source, today(), isAsked);
    this.#file = await openFile(this.#options, name, () => this.#archive());
    if (isAsked) fs.rmSync(this.#requestPath(), { force: true });
    this.#archive();
  }

  /** Resolves when the lines are on disk. The caller must wait before the next call. */
  async write(lines: string): Promise<void> {
    if (this.#failure !== null && performance.now() - this.#failure.at < retryAfter) throw this.#failure.error;
    try {
      if (this.#file !== null && this.#mustEnd(this.#file.path())) await this.#closeFile();
      if (this.#file === null) await this.open();
      await this.#file!.write(lines);
      this.#failure = null;
    } catch (error) {
      this.#failure = { at: performance.now(), error };
      await this.#closeFile();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#closeFile();
    await this.#archiving;
    this.#claim?.release();
  }

  /** True if an operator removed the current file, or a scrub requested a new one. */
  #mustEnd(path: string): boolean {
    return !fs.existsSync(path) || fs.existsSync(this.#requestPath());
  }

  #requestPath(): string {
    return join(this.#options.logDir, newFileRequest(this.#claim!.source));
  }

  async #closeFile(): Promise<void> {
    await this.#file?.close();
    this.#file = null;
  }

  #archive(): void {
    const { logDir: folder, logMaxFiles: maxFiles, warn } = this.#options;
    const current = (): string => basename(this.#file?.path() ?? '');
    const archive = (): Promise<void> =>
      archiveFiles({ folder, maxFiles, source: this.#claim!.source, current, today });
    this.#archiving = this.#archiving
      .then(archive)
      .catch((error) => warn(`log files in ${folder} could not be compressed: ${errorText(error)}`));
  }
}

type Written = (error: NodeJS.ErrnoException | null, bytes: number, data: unknown) => void;

/**
 * Winston's transport starts a new file each day, and when a file is full. `compress-files.ts`
 * compresses and deletes files, because the options `zippedArchive` and `maxFiles` of Winston would
 * make compressed files readable for every account, ignore files of killed processes, and forget
 * what to delete when the disk is full.
 */
async function openFile(options: FileLogOptions, filename: string, onRotate: () => void) {
  const { logDir: dirname, maxSizeMiB = 100 } = options;
  let missing = 0; // bytes that are not on disk yet
  let failure: unknown = null;
  let settle = (): void => {};
  let path = '';
  // The transport does not report when lines are on disk. But its stream accepts functions of the
  // file system: this `write` counts the written bytes.
  const write = (to: number, data: Buffer, offset: number, length: number, at: number, done: Written): void =>
    fs.write(to, data, offset, length, at, (error, bytes) => {
      if (error === null) missing -= bytes;
      done(error, bytes, data);
      settle();
    });
  const transport = new DailyRotateFile({
    dirname,
    filename,
    extension: '.log',
    datePattern: 'YYYY-MM-DD',
    eol: '\n',
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
  transport.on('new', (newPath: string) => {
    path = newPath;
  });
  transport.on('rotate', onRotate);
  const close = async (): Promise<void> => {
    const closed = failure === null ? once(stream, 'close') : null;
    logger.close();
    await closed?.catch(() => {}); // the write that failed has reported the error
  };
  const [fd] = await once(stream, 'open');
  let lineBreak = endsWithinLine(fd) ? '\n' : '';
  return {
    path: () => path,
    close,
    write: async (lines: string): Promise<void> => {
      const text = lineBreak + lines;
      lineBreak = '';
      missing = Buffer.byteLength(text) + 1;
      await new Promise<void>((resolve) => {
        settle = () => (failure !== null || missing <= 0) && resolve();
        logger.info(text);
      });
      if (failure !== null) throw failure;
    },
  };
}

const today = (): string => localDay(Date.now() / 1000, hostZone());

/** True if a crash or a full disk cut off the last line of the file. */
function endsWithinLine(fd: number): boolean {
  const { size } = fs.fstatSync(fd);
  const last = Buffer.alloc(1);
  return size > 0 && fs.readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
}
