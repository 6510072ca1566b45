// Prints how far a command came when Ctrl-C or SIGTERM ended it.
import type { UserRecord } from '../model/user.ts';
import type { CommandContext } from './context.ts';
import { counted } from './output.ts';

/** If the command was interrupted, prints how many steps are done. `each`: steps per user. `most`: of all users. */
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

/** Yields the users. Increases `count.done` when the next user is requested, because the user before is done then. */
export async function* countedOff(
  users: AsyncIterable<UserRecord>,
  count: { done: number },
): AsyncGenerator<UserRecord, undefined> {
  for await (const user of users) {
    yield user;
    count.done += 1;
  }
}
