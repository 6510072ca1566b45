// A user of the registry, and the tokens that open their account.
import { createHash } from 'node:crypto';

export interface UserRecord {
  /** UUID, 36 characters, lower case. Never changes. */
  uuid: string;
  /** The name the user logs in with; compared exactly. */
  user_email: string;
  /** Last update of this record, seconds since the epoch. */
  update_ts: number;
  /** The study and the part of it that the user joined; absent: none. */
  study?: string;
  subgroup?: string;
}

/** Where a token comes from. Those of people and scripts are `made`; `owntracks`, `overland` and `traccar` are for these apps. */
export const tokenKinds = ['made', 'imported', 'study', 'owntracks', 'overland', 'traccar'] as const;
export type TokenKind = (typeof tokenKinds)[number];

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
  /** Last use, seconds since the epoch, to the hour; absent: not used yet. */
  used_ts?: number;
}

/** True for a name that can be registered: one to 254 characters, none of them a control, a line break or half a pair. */
export function isUserName(name: string): boolean {
  return /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,254}$/u.test(name);
}

/** What the store keeps of a token: its SHA-256 as hex. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
