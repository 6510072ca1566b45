import { setTimeout as sleep } from 'node:timers/promises';
import { isMobilityError } from '../model/mobility-error.ts';
import type { CommandContext } from './context.ts';

/** Errors of the store that may not occur in the next round. */
const temporaryErrors = [
  'MOBILITY_STORE_BUSY',
  'MOBILITY_STORE_FULL',
  'MOBILITY_STORE_READONLY',
  'MOBILITY_STORE_UNAVAILABLE',
] as const;

/**
 * Runs a round every `seconds`, or at once if the round before took longer, and writes its line to standard error.
 * Resolves when the signal is aborted. After one of `temporaryErrors`, writes the error and continues with the next
 * round. Throws every other error.
 */
export async function runRounds(
  { signal, output }: CommandContext,
  seconds: number,
  round: () => Promise<string>,
): Promise<void> {
  while (!signal.aborted) {
    const next = performance.now() + seconds * 1000;
    output.note(await round().catch(temporaryErrorText));
    await sleep(Math.max(0, next - performance.now()), undefined, { signal }).catch(() => {});
  }
}

function temporaryErrorText(error: unknown): string {
  if (!isMobilityError(error, ...temporaryErrors)) throw error;
  return `mobility: ${error.code}: ${error.message}; the next round tries again`;
}
