// Identifies callers by their tokens, and counts calls against the limits of their callers.
import { line } from '../log/messages.ts';
import { type JsonObject, kindOf } from '../model/json.ts';
import { isForPages, isUserName, refusalOf, tokenHash, tokenId, type UserRecord, userNameOf } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { noteUse } from '../web/sessions.ts';
import type { AppParts } from './app-parts.ts';
import type { Call } from './call.ts';
import type { CallerLimiter } from './caller-limits.ts';
import { type JoinCall, studyJoins, unknownToken } from './join-study.ts';
import { badRequest, forbidden, Problem } from './problem.ts';
import type { Route } from './routes/route.ts';

/** A way to identify callers by tokens. A new way, such as `jwt`, must implement this interface. */
export interface AuthMethod {
  /** Returns null if a valid token has no account. Throws a 403 `Problem` if the token is invalid. */
  find(token: string): Promise<UserRecord | null>;
  /** Returns the name that `/profile/create` may register; null: none. Throws a `Problem` to refuse. */
  nameToRegister(token: string, call: JoinCall): Promise<string | null>;
}

export type Server = AppParts & { limiter: CallerLimiter; auth: AuthMethod };

export function createAuthMethod({ config, store, now }: AppParts): AuthMethod {
  return config.auth === 'dev' ? devMethod(store, config.openRegistration) : tokenMethod(store, now);
}

function devMethod({ users }: Store, openRegistration: boolean): AuthMethod {
  const nameOf = (token: string): string => {
    const name = userNameOf(token);
    if (!isUserName(name)) throw forbidden('expected a user name of 1 to 254 printable characters, found another text');
    return name;
  };
  return {
    find: async (token) => users.byEmail(nameOf(token)),
    nameToRegister: async (token) => (openRegistration ? nameOf(token) : null),
  };
}

/** Looks tokens up by their hash, so the time of a comparison reveals nothing. */
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

/** Returns the tokens in a header `Authorization`. The name in `basic` is not verified. */
export function headerTokens(authorization = '') {
  const bearer = /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? null;
  const [, encoded = ''] = /^basic +([\w+/=-]+) *$/i.exec(authorization) ?? [];
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const [, name = '', token = ''] = /^([^:]*):(.+)$/s.exec(pair) ?? [];
  return { bearer, basic: token === '' ? null : { token, name } };
}

/** Throws a 400 `Problem` if a token is not a string, or body and header have different tokens. */
export function tokenOf(body: JsonObject, field: string | null, inHeader: string | null): string | null {
  const inBody = (field === null ? null : body[field]) ?? null;
  if (inBody !== null && typeof inBody !== 'string')
    throw badRequest(`expected a text in "${field}", found ${kindOf(inBody)}`);
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

export function authenticator({ auth, limiter, store: { users }, now }: Server, { registers }: Route, call: Call) {
  async function find(token: string): Promise<UserRecord> {
    const user = await auth.find(token);
    // A running erasure removes the user's name from the log, so the log must not name them again.
    if (user === null || !(await users.isActive(user.uuid)))
      throw forbidden('no user is registered for this token; ask the operator for an account');
    return user;
  }

  /** Like `find`, but sets `update_ts`, and creates a missing account if `auth` allows that. */
  async function register(token: string): Promise<UserRecord> {
    const name = await auth.nameToRegister(token, call);
    return (await users.register(name ?? (await find(token)).user_email, { now: now() })).user;
  }

  const self = {
    token: null as string | null, // the accepted token
    refusal: null as Problem | null, // why `admitIfKnown` refused a token

    /** Throws a `Problem`: 403 for an invalid token, 400 for a second token, 429 at a limit. */
    async admit(token: string): Promise<UserRecord> {
      if (call.caller !== null && token === self.token) return call.caller;
      if (call.caller !== null)
        throw badRequest(
          'expected one token, found two that differ in the header, the query or the body: send one of them',
        );
      if (token.length > maxTokenLength)
        throw forbidden(`expected a token of at most ${maxTokenLength} characters, found ${token.length}`);
      const caller = await (registers ? register(token) : find(token));
      self.token = token;
      enterCaller(call, caller, limiter);
      return caller;
    },

    /**
     * Like `admit`, but does not throw a 403: the password may be for a proxy, and the body may
     * still contain a token. Keeps the 403 in `refusal`.
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
