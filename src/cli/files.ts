// Files that commands read and write, with errors that name the file and what to do.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, type ReadStream } from 'node:fs';
import { access, constants, link, open, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeFolders } from '../make-folders.ts';
import { errorText, isMobilityError, MobilityError } from '../model/errors.ts';
import type { JsonValue } from '../model/json.ts';

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

/** How a command writes a file through `fill`. */
export type WriteFile = (path: string, fill: (writer: ByteSink) => Promise<void>) => Promise<void>;

/**
 * Writes a file for the eyes of its owner through `fill`: first beside it, and in its place only when all is on disk,
 * so that an interrupted command leaves no half of a file. Throws `MOBILITY_USAGE` when the file is there already or
 * the folder cannot be written, `MOBILITY_OUTPUT` when the disk is full or fails.
 */
export const writeFileWhole: WriteFile = (path, fill) => allOrNone(({ write }) => write(path, fill));

/** Files that are being written together. */
export interface Files {
  write: WriteFile;
  /** Runs a part of the work. If it fails, the files that it wrote are given up, and the others stay. */
  attempt<T>(part: () => Promise<T>): Promise<T>;
}

/**
 * Files that belong together, each written as `writeFileWhole` does. They get their names when the work is done and all
 * of them are on disk, in the order in which they were written. If the work fails or is interrupted, none is there, so
 * that the same command can be repeated.
 */
export async function allOrNone<T>(work: (files: Files) => Promise<T>): Promise<T> {
  const drafts: Draft[] = [];
  const placed: string[] = [];
  const write: WriteFile = async (path, fill) => {
    await refuseExisting(path);
    const draft = { path, at: draftOf(path) };
    drafts.push(draft);
    await writeDraft(draft, fill);
  };
  const attempt: Files['attempt'] = async (part) => {
    const before = drafts.length;
    try {
      return await part();
    } catch (error) {
      await removeDrafts(drafts.splice(before));
      throw error;
    }
  };
  try {
    const result = await work({ write, attempt });
    for (const draft of drafts) {
      await putInPlace(draft);
      placed.push(draft.path);
    }
    return result;
  } catch (error) {
    for (const path of placed) await rm(path, { force: true }).catch(() => {});
    throw error;
  } finally {
    await removeDrafts(drafts);
  }
}

/** A file in the making, and the path that it gets. */
interface Draft {
  path: string;
  at: string;
}

async function removeDrafts(drafts: readonly Draft[]): Promise<void> {
  for (const { at } of drafts) await rm(at, { force: true }).catch(() => {});
}

/** No other command writes there: two exports into one folder must not write into one file. */
function draftOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomUUID().slice(0, 8)}.part`);
}

async function writeDraft({ path, at }: Draft, fill: (writer: ByteSink) => Promise<void>): Promise<void> {
  const stream = createWriteStream(at, { flags: 'wx', flush: true, mode: 0o600 });
  try {
    const failed = once(stream, 'error').then(([error]) => Promise.reject(error));
    failed.catch(() => {}); // it is waited for together with each write
    await Promise.race([once(stream, 'open'), failed]);
    const write = async (piece: string | Uint8Array): Promise<void> => {
      if (!stream.write(piece)) await Promise.race([once(stream, 'drain'), failed]);
    };
    await fill({ write });
    stream.end();
    await Promise.race([once(stream, 'close'), failed]);
  } catch (error) {
    stream.destroy();
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw cannotWrite(path, error);
  }
}

/** Gives a draft its name, unless another command took it meanwhile. */
async function putInPlace({ path, at }: Draft): Promise<void> {
  try {
    await link(at, path).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') throw alreadyThere(path);
      // Some file systems, such as those of memory cards, have no links. A rename replaces what is there.
      await refuseExisting(path);
      await rename(at, path);
    });
  } catch (error) {
    throw isMobilityError(error) ? error : cannotWrite(path, error);
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
  if (there) throw alreadyThere(path);
}

function alreadyThere(path: string): MobilityError {
  return new MobilityError('MOBILITY_USAGE', `${path} already exists: name another file, or remove it first`);
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
