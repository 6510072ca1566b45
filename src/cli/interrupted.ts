// Prints how far a command came when Ctrl-C or SIGTERM ended it.
import type { UserRecord } from '../model/user.ts';
import type { CommandContext } from './context.ts';
import { counted } from './output.ts';

/** Prints how many users are done, if the command was interrupted. `each`: steps per user. */
export async function noteInterrupted(
  { signal, output }: CommandContext,
  done: number,
  all: AsyncIterable<unknown>,
  { each = 1, most = Number.POSITIVE_INFINITY, what = 'user' } = {},
): Promise<void> {
  if (!signal.aborted) return;
  let total = 0;
  for await (const _ of all) total += each;
  output.note(`interrupted after ${done} of ${counted(Math.min(total, most), what)}`);
}

/** Yields the same users, and increases `count.done` when the next one is requested. */
export async function* countedOff(
  users: AsyncIterable<UserRecord>,
  count: { done: number },
): AsyncGenerator<UserRecord, undefined> {
  for await (const user of users) {
    yield user;
    count.done += 1;
  }
}
