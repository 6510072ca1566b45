import { convert, interpretEntry, present } from '../../intake/converters/convert.ts';
import { type Entry, identityOf, identityText } from '../../model/entry.ts';
import { justAfter, type TimeRange } from '../../model/time.ts';
import { type EntryStore, everyEntry } from '../../store/paging.ts';
import type { Store } from '../../store/store.ts';
import type { ChainStore } from '../corrections/corrected-trips.ts';
import { type Input, inputKeyNames, inputKeys, inputOf } from './input-keys.ts';
import { slack } from './match-inputs.ts';

export type LabelStore = ChainStore & Partial<Pick<Store, 'users' | 'studies'>>;

/** s; inputs that begin more than this long before a range are not read */
export const longestInput = 7 * 86_400;

const labelKeys = inputKeys.flatMap(({ key, kind }) => (kind === 'label' ? [key] : []));

const mostOfAnswer = 8 * 1024 * 1024; // characters of input per answer; a survey has about 10,000

/**
 * Reads inputs that may touch the range, both ends included. A pending input replaces a moved input
 * of the same identity, because it is newer. `isBounded`: reads only the newest 8 MiB.
 */
export async function readInputs(
  store: LabelStore,
  userId: string,
  range: TimeRange,
  { isBounded = false } = {},
): Promise<Input[]> {
  const entries = await readNewest(store, userId, range, inputKeyNames, { isBounded });
  return entries.flatMap((entry) => inputsIn(present(entry), range));
}

export async function readLastLabels(
  store: LabelStore,
  userId: string,
  range: TimeRange,
  most: number,
): Promise<Input[]> {
  const entries = await readNewest(store, userId, range, labelKeys, { most });
  const inputs = entries.flatMap((entry) => inputsIn(interpretEntry(entry), range));
  if (entries.length < most) return inputs;
  // The limit may have cut off labels of the oldest trip, so leave that trip out.
  const first = inputs.reduce((least, input) => Math.min(least, startOf(input)), Infinity);
  return inputs.filter((input) => startOf(input) > first);
}

const startOf = ({ start, end }: Input): number => start ?? end!;

const atOnce = 16; // entries per read if `isBounded`, because one entry may have several MiB

async function readNewest(
  store: LabelStore,
  userId: string,
  { from, to }: TimeRange,
  keys: readonly string[],
  { most = Infinity, isBounded = false },
): Promise<Entry[]> {
  const limit = isBounded ? atOnce : most;
  const bounded = Number.isFinite(limit) ? { descending: true, limit } : {};
  const query = { keys, time: 'ts', from: from - longestInput, to: justAfter(to), ...bounded } as const;
  const read = async (from: EntryStore): Promise<Entry[]> => {
    const entries: Entry[] = [];
    let characters = 0;
    for await (const entry of everyEntry(from, userId, query)) {
      if (isBounded) characters += JSON.stringify(entry.data).length;
      if (characters > mostOfAnswer) break;
      entries.push(entry);
      if (entries.length >= most) break;
    }
    return isBounded ? entries.reverse() : entries;
  };
  // Read pending entries first: a run may move them to the timeseries between both reads.
  const pending = store.usercache === undefined ? [] : await read(store.usercache);
  const found = new Map<string, Entry>();
  for (const entry of [...(await read(store.timeseries)), ...pending.filter(converts)])
    found.set(identityText(identityOf(entry)), entry);
  return [...found.values()];
}

/** True if the next run will accept the pending entry. */
function converts(entry: Entry): boolean {
  try {
    convert(entry);
    return true;
  } catch {
    return false;
  }
}

function inputsIn(entry: Entry, { from }: TimeRange): Input[] {
  const input = inputOf(entry);
  return input !== null && (input.end === null || input.end >= from - slack) ? [input] : [];
}
