// Failures as answers: RFC 9457 problem details, and which status each error of the core becomes.
import { STATUS_CODES } from 'node:http';
import { PartlyStored } from '../intake/put-batch.ts';
import type { JsonValue } from '../model/json.ts';
import { type ErrorCode, isMobilityError, type MobilityError } from '../model/mobility-error.ts';

/** Seconds after which a client that got a 503 may try again. */
export const retryAfterSeconds = 5;

/** What a problem answer says besides its status and detail. */
export interface ProblemOptions {
  /** The code of the error that caused it, if there is one. */
  code?: ErrorCode;
  headers?: Record<string, string>;
  /** More members of the answer. */
  members?: Record<string, JsonValue>;
  /** The token that was refused, for the operator: nothing of it goes to the caller. */
  refusal?: TokenRefusal;
  cause?: unknown;
}

/** A refused token. */
export interface TokenRefusal {
  /** Its id, as `mobility users tokens` lists it. */
  token: string;
  /** UUID of the user whose token it was, and why and since when it is refused; absent: the token is not known. */
  user?: string;
  why?: string;
  since?: number;
  /** The name that the caller claimed beside it. */
  claimed?: string;
}

/**
 * A call that ends without its result. `detail` goes to the caller and into the log: no tokens, payloads or internals
 * in it.
 */
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

/** 400: the request is not what the route expects. Say what was expected and what was found. */
export function badRequest(detail: string): Problem {
  return new Problem(400, detail, { code: 'MOBILITY_BAD_REQUEST' });
}

/** 403: the caller is not known, or may not do this. */
export function forbidden(detail: string, refusal?: TokenRefusal): Problem {
  return new Problem(403, detail, { code: 'MOBILITY_FORBIDDEN', ...(refusal && { refusal }) });
}

/** 405, with the methods that the path has. */
export const methodNotAllowed = (allow: string, found: string): Problem =>
  new Problem(405, `expected ${allow.replaceAll(', ', ' or ')}, found ${found}`, { headers: { Allow: allow } });

/** 413, with the limit in the answer. */
export function tooLarge(detail: string, limit: Record<string, number>): Problem {
  return new Problem(413, detail, { code: 'MOBILITY_BODY_TOO_LARGE', members: limit });
}

/** 429: the caller's own calls are too many now; nothing was done, and the same call may succeed after `seconds`. */
export function tooManyCalls(detail: string, seconds: number, members: Record<string, JsonValue> = {}): Problem {
  const headers = { 'Retry-After': String(Math.max(1, Math.ceil(seconds))) };
  return new Problem(429, detail, { code: 'MOBILITY_LIMIT', headers, members });
}

/** 503: nothing was done; the same call may succeed later. */
export function unavailable(detail: string, code?: ErrorCode, cause?: unknown): Problem {
  const headers = { 'Retry-After': String(retryAfterSeconds) };
  return new Problem(503, detail, { headers, ...(code === undefined ? {} : { code }), cause });
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

/** Who has to act on a failed call: its caller, none because time solves it (`limit`), or the operator (`server`). */
export type Cause = 'caller' | 'limit' | 'server';

/** The cause of a problem. The status of an answer does not say it: some apps take no 4xx. */
export function causeOf({ status }: Problem): Cause {
  if (status >= 500) return 'server';
  return status === 429 ? 'limit' : 'caller';
}

/** The problem for any thrown value. An unexpected error is a 500 without details. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (isMobilityError(error)) return problemOfCore(error);
  return new Problem(500, failed, { cause: error });
}

function problemOfCore(error: MobilityError): Problem {
  const outage = outages.get(error.code);
  if (outage !== undefined) {
    const isPart = error instanceof PartlyStored;
    const stored = isPart ? 'only some entries of this call are stored, send all of them again' : nothingStored;
    return unavailable(`${outage}; ${stored}`, error.code, error);
  }
  if (error.code === 'MOBILITY_BAD_REQUEST') return badRequest(error.message);
  if (error.code === 'MOBILITY_FORBIDDEN') return forbidden(error.message);
  // The erasure of the caller began after this call had found them.
  if (error.code === 'MOBILITY_USER_UNKNOWN' || error.code === 'MOBILITY_USER_EXISTS')
    return forbidden('no user is registered for this token any more; ask the operator for an account');
  return new Problem(500, failed, { code: error.code, cause: error });
}

/** The answer to a call with a problem. */
export function problemResponse(problem: Problem, requestId: string): Response {
  const { code, headers, members } = problem.options;
  const body = {
    type: 'about:blank',
    title: STATUS_CODES[problem.status] ?? 'Error',
    status: problem.status,
    detail: problem.message,
    code,
    ...members,
    request_id: requestId,
  };
  return new Response(JSON.stringify(body), {
    status: problem.status,
    headers: {
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
      'X-Request-Id': requestId,
      ...headers,
    },
  });
}
