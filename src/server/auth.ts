// Identifies the caller: the configured method finds the user of a token.
import type { JsonObject } from '../model/json.ts';
import { isForPages, isUserName, refusalOf, tokenHash, tokenId, type UserRecord, userNameOf } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { noteUse } from '../web/sessions.ts';
import type { AppParts } from './app-parts.ts';
import { type JoinCall, studyJoins, unknownToken } from './join-study.ts';
import { badRequest, forbidden } from './problem.ts';

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

export const maxTokenLength = 8192; // characters; signed tokens such as JWTs are much shorter

/** Basic authentication: the password is the token; the user name is not verified. */
export interface BasicToken {
  token: string;
  name: string;
}

/** The tokens in a header `Authorization`. `basic` may also be the user name and password for a proxy. */
export function headerTokens(authorization = ''): { bearer: string | null; basic: BasicToken | null } {
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
