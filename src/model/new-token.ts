// Makes tokens, and checks the ones that operators choose.
import { randomBytes } from 'node:crypto';
import { usageError } from './mobility-error.ts';

/** Makes a token: 256 random bits after a prefix that scanners for leaked secrets can find. */
export const newToken = (): string => `mob_${randomBytes(32).toString('base64url')}`;

/** Returns the token. Throws `MOBILITY_USAGE` if it is not valid, or so short that it could be guessed. */
export function checkedToken(token: string): string {
  if (/^[\x21-\x7e]{16,8192}$/.test(token)) return token;
  const isOfValidLength = token.length >= 16 && token.length <= 8192;
  const found = isOfValidLength
    ? 'a blank, a control character or a letter outside ASCII'
    : `${token.length} characters`;
  throw usageError(`expected a token of 16 to 8192 visible ASCII characters without blanks, found ${found}`);
}
