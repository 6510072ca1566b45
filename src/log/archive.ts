// Finished log files: compressed, limited in number, and taken over from processes that ended without doing so.
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { compareLogNames, type LogKind, type LogName, nextPart, parseLogName, partName } from './names.ts';

const draftSuffix = '.gz.draft';

/** What `archiveSource` works on. */
export interface ArchiveOptions {
  folder: string;
  /** A source that this process has claimed. */
  source: string;
  /** Files of an earlier day than this one are finished. */
  today: string;
  /** Names of files that this process has open: they are left alone. */
  open: ReadonlySet<string>;
}

/**
 * Compresses every finished file of a source, whoever left it there. May be interrupted anywhere: what is half done is done
 * again, and no line is in two files. Throws what the file system throws, such as a full disk; the files are then as before.
 */
export async function archiveSource({ folder, source, today, open }: ArchiveOptions): Promise<void> {
  const names = await readdir(folder);
  for (const name of names) {
    if (
      name.startsWith(`${source}-`) &&
      name.endsWith(draftSuffix) &&
      parseLogName(sourceOfDraft(name))?.source === source
    ) {
      await rm(join(folder, name), { force: true });
    }
  }
  const ours = logNames(names).filter((log) => log.source === source && !log.compressed && !open.has(log.name));
  for (const log of ours.sort(compareLogNames)) {
    if (log.part === null && log.day >= today) continue;
    const part = log.part === null ? await finish(folder, log) : log.name;
    await compress(folder, part, names.includes(`${part}.gz`));
  }
}

const sourceOfDraft = (name: string): string => name.slice(0, -draftSuffix.length);

/** Log files among `names`. */
export function logNames(names: readonly string[]): LogName[] {
  return names.map(parseLogName).filter((log) => log !== null);
}

// From here on nobody appends to it.
async function finish(folder: string, log: LogName): Promise<string> {
  const name = partName(log.source, log.day, nextPart(await readdir(folder), log.source, log.day));
  await rename(join(folder, log.name), join(folder, name));
  return name;
}

/** Replaces a part by its compressed form, which keeps the time of the last change. */
async function compress(folder: string, name: string, done: boolean): Promise<void> {
  const plain = join(folder, name);
  if (!done) {
    const draft = `${plain}${draftSuffix}`;
    try {
      const { atime, mtime } = await stat(plain);
      const target = createWriteStream(draft, { mode: 0o600, flush: true });
      await pipeline(createReadStream(plain), createGzip(), target);
      await utimes(draft, atime, mtime);
      await rename(draft, `${plain}.gz`);
    } catch (error) {
      await rm(draft, { force: true });
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return; // removed as one too many, or by hand
      throw error;
    }
  }
  await rm(plain, { force: true });
}

/** Removes the oldest finished files of a kind until `maxFiles` are left. */
export async function limitFiles(folder: string, kind: LogKind, maxFiles: number): Promise<void> {
  const finished = logNames(await readdir(folder)).filter((log) => log.kind === kind && log.part !== null);
  const newestFirst = finished.sort((a, b) => -compareLogNames(a, b));
  for (const log of newestFirst.slice(maxFiles)) await rm(join(folder, log.name), { force: true });
}

/** Sources of a kind that have files which nobody will write again, or a half-compressed one. */
export async function sourcesWithLeftovers(folder: string, kind: LogKind, today: string): Promise<string[]> {
  const left = logNames(await readdir(folder)).filter(
    (log) => log.kind === kind && !log.compressed && (log.part !== null || log.day < today),
  );
  return [...new Set(left.map((log) => log.source))].sort();
}
