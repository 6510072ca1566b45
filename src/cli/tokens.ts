// Shows new tokens, and revokes them if that fails.
import { errorText, MobilityError } from '../model/mobility-error.ts';
import { tokenHash } from '../model/user.ts';
import type { CommandContext } from './context.ts';
import { counted } from './output.ts';

type Made = readonly { uuid: string; token: string }[];

/** Calls `show` to print new tokens. If that fails, revokes the tokens and throws `MOBILITY_OUTPUT`. */
export async function showTokens(context: CommandContext, made: Made, show: () => Promise<void>): Promise<void> {
  await show().catch(async (error) => {
    const { tokens } = await context.store();
    const revocation = { ts: context.now(), why: 'revoked' } as const;
    for (const { uuid, token } of made) await tokens.revoke(uuid, tokenHash(token), revocation);
    const text = `${errorText(error)}; ${counted(made.length, 'token')} revoked, since they were not shown: repeat the command`;
    throw new MobilityError('MOBILITY_OUTPUT', text, { cause: error });
  });
}
