// Files and folders to import from: their bytes, unpacked where they are gzip, and what they begin with.
import { createReadStream } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { errorText, MobilityError } from '../model/errors.ts';
import { SourceBroken } from './source-broken.ts';

/** A file that is read from its beginning to its end. */
export interface SourceFile {
  readonly path: string;
  /** Its name without the folder and without `.gz`. */
  readonly name: string;
  /** Bytes on disk. */
  readonly size: number;
  /** The first bytes, unpacked. */
  readonly head: Buffer;
  /**
   * Its bytes, unpacked. `onBytes` is told how many bytes of the disk were read. Throws `SourceBroken` where it breaks
   * off or cannot be read.
   */
  bytes(onBytes?: (count: number) => void): AsyncIterable<Uint8Array>;
}

/** A folder, with the names in it, sorted. */
export interface SourceFolder {
  readonly path: string;
  readonly names: readonly string[];
}

/** How much of a file is looked at to recognise its format. */
const headBytes = 64 * 1024;

const chunkBytes = 256 * 1024;

/** The file or folder at a path. Throws `MOBILITY_USAGE` if it does not exist or cannot be read. */
export async function openSource(path: string): Promise<SourceFile | SourceFolder> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return { path, names: (await readdir(path)).sort() };
    if (!found.isFile()) throw Object.assign(new Error('it is neither a file nor a folder'), { code: '' });
    return await fileAt(path, found.size);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = (code !== undefined && reasons[code]) || errorText(error);
    throw new MobilityError('MOBILITY_USAGE', `cannot read ${path}: ${reason}`, { cause: error });
  }
}

/** A file in a folder. */
export async function openSourceFile(folder: string, name: string): Promise<SourceFile> {
  const source = await openSource(join(folder, name));
  if ('size' in source) return source;
  throw new MobilityError('MOBILITY_USAGE', `expected a file at ${source.path}, found a folder`);
}

const reasons: Record<string, string> = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOTDIR: 'a part of the path is no folder',
  ELOOP: 'its links lead in a circle',
};

async function fileAt(path: string, size: number): Promise<SourceFile> {
  const first = await firstBytes(path);
  const isGzip = first[0] === 0x1f && first[1] === 0x8b;
  const bytes = (onBytes: (count: number) => void = () => {}) => unpacked(path, isGzip, onBytes);
  const head = isGzip ? await headOf(bytes()) : first;
  return { path, name: basename(path).replace(/\.gz$/i, ''), size, head, bytes };
}

async function firstBytes(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** The head of a packed file; of a damaged one, what can be unpacked. */
async function headOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of chunks) {
      parts.push(chunk);
      size += chunk.length;
      if (size >= headBytes) break;
    }
  } catch (error) {
    if (!(error instanceof SourceBroken)) throw error;
  }
  return Buffer.concat(parts).subarray(0, headBytes);
}

async function* unpacked(path: string, isGzip: boolean, onBytes: (count: number) => void): AsyncGenerator<Uint8Array> {
  const file = createReadStream(path, { highWaterMark: chunkBytes });
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of file) {
      onBytes(chunk.length);
      yield chunk;
    }
  };
  try {
    if (isGzip) yield* gunzipped(counted());
    else yield* counted();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const reason = code.startsWith('Z_') ? 'it is damaged or breaks off' : (reasons[code] ?? errorText(error));
    throw new SourceBroken(`cannot be read to its end: ${reason}: everything before it was read`, { cause: error });
  } finally {
    file.destroy();
  }
}

async function* gunzipped(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: chunkBytes });
  void pipeline(chunks, gunzip).catch(() => {}); // what goes wrong is thrown where its output is read
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } finally {
    gunzip.destroy();
  }
}
