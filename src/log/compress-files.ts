import { createReadStream, createWriteStream } from 'node:fs';
import { copyFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { unlessMissing } from '../util/make-folders.ts';
import { tryLock, waitForLock } from './file-lock.ts';
import { type LogName, logKinds, logNames } from './file-names.ts';

interface ArchiveOptions {
  folder: string;
  source: string;
  current: () => string; // the name of the file that this process writes; empty if there is none
  today: () => string;
  maxFiles: number;
}

/**
 * Compresses the finished files of this process and of sources that no process writes, then removes
 * the oldest files. If the process is killed meanwhile, no line is lost. Throws the first error
 * after the other files are done.
 */
export async function archiveFiles(options: ArchiveOptions): Promise<void> {
  const { folder, source, maxFiles } = options;
  const errors: unknown[] = [];
  await withArchiveLock(folder, async () => {
    for (const log of finishedFiles(logNames(await readdir(folder)), options)) {
      const claim = log.source === source ? null : tryLock(folder, log.source);
      if (claim === null && log.source !== source) continue; // another process writes this source
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

/** Removes what killed processes left, then runs `work` while no other process rewrites finished files. */
export async function withArchiveLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const lock = await waitForLock(folder, 'archive');
  try {
    const drafts = (await readdir(folder)).filter((name) => name.endsWith('.draft'));
    for (const name of drafts) await rm(join(folder, name), { force: true });
    return await work();
  } finally {
    lock.release();
  }
}

/**
 * Returns the uncompressed files to which no process will append. The current file of this process
 * is not finished. The last file of a source from today is not finished either, because the next
 * process of the source continues that file.
 */
function finishedFiles(logs: LogName[], options: ArchiveOptions): LogName[] {
  const [own, current, today] = [options.source, options.current(), options.today()];
  const plain = logs.filter(({ compressed }) => !compressed);
  const last = new Map(plain.map(({ source, name }) => [source, name]));
  if (current !== '') last.set(own, current); // the current file may not be on disk yet
  return plain.filter(({ name, source, day }) => name !== current && (day < today || name !== last.get(source)));
}

/** If the clock was set back, the compressed file may exist already. Then appends to this file. */
async function compress(path: string): Promise<void> {
  await copyFile(`${path}.gz`, `${path}.gz.draft`).catch(unlessMissing);
  await replaceByGzip(`${path}.gz`, createReadStream(path));
  await rm(path);
}

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
