// Adds an entry for the end of an imported recording. Files of other programs do not say that they end, and the
// analysis would wait for further locations.
import { otherEntry } from '../intake/apps/other-entry.ts';
import type { Entry, Origin } from '../model/entry.ts';
import { keys } from '../model/keys.ts';
import { states, transitions } from '../model/payloads.ts';
import type { Found } from './import-format.ts';

/** Yields what `found` yields. If it has a location, adds an entry that ends the trip at the latest one. */
export async function* withEnd(found: AsyncIterable<Found>): AsyncGenerator<Found> {
  let last: Entry | null = null;
  for await (const one of found) {
    yield one;
    const entry = 'entry' in one ? (one.entry as Entry) : null; // recordings yield only entries, not texts
    if (entry?.metadata.key === keys.location && timeOf(entry) > (last === null ? -Infinity : timeOf(last)))
      last = entry;
  }
  if (last !== null) yield { owner: null, entry: endAt(last) };
}

/** Seconds since the epoch. A location without a time is rejected, so it cannot be the last. */
const timeOf = ({ data }: Entry): number => (typeof data.ts === 'number' ? data.ts : -Infinity);

function endAt({ metadata: { time_zone, origin }, data }: Entry): Entry {
  const fields = { curr_state: states.WAITING_FOR_TRIP_START, transition: transitions.END_TRIP_TRACKING };
  const end = otherEntry(keys.transition, Number(data.ts), fields, origin as unknown as Origin);
  return time_zone === undefined ? end : { ...end, metadata: { ...end.metadata, time_zone } };
}
