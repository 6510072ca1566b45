// Identifies callers by their tokens, and counts calls against the limits of their callers. Lets
// people join a study with a token that their app made.
import { line } from '../log/messages.ts';
import { type JsonObject, kindOf } from '../model/json.ts';
import { joinWindow, readStudyToken } from '../model/study.ts';
import { isForPages, isUserName, refusalOf, tokenHash, tokenId, type UserRecord, userNameOf } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { randomText, typedLetters } from '../upkeep/enrol-member.ts';
import { WindowCounts } from '../util/rate-counts.ts';
import { noteUse } from '../web/sessions.ts';
import type { AppParts } from './app-parts.ts';
import type { Call } from './call.ts';
import type { CallerLimiter } from './caller-limits.ts';
import { badRequest, forbidden, Problem, tooManyCalls } from './problem.ts';
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

type JoinCall = Pick<Call, 'network' | 'log'>;

// People who may join from one network within an hour, per process. A school class behind one
// address can join. An attacker needs several networks to reach the limit of a study, 200 an hour.
const joinsPerNetwork = 30;

/** The returned function creates the account for a new token of an app; null for other tokens. */
function studyJoins(store: Pick<Store, 'tokens' | 'studies'>, now: () => number) {
  const joins = new WindowCounts(joinWindow, now);
  return async function join(token: string, { network, log }: JoinCall): Promise<UserRecord | null> {
    const claims = readStudyToken(token);
    const hash = tokenHash(token);
    if (claims === null || (await store.tokens.byHash(hash)) !== null) return null;
    if (network !== null && joins.of(network) >= joinsPerNetwork)
      throw tooMany('from this network', joins.left(), 'joins_per_origin');
    if (network !== null) joins.add(network);
    const record = { hash, created_ts: now(), expires_ts: null, kind: 'study' as const };
    for (;;) {
      // The random end of the name reveals nothing about the token.
      const email = `${claims.study}_${claims.subgroup}_${randomText(8, typedLetters)}`;
      const result = await store.studies.enrol({ ...claims, email, token: record, now: now() });
      if ('known' in result) return result.known;
      if ('enrolled' in result) {
        const { study, lastHour } = result;
        // The operator should see unusual numbers before the study refuses people.
        if ([Math.ceil(study.hour_limit / 2), study.hour_limit].includes(lastHour))
          log.write('WARNING', line.manyJoined(study.name, lastHour, study.hour_limit));
        return result.enrolled;
      }
      if (result.refused === 'name_taken') continue;
      if (network !== null) joins.add(network, -1);
      throw result.refused === 'hour_full'
        ? tooMany('this study', joinWindow, 'joins_per_hour')
        : forbidden(unknownToken);
    }
  };
}

const tooMany = (where: string, seconds: number, limit: string): Problem =>
  tooManyCalls(`too many people joined ${where} within the hour; try again later`, seconds, { limit });

/**
 * The message is the same for all reasons, so that it does not reveal which studies and subgroups
 * exist. Beyond the hourly limit of a study, the answer is a 429 instead, so that phones try again.
 */
const unknownToken = 'this token is not known, or its study admits no new members now; ask the operator for a new one';

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

    /** Like `admit`, but keeps a 403 in `refusal`: the password may be a proxy's, not the token. */
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
