/** All codes. Codes never change; messages may. docs/errors.md explains each code. */
export const errorCodes = [
  'MOBILITY_BAD_REQUEST',
  'MOBILITY_BODY_TOO_LARGE',
  'MOBILITY_CONFIG',
  'MOBILITY_CONVERSION',
  'MOBILITY_FORBIDDEN',
  'MOBILITY_LEASE_HELD',
  'MOBILITY_LEASE_LOST',
  'MOBILITY_LIMIT',
  'MOBILITY_LOG_UNREADABLE',
  'MOBILITY_NO_CONVERTER',
  'MOBILITY_OUTPUT',
  'MOBILITY_SOURCE',
  'MOBILITY_STORE_ADDRESS',
  'MOBILITY_STORE_BUSY',
  'MOBILITY_STORE_CLOSED',
  'MOBILITY_STORE_DAMAGED',
  'MOBILITY_STORE_FULL',
  'MOBILITY_STORE_READONLY',
  'MOBILITY_STORE_UNAVAILABLE',
  'MOBILITY_STORE_VERSION',
  'MOBILITY_UNSUPPORTED',
  'MOBILITY_USAGE',
  'MOBILITY_USER_EXISTS',
  'MOBILITY_USER_UNKNOWN',
] as const;

/** A code such as `MOBILITY_USAGE`, for programs that handle an error. */
export type ErrorCode = (typeof errorCodes)[number];

/** An error that callers may handle. Programming mistakes are `TypeError`s instead. */
export class MobilityError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'MobilityError';
    this.code = code;
  }
}

export const usageError = (message: string, options?: { cause?: unknown }): MobilityError =>
  new MobilityError('MOBILITY_USAGE', message, options);

/** True if `error` is a `MobilityError`, and has one of `codes` if any are given. */
export function isMobilityError(error: unknown, ...codes: ErrorCode[]): error is MobilityError {
  return error instanceof MobilityError && (codes.length === 0 || codes.includes(error.code));
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export const codedText = (error: unknown): string =>
  isMobilityError(error) ? `${error.code}: ${error.message}` : errorText(error);

export function stackText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.stack ?? error.message;
  return error.cause === undefined ? own : `${own}\ncaused by ${stackText(error.cause)}`;
}
