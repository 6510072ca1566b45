// A user of the registry, and the tokens that open their account.
import { createHash } from 'node:crypto';

export interface UserRecord {
  /** UUID, 36 characters, lower case. Never changes. */
  uuid: string;
  /** The name the user logs in with; compared exactly. */
  user_email: string;
  /** Last update of this record, seconds since the epoch. */
  update_ts: number;
}

/** A token of the method `token`; only its hash is kept. */
export interface TokenRecord {
  /** SHA-256 of the token, 64 hex characters. */
  hash: string;
  user_id: string;
  created_ts: number;
  /** From here on the token is refused; null: never. */
  expires_ts: number | null;
}

/** True for a name that can be registered: one to 254 characters, none of them a control, a line break or half a pair. */
export function isUserName(name: string): boolean {
  return /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,254}$/u.test(name);
}

/** What the store keeps of a token: its SHA-256 as hex. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
