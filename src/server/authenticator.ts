// Authenticates the caller of a call before its body uses resources; from then on, the call counts as theirs.
import { line } from '../log/messages.ts';
import type { UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { type AuthMethod, type BasicToken, findCaller, maxTokenLength, registerCaller } from './auth.ts';
import type { Call } from './call.ts';
import type { CallerCounts } from './caller-limits.ts';
import { badRequest, forbidden, Problem } from './problem.ts';
import type { Route } from './routes/route.ts';

/** What authentication needs of the server. */
export interface AuthParts {
  method: AuthMethod;
  users: Store['users'];
  /** Seconds since the epoch. */
  now: () => number;
  counts: CallerCounts;
}

/** Authenticates the caller of one call. */
export class Authenticator {
  readonly #parts: AuthParts;
  readonly #route: Route;
  readonly #call: Call;
  readonly #origin: string | null;
  /** The accepted token; null before there is one. */
  token: string | null = null;
  /** Why `admitIfKnown` refused a token; null: it did not. */
  refusal: Problem | null = null;

  /** `origin`: the network of the caller; null: not known. */
  constructor(parts: AuthParts, route: Route, call: Call, origin: string | null) {
    this.#parts = parts;
    this.#route = route;
    this.#call = call;
    this.#origin = origin;
  }

  /**
   * Returns the account of the token. Throws `Problem`s: 403 for an invalid token, 400 for a second token that differs,
   * 429 beyond a limit of the caller.
   */
  async admit(token: string): Promise<UserRecord> {
    const call = this.#call;
    if (call.caller !== null && token === this.token) return call.caller;
    if (call.caller !== null) throw badRequest('expected one token, found two that differ');
    if (token.length > maxTokenLength) throw forbidden(`expected a token of at most ${maxTokenLength} characters`);
    const { method, users, now, counts } = this.#parts;
    const caller = await (this.#route.registers
      ? registerCaller(method, users, token, { now: now(), origin: this.#origin, log: call.log })
      : findCaller(method, users, token));
    this.token = token;
    call.authenticated(caller);
    call.log.writeAll('INFO', [line.foundEmail(caller.user_email), line.userUuid(caller.uuid)]);
    counts.call(caller);
    call.leave.push(counts.enter(caller.uuid, 'calls'));
    call.share.belongsTo(caller.uuid);
    return caller;
  }

  /** Like `admit`, for a text that may be meant for somebody else: a 403 `Problem` becomes `refusal`. */
  async admitIfKnown({ token, name }: BasicToken): Promise<void> {
    try {
      await this.admit(token);
    } catch (error) {
      if (!(error instanceof Problem && error.status === 403)) throw error;
      const { refusal } = error.options;
      this.refusal = forbidden(error.message, refusal && { ...refusal, claimed: name });
    }
  }
}
