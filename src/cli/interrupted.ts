import type { UserRecord } from '../model/user.ts';
import type { CommandContext } from './context.ts';
import { counted } from './output.ts';

/** Prints how many users are done, if the command was interrupted. `next`: what to do. */
export async function noteInterrupted(
  { signal, output }: CommandContext,
  done: number,
  all: AsyncIterable<unknown>,
  { most = Number.POSITIVE_INFINITY, next = '' } = {},
): Promise<void> {
  if (!signal.aborted) return;
  let total = 0;
  for await (const _ of all) total += 1;
  output.note(`interrupted after ${done} of ${counted(Math.min(total, most), 'user')}${next}`);
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
