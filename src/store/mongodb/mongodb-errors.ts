import {
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoOperationTimeoutError,
  MongoServerError,
  MongoServerSelectionError,
  MongoWriteConcernError,
} from 'mongodb';
import { errorText, MobilityError } from '../../model/mobility-error.ts';

/** Errors while the server or its primary is briefly unavailable: a later try may succeed. */
const transientCodes = new Set([
  ...[6, 7, 89, 9001], // HostUnreachable, HostNotFound, NetworkTimeout, SocketException
  ...[91, 11600, 11601, 11602], // ShutdownInProgress, InterruptedAtShutdown, Interrupted, InterruptedDueToReplStateChange
  ...[189, 10107, 13435, 13436], // PrimarySteppedDown, NotWritablePrimary, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary
  ...[64, 134, 239, 246], // WriteConcernFailed, ReadConcernMajorityNotAvailableYet, SnapshotTooOld, SnapshotUnavailable
  ...[225, 251, 290, 262], // TransactionTooOld, NoSuchTransaction, two time limits of the server
  13388, // StaleConfig
]);

const conflictCodes = new Set([24, 112, 11000]); // LockTimeout, WriteConflict, DuplicateKey

const outOfDiskSpace = 14031;

/** Missing rights or wrong credentials. 8000 is from MongoDB Atlas. */
const refusalCodes = new Set([13, 18, 8000]);

const transientLabels = ['TransientTransactionError', 'RetryableWriteError', 'UnknownTransactionCommitResult'];

/** The command that makes a server with `--replSet` a replica set with one member. */
export const initiation = "mongosh --eval 'rs.initiate()'";

/** Unwraps a bulk write error, which hides the class and the labels of the error within. */
function innerError(error: unknown): unknown {
  const inner: unknown = error instanceof MongoBulkWriteError ? error.errorResponse : null;
  return inner instanceof Error ? inner : error;
}

function codeOf(error: unknown): number | null {
  const inner = innerError(error);
  return inner instanceof MongoError && typeof inner.code === 'number' ? inner.code : null;
}

export const isConflict = (error: unknown): boolean => conflictCodes.has(codeOf(error)!);

/** True if it is unknown whether the commit took effect. The same commit may be sent again. */
export function isUnknownCommit(error: unknown): boolean {
  return (error instanceof MongoError && error.hasErrorLabel('UnknownTransactionCommitResult')) || isUnreachable(error);
}

export function isUnreachable(error: unknown): boolean {
  const inner = innerError(error);
  return unreachableKinds.some((kind) => inner instanceof kind) || isSocketError(inner);
}

const unreachableKinds = [MongoNetworkError, MongoServerSelectionError, MongoOperationTimeoutError];
const socketCodes = /^(EPIPE|ECONN|ETIMEDOUT|EHOST|ENET|ERR_STREAM_|ERR_SOCKET_)/;

/** True for errors of sockets and of host lookup, which the driver may pass on unwrapped. */
function isSocketError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
  return socketCodes.test(code) || /^(query|getaddrinfo)/.test(syscall);
}

export function isTransient(error: unknown): boolean {
  const inner = innerError(error);
  if (isUnreachable(inner)) return true;
  if (!(inner instanceof MongoError) || codeOf(inner) === outOfDiskSpace) return false;
  if (isConflict(inner) || inner instanceof MongoWriteConcernError) return true;
  return transientCodes.has(codeOf(inner)!) || transientLabels.some((label) => inner.hasErrorLabel(label));
}

/** Returns an error unchanged if neither the MongoDB server nor its connection caused it. */
export function toStoreError(error: unknown, address: string): unknown {
  if (!(error instanceof MongoError)) return isSocketError(error) ? unavailable(error, address) : error;
  const cause = { cause: error };
  if (codeOf(error) === outOfDiskSpace) {
    const message = `expected space on the disk of ${address}, found none; nothing was written: free space and try again`;
    return new MobilityError('MOBILITY_STORE_FULL', message, cause);
  }
  if (isConflict(error)) {
    const message = `expected to write to ${address}, found conflicting writers: ${errorText(error)}; nothing was written: try again`;
    return new MobilityError('MOBILITY_STORE_BUSY', message, cause);
  }
  const isRefusal = error instanceof MongoServerError && refusalCodes.has(codeOf(error)!);
  return isTransient(error) || isRefusal ? unavailable(error, address) : error;
}

function unavailable(error: unknown, address: string): MobilityError {
  const message =
    `expected an answer from ${address}, found: ${errorText(error)}${selectionHint(innerError(error))}; ` +
    'no write was confirmed: try again';
  return new MobilityError('MOBILITY_STORE_UNAVAILABLE', message, { cause: error });
}

/** Adds likely causes, since the driver's message does not name a missing replica set. */
function selectionHint(error: unknown): string {
  if (!(error instanceof MongoServerSelectionError)) return '';
  const servers = [...(error.reason?.servers.values() ?? [])];
  return servers.some(({ type }) => type === 'RSGhost')
    ? ` (the server belongs to no replica set yet: run once \`${initiation}\`)`
    : ' (check host, port, tls and replicaSet in the address)';
}
