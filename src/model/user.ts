import { hash } from 'node:crypto';
import type { AppId } from './apps.ts';
import { idOf } from './ids.ts';

/** A registered user. */
export interface UserRecord {
  /** UUID, 36 characters, lower case. Never changes. */
  uuid: string;
  /** The name that the user logs in with, in the form of `userNameOf`. Older stores may have other forms. */
  user_email: string;
  update_ts: number;
  /** The study and the subgroup that the user joined; absent: none. */
  study?: string;
  subgroup?: string;
  /** When the user joined the study by its link; absent: an operator registered the user. */
  joined_ts?: number;
  /** When the first entries of the user were stored; absent: none were. */
  sent_ts?: number;
}

/**
 * The use of a token. People and scripts have `made` or `imported` tokens. Each phone app has its own kind. A `link`
 * opens the pages of its owner once and makes a `session`, which the browser keeps as a cookie. Links and sessions are
 * not valid for other calls.
 */
export type TokenKind = 'made' | 'imported' | 'study' | AppId | 'link' | 'session';

/** A token of the method `token`; only its hash is kept. */
export interface TokenRecord {
  /** SHA-256 of the token, 64 hex characters. */
  hash: string;
  user_id: string;
  created_ts: number;
  /** When the token expires; null: never. */
  expires_ts: number | null;
  /** Absent: the token was made before tokens had kinds. */
  kind?: TokenKind;
  /** Start of the hour of the last use, seconds since the epoch; absent: not used yet. */
  used_ts?: number;
  /** When and why the token was revoked; absent: it is valid. The record stays, to name phones that still send it. */
  revoked_ts?: number;
  revoked_why?: RevokedWhy;
}

/**
 * Why a token was revoked. `revoked`: an operator or the user revoked it. `replaced`: the user got a new token, which
 * revokes all others. `used`: the token of a link that was opened. `stopped`: the user stopped the recording.
 */
export type RevokedWhy = 'revoked' | 'replaced' | 'used' | 'stopped';

export const isForPages = ({ kind }: Pick<TokenRecord, 'kind'>): boolean => kind === 'link' || kind === 'session';

/** Why and since when a token is refused at `now`; null: it is valid. */
export function refusalOf(
  { expires_ts, revoked_ts, revoked_why = 'revoked' }: TokenRecord,
  now: number,
): { why: RevokedWhy | 'expired'; since: number } | null {
  if (revoked_ts !== undefined) return { why: revoked_why, since: revoked_ts };
  return expires_ts !== null && expires_ts <= now ? { why: 'expired', since: expires_ts } : null;
}

/** When the owner of `tokens` stopped the recording; null: the owner never did, or started the recording again. */
export function stoppedSince(tokens: readonly TokenRecord[], now: number): number | null {
  const phones = tokens.filter((token) => !isForPages(token));
  const stops = phones.flatMap((token) => (token.revoked_why === 'stopped' ? (token.revoked_ts ?? []) : []));
  const stopped = stops.length === 0 ? null : Math.max(...stops);
  const began = phones.some((token) => refusalOf(token, now) === null || token.created_ts > (stopped ?? 0));
  return began ? null : stopped;
}

/**
 * s. The last use of a token is stored rounded to the hour, so a phone that calls each minute causes one write an hour.
 */
export const useStep = 3600;

/** The id of a token in lists, commands and logs: the beginning of its hash. It is not a secret. */
export const tokenId = (hash: string): string => hash.slice(0, 8);

/**
 * Control characters, line breaks, lone surrogates, invisible characters, and marks that change the direction of text.
 */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * True for a name that can be registered: 1 to 254 visible characters in composed form (NFC), with single blanks only
 * between them.
 */
export function isUserName(name: string): boolean {
  const isVisible = /^.{1,254}$/u.test(name) && name.search(hidden) < 0;
  return isVisible && !/^\s|\s$|\s\s|[^\S ]/u.test(name) && name.normalize('NFC') === name;
}

/**
 * Normalises a name for registration: composed (NFC), and lower case if it is an e-mail address, so that two spellings
 * of an address are one account.
 */
export function userNameOf(text: string): string {
  const name = text.normalize('NFC');
  return /^[^\s@]+@[^\s@]+$/u.test(name) ? name.toLowerCase() : name;
}

/** A name for display: invisible characters are written as codes, as older stores may have them. */
export function shownName(name: string): string {
  return name.replace(hidden, (found) => `\\u{${found.codePointAt(0)!.toString(16)}}`);
}

/**
 * The pseudonym of a person on pages, 8 letters and digits. If the program generated the person's name for a study, the
 * pseudonym is the end of that name, as on the invitation. Otherwise it is derived from the UUID.
 */
export function pseudonymOf({ uuid, user_email, study }: UserRecord): string {
  const made = new RegExp(`^${study}_[^_]+_([a-z0-9]{8})$`).exec(user_email)?.[1];
  return made ?? idOf(uuid, 'pseudonym').slice(0, 8);
}

/** SHA-256 as hex. The store keeps only this hash of a token. */
export const tokenHash = (token: string): string => hash('sha256', token, 'hex');
