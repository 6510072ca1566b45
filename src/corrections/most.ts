// How many corrections a user may have: every reader of their trips reads them all.
import type { Entry } from '../model/entry.ts';
import { keys } from '../model/keys.ts';
import type { EntryPart } from '../store/pages.ts';
import { countingIn, mostCorrections, readCorrections } from './read.ts';

/** Reason of a correction that is set aside as its user has too many. It can be recovered like any other. */
export const tooManyCorrections = 'too_many_corrections';

/** Says what the limit is. */
export const mostText = `expected at most ${mostCorrections.holding} corrections of a person that hold, and ${mostCorrections.inAll} with those undone and the undoing ones`;

/** Those of the entries that are corrections beyond what their user may have. What waits for a run counts too. */
export async function beyondMost(
  { timeseries, usercache }: { timeseries: EntryPart; usercache: EntryPart },
  userId: string,
  entries: readonly Entry[],
): Promise<ReadonlySet<Entry>> {
  const beyond = new Set<Entry>();
  const stated = entries.filter(({ metadata }) => metadata.key === keys.correction);
  if (stated.length === 0) return beyond;
  const parts = [await readCorrections(usercache, userId), await readCorrections(timeseries, userId)];
  const found = new Map(parts.flat().map((one) => [one.write_ts, one]));
  const counts = {
    holding: countingIn([...found.values()].sort((a, b) => a.write_ts - b.write_ts)).length,
    inAll: found.size,
  };
  for (const entry of stated) {
    if (found.has(entry.metadata.write_ts)) continue; // sent again
    const holds = entry.data.kind === 'undo' ? 0 : 1;
    if (counts.inAll >= mostCorrections.inAll || counts.holding + holds > mostCorrections.holding) beyond.add(entry);
    else {
      counts.inAll += 1;
      counts.holding += holds;
    }
  }
  return beyond;
}
