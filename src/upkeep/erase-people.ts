import type { Log } from '../log/log.ts';
import { scrubLogs } from '../log/scrub.ts';
import { counted } from '../log/text.ts';
import { errorText, isMobilityError } from '../model/mobility-error.ts';
import { withLease } from '../pipeline/lease.ts';
import { type Collection, collections, type Erasure, type Store } from '../store/store.ts';

/** A field is null if the store does not have it: an unregistered name has no UUID. */
export type PersonToErase = { user_email: string | null; uuid: string | null };

type Rows = Record<Collection, number>;

/** `remaining`: rows that are left. The record stays as long as a log file may contain the name. */
export type ErasedUser = PersonToErase & { removed: Rows; remaining: Rows };

export type Receipt = Awaited<ReturnType<typeof erasePeople>>;

interface ErasePeopleOptions {
  now: () => number;
  signal: AbortSignal;
  openLog: () => Promise<Log>;
  logDir: string;
  onProgress: (text: string) => void;
}

/**
 * Erases users until `signal` is aborted, then removes their names from log files. Removes their
 * records last, so that a repeated erasure finds the names if the process was killed. Skips
 * a user whose lease another process holds; stops at any other error. Throws the error of a single
 * user; the receipt of several users has the errors, because it must also list who was erased.
 */
export async function erasePeople(
  store: Store,
  people: readonly PersonToErase[],
  { now, signal, openLog, logDir, onProgress }: ErasePeopleOptions,
) {
  const users: ErasedUser[] = [];
  const failed: (PersonToErase & { message: string })[] = [];
  for (const person of people) {
    if (signal.aborted) break;
    onProgress(`${users.length} of ${counted(people.length, 'user')} erased`);
    try {
      users.push(await eraseRows(store, person));
    } catch (error) {
      if (people.length === 1) throw error;
      failed.push({ ...person, message: errorText(error) });
      if (!isMobilityError(error, 'MOBILITY_LEASE_HELD')) break;
    }
  }
  const rows = users.reduce((sum, { removed }) => sum + totalOf(removed), 0);
  (await openLog()).write('INFO', `Erased ${counted(users.length, 'user')}: ${counted(rows, 'row')}`);
  onProgress('removing names from log files');
  const logs = await scrubLogs(logDir, users);
  for (const user of users) {
    if (logs.left.length === 0) await eraseRecord(store, user);
    else user.removed.users = 0; // the record is kept, and `remaining` counts it
  }
  await wipeTraces(store);
  return { store: store.address, erased_ts: now(), users, failed, logs, not_reached: notReached(store), kept };
}

async function eraseRows(store: Store, person: PersonToErase): Promise<ErasedUser> {
  if (person.uuid === null) return { ...person, removed: noRows(), remaining: noRows() };
  const removed = await eraseUser(store, person.uuid, { keepRecord: true });
  return { ...person, removed, remaining: await store.counts(person.uuid) };
}

async function eraseRecord(store: Store, user: ErasedUser): Promise<void> {
  if (user.uuid === null) return;
  await eraseUser(store, user.uuid, { keepTraces: true });
  user.remaining = await store.counts(user.uuid);
  const left = totalOf(user.remaining);
  if (left > 0)
    throw new Error(`${counted(left, 'row')} of ${user.uuid} are still there: stop the phone or the server and repeat`);
}

const noRows = () => Object.fromEntries(collections.map((name) => [name, 0])) as Rows;

const kept =
  'nothing of the membership of a study but, for each study token, the name of the study and 64 bits of the SHA-256, so that the app does not join again';

function notReached({ address }: Store): readonly string[] {
  const isMongo = address.startsWith('mongodb');
  return [
    "the server's standard output, as a journal or a container's log keeps it",
    'log files of other folders and hosts',
    'backups and exports made before',
    ...(isMongo ? ["bytes in the MongoDB server's own files until it overwrites them"] : []),
  ];
}

/** All erasures have one owner, so that a new one need not wait for the lease of a killed one. */
const lease = { owner: 'erase', leaseSeconds: 300 } as const;

/** Also continues an interrupted erasure. Throws `MOBILITY_LEASE_HELD` if a run holds the user. */
export async function eraseUser(store: Store, uuid: string, how: Erasure = {}): Promise<Rows> {
  try {
    return await withLease(store, uuid, lease, () => store.erase(uuid, how));
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_USER_UNKNOWN')) throw error;
    // The store refuses all writes about an unregistered user, so removing the rest needs no lease.
    return store.erase(uuid, how);
  }
}

export function totalOf(counts: Rows): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Overwrites traces of removed rows in the files of the store, also after a killed erasure. */
export async function wipeTraces(store: Store): Promise<void> {
  await store.erase('00000000-0000-0000-0000-000000000000'); // no user has this UUID
}
