// What SQLite and the file system report -> the errors of the Store interface.
import { errorText, isMobilityError, MobilityError } from '../../model/errors.ts';
import { resultCode } from './driver.ts';

const busy = [5, 6, 15]; // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL (a race for the log's lock)
const readOnly = 8;
const inputOutput = 10;
const damaged = [11, 26]; // SQLITE_CORRUPT, SQLITE_NOTADB
const full = 13;
const noMemory = 7;
const cannotOpen = 14;
const outOfReach = [noMemory, inputOutput, cannotOpen];
/**
 * A refused write (a quota, a file size limit) and a shared memory file that cannot grow: as a full disk, gone with
 * more space.
 */
const ioNoMemory = 10 | (12 << 8); // SQLITE_IOERR_NOMEM
const refusedWrites = [10 | (3 << 8), 10 | (19 << 8)]; // SQLITE_IOERR_WRITE, SQLITE_IOERR_SHMSIZE

/** True when another connection is at work and a later try may succeed. */
export function isBusy(error: unknown): boolean {
  return busy.includes(primary(error));
}

/** True for errors after which a transaction cannot go on, as opposed to a refused statement. */
export function endsTransaction(error: unknown): boolean {
  const code = primary(error);
  return [...busy, ...damaged, ...outOfReach, readOnly, inputOutput, full].includes(code);
}

function primary(error: unknown): number {
  return (resultCode(error) ?? 0) & 0xff;
}

/** The error that callers meet. What has no meaning for them, a programming mistake, stays as it is. */
export function storeError(error: unknown, path: string): unknown {
  if (isMobilityError(error)) return error;
  const extended = resultCode(error);
  if (extended === null) return fileSystemError(error, path);
  const code = extended & 0xff;
  const found = `${errorText(error)} (SQLite ${extended})`;
  const make = (...[name, advice]: [MobilityError['code'], string]): MobilityError =>
    new MobilityError(name, `${path}: ${advice}; found: ${found}`, { cause: error });
  if (busy.includes(code)) {
    return make(
      'MOBILITY_STORE_BUSY',
      'expected other writers to finish in time; try again, and look for a process that hangs',
    );
  }
  if (code === full || refusedWrites.includes(extended)) {
    return make('MOBILITY_STORE_FULL', 'no space to write; nothing was stored. Make space: no restart is needed');
  }
  if (code === readOnly) return make('MOBILITY_STORE_READONLY', 'expected to be allowed to write');
  if (damaged.includes(code)) {
    return make(
      'MOBILITY_STORE_DAMAGED',
      'expected an undamaged database; keep the folder as it is and restore a backup beside it',
    );
  }
  if (code === noMemory || extended === ioNoMemory) {
    return make(
      'MOBILITY_STORE_UNAVAILABLE',
      'the process gets no more memory; raise its limit, or end other programs',
    );
  }
  if (code === cannotOpen) {
    const advice =
      'the file, its log or a temporary file cannot be opened; look at rights and at the limit of open files';
    return make('MOBILITY_STORE_UNAVAILABLE', advice);
  }
  if (outOfReach.includes(code)) return make('MOBILITY_STORE_UNAVAILABLE', 'the file cannot be read or written');
  return error;
}

function fileSystemError(error: unknown, path: string): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const make = (...[name, advice]: [MobilityError['code'], string]): MobilityError =>
    new MobilityError(name, `${path}: ${advice}; found ${code}`, { cause: error });
  if (['EACCES', 'EPERM', 'EROFS'].includes(code)) {
    const advice =
      'expected to be allowed to read and write here; run the command as the user of the service, or give it the right';
    return make('MOBILITY_STORE_READONLY', advice);
  }
  if (['ENOSPC', 'EDQUOT'].includes(code)) return make('MOBILITY_STORE_FULL', 'no space to write');
  if (['ENOTDIR', 'EEXIST', 'EISDIR', 'ENAMETOOLONG', 'ELOOP'].includes(code)) {
    return make('MOBILITY_STORE_ADDRESS', 'expected a folder, or a path where one can be made');
  }
  if (['EMFILE', 'ENFILE'].includes(code)) {
    return make('MOBILITY_STORE_UNAVAILABLE', 'too many files are open; raise the limit of open files (ulimit -n)');
  }
  if (['EIO', 'EAGAIN', 'EBUSY', 'ESTALE', 'ENOMEM', 'ENOENT'].includes(code)) {
    return make('MOBILITY_STORE_UNAVAILABLE', 'the folder is out of reach');
  }
  return error;
}
