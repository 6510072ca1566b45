// Opens the log of a process: one process writes a file, workers of a server send their lines to their primary.
import cluster, { type Worker } from 'node:cluster';
import { existsSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import type { Config } from '../config.ts';
import { makeFolders } from '../make-folders.ts';
import { errorText, MobilityError } from '../model/errors.ts';
import { localDay } from '../model/time.ts';
import { archiveFiles } from './archive.ts';
import { claimSource } from './claim.ts';
import { hostZone } from './format.ts';
import type { Log } from './log.ts';
import { type LogKind, nameTemplate } from './names.ts';
import { createQueue } from './queue.ts';
import { type LogFile, openLogFile } from './writer.ts';

const retryAfter = 1000; // ms between attempts to write again after a failure

/** How a process writes its log: where, of which level, and how much, as in the settings. */
export interface FileLogOptions extends Pick<Config, 'logDir' | 'logLevel' | 'logMaxSizeMiB' | 'logMaxFiles'> {
  /** Which program's log. */
  kind: LogKind;
  /** Thread id of the lines; default: `p` and the process number. */
  threadId?: string | undefined;
  /** Called once per fault: when lines are dropped, or files cannot be compressed. */
  warn: (text: string) => void;
}

/** An open log. */
export interface FileLog {
  readonly log: Log;
  /** Thread id of its lines. */
  readonly threadId: string;
  /** Resolves when every line is on disk and finished files are compressed. Later lines are lost. */
  close(): Promise<void>;
}

/**
 * Opens the log files of a kind. Throws `MOBILITY_CONFIG` if the folder cannot be written. After that nothing throws:
 * lines that cannot be written, as on a full disk, are dropped and counted, and the log reports the count when it can
 * write again. In a worker of a cluster the lines go to the primary process, which must have opened its log before.
 */
export async function openFileLog(options: FileLogOptions): Promise<FileLog> {
  const { logLevel: level, threadId = `p${process.pid}`, warn } = options;
  const files = cluster.isWorker ? null : new Files(options);
  await files?.open().catch((error) => {
    // On a full disk a program works without a log rather than not at all.
    if (!transientCodes.has(error.code)) throw unwritable(options.logDir, error);
  });
  const write = files === null ? sendToPrimary : (lines: string) => files.write(lines);
  const queue = createQueue({ write, level, threadId, now: () => Date.now() / 1000, zone: hostZone(), warn });
  const receive = (_: Worker, message: { logLines?: unknown } | null): void => {
    const text = message?.logLines;
    if (typeof text === 'string') queue.push({ size: text.length, text: () => text });
  };
  cluster.on('message', receive);
  const close = async (): Promise<void> => {
    cluster.off('message', receive);
    await queue.close();
    await files?.close();
  };
  let closing: Promise<void> | undefined;
  return { log: queue.log, threadId, close: () => (closing ??= close()) };
}

/** The files of one process, opened again after a failure, under a name that no other process writes. */
class Files {
  readonly #options: FileLogOptions;
  #claim: ReturnType<typeof claimSource> | null = null;
  #file: LogFile | null = null;
  #failure: { at: number; error: unknown } | null = null;
  #archiving = Promise.resolve();

  constructor(options: FileLogOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { logDir: dir, kind, logMaxSizeMiB } = this.#options;
    await this.#attempt(async () => {
      makeFolders(dir);
      this.#claim?.release(); // its file may be removed
      this.#claim = claimSource(dir, kind);
      const template = nameTemplate(readdirSync(dir), this.#claim.source, today());
      this.#file = await openLogFile(dir, template, logMaxSizeMiB, () => this.#archive());
    });
    this.#archive();
  }

  async write(lines: string): Promise<void> {
    if (this.#failure !== null && performance.now() - this.#failure.at < retryAfter) throw this.#failure.error;
    if (this.#file !== null && !existsSync(this.#file.path())) await this.#closeFile(); // somebody removed it
    if (this.#file === null) await this.open();
    await this.#attempt(() => this.#file!.write(lines));
  }

  async close(): Promise<void> {
    await this.#closeFile();
    await this.#archiving;
    this.#claim?.release();
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    await work().catch(async (error) => {
      this.#failure = { at: performance.now(), error };
      await this.#closeFile();
      throw error;
    });
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.close().catch(() => {}); // its writes have failed before
  }

  #archive(): void {
    const { logDir: folder, logMaxFiles: maxFiles, warn } = this.#options;
    const archive = async (): Promise<void> => {
      const current = basename(this.#file?.path() ?? '');
      await archiveFiles({ folder, source: this.#claim!.source, current, today: today(), maxFiles });
    };
    this.#archiving = this.#archiving
      .then(archive)
      .catch((error) => warn(`log files in ${folder} could not be compressed: ${errorText(error)}`));
  }
}

const today = (): string => localDay(Date.now() / 1000, hostZone());

const transientCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'EIO', 'EAGAIN']);

function unwritable(dir: string, error: unknown): MobilityError {
  return new MobilityError(
    'MOBILITY_CONFIG',
    `expected a folder for log files that can be written and locked, found ${dir} (${errorText(error)}); ` +
      'name another one with MOBILITY_LOG_DIR or --log-dir',
    { cause: error },
  );
}

/** Resolves when the lines are on their way: they arrive even if this process is killed. Without a primary it ends. */
function sendToPrimary(logLines: string): Promise<void> {
  return new Promise((resolve) => process.send!({ logLines }, undefined, {}, () => resolve()));
}
