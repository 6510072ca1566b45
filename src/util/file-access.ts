import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type JsonObject, parseJsonObject } from '../model/json.ts';
import { isMobilityError, MobilityError, usageError } from '../model/mobility-error.ts';
import { makeFolders } from './make-folders.ts';

/** Returns the text of a file that the command line names. Throws `MOBILITY_USAGE`. */
export async function fileText(path: string): Promise<string> {
  const bytes = await readFile(path).catch((error) => {
    throw usageError(`cannot read ${path}: ${reasonOf(error)}`, { cause: error });
  });
  const isUtf16 = bytes.length > 1 && bytes.readUInt16LE(0) === 0xfeff; // Excel writes this mark in "Unicode text"
  return bytes.toString(isUtf16 ? 'utf16le' : 'utf8');
}

export async function streamText(stream: AsyncIterable<string | Uint8Array>): Promise<string> {
  return (await buffer(stream)).toString('utf8');
}

export async function fileJson(path: string): Promise<JsonObject> {
  const object = parseJsonObject(await fileText(path));
  if (object !== null) return object;
  throw usageError(`${path}: expected a JSON object, found a syntax error or another JSON value`);
}

/** `write` resolves when the next piece may be written. */
type ByteSink = { write(piece: string | Uint8Array): Promise<void> };

export type TextWriter = { write(text: string): Promise<void> };

/** Writes a new file completely or not at all. Throws the errors of `Files.write`. */
export async function writeNewFile(path: string, text: string): Promise<void> {
  await allOrNone(({ write }) => write(path, (writer) => writer.write(text)));
}

export interface Files {
  /**
   * Creates a file that only its owner may read. Throws `MOBILITY_USAGE` if the file exists or the
   * folder cannot be written, and `MOBILITY_OUTPUT` if the disk is full or fails.
   */
  write(path: string, fill: (writer: ByteSink) => Promise<void>): Promise<void>;
  /** Runs a part of the work. If it fails, only the files of this part are removed. */
  attempt<T>(part: () => Promise<T>): Promise<T>;
}

/** `at`: the temporary path. */
type Draft = { path: string; at: string };

/**
 * Writes files that belong together, under temporary names beside the final ones or in `folder`.
 * When `work` is done and all files are on disk, they get their final names in the order of
 * writing. After a failure or an interruption no file is left, so the command can be repeated.
 */
export async function allOrNone<T>(work: (files: Files) => Promise<T>, folder?: string): Promise<T> {
  const drafts: Draft[] = [];
  const placed: string[] = [];
  const write: Files['write'] = async (path, fill) => {
    await refuseExisting(path);
    const draft = { path, at: draftOf(path, folder) };
    drafts.push(draft);
    await writeDraft(draft, fill);
  };
  const attempt: Files['attempt'] = async (part) => {
    const before = drafts.length;
    try {
      return await part();
    } catch (error) {
      await removeAll(drafts.splice(before).map(({ at }) => at));
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
    await removeAll(placed);
    throw error;
  } finally {
    await removeAll(drafts.map(({ at }) => at));
  }
}

async function removeAll(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true }).catch(() => {});
}

/** A unique name, so that two exports into one folder do not write into one file. */
function draftOf(path: string, folder = dirname(path)): string {
  return join(folder, `.${basename(path)}.${randomUUID().slice(0, 8)}.part`);
}

async function writeDraft({ path, at }: Draft, fill: (writer: ByteSink) => Promise<void>): Promise<void> {
  const stream = createWriteStream(at, { flags: 'wx', flush: true, mode: 0o600 });
  const failed = once(stream, 'error').then(([error]) => Promise.reject(error));
  failed.catch(() => {}); // the awaits below throw the error; without this line, Node would end
  try {
    await Promise.race([once(stream, 'open'), failed]);
    const write = async (piece: string | Uint8Array): Promise<void> => {
      if (!stream.write(piece)) await Promise.race([once(stream, 'drain'), failed]);
    };
    await fill({ write });
    stream.end();
    await Promise.race([once(stream, 'close'), failed]);
  } catch (error) {
    stream.destroy();
    throw (error as NodeJS.ErrnoException).syscall === undefined ? error : cannotWrite(path, error);
  }
}

async function putInPlace({ path, at }: Draft): Promise<void> {
  try {
    await link(at, path).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') throw alreadyThere(path);
      // Some file systems, such as FAT, have no links. A rename would replace an existing file.
      await refuseExisting(path);
      await rename(at, path);
    });
  } catch (error) {
    throw isMobilityError(error) ? error : cannotWrite(path, error);
  }
}

/** Throws `MOBILITY_OUTPUT` if the disk is full or fails, and `MOBILITY_USAGE` for other errors. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch((error) => {
    throw cannotWrite(path, error);
  });
}

/** Errors after which the same command can succeed later. */
const diskErrors = new Set<string | undefined>(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EMFILE', 'ENFILE', 'ENOMEM']);

function cannotWrite(path: string, cause: unknown): MobilityError {
  const code = diskErrors.has((cause as NodeJS.ErrnoException).code) ? 'MOBILITY_OUTPUT' : 'MOBILITY_USAGE';
  return new MobilityError(code, `cannot write ${path}: ${reasonOf(cause)}`, { cause });
}

export function makeFolder(path: string): void {
  try {
    makeFolders(path);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'EEXIST' ? 'it is a file' : reasonOf(error);
    throw usageError(`cannot create the folder ${path}: ${reason}`, { cause: error });
  }
}

export async function refuseExisting(path: string): Promise<void> {
  if (existsSync(path)) throw alreadyThere(path);
}

function alreadyThere(path: string): MobilityError {
  return usageError(`${path} already exists: name another file, or remove it first`);
}

const reasons: Record<string, string> = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  ELOOP: 'its links lead in a circle',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
  EDQUOT: 'the quota is used up',
  EFBIG: 'the file would be larger than is allowed',
};

export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code !== undefined && reasons[code]) || message;
}
