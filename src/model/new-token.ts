// Tokens that operators make or bring.
import { randomBytes } from 'node:crypto';
import { usageError } from './mobility-error.ts';

/** A new token: 256 random bits, after a prefix that scanners for leaked secrets know. */
export const newToken = (): string => `mob_${randomBytes(32).toString('base64url')}`;

/** Throws `MOBILITY_USAGE` for what cannot be a token, or could be guessed. */
export function checkedToken(token: string): string {
  if (/^[\x21-\x7e]{16,8192}$/.test(token)) return token;
  throw usageError(
    `expected a token of 16 to 8192 visible ASCII characters without blanks, found ${token.length} characters`,
  );
}
