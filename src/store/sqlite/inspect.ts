// Finds damage of a database file and its write-ahead log. SQLite would hide some of it: it
// silently drops commits of a damaged log.
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readlinkSync, readSync, realpathSync } from 'node:fs';
import { MobilityError } from '../../model/mobility-error.ts';
import { storeFormat } from '../rows/tables.ts';
import { damagedFile } from './sqlite-errors.ts';

export const applicationId = 0x6d6f6269;

/**
 * Returns why the database at `path` must not be opened; null: it may be opened. Changes nothing
 * and needs no lock. After a kill of the process, the index of the log (`-shm`) still exists. It
 * shows whether the log (`-wal`) was cut off or removed afterwards.
 */
export function inspectFile(path: string): MobilityError | null {
  // On POSIX, closing a file drops all locks that this process has on the file, also SQLite's. A
  // file that SQLite has open was inspected before.
  if (isOpenHere(path)) return null;
  return headerFault(path) ?? walFault(path);
}

const magic = 'SQLite format 3\0';

/** Allowed values of header bytes, by offset: https://sqlite.org/fileformat2.html */
const fixedBytes = { 18: [1, 2], 19: [1, 2], 20: [0], 21: [64], 22: [32], 23: [32], 47: [4], 59: [1] };

function headerFault(path: string): MobilityError | null {
  const header = firstBytes(path, 100)?.bytes;
  if (header === undefined || header.length < 100 || header.toString('latin1', 0, 16) !== magic)
    return damagedFile(path, 'a database of a store', 'a file that is no SQLite database');
  for (const [at, allowed] of Object.entries(fixedBytes)) {
    const found = header[Number(at)]!;
    if (!allowed.includes(found))
      return damagedFile(path, `${allowed.join(' or ')} in byte ${at} of the file`, `${found}`);
  }
  if (header.readUInt32BE(68) !== applicationId)
    return damagedFile(path, 'a database of a store', 'a database of another program');
  const format = header.readUInt32BE(60); // user_version
  if (format === storeFormat) return null;
  return new MobilityError(
    'MOBILITY_STORE_VERSION',
    `${path}: expected a store of format ${storeFormat}, found format ${format}: use the version of the program that wrote it. ` +
      'Nothing was changed',
  );
}

const walHeader = 32; // bytes: https://sqlite.org/walformat.html
const frameHeader = 24; // bytes

/** Compares the log with its index. Starts again if another process changes the index meanwhile. */
function walFault(path: string): MobilityError | null {
  for (let tries = 0; tries < 10; tries++) {
    const index = readIndex(path);
    if (index === null || index.frames === 0) return null;
    const found = logFault(`${path}-wal`, index);
    if (!readIndex(path)?.bytes.equals(index.bytes)) continue;
    return found === null ? null : damagedFile(path, `a write-ahead log with ${index.frames} pages`, found);
  }
  return null; // other processes write to the log, so SQLite has found it undamaged
}

/** Returns the damage of the log; null: it has none, or the index belongs to another log. */
function logFault(path: string, { frames, backfilled, pageSize, salts }: WalIndex): string | null {
  const log = firstBytes(path, walHeader);
  // SQLite empties a log after it has copied all its pages into the file. After a power cut, the
  // index may still describe the full log. So an empty log is not a fault, nor is a missing log if
  // all its pages were copied. A log that was cut off is always a fault: its older pages would
  // replace newer pages of the file.
  if (log === null) return frames <= backfilled ? null : 'none';
  const { bytes: head, size } = log;
  if (size === 0 || (size >= walHeader && !head.subarray(16, 24).equals(salts))) return null;
  if (size < walHeader + frames * (frameHeader + pageSize)) return `a log of ${size} bytes that was cut off`;
  const little = (head[3]! & 1) === 0;
  let [first, second] = [0, 0];
  /** Continues the log's checksum over `parts`, and compares it with byte `sum` of `header`. */
  const matchesSum = (parts: readonly Buffer[], header: Buffer, sum: number): boolean => {
    for (const { buffer, byteOffset, length } of parts) {
      const view = new DataView(buffer, byteOffset, length);
      for (let at = 0; at < length; at += 8) {
        first = (first + view.getUint32(at, little) + second) >>> 0;
        second = (second + view.getUint32(at + 4, little) + first) >>> 0;
      }
    }
    return header.readUInt32BE(sum) === first && header.readUInt32BE(sum + 4) === second;
  };
  if (!matchesSum([head.subarray(0, 24)], head, 24)) return 'a wrong checksum of its header';
  const file = openSync(path, 'r');
  try {
    const frame = Buffer.alloc(frameHeader + pageSize);
    for (let i = 0; i < frames; i++) {
      readSync(file, frame, 0, frame.length, walHeader + i * frame.length);
      const isWhole = matchesSum([frame.subarray(0, 8), frame.subarray(frameHeader)], frame, 16);
      if (!isWhole || !frame.subarray(8, 16).equals(salts)) return `a wrong checksum of page ${i + 1}`;
    }
    return null;
  } finally {
    closeSync(file);
  }
}

/** `frames`: committed pages. `backfilled`: pages copied into the file. `salts` name the log. */
type WalIndex = Record<'frames' | 'backfilled' | 'pageSize', number> & Record<'salts' | 'bytes', Buffer>;

/** Reads the index of the log from the `-shm` file; null: it has no valid index. */
function readIndex(path: string): WalIndex | null {
  const bytes = firstBytes(`${path}-shm`, 100)?.bytes;
  if (bytes === undefined || bytes.length < 100) return null;
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, 25);
  const size = new Uint16Array(bytes.buffer, bytes.byteOffset + 14, 1)[0]!;
  const whole = bytes.subarray(0, 48).equals(bytes.subarray(48, 96));
  if (!whole || bytes[12] === 0) return null;
  const pageSize = (size & 0xfe00) + ((size & 1) << 16);
  return { frames: words[4]!, backfilled: words[24]!, pageSize, salts: bytes.subarray(32, 40), bytes };
}

/** Reads `count` bytes. null: no such file, such as the log after all processes have closed it. */
function firstBytes(path: string, count: number): { size: number; bytes: Buffer } | null {
  let file: number | null = null;
  try {
    file = openSync(path, 'r');
    const bytes = Buffer.alloc(count);
    return { size: fstatSync(file).size, bytes: bytes.subarray(0, readSync(file, bytes, 0, count, 0)) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  } finally {
    if (file !== null) closeSync(file);
  }
}

/** True if this process has the file open. Also true without `/proc`: the answer is unknown. */
function isOpenHere(path: string): boolean {
  const folder = '/proc/self/fd';
  if (!existsSync(folder)) return true;
  const real = realpathSync(path);
  return readdirSync(folder).some((name) => {
    try {
      return readlinkSync(`${folder}/${name}`) === real;
    } catch {
      return false; // closed meanwhile, such as the descriptor of this listing
    }
  });
}
