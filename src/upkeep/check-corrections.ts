// Counts stored corrections with times beyond the bounds of `stated-times.ts`. The program rejects such corrections
// when they arrive; earlier versions stored them. When the diary is read, their times are moved into the bounds.
import { beyondBounds } from '../intake/stated-times.ts';
import { keys } from '../model/keys.ts';
import { entryPages } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import type { Check } from './check-installation.ts';

export async function countBeyondBounds({ timeseries }: Store, userId: string): Promise<number> {
  let count = 0;
  for await (const { entries, received_ts } of entryPages(timeseries, userId, {
    keys: [keys.correction],
    time: 'write_ts',
  }))
    count += entries.filter((entry, i) => beyondBounds(entry, received_ts[i]!) !== null).length;
  return count;
}

/** The result for `mobility doctor`. `found`: the number of such corrections by user name. */
export function checkCorrections(found: ReadonlyMap<string, number>): Check {
  const name = 'stated';
  if (found.size === 0) return { name, ok: true, text: 'the times of all corrections are within the bounds' };
  const people = [...found].map(([user, count]) => `${user}: ${count}`).join(', ');
  const text = `corrections before 1990, in the future, or longer than 7 days; the nearest allowed times are used: ${people}`;
  return { name, ok: false, text, next: 'mobility correct list --user NAME, then mobility correct undo' };
}
