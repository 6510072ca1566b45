// Identifies the caller: the configured method maps a token to a user name or UUID, and the registry maps that to a
// user.
import type { Config } from '../config.ts';
import type { JsonObject } from '../model/json.ts';
import { isForPages, isUserName, refusalOf, tokenHash, tokenId, type UserRecord, userNameOf } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { noteUse } from '../web/sessions.ts';
import { type JoinedFrom, studyJoins, unknownToken } from './join-study.ts';
import { badRequest, forbidden, type Problem } from './problem.ts';

/** Whom a token names. */
export type Named = { email: string } | { uuid: string };

/** A method that identifies the caller by a token. A further method, such as `jwt`, is a function that returns this. */
export interface AuthMethod {
  /** Whom the token names, whether or not they have an account. Throws a 403 `Problem` for a token that is not good. */
  identify(token: string): Promise<Named>;
  /** True if `/profile/create` creates an account for the name in the token. */
  readonly registers: boolean;
  /**
   * Joins the study that an app-made token names. Null for any other token; throws a `Problem` where the study
   * admits no new member.
   */
  join?(token: string, from: JoinedFrom): Promise<UserRecord | null>;
}

/** The method that `config` asks for. `now`: seconds since the epoch. */
export function createAuthMethod(
  config: Pick<Config, 'auth' | 'openRegistration'>,
  store: Pick<Store, 'tokens' | 'studies'>,
  now: () => number,
): AuthMethod {
  return config.auth === 'dev' ? devMethod(config.openRegistration) : tokenMethod(store, now);
}

/** For development: the token is the name itself. */
function devMethod(openRegistration: boolean): AuthMethod {
  return {
    registers: openRegistration,
    identify: async (token) => {
      const email = userNameOf(token);
      if (!isUserName(email)) throw forbidden('expected a user name of 1 to 254 printable characters');
      return { email };
    },
  };
}

/**
 * Tokens made by `mobility users token`. They are looked up by their hash, so the time of a comparison reveals
 * nothing.
 */
function tokenMethod(store: Pick<Store, 'tokens' | 'studies'>, now: () => number): AuthMethod {
  return {
    registers: false,
    identify: async (token) => {
      const hash = tokenHash(token);
      const record = await store.tokens.byHash(hash);
      if (record === null || isForPages(record)) {
        throw forbidden(unknownToken, { token: tokenId(hash) });
      }
      const refusal = refusalOf(record, now());
      if (refusal !== null) {
        const what = refusal.why === 'expired' ? 'has expired' : 'was revoked';
        const details = { token: tokenId(hash), user: record.user_id, ...refusal };
        throw forbidden(`this token ${what}; ask the operator for a new one`, details);
      }
      noteUse(store, record, now());
      return { uuid: record.user_id };
    },
    join: studyJoins(store, now),
  };
}

/** Characters: a signed token of another party is well below. */
export const maxTokenLength = 8192;

/** The token of Basic, its password, and the name beside it, which anybody can claim. */
export interface BasicToken {
  token: string;
  name: string;
}

/** The tokens of a header `Authorization`: of Bearer, and of Basic, which may be for a proxy. */
export function headerTokens(authorization: string | undefined): { bearer: string | null; basic: BasicToken | null } {
  const bearer = /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? null;
  const encoded = /^basic +([\w+/=-]+) *$/i.exec(authorization ?? '')?.[1];
  const pair = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const [, name = '', token = ''] = /^([^:]*):(.+)$/s.exec(pair) ?? [];
  return { bearer, basic: token === '' ? null : { token, name } };
}

/**
 * The token of a call. `field`: the field of the body that may hold it; null: none does. `missing`: what a call without
 * a token fails with. Throws a `Problem`: 400 for a token that is no text, or two that differ.
 */
export function tokenOf(
  body: JsonObject,
  field: string | null,
  inHeader: string | null,
  missing: () => Problem,
): string {
  const inBody = (field === null ? null : body[field]) ?? null;
  if (inBody !== null && typeof inBody !== 'string') throw badRequest(`expected "${field}" to be a string`);
  if (inBody !== null && inHeader !== null && inBody !== inHeader) {
    throw badRequest('expected one token, found two that differ: in the body and in the header Authorization');
  }
  const token = inBody ?? inHeader ?? '';
  if (token === '') throw missing();
  return token;
}
