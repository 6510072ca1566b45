// Authenticates a caller before the body uses resources. After that, the call counts against the caller's limits.
import { line } from '../log/messages.ts';
import type { UserRecord } from '../model/user.ts';
import type { AppParts } from './app-parts.ts';
import { type AuthMethod, type BasicToken, maxTokenLength } from './auth.ts';
import type { Call } from './call.ts';
import type { CallerLimiter } from './caller-limits.ts';
import { badRequest, forbidden, Problem } from './problem.ts';
import type { Route } from './routes/route.ts';

/** What identifies callers, and what limits them. */
export interface Auth {
  method: AuthMethod;
  limiter: CallerLimiter;
}

/** Names the caller of a call in the log, and counts the call against the caller's limits. */
export function enterCaller(call: Call, caller: UserRecord, limiter: CallerLimiter): void {
  call.authenticated(caller);
  call.log.writeAll('INFO', [line.foundEmail(caller.user_email), line.userUuid(caller.uuid)]);
  countCaller(call, caller, limiter);
}

export function countCaller(call: Call, caller: UserRecord, limiter: CallerLimiter): void {
  limiter.countCall(caller);
  call.cleanups.push(limiter.openCall(caller.uuid, 'calls'));
  call.share.belongsTo(caller.uuid);
}

export function authenticator({ method, limiter }: Auth, { store, now }: AppParts, route: Route, call: Call) {
  const { users } = store;

  /** Returns the account of a token. Throws a 403 `Problem` if the token is invalid or has no account. */
  async function find(token: string): Promise<UserRecord> {
    const user = await method.find(token);
    // The log must not name a user whose erasure is running, since the erasure removes the name from the log.
    if (user === null || !(await users.isActive(user.uuid)))
      throw forbidden('no user is registered for this token; ask the operator for an account');
    return user;
  }

  /** Like `find`, but creates a missing account if the method allows it. Sets `update_ts` of the account to now. */
  async function register(token: string): Promise<UserRecord> {
    const name = await method.nameToRegister(token, call);
    return (await users.register(name ?? (await find(token)).user_email, { now: now() })).user;
  }

  const self = {
    /** The accepted token; null: none was accepted yet. */
    token: null as string | null,
    /** Why `admitIfKnown` refused a token; null: it refused none. */
    refusal: null as Problem | null,

    /**
     * Returns the account of the token. Throws a `Problem`: 403 for an invalid token, 400 for a second, different
     * token, 429 if a limit of the caller is exceeded.
     */
    async admit(token: string): Promise<UserRecord> {
      if (call.caller !== null && token === self.token) return call.caller;
      if (call.caller !== null)
        throw badRequest(
          'expected one token, found two that differ in the header, the query or the body: send one of them',
        );
      if (token.length > maxTokenLength) throw forbidden(`expected a token of at most ${maxTokenLength} characters`);
      const caller = await (route.registers ? register(token) : find(token));
      self.token = token;
      enterCaller(call, caller, limiter);
      return caller;
    },

    /**
     * Like `admit`, but stores a 403 `Problem` in `refusal`: the password may be for a proxy, and the body has a token.
     */
    async admitIfKnown({ token, name }: BasicToken): Promise<void> {
      try {
        await self.admit(token);
      } catch (error) {
        if (!(error instanceof Problem && error.status === 403)) throw error;
        const { refusal } = error.options;
        self.refusal = forbidden(error.message, refusal && { ...refusal, claimed: name });
      }
    },
  };
  return self;
}
