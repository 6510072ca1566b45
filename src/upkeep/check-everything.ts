// Runs all checks of `mobility doctor` and of the operator's page: installation, runs, corrections and people.
import { everyStatus } from '../diary/status/all-statuses.ts';
import { counted } from '../log/text.ts';
import type { Lease, Store } from '../store/store.ts';
import { checkCorrections, countBeyondBounds } from './check-corrections.ts';
import { type Check, checkInstallation, checkRuns, type Host, isDead } from './check-installation.ts';

/** Runs `checkInstallation`, and checks runs, corrections and the status of all people of the store. */
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
  if ((await store.unfinished()).length + behind === 0) return checks;
  const text = `${counted(behind, 'person is', 'people are')} behind`;
  return [...checks, { name: 'people', ok: false, text, next: 'mobility status' }];
}
