// Finished log files: compressed, also those that a killed process left, and limited in number.
import { createReadStream, createWriteStream } from 'node:fs';
import { copyFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { tryLock, waitForLock } from './file-lock.ts';
import { type LogName, logKinds, logNames } from './file-names.ts';

/** What `archiveFiles` works on. */
export interface ArchiveOptions {
  folder: string;
  /** The source that this process writes. */
  source: string;
  /** Its current file (empty: none is open), and the host's local day: asked for when the files are listed. */
  current: () => string;
  today: () => string;
  /** Number of compressed files to keep, of each kind. */
  maxFiles: number;
}

/**
 * Compresses the finished files of this process and of sources that no process writes, then removes the oldest. A kill
 * loses no line. Throws the file system's first error, after the other files.
 */
export async function archiveFiles(options: ArchiveOptions): Promise<void> {
  const { folder, source, maxFiles } = options;
  const errors: unknown[] = [];
  await rewriting(folder, async () => {
    for (const log of finishedFiles(logNames(await readdir(folder)), options)) {
      const claim = log.source === source ? null : tryLock(folder, log.source);
      if (claim === null && log.source !== source) continue; // another process writes it
      await compress(join(folder, log.name)).catch((error) => errors.push(error));
      claim?.release();
    }
    const compressed = logNames(await readdir(folder)).filter((log) => log.compressed);
    for (const kind of logKinds) {
      const tooMany = compressed.filter((log) => log.kind === kind).slice(0, -maxFiles);
      for (const { name } of tooMany) await rm(join(folder, `${name}.gz`), { force: true });
    }
  });
  if (errors.length > 0) throw errors[0];
}

/** Runs work that rewrites finished files, in one process at a time, after removing what a killed one left. */
export async function rewriting<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const lock = await waitForLock(folder, 'archive');
  try {
    const drafts = (await readdir(folder)).filter((name) => name.endsWith('.draft'));
    for (const name of drafts) await rm(join(folder, name), { force: true });
    return await work();
  } finally {
    lock.release();
  }
}

/** Plain files, but for the current one and the last of today of each source, which its next process continues. */
function finishedFiles(logs: LogName[], options: ArchiveOptions): LogName[] {
  const [own, current, today] = [options.source, options.current(), options.today()];
  const plain = logs.filter(({ compressed }) => !compressed);
  const last = new Map(plain.map(({ source, name }) => [source, name]));
  if (current !== '') last.set(own, current); // which may not be on disk yet
  return plain.filter(({ name, source, day }) => name !== current && (day < today || name !== last.get(source)));
}

/** If the compressed file exists, as the clock was set back and the name used again, the lines are appended to it. */
async function compress(path: string): Promise<void> {
  await copyFile(`${path}.gz`, `${path}.gz.draft`).catch(unlessMissing);
  await replaceByGzip(`${path}.gz`, createReadStream(path));
  await rm(path);
}

/** Writes a compressed file. It appears under its name when it is complete. */
export async function replaceByGzip(path: string, content: AsyncIterable<Buffer>): Promise<void> {
  const draft = `${path}.draft`;
  try {
    const file = createWriteStream(draft, { flags: 'a', mode: 0o600, flush: true });
    await pipeline(content, createGzip({ level: constants.Z_BEST_SPEED }), file);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Ignores a missing file: an operator removed it, or it never existed. */
export function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
