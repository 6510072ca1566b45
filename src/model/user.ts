import { hash } from 'node:crypto';
import type { AppId } from './apps.ts';
import { idOf } from './ids.ts';

/** A registered user. */
export interface UserRecord {
  /** 36 characters, lower case. Never changes. */
  uuid: string;
  /** In the form of `userNameOf`. Older stores may have other forms. */
  user_email: string;
  update_ts: number;
  study?: string;
  subgroup?: string;
  /** Absent: an operator registered the user. */
  joined_ts?: number;
  /** When the first entries of the user were stored; absent: none were. */
  sent_ts?: number;
}

/**
 * People and scripts have `made` or `imported` tokens, each phone app its own kind. A `link` opens
 * the pages of its owner once and makes a `session`, which the browser keeps as a cookie. Links and
 * sessions are not valid for other calls.
 */
export type TokenKind = 'made' | 'imported' | 'study' | AppId | 'link' | 'session';

/** A token of a user; the store keeps only its hash. */
export interface TokenRecord {
  hash: string;
  user_id: string;
  created_ts: number;
  expires_ts: number | null;
  /** Absent: the token was made before tokens had kinds. */
  kind?: TokenKind;
  /** Start of the hour of the last use; absent: not used yet. */
  used_ts?: number;
  /** Absent: not revoked. The record of a revoked token names the phones that still send it. */
  revoked_ts?: number;
  revoked_why?: RevokedWhy;
}

/**
 * `revoked`: by an operator or the user. `replaced`: the user got a new token, which revokes all
 * others. `used`: a link was opened. `stopped`: the user stopped the recording.
 */
export type RevokedWhy = 'revoked' | 'replaced' | 'used' | 'stopped';

export const isForPages = ({ kind }: Pick<TokenRecord, 'kind'>): boolean => kind === 'link' || kind === 'session';

export function refusalOf(
  { expires_ts, revoked_ts, revoked_why = 'revoked' }: TokenRecord,
  now: number,
): { why: RevokedWhy | 'expired'; since: number } | null {
  if (revoked_ts !== undefined) return { why: revoked_why, since: revoked_ts };
  return expires_ts !== null && expires_ts <= now ? { why: 'expired', since: expires_ts } : null;
}

/** Returns when the last token of a person's phones was revoked; null while one is not revoked. */
export function leftOf(tokens: readonly TokenRecord[]): number | null {
  const ofPhones = tokens.filter((token) => !isForPages(token));
  const last = Math.max(...ofPhones.map(({ revoked_ts }) => revoked_ts ?? Infinity));
  return Number.isFinite(last) ? last : null;
}

/** Returns when the owner stopped the recording; null: never, or it was started again. */
export function stoppedSince(tokens: readonly TokenRecord[], now: number): number | null {
  const phones = tokens.filter((token) => !isForPages(token));
  const stops = phones.flatMap((token) => (token.revoked_why === 'stopped' ? (token.revoked_ts ?? []) : []));
  const stopped = stops.length === 0 ? null : Math.max(...stops);
  const began = phones.some((token) => refusalOf(token, now) === null || token.created_ts > (stopped ?? 0));
  return began ? null : stopped;
}

/** s; `used_ts` is rounded to it, so a phone that calls each minute causes one write an hour. */
export const useStep = 3600;

/** Names a token in lists, commands and logs. The id is not a secret. */
export const tokenId = (hash: string): string => hash.slice(0, 8);

/** Control and invisible characters, lone surrogates, and marks for the direction of text. */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** 1 to 254 visible characters in composed form (NFC), with single blanks between them. */
export function isUserName(name: string): boolean {
  const isVisible = /^.{1,254}$/u.test(name) && name.search(hidden) < 0;
  return isVisible && !/^\s|\s$|\s\s|[^\S ]/u.test(name) && name.normalize('NFC') === name;
}

/** In composed form (NFC). E-mail addresses get lower case: two spellings are one account. */
export function userNameOf(text: string): string {
  const name = text.normalize('NFC');
  return /^[^\s@]+@[^\s@]+$/u.test(name) ? name.toLowerCase() : name;
}

/** Shows invisible characters as codes, because names in older stores may have some. */
export function shownName(name: string): string {
  return name.replace(hidden, (found) => `\\u{${found.codePointAt(0)!.toString(16)}}`);
}

/** Returns 8 letters and digits: the end of a name made for a study, or else a hash of the UUID. */
export function pseudonymOf({ uuid, user_email, study }: UserRecord): string {
  const made = new RegExp(`^${study}_[^_]+_([a-z0-9]{8})$`).exec(user_email)?.[1];
  return made ?? idOf(uuid, 'pseudonym').slice(0, 8);
}

export const tokenHash = (token: string): string => hash('sha256', token, 'hex');
