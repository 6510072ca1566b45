// Files that commands read and write, with errors that name the file and what to do.

import { once } from 'node:events';
import { createWriteStream, type ReadStream } from 'node:fs';
import { access, constants, open, rename, rm, writeFile } from 'node:fs/promises';
import { makeFolders } from '../make-folders.ts';
import { errorText, MobilityError } from '../model/errors.ts';
import type { JsonValue } from '../model/json.ts';
import { OutputClosed } from './output.ts';

/** Opens a file named on the command line. Throws `MOBILITY_USAGE` when it cannot be read. */
export async function fileToRead(path: string): Promise<ReadStream> {
  try {
    const file = await open(path);
    if (!(await file.stat()).isDirectory()) return file.createReadStream();
    await file.close();
    throw Object.assign(new Error(path), { code: 'EISDIR' });
  } catch (error) {
    throw new MobilityError('MOBILITY_USAGE', `cannot read ${path}: ${reasonOf(error)}`, { cause: error });
  }
}

/** The text of a small file named on the command line. Throws `MOBILITY_USAGE` when it cannot be read. */
export async function fileText(path: string): Promise<string> {
  let text = '';
  for await (const piece of (await fileToRead(path)).setEncoding('utf8')) text += piece;
  return text;
}

/** What a JSON file named on the command line holds. Throws `MOBILITY_USAGE` when it cannot be read or is no JSON. */
export async function fileJson(path: string): Promise<JsonValue> {
  const text = await fileText(path);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new MobilityError('MOBILITY_USAGE', `${path}: expected JSON, found: ${errorText(error)}`, { cause: error });
  }
}

/** Where data goes piece by piece. */
export interface ByteSink {
  /** Waits until there is room for more. */
  write(piece: string | Uint8Array): Promise<void>;
}

/** Where text goes piece by piece. */
export interface TextWriter {
  write(text: string): Promise<void>;
}

/**
 * Writes a file for the eyes of its owner through `fill`: first beside it, and in its place only when all is on disk,
 * so that an interrupted command leaves no half of a file. Throws `MOBILITY_USAGE` when the file is there already or
 * the folder cannot be written, `MOBILITY_OUTPUT` when the disk is full or fails.
 */
export async function writeFileWhole(path: string, fill: (writer: ByteSink) => Promise<void>): Promise<void> {
  await refuseExisting(path);
  const draft = `${path}.part`;
  try {
    const stream = createWriteStream(draft, { flush: true, mode: 0o600 });
    const failed = once(stream, 'error').then(([error]) => Promise.reject(error));
    failed.catch(() => {}); // it is waited for together with each write
    await Promise.race([once(stream, 'open'), failed]);
    const write = async (piece: string | Uint8Array): Promise<void> => {
      if (!stream.write(piece)) await Promise.race([once(stream, 'drain'), failed]);
    };
    await fill({ write });
    stream.end();
    await Promise.race([once(stream, 'close'), failed]);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw cannotWrite(path, error);
  }
}

/**
 * Files that belong together, each written as `writeFileWhole` does. If the work fails or is interrupted, those that
 * are complete go again, so that the same command can be repeated. A reader who has gone (`… | head`) is no failure.
 */
export async function allOrNone<T>(work: (write: typeof writeFileWhole) => Promise<T>): Promise<T> {
  const written: string[] = [];
  try {
    return await work(async (path, fill) => {
      await writeFileWhole(path, fill);
      written.push(path);
    });
  } catch (error) {
    if (error instanceof OutputClosed) throw error;
    for (const path of written) await rm(path, { force: true }).catch(() => {});
    throw error;
  }
}

/** Writes a file, over one that is there. Throws `MOBILITY_USAGE` or `MOBILITY_OUTPUT`, as `writeFileWhole`. */
export async function replaceFile(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** Not the command line's fault: the same command works once there is space, or the disk is mended. */
const notWritten = new Set<string | undefined>(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EMFILE', 'ENFILE', 'ENOMEM']);

function cannotWrite(path: string, cause: unknown): MobilityError {
  const code = notWritten.has((cause as NodeJS.ErrnoException).code) ? 'MOBILITY_OUTPUT' : 'MOBILITY_USAGE';
  return new MobilityError(code, `cannot write ${path}: ${reasonOf(cause)}`, { cause });
}

/**
 * Makes a folder for the eyes of its owner, and those above it, unless it is there. Throws `MOBILITY_USAGE` when that
 * cannot be.
 */
export function makeFolder(path: string): void {
  try {
    makeFolders(path);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'EEXIST' ? 'it is a file' : reasonOf(error);
    throw new MobilityError('MOBILITY_USAGE', `cannot create the folder ${path}: ${reason}`, { cause: error });
  }
}

/** Throws `MOBILITY_USAGE` when a file is there already. */
export async function refuseExisting(path: string): Promise<void> {
  const there = await access(path, constants.F_OK).then(
    () => true,
    () => false,
  );
  if (there) throw new MobilityError('MOBILITY_USAGE', `${path} already exists: name another file, or remove it first`);
}

const reasons: Record<string, string> = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is no folder',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
  EDQUOT: 'the quota is used up',
  EFBIG: 'the file would be larger than is allowed',
};

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code !== undefined && reasons[code]) || message;
}
