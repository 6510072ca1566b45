import { errorText, isMobilityError, MobilityError } from '../../model/mobility-error.ts';
import { isOnReadOnlyMount, resultCode } from './driver.ts';

const busy = [5, 6, 15]; // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL (a race for a lock of the write-ahead log)
const noMemory = 7;
const readOnly = 8;
const inputOutput = 10;
const damaged = [11, 26]; // SQLITE_CORRUPT, SQLITE_NOTADB
const full = 13;
const cannotOpen = 14;
const ioNoMemory = 10 | (12 << 8); // SQLITE_IOERR_NOMEM
// A quota or a limit of size refused a write, or shared memory cannot grow. More space helps.
const refusedWrites = [10 | (3 << 8), 10 | (19 << 8)]; // SQLITE_IOERR_WRITE, SQLITE_IOERR_SHMSIZE

/** True if another connection caused the error and a later try may succeed. */
export const isBusy = (error: unknown): boolean => busy.includes(primary(error));

export function busyError(message: string): Error {
  return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode: busy[0] });
}

/** After other errors, such as a violated constraint, a transaction can continue. */
export function endsTransaction(error: unknown): boolean {
  return [...busy, ...damaged, noMemory, readOnly, inputOutput, full, cannotOpen].includes(primary(error));
}

const primary = (error: unknown): number => (resultCode(error) ?? 0) & 0xff;

export function damagedFile(path: string, expected: string, found: string): MobilityError {
  return new MobilityError(
    'MOBILITY_STORE_DAMAGED',
    `${path}: expected ${expected}, found ${found}; keep the folder as it is and restore a backup beside it`,
  );
}

/** Returns errors that are not of SQLite or the file system unchanged. */
export function storeError(error: unknown, path: string): unknown {
  if (isMobilityError(error)) return error;
  const code = resultCode(error);
  const fileCode = (error as NodeJS.ErrnoException).code ?? '';
  const isRefused = code !== null && [readOnly, cannotOpen].includes(code & 0xff) && isOnReadOnlyMount(path);
  const meaning = isRefused || code === null ? meaningOfFile(isRefused ? 'EROFS' : fileCode) : meaningOf(code);
  if (meaning === null) return error;
  const [name, expected, remedy] = meaning;
  const found = code === null ? fileCode : `${errorText(error)} (SQLite ${code})`;
  return new MobilityError(name, `${path}: expected ${expected}, found ${found}: ${remedy}`, { cause: error });
}

type Meaning = readonly [code: MobilityError['code'], expected: string, remedy: string];

function meaningOf(extended: number): Meaning | null {
  const code = extended & 0xff;
  if (busy.includes(code)) {
    const remedy = 'another process holds it for too long: try again, and look for a process that hangs';
    return ['MOBILITY_STORE_BUSY', 'to lock the database', remedy];
  }
  if (code === full || refusedWrites.includes(extended)) {
    const remedy = 'nothing was stored. Free space; no restart is needed';
    return ['MOBILITY_STORE_FULL', 'space to write', remedy];
  }
  if (code === readOnly) {
    const remedy = 'run the command as the user of the service, or give your user access';
    return ['MOBILITY_STORE_READONLY', 'the right to write', remedy];
  }
  if (damaged.includes(code)) {
    const remedy = 'keep the folder as it is, and restore a backup beside it';
    return ['MOBILITY_STORE_DAMAGED', 'an undamaged database', remedy];
  }
  if (code === noMemory || extended === ioNoMemory) {
    const remedy = 'raise the memory limit of the process, or end other programs';
    return ['MOBILITY_STORE_UNAVAILABLE', 'enough memory', remedy];
  }
  if (code === cannotOpen) {
    const remedy = 'check rights and the limit of open files';
    return ['MOBILITY_STORE_UNAVAILABLE', 'to open the file, its log and a temporary file', remedy];
  }
  const remedy = 'check that the disk is sound, then try again';
  return code === inputOutput ? ['MOBILITY_STORE_UNAVAILABLE', 'to read and write the file', remedy] : null;
}

function meaningOfFile(code: string): Meaning | null {
  if (code === 'EROFS') {
    const remedy = 'it is mounted read-only: mount it for writing, or copy the folder';
    return ['MOBILITY_STORE_READONLY', 'a file system that allows writing', remedy];
  }
  if (['EACCES', 'EPERM'].includes(code)) {
    const remedy = 'run the command as the user of the service, or give your user access';
    return ['MOBILITY_STORE_READONLY', 'permission to read and write here', remedy];
  }
  if (['ENOSPC', 'EDQUOT'].includes(code)) return ['MOBILITY_STORE_FULL', 'space to write', 'free space'];
  if (['ENOTDIR', 'EEXIST', 'EISDIR', 'ENAMETOOLONG', 'ELOOP'].includes(code))
    return ['MOBILITY_STORE_ADDRESS', 'a folder, or a path where one can be made', 'correct the address of the store'];
  if (['EMFILE', 'ENFILE'].includes(code))
    return ['MOBILITY_STORE_UNAVAILABLE', 'to open a file', 'raise the limit of open files (ulimit -n)'];
  const isOutOfReach = ['EIO', 'EAGAIN', 'EBUSY', 'ESTALE', 'ENOMEM', 'ENOENT'].includes(code);
  const remedy = 'check that the disk is mounted and sound, then try again';
  return isOutOfReach ? ['MOBILITY_STORE_UNAVAILABLE', 'an answer of the folder and its disk', remedy] : null;
}
