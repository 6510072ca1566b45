// ZIP archives: the files in them, each as a stream. Nothing is unpacked to disk, and no name of an archive is a path.
import { type FileHandle, open } from 'node:fs/promises';
import { crc32, createInflateRaw } from 'node:zlib';
import { chunkBytes, fileBytes, unpacked } from './read/bytes.ts';
import { SourceBroken } from './source-error.ts';

/** A file in an archive. */
export interface ZipEntry {
  /** Its name with the folders of the archive. */
  name: string;
  /** Bytes in the archive, and unpacked. */
  packed: number;
  size: number;
  isPacked: boolean;
  crc: number;
  /** Byte of the archive at which its own header begins. */
  offset: number;
}

/** Limits for what a hostile archive can cost: work, not memory, since everything is a stream. */
const maxEntries = 100_000;
const maxDirectoryBytes = 64 * 1024 * 1024;
const maxUnpackedBytes = 64 * 1024 ** 3;
/** How many times its size in the archive a file may unpack to beyond `freeBytes`: tracks pack 10 to 40 to 1. */
const maxRatio = 200;
const freeBytes = 16 * 1024 * 1024;

const endBytes = 22;
const maxCommentBytes = 0xffff;
const marks = { entry: 0x02014b50, local: 0x04034b50, end: 0x06054b50, end64: 0x06064b50, locator64: 0x07064b50 };

/** True for what begins as an archive does. */
export const isZip = (head: Buffer): boolean => ['504b0304', '504b0506'].includes(head.toString('hex', 0, 4));

/** The files of an archive, without folders. Throws `SourceBroken` for what is none, or costs more than it may. */
export async function zipEntries(path: string): Promise<ZipEntry[]> {
  const file = await open(path);
  try {
    const { size: end } = await file.stat();
    const { count, size, offset } = await directoryOf(file, end);
    if (count > maxEntries || size > maxDirectoryBytes)
      throw new SourceBroken(`expected an archive of at most ${maxEntries} files, found ${count}`);
    const directory = await bytesAt(file, offset, size);
    const entries: ZipEntry[] = [];
    for (let at = 0; entries.length < count; ) {
      if (at + 46 > size || directory.readUInt32LE(at) !== marks.entry) throw damaged();
      const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) => directory.readUInt16LE(at + field));
      const next = at + 46 + nameLength! + extraLength! + commentLength!;
      entries.push(entryAt(directory.subarray(at, next), nameLength!, extraLength!));
      at = next;
    }
    const sum = (field: 'packed' | 'size'): number => entries.reduce((total, entry) => total + entry[field], 0);
    if (sum('packed') > end)
      throw new SourceBroken('expected files beside each other in the archive, found them overlapping');
    if (sum('size') > maxUnpackedBytes) throw new SourceBroken(`expected at most ${maxUnpackedBytes} bytes unpacked`);
    return entries.filter(({ name }) => !name.endsWith('/'));
  } finally {
    await file.close();
  }
}

const damaged = (): SourceBroken => new SourceBroken('expected a ZIP archive, found a damaged or cut one');

async function bytesAt(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
  if (bytesRead < length) throw damaged();
  return buffer;
}

/** The directory of an archive stands at its end, behind it a comment of any length. */
async function directoryOf(file: FileHandle, end: number): Promise<{ count: number; size: number; offset: number }> {
  const length = Math.min(end, endBytes + maxCommentBytes + 20);
  const tail = await bytesAt(file, end - length, length);
  let at = length - endBytes;
  while (at >= 0 && tail.readUInt32LE(at) !== marks.end) at -= 1;
  if (at < 0) throw damaged();
  const [count, size, offset] = [tail.readUInt16LE(at + 10), tail.readUInt32LE(at + 12), tail.readUInt32LE(at + 16)];
  if (count !== 0xffff && size !== 0xffffffff && offset !== 0xffffffff) return { count, size, offset };
  if (at < 20 || tail.readUInt32LE(at - 20) !== marks.locator64) throw damaged();
  const large = await bytesAt(file, Number(tail.readBigUInt64LE(at - 12)), 56);
  if (large.readUInt32LE(0) !== marks.end64) throw damaged();
  const [many, bytes, start] = [32, 40, 48].map((field) => Number(large.readBigUInt64LE(field)));
  return { count: many!, size: bytes!, offset: start! };
}

function entryAt(record: Buffer, nameLength: number, extraLength: number): ZipEntry {
  const flags = record.readUInt16LE(8);
  const name = record.toString(flags & 0x800 ? 'utf8' : 'latin1', 46, 46 + nameLength);
  let [packed, size, offset] = [record.readUInt32LE(20), record.readUInt32LE(24), record.readUInt32LE(42)];
  const extra = record.subarray(46 + nameLength, 46 + nameLength + extraLength);
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== 1) continue;
    let place = at + 4;
    const large = (value: number): number => {
      if (value !== 0xffffffff) return value;
      if (place + 8 > extra.length) throw damaged();
      place += 8;
      return Number(extra.readBigUInt64LE(place - 8));
    };
    size = large(size);
    packed = large(packed);
    offset = large(offset);
  }
  const method = record.readUInt16LE(10);
  if (flags & 1) throw new SourceBroken('expected files without a password, found an encrypted one: unpack it first');
  if (method !== 0 && method !== 8) throw new SourceBroken(`expected files packed by Deflate, found method ${method}`);
  return { name, packed, size, isPacked: method === 8, crc: record.readUInt32LE(16), offset };
}

/** The bytes of a file, unpacked and checked. `onBytes` is told of bytes of the archive. Throws `SourceBroken`. */
export async function* zipBytes(
  path: string,
  { packed, size, isPacked, crc, offset }: ZipEntry,
  onBytes: (count: number) => void,
): AsyncGenerator<Uint8Array> {
  const start = await startOfData(path, offset);
  const stored = fileBytes(path, onBytes, { start, end: start + packed });
  let length = 0;
  let sum = 0;
  for await (const chunk of isPacked ? unpacked(stored, createInflateRaw({ chunkSize: chunkBytes })) : stored) {
    length += chunk.length;
    if (length > size || (length > freeBytes && length > packed * maxRatio))
      throw new SourceBroken(`expected a file of ${size} bytes that packs at most ${maxRatio} to 1, found more`);
    sum = crc32(chunk, sum);
    yield chunk;
  }
  if (sum !== crc || length !== size) throw damaged();
}

async function startOfData(path: string, offset: number): Promise<number> {
  const file = await open(path);
  try {
    const header = await bytesAt(file, offset, 30);
    if (header.readUInt32LE(0) !== marks.local) throw damaged();
    return offset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
  } finally {
    await file.close();
  }
}
