// Reads ZIP archives: each file as a stream. Unpacks nothing to disk, and never uses names in the archive as paths.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import type { Entry, ZipFile } from 'yauzl';
import { fromRandomAccessReaderPromise, getFileNameLowLevel, RandomAccessReader, validateFileName } from 'yauzl';
import { chunkBytes, countBytes, unpacked } from './read/bytes.ts';
import { SourceBroken } from './source-error.ts';
import { type FilePart, partBytes } from './spool.ts';

/** The path of an archive, or a part of an open file. */
export type ZipPlace = string | FilePart;

/** Limits for malicious archives. Only the directory of an archive is in memory as a whole. */
export const maxEntries = 100_000;
const maxDirectoryBytes = 64 * 1024 * 1024;
const maxUnpackedBytes = 64 * 1024 ** 3;
/**
 * The highest ratio of unpacked to packed bytes. The first `uncheckedBytes` of a file may exceed it. Recorded tracks
 * have a ratio of 10 to 40.
 */
export const maxRatio = 200;
export const uncheckedBytes = 16 * 1024 * 1024;

export const isZip = (head: Buffer): boolean => ['504b0304', '504b0506'].includes(head.toString('hex', 0, 4));

/**
 * The files of an archive, without folders. `rejected`: the reasons why other files are not read. Throws `SourceBroken`
 * if the archive is damaged or exceeds a limit.
 */
export async function zipEntries(place: ZipPlace): Promise<{ files: Entry[]; rejected: string[] }> {
  const zip = await openZip(place);
  try {
    if (zip.entryCount > maxEntries)
      throw new SourceBroken(`expected an archive of at most ${maxEntries} files, found ${zip.entryCount}`, 'large');
    const files: Entry[] = [];
    const rejected: string[] = [];
    let [packed, size, directory] = [0, 0, 0];
    for await (const entry of zip.eachEntry()) {
      directory += entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength + 46;
      if (directory > maxDirectoryBytes)
        throw new SourceBroken(
          `expected a directory of at most ${maxDirectoryBytes} bytes in the archive, found more`,
          'large',
        );
      checkMethod(entry);
      packed += entry.compressedSize;
      size += entry.uncompressedSize;
      entry.fileName = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
      const fault = validateFileName(entry.fileName);
      if (fault !== null) rejected.push(`expected file names within the archive, found another name: ${fault}`);
      else if (!entry.fileName.endsWith('/')) files.push(entry);
    }
    if (packed > zip.fileSize) throw new SourceBroken('expected separate files in the archive, found overlapping ones');
    if (size > maxUnpackedBytes)
      throw new SourceBroken(
        `expected an archive of at most ${maxUnpackedBytes} bytes unpacked, found ${size}`,
        'large',
      );
    return { files, rejected };
  } catch (error) {
    throw asBroken(error);
  } finally {
    zip.close();
  }
}

/**
 * The unpacked bytes of a file, verified by its size and checksum. `onBytes` gets the number of bytes read from the
 * archive. Throws `SourceBroken`.
 */
export async function* zipBytes(
  place: ZipPlace,
  entry: Entry,
  onBytes: (count: number) => void,
): AsyncGenerator<Uint8Array> {
  const zip = await openZip(place);
  const { compressedSize: packed, uncompressedSize: size } = entry;
  let length = 0;
  let sum = 0;
  try {
    const stored = countBytes(await zip.openReadStreamPromise(entry, { decodeFileData: false }), onBytes);
    const isPacked = entry.compressionMethod === 8;
    for await (const chunk of isPacked ? unpacked(stored, createInflateRaw({ chunkSize: chunkBytes })) : stored) {
      length += chunk.length;
      if (length > size || (length > uncheckedBytes && length > packed * maxRatio))
        throw new SourceBroken(
          `expected a file of ${size} bytes that unpacks to at most ${maxRatio} times its packed size, found more`,
          'large',
        );
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

/** Converts errors of the ZIP library. Errors of the file system stay unchanged. */
const asBroken = (error: unknown): unknown =>
  error instanceof SourceBroken || (error as NodeJS.ErrnoException).syscall !== undefined ? error : damaged(error);

/** Opens an archive. The library does not decode names, because it would stop at an invalid name. */
async function openZip(place: ZipPlace): Promise<ZipFile> {
  const isOwn = typeof place === 'string';
  const reader = new WindowReader(isOwn ? wholeFile(place) : place, isOwn);
  const options = { autoClose: false, decodeStrings: false, lazyEntries: true };
  try {
    return await fromRandomAccessReaderPromise(reader, reader.size, options);
  } catch (error) {
    reader.close(() => {});
    throw asBroken(error);
  }
}

function wholeFile(path: string): FilePart {
  const file = openSync(path, 'r');
  return { file, start: 0, size: fstatSync(file).size };
}

/** Reads a file in large pieces: the library reads twice per entry, and each read from disk costs CPU. */
class WindowReader extends RandomAccessReader {
  readonly #place: FilePart;
  readonly #isOwn: boolean;
  #window = Buffer.alloc(0);
  #start = 0;

  /** `isOwn`: closes the file together with the archive. */
  constructor(place: FilePart, isOwn: boolean) {
    super();
    this.#place = place;
    this.#isOwn = isOwn;
  }

  get size(): number {
    return this.#place.size;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytes?: number) => void,
  ): void {
    try {
      if (position < this.#start || position + length > this.#start + this.#window.length) {
        const window = Buffer.allocUnsafe(Math.max(length, chunkBytes));
        const { file, start } = this.#place;
        this.#window = window.subarray(0, readSync(file, window, 0, window.length, start + position));
        this.#start = position;
      }
      const from = position - this.#start;
      callback(null, this.#window.copy(buffer, offset, from, from + length));
    } catch (error) {
      callback(error as Error);
    }
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(partBytes({ file: this.#place.file, start: this.#place.start + start, size: end - start }));
  }

  override close(callback: (error: Error | null) => void): void {
    if (this.#isOwn) closeSync(this.#place.file);
    callback(null);
  }
}

function checkMethod(entry: Entry): void {
  if (entry.isEncrypted())
    throw new SourceBroken('expected files without a password, found an encrypted one: unpack it first', 'packing');
  if (!entry.canDecodeFileData())
    throw new SourceBroken(`expected files packed by Deflate, found method ${entry.compressionMethod}`, 'packing');
}
