// Converts errors of SQLite and the file system to errors of the Store interface.
import { errorText, isMobilityError, MobilityError } from '../../model/mobility-error.ts';
import { isOnReadOnlyMount, resultCode } from './driver.ts';

const busy = [5, 6, 15]; // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL (a race for the log's lock)
const noMemory = 7;
const readOnly = 8;
const inputOutput = 10;
const damaged = [11, 26]; // SQLITE_CORRUPT, SQLITE_NOTADB
const full = 13;
const cannotOpen = 14;
const ioNoMemory = 10 | (12 << 8); // SQLITE_IOERR_NOMEM
// A quota or a limit of size refused a write, or a shared memory file cannot grow. As with a full disk, more space
// helps.
const refusedWrites = [10 | (3 << 8), 10 | (19 << 8)]; // SQLITE_IOERR_WRITE, SQLITE_IOERR_SHMSIZE

/** True if another connection caused the error and a later try may succeed. */
export function isBusy(error: unknown): boolean {
  return busy.includes(primary(error));
}

/** An error for which `isBusy` is true. */
export function busyError(message: string): Error {
  return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode: busy[0] });
}

/** True for errors that end a transaction. After other errors, such as a constraint, the transaction can continue. */
export function endsTransaction(error: unknown): boolean {
  return [...busy, ...damaged, noMemory, readOnly, inputOutput, full, cannotOpen].includes(primary(error));
}

function primary(error: unknown): number {
  return (resultCode(error) ?? 0) & 0xff;
}

/** The error for callers. Errors without a meaning for them, such as programming mistakes, are returned unchanged. */
export function storeError(error: unknown, path: string): unknown {
  if (isMobilityError(error)) return error;
  const code = resultCode(error);
  const fileCode = (error as NodeJS.ErrnoException).code ?? '';
  const isRefused = code !== null && [readOnly, cannotOpen].includes(code & 0xff) && isOnReadOnlyMount(path);
  const meaning = isRefused || code === null ? meaningOfFile(isRefused ? 'EROFS' : fileCode) : meaningOf(code);
  if (meaning === null) return error;
  const [name, advice] = meaning;
  const found = code === null ? fileCode : `${errorText(error)} (SQLite ${code})`;
  return new MobilityError(name, `${path}: ${advice}; found: ${found}`, { cause: error });
}

type Meaning = [name: MobilityError['code'], advice: string];

function meaningOf(extended: number): Meaning | null {
  const code = extended & 0xff;
  if (busy.includes(code)) {
    const advice =
      'expected to lock the database, which another process holds for too long: try again, and look for a process that hangs';
    return ['MOBILITY_STORE_BUSY', advice];
  }
  if (code === full || refusedWrites.includes(extended)) {
    return ['MOBILITY_STORE_FULL', 'expected space to write; nothing was stored. Free space: no restart is needed'];
  }
  if (code === readOnly) {
    const advice = 'expected the right to write: run the command as the user of the service, or give your user access';
    return ['MOBILITY_STORE_READONLY', advice];
  }
  if (damaged.includes(code)) {
    const advice = 'expected an undamaged database; keep the folder as it is and restore a backup beside it';
    return ['MOBILITY_STORE_DAMAGED', advice];
  }
  if (code === noMemory || extended === ioNoMemory) {
    const advice = 'expected more memory for the process: raise its limit, or end other programs';
    return ['MOBILITY_STORE_UNAVAILABLE', advice];
  }
  if (code === cannotOpen) {
    const advice = 'expected to open the file, its log and a temporary file: check rights and the limit of open files';
    return ['MOBILITY_STORE_UNAVAILABLE', advice];
  }
  return code === inputOutput
    ? ['MOBILITY_STORE_UNAVAILABLE', 'expected to read and write the file: check that its disk is sound, then retry']
    : null;
}

function meaningOfFile(code: string): Meaning | null {
  if (code === 'EROFS') {
    const advice =
      'expected a file system that allows writing, found one that is mounted read-only; mount it for writing, or copy the folder';
    return ['MOBILITY_STORE_READONLY', advice];
  }
  if (['EACCES', 'EPERM'].includes(code)) {
    const advice =
      'expected permission to read and write here, found none: run the command as the user of the service, or give your user access';
    return ['MOBILITY_STORE_READONLY', advice];
  }
  if (['ENOSPC', 'EDQUOT'].includes(code)) return ['MOBILITY_STORE_FULL', 'expected space to write: free space'];
  if (['ENOTDIR', 'EEXIST', 'EISDIR', 'ENAMETOOLONG', 'ELOOP'].includes(code)) {
    return ['MOBILITY_STORE_ADDRESS', 'expected a folder, or a path where one can be made'];
  }
  if (['EMFILE', 'ENFILE'].includes(code)) {
    return ['MOBILITY_STORE_UNAVAILABLE', 'expected to open a file: raise the limit of open files (ulimit -n)'];
  }
  const isOutOfReach = ['EIO', 'EAGAIN', 'EBUSY', 'ESTALE', 'ENOMEM', 'ENOENT'].includes(code);
  const advice = 'expected an answer of the folder and its disk: check that the disk is mounted and sound, then retry';
  return isOutOfReach ? ['MOBILITY_STORE_UNAVAILABLE', advice] : null;
}
