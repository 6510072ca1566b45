// Stage "remove obsolete keys": document keys present and days with trips -> the documents that go.
import { line } from '../log/messages.ts';
import { configKeys, dayKey } from '../model/keys.ts';
import type { Store } from '../store/store.ts';
import { documentWindows } from './document-windows.ts';
import type { Stage, StageResult } from './stage.ts';

/** A document key that is not valid any more, and why. */
export interface ObsoleteKey {
  key: string;
  why: string;
}

/** The rule, pure: valid are the days with trips in the window and the three configuration keys; every other document is obsolete. */
export function obsoleteKeys(present: readonly string[], daysWithTrips: readonly string[]): ObsoleteKey[] {
  const valid = new Set([...configKeys, ...daysWithTrips.map(dayKey)]);
  return present.filter((key) => !valid.has(key)).map((key) => ({ key, why: whyObsolete(key) }));
}

function whyObsolete(key: string): string {
  return key.startsWith(dayKey('')) ? 'the day is out of the window or has no trips' : 'not in the list of valid keys';
}

/**
 * Obsolete document keys of one user as things stand. None without complete data: nothing is known of the user then; unless there
 * was some, and all of it went.
 */
export async function findObsoleteKeys(
  store: Store,
  userId: string,
): Promise<{ present: string[]; valid: string[]; obsolete: ObsoleteKey[] }> {
  const present = await store.documents.keys(userId);
  const { complete_until, complete_lost } = await store.pipeline.get(userId);
  if (complete_until === null && !complete_lost) return { present, valid: present, obsolete: [] };
  const days = await documentDays(store, userId);
  return { present, valid: [...days.map(dayKey), ...configKeys], obsolete: obsoleteKeys(present, days) };
}

/** The local days that have a document, ascending. */
async function documentDays(store: Store, userId: string): Promise<string[]> {
  const days = new Set<string>();
  for (const window of await documentWindows(store, userId))
    for (const { day } of await store.trips.byDay(userId, window)) days.add(day);
  return [...days].sort();
}

/** Removes the documents of obsolete keys, and only documents: entries that phones pushed under such a key stay. */
export const removeObsoleteKeys: Stage = {
  name: 'remove obsolete keys',
  async run({ store, userId, log, lease }): Promise<StageResult> {
    const { documents_due } = await store.pipeline.get(userId);
    if (!documents_due) return { counts: {} };
    const { present, valid, obsolete } = await findObsoleteKeys(store, userId);
    log.write('DEBUG', line.keyLists(userId, present, valid));
    log.write(
      'INFO',
      line.obsoleteKeys(
        userId,
        obsolete.map((o) => o.key),
      ),
    );
    for (const { key } of obsolete) {
      const removed = await store.documents.remove(userId, key);
      log.write('INFO', line.documentRemoved(userId, key, removed ? 'removed' : 'gone'));
    }
    await store.pipeline.merge(userId, { documents_due: false, complete_lost: false }, lease());
    return { counts: { removed: obsolete.length } };
  },
};
