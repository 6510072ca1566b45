import { everyStatus } from '../diary/status/all-statuses.ts';
import { beyondBounds } from '../intake/stated-times.ts';
import { counted } from '../log/text.ts';
import { keys } from '../model/keys.ts';
import { entryPages } from '../store/paging.ts';
import type { Lease, Store } from '../store/store.ts';
import { type Check, checkInstallation, checkRuns, type Host, isDead } from './check-installation.ts';

/** Checks installation, runs and people. `url`: see `checkInstallation`. */
export async function checkEverything(host: Host, store: Store, url?: string): Promise<Check[]> {
  const checks = await checkInstallation(host, store, url);
  const dead: Lease[] = [];
  let newest: number | null = null;
  let behind = 0;
  const stated = new Map<string, number>();
  for await (const { user, state, chain, figures } of everyStatus(store, { now: host.now() })) {
    const { lease } = figures;
    if (lease !== null && lease.expires_ts > host.now() && isDead(lease)) dead.push(lease);
    newest = Math.max(newest ?? 0, chain.pushed.ts ?? 0);
    if (state === 'behind') behind += 1;
    const count = await countBeyondBounds(store, user.uuid);
    if (count > 0) stated.set(user.user_email, count);
  }
  checks.push(...checkRuns(dead, newest, host), checkCorrections(stated));
  const unfinished = (await store.unfinished()).length;
  const problems = [
    ...(behind > 0 ? [`${counted(behind, 'person is', 'people are')} behind`] : []),
    ...(unfinished > 0 ? [`${counted(unfinished, 'erasure or copy', 'erasures or copies')} did not end`] : []),
  ];
  if (problems.length === 0) return checks;
  return [...checks, { name: 'people', ok: false, text: problems.join('; '), next: 'mobility status' }];
}

/**
 * Counts stored corrections with times that are rejected today; earlier versions stored them. When the diary is read,
 * their times are moved into the bounds.
 */
export async function countBeyondBounds({ timeseries }: Store, userId: string): Promise<number> {
  let count = 0;
  for await (const { entries, received_ts } of entryPages(timeseries, userId, {
    keys: [keys.correction],
    time: 'write_ts',
  }))
    count += entries.filter((entry, i) => beyondBounds(entry, received_ts[i]!) !== null).length;
  return count;
}

function checkCorrections(found: ReadonlyMap<string, number>): Check {
  const name = 'stated';
  if (found.size === 0) return { name, ok: true, text: 'the times of all corrections are within the bounds' };
  const people = [...found].map(([user, count]) => `${user}: ${count}`).join(', ');
  const text = `corrections before 1990, in the future, or longer than 7 days; the nearest allowed times are used: ${people}`;
  return { name, ok: false, text, next: 'mobility correct list --user NAME, then mobility correct undo' };
}
