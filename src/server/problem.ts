// Turns failures of calls into answers: problem details (RFC 9457).
import { STATUS_CODES } from 'node:http';
import { PartlyStored } from '../intake/put-batch.ts';
import type { JsonValue } from '../model/json.ts';
import { type ErrorCode, isMobilityError } from '../model/mobility-error.ts';

export const retryAfterSeconds = 5; // s until a caller should try again after a 503

interface ProblemOptions {
  code?: ErrorCode;
  headers?: Record<string, string>;
  members?: Record<string, JsonValue>; // further fields of the answer
  refusal?: TokenRefusal; // for the log and the operator; the answer does not contain it
  cause?: unknown;
}

/** A refused token. `user`, `why` and `since` are missing for an unknown token. */
interface TokenRefusal {
  token: string; // its id, as `mobility users tokens` lists it
  user?: string; // the UUID of its owner
  why?: string;
  since?: number;
  claimed?: string; // the user name that the caller sent with it
}

/** A failed call. The caller and the log get `detail`: it must not contain tokens or payloads. */
export class Problem extends Error {
  readonly status: number;
  readonly options: ProblemOptions;

  constructor(status: number, detail: string, options: ProblemOptions = {}) {
    super(detail, { cause: options.cause });
    this.name = 'Problem';
    this.status = status;
    this.options = options;
  }
}

export const badRequest = (detail: string): Problem => new Problem(400, detail, { code: 'MOBILITY_BAD_REQUEST' });

export const forbidden = (detail: string, refusal?: TokenRefusal): Problem =>
  new Problem(403, detail, { code: 'MOBILITY_FORBIDDEN', ...(refusal && { refusal }) });

export const methodNotAllowed = (allow: string, found: string): Problem =>
  new Problem(405, `expected ${allow.replaceAll(', ', ' or ')}, found ${found}`, { headers: { Allow: allow } });

export const tooLarge = (detail: string, limit: Record<string, number>): Problem =>
  new Problem(413, detail, { code: 'MOBILITY_BODY_TOO_LARGE', members: limit });

/** 429: nothing was done, and the same call may succeed after `seconds`. */
export function tooManyCalls(detail: string, seconds: number, members: Record<string, JsonValue> = {}): Problem {
  const headers = { 'Retry-After': String(Math.max(1, Math.ceil(seconds))) };
  return new Problem(429, detail, { code: 'MOBILITY_LIMIT', headers, members });
}

/** 503: nothing was done, and the same call may succeed later. */
export function unavailable(detail: string, code?: ErrorCode, cause?: unknown): Problem {
  const headers = { 'Retry-After': String(retryAfterSeconds) };
  return new Problem(503, detail, { headers, ...(code && { code }), cause });
}

const outages: ReadonlyMap<ErrorCode, string> = new Map([
  ['MOBILITY_STORE_FULL', 'the disk of the store is full'],
  ['MOBILITY_STORE_UNAVAILABLE', 'the store cannot be reached'],
  ['MOBILITY_STORE_BUSY', 'the store is busy'],
  ['MOBILITY_STORE_READONLY', 'the store cannot be written'],
  ['MOBILITY_STORE_CLOSED', 'the server is stopping'],
]);

const failed = 'the server failed; its operator finds the reason under the request id';
const nothingStored = 'nothing was stored by this call';

/** Who must act on a failed call. `limit`: no one, since a later call succeeds. */
export type Cause = 'caller' | 'limit' | 'server';

export const causeOf = ({ status }: Problem): Cause => (status >= 500 ? 'server' : status === 429 ? 'limit' : 'caller');

export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (!isMobilityError(error)) return new Problem(500, failed, { cause: error });
  const outage = outages.get(error.code);
  if (outage !== undefined) {
    const isPart = error instanceof PartlyStored;
    const stored = isPart ? 'only some entries of this call are stored, send all of them again' : nothingStored;
    return unavailable(`${outage}; ${stored}`, error.code, error);
  }
  if (error.code === 'MOBILITY_BAD_REQUEST') return badRequest(error.message);
  if (error.code === 'MOBILITY_FORBIDDEN') return forbidden(error.message);
  // An erasure of the caller began while this call was running.
  if (error.code === 'MOBILITY_USER_UNKNOWN' || error.code === 'MOBILITY_USER_EXISTS')
    return forbidden('no user is registered for this token any more; ask the operator for an account');
  return new Problem(500, failed, { code: error.code, cause: error });
}

export function problemResponse(problem: Problem, requestId: string): Response {
  const { status, message: detail, options } = problem;
  const { code, members } = options;
  const title = STATUS_CODES[status] ?? 'Error';
  const body = { type: 'about:blank', title, status, detail, code, ...members, request_id: requestId };
  const headers = { ...headersOf(requestId, 'application/problem+json'), ...options.headers };
  return new Response(JSON.stringify(body), { status, headers });
}

export function headersOf(requestId: string, type: string): Record<string, string> {
  return { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Request-Id': requestId };
}
