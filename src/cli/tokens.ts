// Tokens as operators make them and take them in.
import { randomBytes } from 'node:crypto';
import { MobilityError } from '../model/errors.ts';
import { counted } from './output.ts';

/** A new token: 256 random bits, behind a prefix by which scanners for leaked secrets find it. */
export const newToken = (): string => `mob_${randomBytes(32).toString('base64url')}`;

/** Throws `MOBILITY_USAGE` for what cannot be a token, or could be guessed. */
export function checkedToken(token: string): string {
  if (/^[\x21-\x7e]{16,8192}$/.test(token)) return token;
  throw new MobilityError(
    'MOBILITY_USAGE',
    `expected a token of 16 to 8192 visible ASCII characters without blanks, found ${counted(token.length, 'character')}`,
  );
}
