// Errors of the MongoDB driver: which may pass, and what the caller of the store gets instead.
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

/** Codes of the server after which the same statement may succeed later. */
const passingCodes = new Set([
  6, // HostUnreachable
  7, // HostNotFound
  64, // WriteConcernFailed
  89, // NetworkTimeout
  91, // ShutdownInProgress
  134, // ReadConcernMajorityNotAvailableYet
  189, // PrimarySteppedDown
  225, // TransactionTooOld
  239, // SnapshotTooOld
  246, // SnapshotUnavailable
  251, // NoSuchTransaction
  262, // ExceededTimeLimit
  290, // TransactionExceededLifetimeLimitSeconds
  9001, // SocketException
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11601, // Interrupted
  11602, // InterruptedDueToReplStateChange
  13388, // StaleConfig
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
]);

/** Codes of the server for a conflict with another writer. */
const conflictCodes = new Set([
  24, // LockTimeout
  112, // WriteConflict
  11000, // DuplicateKey
]);

const outOfDiskSpace = 14031;

/** Codes with which the server refuses a client: missing rights, wrong credentials (the last: of Atlas). */
const refusalCodes = new Set([13, 18, 8000]);

const passingLabels = ['TransientTransactionError', 'RetryableWriteError', 'UnknownTransactionCommitResult'];

/** The command that turns a server that was started with `--replSet` into a replica set of one member. */
export const initiation = "mongosh --eval 'rs.initiate()'";

/** A bulk write wraps an error of the connection in an error without its class and labels: returns the inner error. */
function innerError(error: unknown): unknown {
  if (!(error instanceof MongoBulkWriteError)) return error;
  const inner: unknown = error.errorResponse;
  return inner instanceof Error ? inner : error;
}

function codeOf(error: unknown): number | null {
  const inner = innerError(error);
  return inner instanceof MongoError && typeof inner.code === 'number' ? inner.code : null;
}

/** True if the transaction conflicts with another writer, or violates a unique index. */
export function isConflict(error: unknown): boolean {
  return conflictCodes.has(codeOf(error)!);
}

/** True if it is unknown whether a commit took effect. The same commit may be sent again. */
export function isUnknownCommit(error: unknown): boolean {
  return (error instanceof MongoError && error.hasErrorLabel('UnknownTransactionCommitResult')) || isUnreachable(error);
}

/** True if the server was unreachable, or the connection was lost. */
export function isUnreachable(error: unknown): boolean {
  const inner = innerError(error);
  const kinds = [MongoNetworkError, MongoServerSelectionError, MongoOperationTimeoutError];
  return kinds.some((kind) => inner instanceof kind) || isSocketError(inner);
}

/** True for errors of sockets and of the lookup of hosts: the driver passes some on as they are. */
function isSocketError(error: unknown): boolean {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return false;
  return (
    /^(EPIPE|ECONN|ETIMEDOUT|EHOST|ENET)/.test(String(error.code)) || /^(query|getaddr)/.test(String(error.syscall))
  );
}

/** True if another try may succeed. */
export function isPassing(error: unknown): boolean {
  const inner = innerError(error);
  if (isUnreachable(inner)) return true;
  if (!(inner instanceof MongoError) || codeOf(inner) === outOfDiskSpace) return false;
  if (isConflict(inner) || inner instanceof MongoWriteConcernError) return true;
  return passingCodes.has(codeOf(inner)!) || passingLabels.some((label) => inner.hasErrorLabel(label));
}

/** The error for the caller of the store. An error that is no failure of the server is returned as it is. */
export function toStoreError(error: unknown, address: string): unknown {
  if (!(error instanceof MongoError)) return isSocketError(error) ? unavailable(error, address) : error;
  if (codeOf(error) === outOfDiskSpace) {
    const message = `expected space on the disk of ${address}, found none; nothing was written: free space and try again`;
    return new MobilityError('MOBILITY_STORE_FULL', message, { cause: error });
  }
  if (isConflict(error)) {
    const message = `expected to write to ${address}, found other writers in the way: ${errorText(error)}; nothing was written: try again`;
    return new MobilityError('MOBILITY_STORE_BUSY', message, { cause: error });
  }
  const isRefusal = error instanceof MongoServerError && refusalCodes.has(codeOf(error)!);
  return isPassing(error) || isRefusal ? unavailable(error, address) : error;
}

function unavailable(error: unknown, address: string): MobilityError {
  const message =
    `expected an answer from ${address}, found: ${errorText(error)}${selectionHint(innerError(error))}; ` +
    'nothing was acknowledged: try again';
  return new MobilityError('MOBILITY_STORE_UNAVAILABLE', message, { cause: error });
}

/** What to check if the driver finds no server; it does not say that it reached a server without a replica set. */
function selectionHint(error: unknown): string {
  if (!(error instanceof MongoServerSelectionError)) return '';
  const servers = [...(error.reason?.servers.values() ?? [])];
  return servers.some(({ type }) => type === 'RSGhost')
    ? ` (the server belongs to no replica set yet: run once \`${initiation}\`)`
    : ' (are host, port, tls and replicaSet right?)';
}
