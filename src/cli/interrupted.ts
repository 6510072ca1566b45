// What a command notes when Ctrl-C or SIGTERM ended it.
import type { UserRecord } from '../model/user.ts';
import type { CommandContext } from './context.ts';
import { counted } from './output.ts';

/** Says how far the command came, if it was interrupted. `each`: steps that a user takes. */
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

/** The same users; `count.done` grows whenever the next is asked for. */
export async function* countedOff(
  users: AsyncIterable<UserRecord>,
  count: { done: number },
): AsyncGenerator<UserRecord, undefined> {
  for await (const user of users) {
    yield user;
    count.done += 1;
  }
}
