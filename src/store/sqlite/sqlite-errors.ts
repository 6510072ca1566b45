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

/** True if the error ends its transaction. A violated constraint, for example, does not. */
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

/** Returns an error unchanged if neither SQLite nor the file system caused it. */
export function storeError(error: unknown, path: string): unknown {
  if (isMobilityError(error)) return error;
  const code = resultCode(error);
  const fileCode = (error as NodeJS.ErrnoException).code ?? '';
  const isRefused = code !== null && [readOnly, cannotOpen].includes(code & 0xff) && isOnReadOnlyMount(path);
  // The lowest 8 bits of a code of SQLite are its primary code, which is less exact.
  const codes = isRefused ? ['EROFS'] : code === null ? [fileCode] : [code, code & 0xff];
  const meaning = codes.map((one) => meanings.find(([all]) => all.includes(one))).find((found) => found !== undefined);
  if (meaning === undefined) return error;
  const [, name, expected, remedy] = meaning;
  const isFile = ['ENOTDIR', 'EEXIST'].includes(fileCode);
  const found = code === null ? (isFile ? `a file (${fileCode})` : fileCode) : `${errorText(error)} (SQLite ${code})`;
  return new MobilityError(name, `${path}: expected ${expected}, found ${found}: ${remedy}`, { cause: error });
}

const noFolder = ['ENOTDIR', 'EEXIST', 'EISDIR', 'ENAMETOOLONG', 'ELOOP'];
const noAnswer = ['EIO', 'EAGAIN', 'EBUSY', 'ESTALE', 'ENOMEM', 'ENOENT'];

const unavailable = 'MOBILITY_STORE_UNAVAILABLE';
const remedies = {
  address: 'correct the address of the store',
  access: 'run the command as the user of the service, or give your user access',
  disk: 'check that the disk is sound, then try again',
  freeSpace: 'nothing was stored. Free space; no restart is needed',
  memory: 'raise the memory limit of the process, or end other programs',
  mount: 'the folder is mounted read-only: mount it for writing, or copy it',
  mountedDisk: 'check that the disk is mounted and sound, then try again',
  openFiles: 'check the rights to the folder, and the limit of open files (ulimit -n)',
  restore: 'keep the folder as it is, and restore a backup beside it',
  waitForLock: 'another process holds the lock for too long: try again, and look for a process that hangs',
};

/** What errors mean to an operator, by codes of SQLite (numbers) and of the file system. */
const meanings: (readonly [(number | string)[], MobilityError['code'], expected: string, remedy: string])[] = [
  [busy, 'MOBILITY_STORE_BUSY', 'to lock the database', remedies.waitForLock],
  [[full, ...refusedWrites], 'MOBILITY_STORE_FULL', 'space to write', remedies.freeSpace],
  [[readOnly], 'MOBILITY_STORE_READONLY', 'the right to write', remedies.access],
  [damaged, 'MOBILITY_STORE_DAMAGED', 'an undamaged database', remedies.restore],
  [[noMemory, ioNoMemory], unavailable, 'enough memory', remedies.memory],
  [[cannotOpen], unavailable, 'to open the file, its log and a temporary file', remedies.openFiles],
  [[inputOutput], unavailable, 'to read and write the file', remedies.disk],
  [['EROFS'], 'MOBILITY_STORE_READONLY', 'a file system that allows writing', remedies.mount],
  [['EACCES', 'EPERM'], 'MOBILITY_STORE_READONLY', 'permission to read and write here', remedies.access],
  [['ENOSPC', 'EDQUOT'], 'MOBILITY_STORE_FULL', 'space to write', 'free space'],
  [noFolder, 'MOBILITY_STORE_ADDRESS', 'a folder, or a path where one can be made', remedies.address],
  [['EMFILE', 'ENFILE'], unavailable, 'to open a file', 'raise the limit of open files (ulimit -n)'],
  [noAnswer, unavailable, 'an answer from the folder and its disk', remedies.mountedDisk],
];
