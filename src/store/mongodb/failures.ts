// Classifies errors of the driver: retry, unreachable, full, or a programming mistake.
import {
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoOperationTimeoutError,
  MongoServerError,
  MongoServerSelectionError,
  MongoWriteConcernError,
} from 'mongodb';
import { errorText, MobilityError } from '../../model/errors.ts';

/**
 * Codes after which the same statement may succeed later: fail-over, shutdown, lost connections, conflicts, slow
 * majorities.
 */
const passingCodes = new Set([
  6, // HostUnreachable
  7, // HostNotFound
  24, // LockTimeout
  64, // WriteConcernFailed
  89, // NetworkTimeout
  91, // ShutdownInProgress
  112, // WriteConflict
  134, // ReadConcernMajorityNotAvailableYet
  189, // PrimarySteppedDown
  225, // TransactionTooOld
  246, // SnapshotUnavailable
  251, // NoSuchTransaction
  262, // ExceededTimeLimit
  290, // TransactionExceededLifetimeLimitSeconds
  9001, // SocketException
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11601, // Interrupted: by a process that took over a user, or by an operator
  11602, // InterruptedDueToReplStateChange
  13388, // StaleConfig
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
]);

const passingLabels = ['TransientTransactionError', 'RetryableWriteError', 'UnknownTransactionCommitResult'];
const outOfDiskSpace = 14031;

/** The server's code for an identity that already exists. */
const duplicateKey = 11000;

/**
 * Rows that refer to parts of a payload which are not there: the row was replaced between two reads, or the store is
 * damaged.
 */
export class PartsMissingError extends Error {
  constructor(expected: number, found: number, place: string) {
    super(`expected ${expected} parts of a payload in ${place}, found ${found}`);
    this.name = 'PartsMissingError';
  }
}

/** Rows that a transaction changes by what was read before it are no longer as they were. Another try reads them. */
export class StaleReadError extends Error {
  constructor(expected: number, found: number, place: string) {
    super(`expected ${expected} rows of ${place} as they were read, found ${found}`);
    this.name = 'StaleReadError';
  }
}

/**
 * What really happened: a bulk write wraps errors of the connection in one of its own, without their kind and labels.
 */
function realError(error: unknown): unknown {
  if (!(error instanceof MongoBulkWriteError)) return error;
  const inner: unknown = error.errorResponse;
  return inner instanceof MongoError ? inner : error;
}

/** True when the identity was written by another at the same moment. */
export function isDuplicateKey(error: unknown): boolean {
  return codeOf(error) === duplicateKey;
}

/** True when the outcome of a commit is unknown: the same commit may be sent again. */
export function isUnknownCommit(error: unknown): boolean {
  return error instanceof MongoError && error.hasErrorLabel('UnknownTransactionCommitResult');
}

/** True when the server stopped a statement at its `maxTimeMS`. */
export function isTimeLimit(error: unknown): boolean {
  return codeOf(error) === 50;
}

/** True when the server could not be reached, or the connection broke. */
export function isOutOfReach(error: unknown): boolean {
  const real = realError(error);
  return [MongoNetworkError, MongoServerSelectionError, MongoOperationTimeoutError].some(
    (kind) => real instanceof kind,
  );
}

/** True when trying again may help. */
export function isPassing(error: unknown): boolean {
  const real = realError(error);
  if (!(real instanceof MongoError)) return false;
  const code = codeOf(real);
  if (code === outOfDiskSpace) return false;
  if (isOutOfReach(real) || real instanceof MongoWriteConcernError) return true;
  return passingLabels.some((label) => real.hasErrorLabel(label)) || (code !== null && passingCodes.has(code));
}

function codeOf(error: unknown): number | null {
  const real = realError(error);
  return real instanceof MongoError && typeof real.code === 'number' ? real.code : null;
}

/** The error that a caller of the store meets. What is neither passing nor a matter of the server stays as it is. */
export function toStoreError(error: unknown, address: string): unknown {
  if (!(error instanceof MongoError)) return isNameFailure(error) ? outOfReach(error, address) : error;
  if (codeOf(error) === outOfDiskSpace) {
    const message = `the disk of ${address} is full; nothing was acknowledged: free space there and try again`;
    return new MobilityError('MOBILITY_STORE_FULL', message, { cause: error });
  }
  return isPassing(error) || isRefusal(error) ? outOfReach(error, address) : error;
}

/** The command that makes a server which was started for it a replica set of one. */
export const initiation = "mongosh --eval 'rs.initiate()'";

function outOfReach(error: unknown, address: string): MobilityError {
  const hint = selectionHint(realError(error));
  const message =
    `expected an answer from ${address}, found: ${errorText(error)}${hint}; nothing was acknowledged, ` +
    'it may be tried again';
  return new MobilityError('MOBILITY_STORE_UNAVAILABLE', message, { cause: error });
}

/** The driver does not report that it reached a server of another kind than the address says. */
function selectionHint(error: unknown): string {
  if (!(error instanceof MongoServerSelectionError)) return '';
  const servers = [...(error.reason?.servers.values() ?? [])];
  return servers.some(({ type }) => type === 'RSGhost')
    ? ` (the server belongs to no replica set yet: run once \`${initiation}\`)`
    : ' (are host, port, tls and replicaSet right?)';
}

/** The hosts behind a `mongodb+srv` address could not be looked up: such errors come as they are. */
function isNameFailure(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && /^(query|getaddrinfo)/.test(String(error.syscall));
}

/** The server refuses this client: wrong credentials, missing rights. */
function isRefusal(error: MongoError): boolean {
  return error instanceof MongoServerError && (error.code === 13 || error.code === 18 || error.code === 8000);
}

/** The error of an address that the driver cannot read. */
export function toAddressError(error: unknown, shown: string): MobilityError {
  return new MobilityError(
    'MOBILITY_STORE_ADDRESS',
    `expected an address such as mongodb://host:27017/mobility?replicaSet=rs0, found ${shown}: ${errorText(error)}`,
    { cause: error },
  );
}
