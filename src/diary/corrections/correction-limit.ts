// Limits how many corrections a user may have, because each read of trips reads all corrections of the user.
import type { Entry } from '../../model/entry.ts';
import { keys } from '../../model/keys.ts';
import type { EntryPart } from '../../store/paging.ts';
import { mostCorrections, parseCorrection, readCorrections, withoutUndone } from './read-corrections.ts';

/** The reason for rejecting a correction whose user has too many. It can be recovered like any other entry. */
export const tooManyCorrections = 'too_many_corrections';

/** The limit as a sentence. */
export const limitText = `expected at most ${mostCorrections.active} active corrections of a person, and ${mostCorrections.inAll} including undone ones and undos`;

/** Finds the corrections among `entries` that exceed the user's limit. Pending corrections count, too. */
export async function beyondLimit(
  store: { timeseries: EntryPart; usercache: EntryPart },
  userId: string,
  entries: readonly Entry[],
): Promise<ReadonlySet<Entry>> {
  const beyond = new Set<Entry>();
  const stated = entries.filter(({ metadata }) => metadata.key === keys.correction);
  if (stated.length === 0) return beyond;
  const all = await readCorrections(store, userId);
  const found = new Map(all.map((one) => [one.write_ts, one]));
  const active = new Set(withoutUndone(all).map((one) => one.write_ts));
  const { active: most, inAll } = mostCorrections;
  for (const entry of stated) {
    const { write_ts } = entry.metadata;
    const [one] = parseCorrection(entry, write_ts);
    if (one === undefined || found.has(write_ts)) continue; // its converter rejects it, or the store has it already
    const undoes = one.kind === 'undo' && active.has(one.of);
    // An undo of an undo makes the first correction active again.
    const states = one.kind !== 'undo' || found.get(one.of)?.kind === 'undo';
    // An active correction can always be undone, also beyond the limit.
    const isBeyond = undoes ? found.size >= inAll + most : found.size >= inAll || (states && active.size >= most);
    if (isBeyond) {
      beyond.add(entry);
      continue;
    }
    found.set(write_ts, one);
    if (undoes) active.delete(one.of);
    else if (states) active.add(write_ts);
  }
  return beyond;
}
