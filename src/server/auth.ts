// Identifies callers: the configured method finds the user of a token. After that, a call counts against the limits of
// its caller.
import { line } from '../log/messages.ts';
import type { JsonObject } from '../model/json.ts';
import { isForPages, isUserName, refusalOf, tokenHash, tokenId, type UserRecord, userNameOf } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { noteUse } from '../web/sessions.ts';
import type { AppParts } from './app-parts.ts';
import type { Call } from './call.ts';
import type { CallerLimiter } from './caller-limits.ts';
import { type JoinCall, studyJoins, unknownToken } from './join-study.ts';
import { badRequest, forbidden, Problem } from './problem.ts';
import type { Route } from './routes/route.ts';

/** A method that identifies callers by tokens. To add one, such as `jwt`, write a function that returns this. */
export interface AuthMethod {
  /** The user of the token; null: there is no account yet. Throws a 403 `Problem` for an invalid token. */
  find(token: string): Promise<UserRecord | null>;
  /**
   * The name of the account that `/profile/create` may create for the token; null: it may create none. Throws a
   * `Problem` if the token is invalid, or if its study admits no new member.
   */
  nameToRegister(token: string, call: JoinCall): Promise<string | null>;
}

export type Server = AppParts & { limiter: CallerLimiter; auth: AuthMethod };

export function createAuthMethod({ config, store, now }: AppParts): AuthMethod {
  return config.auth === 'dev' ? devMethod(store, config.openRegistration) : tokenMethod(store, now);
}

/** The method for development: the token is the user name. */
function devMethod({ users }: Store, openRegistration: boolean): AuthMethod {
  const nameOf = (token: string): string => {
    const name = userNameOf(token);
    if (!isUserName(name)) throw forbidden('expected a user name of 1 to 254 printable characters');
    return name;
  };
  return {
    find: async (token) => users.byEmail(nameOf(token)),
    nameToRegister: async (token) => (openRegistration ? nameOf(token) : null),
  };
}

/**
 * The method for tokens made by `mobility users token`, and for tokens that apps made to join a study. It looks tokens
 * up by their hash, so the time of a comparison reveals nothing.
 */
function tokenMethod(store: Store, now: () => number): AuthMethod {
  const join = studyJoins(store, now);
  return {
    find: async (token) => {
      const hash = tokenHash(token);
      const record = await store.tokens.byHash(hash);
      if (record === null || isForPages(record)) throw forbidden(unknownToken, { token: tokenId(hash) });
      const refusal = refusalOf(record, now());
      if (refusal !== null) {
        const what = refusal.why === 'expired' ? 'has expired' : 'was revoked';
        const details = { token: tokenId(hash), user: record.user_id, ...refusal };
        throw forbidden(`this token ${what}; ask the operator for a new one`, details);
      }
      noteUse(store, record, now());
      return store.users.byUuid(record.user_id);
    },
    nameToRegister: async (token, call) => (await join(token, call))?.user_email ?? null,
  };
}

const maxTokenLength = 8192; // characters; signed tokens such as JWTs are much shorter

/** The tokens in a header `Authorization`. `basic`: a name, not verified, and a token, unless both are for a proxy. */
export function headerTokens(authorization = '') {
  const bearer = /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? null;
  const [, encoded = ''] = /^basic +([\w+/=-]+) *$/i.exec(authorization) ?? [];
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const [, name = '', token = ''] = /^([^:]*):(.+)$/s.exec(pair) ?? [];
  return { bearer, basic: token === '' ? null : { token, name } };
}

/**
 * The token of a call; null: it has none. `field`: the body's field that may hold it; null: no field may. Throws a 400
 * `Problem` if the token is not a string, or body and header have different tokens.
 */
export function tokenOf(body: JsonObject, field: string | null, inHeader: string | null): string | null {
  const inBody = (field === null ? null : body[field]) ?? null;
  if (inBody !== null && typeof inBody !== 'string') throw badRequest(`expected a string in "${field}"`);
  if (inBody !== null && inHeader !== null && inBody !== inHeader)
    throw badRequest('expected one token, found two that differ: in the body and in the header Authorization');
  return (inBody ?? inHeader) || null;
}

export function enterCaller(call: Call, caller: UserRecord, limiter: CallerLimiter): void {
  call.authenticated(caller);
  call.log.writeAll('INFO', [line.foundEmail(caller.user_email), line.userUuid(caller.uuid)]);
  countCaller(call, caller, limiter);
}

export function countCaller(call: Call, caller: UserRecord, limiter: CallerLimiter): void {
  limiter.countCall(caller);
  call.cleanups.push(limiter.openCall(caller.uuid));
  call.share.belongsTo(caller.uuid);
}

/** Authenticates the caller of one call before its body uses resources. */
export function authenticator({ auth, limiter, store: { users }, now }: Server, { registers }: Route, call: Call) {
  /** The account of a token. Throws a 403 `Problem` if the token is invalid or has no account. */
  async function find(token: string): Promise<UserRecord> {
    const user = await auth.find(token);
    // The log must not name a user whose erasure is running, since the erasure removes the name from the log.
    if (user === null || !(await users.isActive(user.uuid)))
      throw forbidden('no user is registered for this token; ask the operator for an account');
    return user;
  }

  /** Like `find`, but creates a missing account if the method allows it. Sets `update_ts` of the account to now. */
  async function register(token: string): Promise<UserRecord> {
    const name = await auth.nameToRegister(token, call);
    return (await users.register(name ?? (await find(token)).user_email, { now: now() })).user;
  }

  const self = {
    token: null as string | null, // the accepted token; null: none was accepted yet
    refusal: null as Problem | null, // why `admitIfKnown` refused a token; null: it refused none

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
      const caller = await (registers ? register(token) : find(token));
      self.token = token;
      enterCaller(call, caller, limiter);
      return caller;
    },

    /**
     * Like `admit`, but stores a 403 `Problem` in `refusal` and does not throw it: the password of the header may be
     * for a proxy, and a token in the body may follow.
     */
    async admitIfKnown({ token, name }: { token: string; name: string }): Promise<void> {
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
