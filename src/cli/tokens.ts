// Tokens as operators make them and take them in.
import { randomBytes } from 'node:crypto';
import { errorText, MobilityError, usageError } from '../model/mobility-error.ts';
import { tokenHash } from '../model/user.ts';
import type { CommandContext } from './context.ts';
import { counted } from './output.ts';

/** A new token: 256 random bits, behind a prefix by which scanners for leaked secrets find it. */
export const newToken = (): string => `mob_${randomBytes(32).toString('base64url')}`;

/** Throws `MOBILITY_USAGE` for what cannot be a token, or could be guessed. */
export function checkedToken(token: string): string {
  if (/^[\x21-\x7e]{16,8192}$/.test(token)) return token;
  throw usageError(
    `expected a token of 16 to 8192 visible ASCII characters without blanks, found ${counted(token.length, 'character')}`,
  );
}

type Made = readonly { uuid: string; token: string }[];

/** Shows new tokens by `show`. If that fails, nobody has seen them: revokes them, and throws `MOBILITY_OUTPUT`. */
export async function showTokens(context: CommandContext, made: Made, show: () => Promise<void>): Promise<void> {
  await show().catch(async (error) => {
    const { tokens } = await context.store();
    const revocation = { ts: context.now(), why: 'revoked' } as const;
    for (const { uuid, token } of made) await tokens.revoke(uuid, tokenHash(token), revocation);
    const text = `${errorText(error)}; ${counted(made.length, 'token')} revoked that nobody has seen: repeat the command`;
    throw new MobilityError('MOBILITY_OUTPUT', text, { cause: error });
  });
}
