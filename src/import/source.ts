// Files and folders to import from: their bytes, unpacked where they are gzip, and what they begin with.
import { readdir, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { createGunzip } from 'node:zlib';
import type { Entry } from 'yauzl';
import { errorText, MobilityError } from '../model/mobility-error.ts';
import { chunkBytes, fileBytes, unpacked } from './read/bytes.ts';
import { SourceBroken } from './source-error.ts';
import { type FilePart, partBytes } from './spool.ts';
import { type ZipPlace, zipBytes } from './zip.ts';

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
   * Its bytes, unpacked. `onBytes` is called with the bytes read from disk. Throws `SourceBroken` where it breaks
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

/** The file at a path. Throws as `openSource` does, and for a folder. */
export async function openSourceFile(path: string): Promise<SourceFile> {
  const source = await openSource(path);
  if ('size' in source) return source;
  throw new MobilityError('MOBILITY_USAGE', `expected a file at ${path}, found a folder`);
}

const reasons: Record<string, string> = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOTDIR: 'a part of the path is no folder',
  ELOOP: 'its links lead in a circle',
};

const fileAt = (path: string, size: number): Promise<SourceFile> =>
  sourceFile(path, size, (onBytes) => fileBytes(path, onBytes));

/** A file of a ZIP archive with this path, which is at `place`. */
export const zippedFile = (archive: string, entry: Entry, place: ZipPlace = archive): Promise<SourceFile> =>
  sourceFile(`${archive}/${entry.fileName}`, entry.compressedSize, (onBytes) => zipBytes(place, entry, onBytes));

/** A file with this path whose bytes were kept. */
export const keptFile = (path: string, part: FilePart): Promise<SourceFile> =>
  sourceFile(path, part.size, (onBytes) => partBytes(part, onBytes));

/** A text as a file. */
export const textFile = (text: string): Promise<SourceFile> =>
  sourceFile('upload', text.length, async function* () {
    yield Buffer.from(text);
  });

/** A file whose bytes `read` gives; what is gzip is unpacked. */
async function sourceFile(
  path: string,
  size: number,
  read: (onBytes: (count: number) => void) => AsyncIterable<Uint8Array>,
): Promise<SourceFile> {
  const first = await headOf(read(() => {}));
  const isGzip = first[0] === 0x1f && first[1] === 0x8b;
  const encoding = path.endsWith('.bson') ? null : (utf16[first.toString('hex', 0, 2)] ?? null);
  const bytes = async function* (onBytes: (count: number) => void = () => {}): AsyncGenerator<Uint8Array> {
    try {
      if (isGzip) yield* unpacked(read(onBytes), createGunzip({ chunkSize: chunkBytes }));
      else if (encoding !== null) yield* recoded(read(onBytes), encoding);
      else yield* read(onBytes);
    } catch (error) {
      if (error instanceof SourceBroken) throw error;
      const { code = '' } = error as NodeJS.ErrnoException;
      const reason = code.startsWith('Z_') ? 'it is damaged or breaks off' : (reasons[code] ?? errorText(error));
      throw new SourceBroken(`cannot be read to its end: ${reason}: everything before it was read`, { cause: error });
    }
  };
  const head = isGzip || encoding !== null ? await headOf(bytes()) : first;
  return { path, name: basename(path).replace(/\.gz$/i, ''), size, head, bytes };
}

/** The marks with which texts in UTF-16 begin. */
const utf16: Record<string, string> = { fffe: 'utf-16le', feff: 'utf-16be' };

/** A text as UTF-8. */
async function* recoded(chunks: AsyncIterable<Uint8Array>, encoding: string): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding);
  for await (const chunk of chunks) yield Buffer.from(decoder.decode(chunk, { stream: true }));
}

/** The head of a file; of a damaged one, what can be unpacked. */
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
