// A user of the registry, and the tokens that open their account.
import { createHash } from 'node:crypto';
import type { AppId } from './apps.ts';
import { idOf } from './ids.ts';

/** A registered user. */
export interface UserRecord {
  /** UUID, 36 characters, lower case. Never changes. */
  uuid: string;
  /** The name the user logs in with, in the form of `userNameOf`; older stores may hold others. */
  user_email: string;
  /** Last update of this record, seconds since the epoch. */
  update_ts: number;
  /** The study and the part of it that the user joined; absent: none. */
  study?: string;
  subgroup?: string;
  /** When they joined the study by its link; absent: an operator registered them. */
  joined_ts?: number;
  /** When their first entries were stored; absent: none ever were. */
  sent_ts?: number;
}

/**
 * What a token is for. People and scripts have tokens that are `made` or `imported`; a phone app has a kind of its own.
 * A `link` opens the pages of its owner once and makes a `session`, which the browser keeps as a cookie: neither opens
 * anything else.
 */
export type TokenKind = 'made' | 'imported' | 'study' | AppId | 'link' | 'session';

/** A token of the method `token`; only its hash is kept. */
export interface TokenRecord {
  /** SHA-256 of the token, 64 hex characters. */
  hash: string;
  user_id: string;
  created_ts: number;
  /** From here on the token is refused; null: never. */
  expires_ts: number | null;
  /** Absent: of a store from before kinds were kept. */
  kind?: TokenKind;
  /** Start of the hour of the last use, seconds since the epoch; absent: not used yet. */
  used_ts?: number;
  /**
   * When and why it was revoked; absent: it was not. The record stays, so that the phone that still uses it has a name.
   */
  revoked_ts?: number;
  revoked_why?: RevokedWhy;
}

/**
 * `revoked`: by itself; `replaced`: with all others when the user got a new token; `used`: a link that was opened;
 * `stopped`: its owner wants no more to be recorded.
 */
export type RevokedWhy = 'revoked' | 'replaced' | 'used' | 'stopped';

/** True for a token that opens pages for people and no call of an app. */
export const isForPages = ({ kind }: Pick<TokenRecord, 'kind'>): boolean => kind === 'link' || kind === 'session';

/** Why and since when a token is refused at time `now`; null: it is good. */
export function refusalOf(
  { expires_ts, revoked_ts, revoked_why = 'revoked' }: TokenRecord,
  now: number,
): { why: RevokedWhy | 'expired'; since: number } | null {
  if (revoked_ts !== undefined) return { why: revoked_why, since: revoked_ts };
  return expires_ts !== null && expires_ts <= now ? { why: 'expired', since: expires_ts } : null;
}

/** Since when nothing of a phone is taken as its owner stopped the recording; null: they did not, or began again. */
export function stoppedSince(tokens: readonly TokenRecord[], now: number): number | null {
  const phones = tokens.filter((token) => !isForPages(token));
  const stops = phones.flatMap((token) => (token.revoked_why === 'stopped' ? (token.revoked_ts ?? []) : []));
  const stopped = stops.length === 0 ? null : Math.max(...stops);
  const began = phones.some((token) => refusalOf(token, now) === null || token.created_ts > (stopped ?? 0));
  return began ? null : stopped;
}

/** s; the last use of a token is recorded to the hour, so that calls of every minute write nothing. */
export const useStep = 3600;

/** The part of a token's hash by which it is listed, revoked and logged; it does not log in. */
export const tokenId = (hash: string): string => hash.slice(0, 8);

/**
 * True for a name that can be registered: one to 254 visible characters in their composed form (NFC), single blanks
 * between others only, none of them a control, a line break, half a pair, or one that is not seen or turns the
 * direction of writing.
 */
export function isUserName(name: string): boolean {
  return (
    /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]{1,254}$/u.test(name) &&
    !/^\s|\s$|\s\s|[^\S ]/u.test(name) &&
    name.normalize('NFC') === name
  );
}

/**
 * The form of a name under which it is registered: composed (NFC), and in lower case where it is an e-mail address. So
 * two spellings of one address are one account.
 */
export function userNameOf(text: string): string {
  const name = text.normalize('NFC');
  return /^[^\s@]+@[^\s@]+$/u.test(name) ? name.toLowerCase() : name;
}

/** A name as it can be shown: invisible characters are written out. Older stores may hold some. */
export function shownName(name: string): string {
  return name.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu,
    (found) => `\\u{${found.codePointAt(0)!.toString(16)}}`,
  );
}

/**
 * By what pages name a person without their name, 8 letters and digits: the end of a name that the program made up
 * for a member of a study, as on their invitation, else made of their UUID.
 */
export function pseudonymOf({ uuid, user_email, study }: UserRecord): string {
  const made = new RegExp(`^${study}_[^_]+_([a-z0-9]{8})$`).exec(user_email)?.[1];
  return made ?? idOf(uuid, 'pseudonym').slice(0, 8);
}

/** What the store keeps of a token: its SHA-256 as hex. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
