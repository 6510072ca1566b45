// Every user from store to store, whatever the engines, and the check that both sides are equal.
import { MobilityError } from '../../model/errors.ts';
import type { UserRecord } from '../../model/user.ts';
import { clockSlack } from '../../store/lease-end.ts';
import { everyUser } from '../../store/pages.ts';
import type { Lease, Store } from '../../store/store.ts';
import { copiedCollections, type MigrateOptions, type Moved, migrateUser, type UserMigration } from './migrate-user.ts';
import { paired } from './pairs.ts';
import type { Copied } from './user-copy.ts';

/** What a migration came to. */
export interface MigrationReport {
  /** Users of the source. */
  users: number;
  copied: number;
  same: number;
  busy: number;
  differs: number;
  changing: number;
  failed: number;
  /** Users whom only the target has, and whom only the source has now. */
  others: number;
  missing: number;
  /** True when every user of the source is at the target now and the same there. */
  equal: boolean;
  collections: Record<Copied, Moved>;
  seconds: number;
  /** Users who now differ between the two stores, with the reason. */
  reports: UserMigration[];
}

/** s; how often a lease is looked at that somebody else has. */
const [shortestPause, longestPause] = [0.05, 1];

const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/**
 * Copies everything of every user. Whatever moment it is interrupted at, a repetition goes on; users at work on either
 * side are waited for once, at the end. The source is never changed, but for the leases on its users. Throws
 * `MOBILITY_USER_EXISTS` when the target has other users and may not (`merge`), `MOBILITY_STORE_*`, and the reason of
 * `signal`.
 */
export async function migrate(from: Store, to: Store, options: MigrateOptions): Promise<MigrationReport> {
  const report = emptyReport();
  const started = options.now();
  await expectNoOthers(from, to, options);
  if (!options.dryRun)
    for (const { joined, ...settings } of await from.studies.list()) await to.studies.put(settings, joined);
  const busy: { user: UserRecord; first: UserMigration }[] = [];
  const users = everyUser(from);
  let broken = false;
  const lane = async (): Promise<void> => {
    for (let next = await users.next(); !next.done && !broken; next = await users.next()) {
      options.signal?.throwIfAborted();
      const one = await migrateUser(from, to, next.value, options);
      if (one.status === 'busy') busy.push({ user: next.value, first: one });
      else settle(report, one, options);
    }
  };
  const watched = (): Promise<void> =>
    lane().catch((error) => {
      broken = true;
      throw error;
    });
  const lanes = await Promise.allSettled(Array.from({ length: options.lanes ?? 4 }, watched));
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason;
  for (const { user, first } of busy) settle(report, await secondTry(from, to, user, first, options), options);
  Object.assign(report, await compareRegistries(from, to));
  report.equal = report.reports.length === 0 && report.missing === 0 && !(options.dryRun && report.copied > 0);
  report.seconds = options.now() - started;
  return report;
}

function emptyReport(): MigrationReport {
  const none = copiedCollections.map((name) => [name, { rows: 0, copied: 0, removed: 0 }]);
  const collections = Object.fromEntries(none) as Record<Copied, Moved>;
  const counts = { users: 0, copied: 0, same: 0, busy: 0, differs: 0, changing: 0, failed: 0, others: 0, missing: 0 };
  return { ...counts, equal: false, collections, seconds: 0, reports: [] };
}

function settle(report: MigrationReport, one: UserMigration, options: MigrateOptions): void {
  report.users += 1;
  report[one.status] += 1;
  for (const name of copiedCollections) {
    for (const part of ['rows', 'copied', 'removed'] as const) {
      report.collections[name][part] += one.collections[name][part];
    }
  }
  if (one.status !== 'same' && one.status !== 'copied') report.reports.push(one);
  options.onUser?.(one);
}

async function compareRegistries(from: Store, to: Store): Promise<{ others: number; missing: number }> {
  const found = { others: 0, missing: 0 };
  const place = ({ uuid }: UserRecord): string => uuid;
  for await (const { source, target } of paired({ source: everyUser(from), target: everyUser(to), place })) {
    if (source === null) found.others += 1;
    else if (source.user_email !== target?.user_email) found.missing += 1;
  }
  return found;
}

async function expectNoOthers(from: Store, to: Store, { merge }: MigrateOptions): Promise<void> {
  const { others } = merge ? { others: 0 } : await compareRegistries(from, to);
  if (others === 0) return;
  throw new MobilityError(
    'MOBILITY_USER_EXISTS',
    `expected no other users at ${to.address} than those of ${from.address}, found ${others}: name another target, ` +
      'or let both be together there with --merge',
  );
}

/**
 * Waits until the leases of others have ended or been renewed: a renewed one shows that its owner lives, and the user
 * stays theirs. Whether one has ended, the stores say, by their clocks; the wait takes the length of the longest at
 * most.
 */
async function secondTry(
  from: Store,
  to: Store,
  user: UserRecord,
  { busy_until: until = 0, message = '' }: UserMigration,
  options: MigrateOptions,
): Promise<UserMigration> {
  for (let waited = 0; ; ) {
    options.signal?.throwIfAborted();
    const leases = await Promise.all([from.leases.get(user.uuid), to.leases.get(user.uuid)]);
    const held = leases.filter((lease) => lease !== null && lease.expires_ts <= until) as Lease[];
    if (held.length === 0) break;
    const longest = Math.max(...held.map((lease) => lease.seconds));
    if (waited === 0) options.onWait?.(user.user_email, message, longest);
    if (waited > longest + clockSlack) break;
    const step = Math.min(longestPause, Math.max(shortestPause, longest / 20));
    await (options.wait ?? pause)(step);
    waited += step;
  }
  return migrateUser(from, to, user, options);
}
