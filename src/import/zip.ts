// Reads ZIP archives. Unpacks nothing to disk, and never uses names in the archive as paths.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import type { Entry, ZipFile } from 'yauzl';
import { fromRandomAccessReaderPromise, getFileNameLowLevel, RandomAccessReader, validateFileName } from 'yauzl';
import { type Bytes, chunkBytes, countBytes, type OnBytes, unpacked } from './read/bytes.ts';
import { refuseBeyond, SourceBroken } from './source-error.ts';
import { type FilePart, partBytes } from './spool.ts';

export type ZipPlace = string | FilePart;

/** Limits for malicious archives. Memory holds the directory of an archive as a whole. */
export const maxEntries = 100_000;
const maxDirectoryBytes = 64 * 1024 * 1024;
const maxUnpackedBytes = 64 * 1024 ** 3;
/** Unpacked bytes per packed byte, checked after `uncheckedBytes`. Recorded tracks have 10 to 40. */
export const maxRatio = 200;
export const uncheckedBytes = 16 * 1024 * 1024;

export const isZip = (head: Buffer): boolean => ['504b0304', '504b0506'].includes(head.toString('hex', 0, 4));

/** `rejected`: for each file with an unsafe name, the reason. Throws `SourceBroken`. */
export async function zipEntries(place: ZipPlace): Promise<{ files: Entry[]; rejected: string[] }> {
  const zip = await openZip(place);
  try {
    refuseBeyond(zip.entryCount > maxEntries, `an archive of at most ${maxEntries} files`);
    const files: Entry[] = [];
    const rejected: string[] = [];
    let [packed, size, directory] = [0, 0, 0];
    for await (const entry of zip.eachEntry()) {
      directory += entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength + 46;
      refuseBeyond(directory > maxDirectoryBytes, `a directory of at most ${maxDirectoryBytes} bytes in the archive`);
      if (entry.isEncrypted())
        throw new SourceBroken('expected files without a password, found an encrypted one: unpack it first', 'packing');
      if (!entry.canDecodeFileData())
        throw new SourceBroken(`expected files packed by Deflate, found method ${entry.compressionMethod}`, 'packing');
      packed += entry.compressedSize;
      size += entry.uncompressedSize;
      entry.fileName = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
      const fault = validateFileName(entry.fileName);
      if (fault !== null) rejected.push(`expected file names within the archive, found another name: ${fault}`);
      else if (!entry.fileName.endsWith('/')) files.push(entry);
    }
    if (packed > zip.fileSize) throw new SourceBroken('expected separate files in the archive, found overlapping ones');
    refuseBeyond(size > maxUnpackedBytes, `an archive of at most ${maxUnpackedBytes} bytes unpacked`);
    return { files, rejected };
  } catch (error) {
    throw asBroken(error);
  } finally {
    zip.close();
  }
}

/** Verifies size and checksum. `onBytes` gets bytes of the archive. Throws `SourceBroken`. */
export async function* zipBytes(place: ZipPlace, entry: Entry, onBytes: OnBytes): Bytes {
  const zip = await openZip(place);
  const { compressedSize: packed, uncompressedSize: size } = entry;
  let [length, sum] = [0, 0];
  try {
    const stored = countBytes(await zip.openReadStreamPromise(entry, { decodeFileData: false }), onBytes);
    const isPacked = entry.compressionMethod === 8;
    for await (const chunk of isPacked ? unpacked(stored, createInflateRaw({ chunkSize: chunkBytes })) : stored) {
      length += chunk.length;
      const isBeyond = length > size || (length > uncheckedBytes && length > packed * maxRatio);
      refuseBeyond(isBeyond, `a file of ${size} bytes that unpacks to at most ${maxRatio} times its packed size`);
      sum = crc32(chunk, sum);
      yield chunk;
    }
  } catch (error) {
    throw asBroken(error);
  } finally {
    zip.close();
  }
  if (sum !== entry.crc32 || length !== size) throw damaged();
}

const damaged = (cause?: unknown): SourceBroken =>
  new SourceBroken('expected a ZIP archive, found a damaged or incomplete one: get it again', 'damaged', { cause });

/** Errors of the ZIP library mean a damaged archive. Errors of the file system stay unchanged. */
const asBroken = (error: unknown): unknown =>
  error instanceof SourceBroken || (error as NodeJS.ErrnoException).syscall !== undefined ? error : damaged(error);

/** `decodeStrings` is false, because the library would stop at the first invalid name. */
async function openZip(place: ZipPlace): Promise<ZipFile> {
  const reader = new WindowReader(place);
  const options = { autoClose: false, decodeStrings: false, lazyEntries: true };
  try {
    return await fromRandomAccessReaderPromise(reader, reader.size, options);
  } catch (error) {
    reader.close(() => {});
    throw asBroken(error);
  }
}

/** Reads large pieces: the library reads twice per entry, and each read from disk costs CPU. */
class WindowReader extends RandomAccessReader {
  readonly size: number;
  readonly #file: number;
  readonly #start: number;
  readonly #isOwn: boolean;
  #window = Buffer.alloc(0);
  #windowStart = 0;

  constructor(place: ZipPlace) {
    super();
    this.#isOwn = typeof place === 'string';
    this.#file = typeof place === 'string' ? openSync(place, 'r') : place.file;
    this.#start = typeof place === 'string' ? 0 : place.start;
    this.size = typeof place === 'string' ? fstatSync(this.#file).size : place.size;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytes?: number) => void,
  ): void {
    try {
      if (position < this.#windowStart || position + length > this.#windowStart + this.#window.length) {
        const window = Buffer.allocUnsafe(Math.max(length, chunkBytes));
        this.#window = window.subarray(0, readSync(this.#file, window, 0, window.length, this.#start + position));
        this.#windowStart = position;
      }
      const from = position - this.#windowStart;
      callback(null, this.#window.copy(buffer, offset, from, from + length));
    } catch (error) {
      callback(error as Error);
    }
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(partBytes({ file: this.#file, start: this.#start + start, size: end - start }));
  }

  override close(callback: (error: Error | null) => void): void {
    if (this.#isOwn) closeSync(this.#file);
    callback(null);
  }
}
