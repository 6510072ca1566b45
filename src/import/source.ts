// Opens files and folders to import: unpacks gzip, recodes texts, and keeps the beginning.
import { isUtf8 } from 'node:buffer';
import { readdir, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { createGunzip } from 'node:zlib';
import type { Entry } from 'yauzl';
import { usageError } from '../model/mobility-error.ts';
import { reasonOf } from '../util/file-access.ts';
import { type Bytes, chunkBytes, fileBytes, type OnBytes, unpacked } from './read/bytes.ts';
import { readUpTo, SourceBroken } from './source-error.ts';
import { type FilePart, partBytes } from './spool.ts';
import { type ZipPlace, zipBytes } from './zip.ts';

export interface SourceFile {
  readonly path: string;
  readonly name: string; // the name without the folder and without `.gz`
  readonly size: number;
  readonly head: Buffer; // the beginning of the file, unpacked
  /** `onBytes` gets the number of bytes read from disk, and 0 for each chunk. Throws `SourceBroken`. */
  bytes(onBytes?: OnBytes): Bytes;
}

export type SourceFolder = { readonly path: string; readonly names: readonly string[] };

const headBytes = 64 * 1024; // bytes at the beginning of a file, by which its format is recognised

/** Throws `MOBILITY_USAGE` if the path does not exist or cannot be read. */
export async function openSource(path: string): Promise<SourceFile | SourceFolder> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return { path, names: (await readdir(path)).sort() };
    if (!found.isFile()) throw Object.assign(new Error('it is neither a file nor a folder'), { code: '' });
    return await sourceFile(path, found.size, (onBytes) => fileBytes(path, onBytes));
  } catch (error) {
    throw usageError(`cannot read ${path}: ${reasonOf(error)}`, { cause: error });
  }
}

export async function openSourceFile(path: string): Promise<SourceFile> {
  const source = await openSource(path);
  if ('size' in source) return source;
  throw usageError(`expected a file at ${path}, found a folder`);
}

/** `archive`: the path for messages. `place`: where the bytes of the archive are. */
export const zippedFile = (archive: string, entry: Entry, place: ZipPlace = archive): Promise<SourceFile> =>
  sourceFile(`${archive}/${entry.fileName}`, entry.compressedSize, (onBytes) => zipBytes(place, entry, onBytes));

export const spooledFile = (path: string, part: FilePart): Promise<SourceFile> =>
  sourceFile(path, part.size, (onBytes) => partBytes(part, onBytes));

export const textFile = (text: string): Promise<SourceFile> =>
  sourceFile('upload', text.length, async function* () {
    yield Buffer.from(text);
  });

async function sourceFile(path: string, size: number, read: (onBytes: OnBytes) => Bytes): Promise<SourceFile> {
  const first = await headOf(read(() => {}));
  const isGzip = first[0] === 0x1f && first[1] === 0x8b;
  const encoding = path.endsWith('.bson') || isGzip ? null : encodingOf(first);
  const bytes = async function* (onBytes: OnBytes = () => {}): Bytes {
    try {
      const packed = read(onBytes);
      const whole = isGzip ? unpacked(packed, createGunzip({ chunkSize: chunkBytes })) : packed;
      for await (const chunk of encoding === null ? whole : recoded(whole, encoding)) {
        onBytes(0); // reports progress for each chunk, because few packed bytes may unpack to very many chunks
        yield chunk;
      }
    } catch (error) {
      if (error instanceof SourceBroken) throw error;
      const { code = '' } = error as NodeJS.ErrnoException;
      const reason = code.startsWith('Z_') ? 'it is damaged or truncated' : reasonOf(error);
      const text = `cannot read the whole file: ${reason}; ${readUpTo}`;
      throw new SourceBroken(text, 'damaged', { cause: error });
    }
  };
  const head = isGzip || encoding !== null ? await headOf(bytes()) : first;
  return { path, name: basename(path).replace(/\.gz$/i, ''), size, head, bytes };
}

/** null: the file is UTF-8, or not a text. Texts in UTF-16 may lack a byte order mark. */
function encodingOf(first: Buffer): string | null {
  const start = first.toString('latin1', 0, 8);
  if (/^(\xff\xfe|([\t-~]\0){4})/.test(start)) return 'utf-16le';
  if (/^(\xfe\xff|(\0[\t-~]){4})/.test(start)) return 'utf-16be';
  const lines = first.subarray(0, first.lastIndexOf('\n') + 1);
  return isUtf8(lines) || first.includes(0) ? null : 'windows-1252';
}

async function* recoded(chunks: Bytes, encoding: string): Bytes {
  const decoder = new TextDecoder(encoding);
  for await (const chunk of chunks) yield Buffer.from(decoder.decode(chunk, { stream: true }));
}

async function headOf(chunks: Bytes): Promise<Buffer> {
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
