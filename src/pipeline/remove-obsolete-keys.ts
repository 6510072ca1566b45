// Stage "remove obsolete keys": document keys present and days with trips -> the documents that go.
import { line } from '../log/format.ts';
import { configKeys, dayKey } from '../model/keys.ts';
import type { Store } from '../store/store.ts';
import type { Stage, StageResult } from './stage.ts';
import { documentWindow } from './write-documents.ts';

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

/** Obsolete document keys of one user as things stand; none when there is no complete data. */
export async function findObsoleteKeys(
  store: Store,
  userId: string,
): Promise<{ present: string[]; valid: string[]; obsolete: ObsoleteKey[] }> {
  const present = await store.documents.keys(userId);
  const window = await documentWindow(store, userId);
  if (!window) return { present, valid: present, obsolete: [] };
  const records = await store.trips.byDay(userId, window);
  const days = [...new Set(records.map((record) => record.day))].sort();
  return { present, valid: [...days.map(dayKey), ...configKeys], obsolete: obsoleteKeys(present, days) };
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
    await store.pipeline.merge(userId, { documents_due: false }, lease());
    return { counts: { removed: obsolete.length } };
  },
};
