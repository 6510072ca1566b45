// One user from store to store, under the leases of both: what is missing is written, until a pass finds no difference.
import { isMobilityError, MobilityError } from '../../model/errors.ts';
import type { UserRecord } from '../../model/user.ts';
import { type HeldLease, holdLease } from '../../pipeline/lease.ts';
import { collections, type Lease, type Store } from '../../store/store.ts';
import { copyErrors, copyTimeseries, copyWaiting } from './copy-entries.ts';
import {
  copyDocuments,
  copyProfile,
  copyRecord,
  copyState,
  copyTokens,
  copyTrips,
  profileHasMore,
} from './copy-rest.ts';
import { addTally, differences, emptyTally, type Tally } from './pairs.ts';
import type { Copied, UserCopy } from './user-copy.ts';

/** Collections that are copied. */
export const copiedCollections = collections.filter((name): name is Copied => name !== 'leases');

/** What copying a user's data gets from outside. */
export interface MigrateOptions {
  /** Seconds since the epoch. */
  now: () => number;
  /** The owner of the leases, shown to others. */
  owner: string;
  /** s; how long a killed migration keeps its users. */
  leaseSeconds: number;
  /** Compare only. */
  dryRun?: boolean;
  /** Replace users whose data at the target differs; data that only the target has is lost. */
  overwrite?: boolean;
  /** Let the target keep users whom the source does not have. */
  merge?: boolean;
  /** Users in work at once. Default 4. */
  lanes?: number;
  /** Once aborted, no more rows are written. */
  signal?: AbortSignal;
  /** Called before each batch of rows, with the name of the user in work. */
  onRows?: (email: string) => void;
  /** Called after each user. */
  onUser?: (report: UserMigration) => void;
  /** Called before waiting for a user, with the holder of the lease and the s until it expires unless renewed. */
  onWait?: (email: string, message: string, seconds: number) => void;
  /** Waits; injected for tests. s */
  wait?: (seconds: number) => Promise<void>;
}

/**
 * Rows of one collection: those of the source, and what was written to and removed from the target (in a dry run: would
 * be).
 */
export interface Moved {
  rows: number;
  copied: number;
  removed: number;
}

/** How one user's copy ended. */
export interface UserMigration {
  user_id: string;
  user_email: string;
  /**
   * `copied`: both sides are equal now. `same`: they were. `busy`: somebody works on the user. `differs`: the target
   * has something of its own. `changing`: somebody goes on writing at the source, or at the target.
   */
  status: 'copied' | 'same' | 'busy' | 'differs' | 'changing' | 'failed';
  collections: Record<Copied, Moved>;
  message?: string;
  /** With `busy`: when the leases of others on the user end, at both stores, unless renewed. */
  busy_until?: number;
}

/** A pass that finds no difference must come within so many. */
const mostPasses = 4;

type Ending = Pick<UserMigration, 'status' | 'message' | 'busy_until'>;

/**
 * Copies one user. What befalls this user alone is in the report; what concerns a whole store is thrown:
 * `MOBILITY_STORE_*`, and the reason of `signal` when it is aborted.
 */
export async function migrateUser(
  from: Store,
  to: Store,
  { uuid, user_email }: UserRecord,
  options: MigrateOptions,
): Promise<UserMigration> {
  const moved = Object.fromEntries(
    copiedCollections.map((name) => [name, { rows: 0, copied: 0, removed: 0 }]),
  ) as Record<Copied, Moved>;
  const look: UserCopy = { userId: uuid, from, to, lease: null, onRows: () => {} };
  const copying = { look, email: user_email, moved, options };
  let ending: Ending;
  try {
    ending = options.dryRun ? await compareOnly(copying) : await underLeases(copying);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!isMobilityError(error) || concernsAll(error)) throw error;
    ending = { status: 'failed', message: error.message };
  }
  return { user_id: uuid, user_email, collections: moved, ...ending };
}

function concernsAll({ code }: MobilityError): boolean {
  return /^MOBILITY_STORE_(?!DAMAGED)/.test(code);
}

interface Copying {
  look: UserCopy;
  email: string;
  moved: Record<Copied, Moved>;
  options: MigrateOptions;
}

type Tallies = Partial<Record<Copied, Tally>>;

/**
 * Compares what is known of the user, and mends it where `copy` may. The order matters, see the copies of errors and of
 * the state.
 */
async function passOverContent(copy: UserCopy): Promise<Tallies> {
  return {
    profiles: await copyProfile(copy),
    usercache: await copyWaiting(copy),
    errors: await copyErrors(copy),
    documents: await copyDocuments(copy),
    timeseries: await copyTimeseries(copy),
    trips: await copyTrips(copy),
    pipeline: await copyState(copy),
  };
}

/**
 * Copies the registration. It comes after the content: a user who is registered at the target is complete there.
 */
async function passOverPerson(copy: UserCopy): Promise<Tallies> {
  return { tokens: await copyTokens(copy), users: await copyRecord(copy) };
}

function sumOf(tallies: Tallies): Tally {
  const sum = emptyTally();
  for (const tally of Object.values(tallies)) addTally(sum, tally);
  return sum;
}

function count(moved: Record<Copied, Moved>, tallies: Tallies): void {
  for (const [name, { rows, missing, different, extra }] of Object.entries(tallies) as [Copied, Tally][]) {
    moved[name].rows = rows;
    moved[name].copied += missing + different;
    moved[name].removed += extra;
  }
}

async function compareOnly({ look, email, moved, options }: Copying): Promise<Ending> {
  const conflict = await identityConflict(look, email);
  if (conflict !== null) return conflict;
  const found = { ...(await passOverContent(look)), ...(await passOverPerson(look)) };
  if (differences(sumOf(found)) === 0) {
    count(moved, found);
    return { status: 'same' };
  }
  const own = (await look.to.users.byUuid(look.userId)) === null ? null : ownOfTarget(found, options);
  if (own === null) count(moved, found);
  return own ?? { status: 'copied' };
}

async function identityConflict({ userId, to }: UserCopy, email: string): Promise<Ending | null> {
  const [byName, byUuid] = [await to.users.byEmail(email), await to.users.byUuid(userId)];
  if ((byName === null || byName.uuid === userId) && (byUuid === null || byUuid.user_email === email)) return null;
  const found =
    byName === null ? `the UUID with the name ${byUuid!.user_email}` : `the name with the UUID ${byName.uuid}`;
  return { status: 'failed', message: `expected name and UUID to be new or together at the target, found ${found}` };
}

/** The reason not to copy a user who is registered at the target: data that only the target has would be lost. */
function ownOfTarget({ users: _, ...found }: Tallies, { overwrite }: MigrateOptions): Ending | null {
  const { different, extra } = sumOf(found);
  if (overwrite || different + extra === 0) return null;
  const message =
    `the target has something else (rows only there: ${extra}, with other content: ${different}); nothing was copied: ` +
    'with --overwrite they become as at the source';
  return { status: 'differs', message };
}

// ---------------------------------------------------------------- the copy itself

async function underLeases(copying: Copying): Promise<Ending> {
  const { look, options } = copying;
  const { userId, from, to } = look;
  const atSource = `${options.owner} (source)`;
  const source = await holdLease(from, userId, atSource, options.leaseSeconds);
  if ('heldBy' in source) return busy(look, 'source', source.heldBy);
  try {
    for (;;) {
      // Rows come before the registration, see `passOverPerson`.
      await to.users.admit(userId);
      const target = await holdLease(to, userId, `${options.owner} (target)`, options.leaseSeconds);
      if ('heldBy' in target) {
        if (target.heldBy.owner === atSource) throw oneStore(from);
        return busy(look, 'target', target.heldBy);
      }
      const ending = await workOn(copying, target.held).finally(() => target.held.end());
      if (ending !== 'start anew') return ending;
      await to.erase(userId);
    }
  } finally {
    await source.held.end();
  }
}

function oneStore({ address }: Store): MobilityError {
  return new MobilityError('MOBILITY_STORE_ADDRESS', `expected two stores, found ${address} on both sides`);
}

/** A killed migration left a lease in both stores; each expires by itself. `busy_until` is the later expiry. */
async function busy({ userId, from, to }: UserCopy, side: string, held: Lease): Promise<Ending> {
  const leases = await Promise.all([from.leases.get(userId), to.leases.get(userId)]);
  const ends = [held, ...leases].map((lease) => lease?.expires_ts ?? 0);
  return { status: 'busy', message: `${held.owner} works on this user at the ${side}`, busy_until: Math.max(...ends) };
}

async function workOn({ look, email, moved, options }: Copying, target: HeldLease): Promise<Ending | 'start anew'> {
  const conflict = await identityConflict(look, email);
  if (conflict !== null) return conflict;
  if ((await look.to.users.byUuid(look.userId)) !== null) {
    const found = { ...(await passOverContent(look)), ...(await passOverPerson(look)) };
    if (differences(sumOf(found)) === 0) count(moved, found);
    if (differences(sumOf(found)) === 0) return { status: 'same' };
    const own = ownOfTarget(found, options);
    if (own !== null) return own;
  }
  // Of a user who is not registered, the target has what an interrupted migration left.
  if (await profileHasMore(look)) return 'start anew';
  const onRows = (): void => {
    options.signal?.throwIfAborted();
    options.onRows?.(email);
  };
  return copyUntilSame({ ...look, lease: target.current, onRows }, look, moved);
}

async function copyUntilSame(copy: UserCopy, look: UserCopy, moved: Record<Copied, Moved>): Promise<Ending> {
  for (let passes = 1; ; passes++) {
    const found = await passOverContent(copy);
    count(moved, found);
    if (differences(sumOf(found)) === 0) break;
    if (passes === mostPasses) return changing(`${differences(sumOf(found))} rows differed after ${passes} passes`);
  }
  const miscounted = await countsThatDiffer(copy, moved);
  if (miscounted.length > 0) return changing(miscounted.join(', '));
  copy.onRows();
  count(moved, await passOverPerson(copy));
  if (differences(sumOf(await passOverPerson(look))) > 0) return changing('name or tokens differed');
  return { status: 'copied' };
}

function changing(found: string): Ending {
  const message = `somebody goes on writing: ${found}. Stop servers and pipelines of both stores, then repeat`;
  return { status: 'changing', message };
}

/** What the stores count themselves must be what was compared. */
async function countsThatDiffer({ userId, from, to }: UserCopy, moved: Record<Copied, Moved>): Promise<string[]> {
  const [source, target] = await Promise.all([from.counts(userId), to.counts(userId)]);
  const compared = ['profiles', 'usercache', 'documents', 'errors', 'timeseries', 'trips'] as const;
  const wrong = compared.filter((name) => source[name] !== moved[name].rows || target[name] !== source[name]);
  return wrong.map((name) => `${name}: ${source[name]} at the source, ${target[name]} at the target`);
}
