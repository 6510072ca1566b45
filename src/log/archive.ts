// Finished log files: named as parts, compressed, limited in number, and taken over from processes that ended without
// doing so.
import { closeSync, createReadStream, createWriteStream, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { chmod, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { compareLogNames, inodeOf, type LogKind, liveName, logNames, nextPartName } from './names.ts';

const draftPattern = /\.log\.gz\.[\w-]+\.draft$/;
const staleDraftSeconds = 3600;

/** Compressed files that somebody writes, or wrote until they were killed, among `names`. */
export const draftNames = (names: readonly string[]): string[] => names.filter((name) => draftPattern.test(name));

/**
 * Seconds after its last change in which a finished file may still be written: whoever writes it looks each second
 * whether it is still in its place.
 */
export const letGoSeconds = 3;

/** What `archiveFiles` works on. */
export interface ArchiveOptions {
  folder: string;
  kind: LogKind;
  /** Files of an earlier day than this one are finished. */
  today: string;
  /** A source that nobody writes any more: its files need not be quiet. */
  own: string | null;
  /** Seconds for which other files must be unchanged. */
  quietSeconds: number;
  /** What was seen of the files before. */
  quiet: QuietFiles;
}

/**
 * Compresses every finished file of a kind, no matter which process left it. May be interrupted anywhere, and run in
 * several processes at once: no line is lost or in two files. Throws what the file system throws, such as a full disk.
 */
export async function archiveFiles({ folder, kind, today, own, quietSeconds, quiet }: ArchiveOptions): Promise<void> {
  const names = await readdir(folder);
  for (const name of draftNames(names)) {
    const written = (await stat(join(folder, name)).catch(() => null))?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (written < realNow() - staleDraftSeconds * 1000) await rm(join(folder, name), { force: true });
  }
  const plain = logNames(names).filter((log) => log.kind === kind && !log.compressed);
  for (const log of plain.sort(compareLogNames)) {
    if (log.part === null && log.day >= today) continue;
    if (log.source !== own && (await quiet.seconds(join(folder, log.name))) < quietSeconds) continue;
    quiet.forget(join(folder, log.name));
    const part = log.part === null ? finishLive(folder, log.source, log.day) : log.name;
    if (part === null) continue;
    const path = join(folder, part);
    if (names.includes(`${part}.gz`)) await removeFinished(path);
    else await replaceByCompressed(path, () => createReadStream(path, { highWaterMark: readAtOnce }));
  }
}

/**
 * Tells for how long files have not changed. Their times tell it at the first look. They do not after the clock was
 * set, or the host slept: they may lie in the future, for hours. Therefore files that are looked at again are watched,
 * too.
 */
export class QuietFiles {
  readonly #seen = new Map<string, { state: string; since: number }>();

  /** Seconds since a file was last written or renamed; infinite if it is gone. */
  async seconds(path: string): Promise<number> {
    const found = await stat(path).catch(() => null);
    if (found === null) {
      this.#seen.delete(path);
      return Number.POSITIVE_INFINITY;
    }
    const changed = Math.max(found.ctimeMs, found.mtimeMs);
    const state = `${inodeOf(found)} ${found.size} ${changed}`;
    const now = performance.now();
    const before = this.#seen.get(path);
    const since = before?.state === state ? before.since : now;
    this.#seen.set(path, { state, since });
    return Math.max(realNow() - changed, now - since) / 1000;
  }

  /** The file will not be looked at again. */
  forget(path: string): void {
    this.#seen.delete(path);
  }
}

/**
 * The clock that the file system uses, too. The clock of the process goes on as if nobody had set the other one: where
 * they differ, the earlier one calls no file quiet that may still be written.
 */
const realNow = (): number => Math.min(Date.now(), performance.timeOrigin + performance.now());

/**
 * Gives the file of that day the name of the next part, which it returns; null when there is no such file. Processes
 * that have it open write to it until they next look.
 */
export function finishLive(folder: string, source: string, day: string): string | null {
  for (;;) {
    const part = nextPartName(readdirSync(folder), source, day);
    try {
      closeSync(openSync(join(folder, part), 'wx', 0o600)); // the name is ours now: renaming replaces silently
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw error;
    }
    try {
      renameSync(join(folder, liveName(source, day)), join(folder, part));
      return part;
    } catch (error) {
      rmSync(join(folder, part), { force: true });
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }
}

const readAtOnce = 256 * 1024; // bytes

/** Log lines repeat so much that the quickest level compresses nearly as well as the usual one. */
const quickly = { level: constants.Z_BEST_SPEED, chunkSize: 64 * 1024 };

/**
 * Replaces a file by a compressed one with this content and the times of the old one: as a whole or not at all. False:
 * the file has vanished, removed as one too many or by hand, or lines were added to it meanwhile.
 */
export async function replaceByCompressed(path: string, content: () => AsyncIterable<Buffer>): Promise<boolean> {
  const target = path.endsWith('.gz') ? path : `${path}.gz`;
  const draft = `${target}.${process.pid}-${Math.round(performance.now() * 1000)}.draft`;
  try {
    const { atime, mtime, size } = await stat(path);
    await pipeline(content, createGzip(quickly), createWriteStream(draft, { mode: 0o600, flush: true }));
    if ((await stat(path)).size !== size) {
      await rm(draft, { force: true });
      return false;
    }
    await rename(draft, target);
    await utimes(target, atime, mtime);
  } catch (error) {
    await rm(draft, { force: true });
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  if (target !== path) await removeFinished(path);
  return true;
}

const finishedMode = 0o400;

/** Removes a file whose lines are kept elsewhere, or are no longer wanted. */
async function removeFinished(path: string): Promise<void> {
  await chmod(path, finishedMode).catch(() => {}); // tells processes that have it open that nothing is lost
  await rm(path, { force: true });
}

/** True for an open file that has another name now, or was removed by `removeFinished`: its lines are not lost. */
export const isFinished = ({ nlink, mode }: { nlink: number; mode: number }): boolean =>
  nlink > 0 || (mode & 0o777) === finishedMode;

/** Removes the oldest finished files of a kind until `maxFiles` are left. */
export async function limitFiles(folder: string, kind: LogKind, maxFiles: number): Promise<void> {
  const finished = logNames(await readdir(folder)).filter((log) => log.kind === kind && log.part !== null);
  const newestFirst = finished.sort((a, b) => -compareLogNames(a, b));
  for (const log of newestFirst.slice(maxFiles)) await removeFinished(join(folder, log.name));
}
