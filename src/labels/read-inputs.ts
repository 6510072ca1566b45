// The inputs of a user about a stretch of time, those still waiting in the usercache included.
import { convert, present } from '../converters/convert.ts';
import { type Entry, identityOf, identityText } from '../model/entry.ts';
import { justAfter, type TimeRange } from '../model/time.ts';
import { everyEntry } from '../store/pages.ts';
import type { Store } from '../store/store.ts';
import { type Input, inputKeyNames, inputOf } from './input-keys.ts';

/** The part of the store that labels are matched from. Without `usercache` only what was moved counts. */
export type LabelStore = Pick<Store, 'trips' | 'timeseries'> & Partial<Pick<Store, 'usercache'>>;

/** s; an input that begins so long before what it is about is not found. */
export const longestInput = 7 * 86_400;

/** Inputs whose time may touch the range, both ends included. Of one identity the waiting one counts: it is newer. */
export async function readInputs(store: LabelStore, userId: string, { from, to }: TimeRange): Promise<Input[]> {
  const query = { keys: inputKeyNames, time: 'ts', from: from - longestInput, to: justAfter(to) } as const;
  const found = new Map<string, Entry>();
  for await (const entry of everyEntry(store.timeseries, userId, query)) {
    found.set(identityText(identityOf(entry)), entry);
  }
  if (store.usercache !== undefined) {
    for await (const entry of everyEntry(store.usercache, userId, query)) {
      if (converts(entry)) found.set(identityText(identityOf(entry)), entry);
    }
  }
  return [...found.values()].flatMap((entry) => inputOf(present(entry)) ?? []).filter((input) => touches(input, from));
}

/** What waits was not looked at yet: what its converter refuses will be set aside. */
function converts(entry: Entry): boolean {
  try {
    convert(entry);
    return true;
  } catch {
    return false;
  }
}

/** s; see the slack of the matching. */
const slack = 900;

function touches({ end }: Input, from: number): boolean {
  return end === null || end >= from - slack;
}
