// Runs an import: stores the items that readers find, batch by batch, and counts them.
import { type CheckedEntry, isEntry } from '../intake/check-entry.ts';
import { checkPushed, type Pushed, putChecked } from '../intake/put-batch.ts';
import type { Log } from '../log/log.ts';
import type { PutCounts } from '../log/messages.ts';
import type { Entry, Identity } from '../model/entry.ts';
import { errorText, isMobilityError, MobilityError } from '../model/mobility-error.ts';
import { isUserName, type UserRecord } from '../model/user.ts';
import { hasEntry } from '../store/paging.ts';
import type { Document, ErrorRow, Store } from '../store/store.ts';
import { startSlices } from '../util/slices.ts';
import type { Found, Owner, Part, SourcePerson } from './import-format.ts';
import { SourceBroken, type SourceProblem } from './source-error.ts';

export interface ImportCounts {
  read: number;
  stored: number; // new in the store
  known: number; // in the store already before this import
  doubled: number; // found more than once in this import
  /** Invalid entries. `mobility doctor --user` lists the entries that belong to a user. */
  set_aside: number;
  /** Not imported: the pipeline derives these entries again, or they are not about travel. */
  left_behind: number;
}

export interface PartReport extends ImportCounts {
  source: string;
  format: string;
  /** The first problems, up to `maxProblems`. A further text says that there are more. */
  problems: string[];
  problem_kinds: SourceProblem[];
}

export interface ImportReport extends ImportCounts {
  parts: PartReport[];
  /** The users who got data. `registered`: this import registered the user. */
  users: (UserName & ImportCounts & { registered: boolean })[];
  /** True if a signal ended the import. The same import continues it. */
  interrupted: boolean;
}

/** `name` may be a UUID. `user`: null if not registered. `create`: registers the person. */
export type ImportedFor = { name: string; user: UserRecord | null; create?: boolean };

export interface ImportOptions {
  store: Store;
  now: () => number; // seconds since the epoch
  log?: Log;
  /**
   * Of a source that names people, only the data of this person are imported. All data of other
   * sources are imported for this person. null: imports for all people that the sources name.
   */
  whom: ImportedFor | null;
  /** Replaces `putChecked`, for example to apply rate limits. Requires `whom`. */
  put?: (checked: readonly CheckedEntry[], receipts: ReadonlyMap<Entry, number>) => Promise<PutCounts>;
  entriesOnly?: true; // leaves out errors, documents and profiles
  dryRun?: boolean;
  signal?: AbortSignal;
  /** `share`: the part of the source that has been read (0 to 1; null: unknown). */
  onProgress?(part: Part, share: number | null, counts: ImportCounts): void;
}

const maxProblems = 5; // per source that are reported; a file of a wrong format has one on each line

/**
 * The most entries in memory, and the most characters of their JSON. A character takes about 20
 * bytes when it is parsed. At a limit, the entries are stored. `ofAll`: a database may have entries
 * of thousands of users in any order.
 */
const most = { ofUser: { entries: 5000, length: 1024 * 1024 }, ofAll: { entries: 20_000, length: 4 * 1024 * 1024 } };

const lengthOf = (pushed: Pushed): number =>
  typeof pushed === 'string' ? pushed.length : JSON.stringify(pushed).length;

const noCounts = (): ImportCounts => ({ read: 0, stored: 0, known: 0, doubled: 0, set_aside: 0, left_behind: 0 });
const countNames = Object.keys(noCounts()) as (keyof ImportCounts)[];

/** Does not change entries that the store has, so an interrupted import can be repeated. */
export async function importParts(parts: readonly Part[], options: ImportOptions): Promise<ImportReport> {
  const people = new People(options);
  const sums = noCounts();
  const reports: PartReport[] = [];
  for (const part of parts) {
    if (options.signal?.aborted) break;
    const one = await importPart(part, people, options);
    reports.push(one);
    add([sums], one);
  }
  return { ...sums, parts: reports, users: people.report(), interrupted: options.signal?.aborted === true };
}

async function importPart(part: Part, people: People, options: ImportOptions): Promise<PartReport> {
  const report: PartReport = { source: part.name, format: part.format, ...noCounts(), problems: [], problem_kinds: [] };
  const problem = (kind: SourceProblem, text: string): void => {
    if (options.signal?.aborted) return; // the part was not read to its end
    if (!report.problem_kinds.includes(kind)) report.problem_kinds.push(kind);
    if (report.problems.length < maxProblems) report.problems.push(text);
    else if (report.problems.length === maxProblems) report.problems.push('and further problems');
  };
  let [bytes, shown] = [0, 0];
  let skipped: string | undefined;
  let isOfOne = options.whom === null || part.names === 'people';
  const show = (): void => {
    const share = part.size === null ? null : part.size === 0 ? 1 : Math.min(1, bytes / part.size);
    options.onProgress?.(part, share, report);
  };
  const onBytes = (count: number): void => {
    options.signal?.throwIfAborted(); // the loop below never runs for a file without entries
    bytes += count;
  };
  const slices = startSlices();
  try {
    for await (const found of part.read({ onBytes })) {
      if (slices.isOver()) await slices.next(); // other calls of a server run in between
      if (options.signal?.aborted) break;
      if ('unread' in found) {
        add([report], { read: 1, set_aside: 1 });
        problem('points', found.unread);
      } else if ('skipped' in found) {
        add([report], { read: 1, left_behind: 1 });
        skipped ??= found.skipped;
      } else if ('warning' in found) {
        problem(found.kind, found.warning);
      } else {
        const { owner } = found;
        if (!isOfOne && (owner !== null || 'named' in found)) await expectOnePerson(part, options);
        isOfOne ||= owner !== null || 'named' in found;
        const recipient = await people.find(owner, part);
        if (recipient !== null) await people.take(recipient, found, report);
      }
      if (report.read - shown >= 1000) {
        shown = report.read;
        show();
      }
    }
  } catch (error) {
    const isOfPart = error instanceof SourceBroken || isMobilityError(error, 'MOBILITY_USER_EXISTS');
    // An error of a reader ends only its part. An error of the store ends the import.
    if (!isOfPart && isMobilityError(error)) throw error;
    const text = isOfPart ? error.message : `the program failed on this source: ${errorText(error)}`;
    problem(error instanceof SourceBroken ? error.kind : 'other', text);
  }
  await people.flush(report);
  if (report.stored + report.known + report.doubled === 0 && part.names === 'none' && report.problems.length === 0) {
    const others = skipped === undefined ? 'none' : `only data that are not imported: ${skipped}`;
    problem('empty', `expected recorded points, found ${others}`);
  }
  show();
  return report;
}

/** Reads a part that names people to its end before any of it is stored. */
async function expectOnePerson(part: Part, { whom, signal }: ImportOptions): Promise<void> {
  const uuids = new Set<string>();
  try {
    for await (const found of part.read({ onBytes: () => signal?.throwIfAborted() })) {
      if ('owner' in found && found.owner !== null) uuids.add(found.owner.uuid);
      if (uuids.size <= 1) continue;
      const text = `expected entries of one person, ${whom?.name}, found a second UUID`;
      const remedy = 'leave out --user to import each person as a user of their own';
      throw new SourceBroken(`${text}: ${remedy}`, 'people');
    }
  } catch (error) {
    if (!(error instanceof SourceBroken) || error.kind === 'people') throw error;
  }
}

type UserName = Pick<UserRecord, 'uuid' | 'user_email'>;

interface Recipient {
  user: UserName;
  registered: boolean;
  counts: ImportCounts;
  batch: CheckedEntry[];
  receipts: Map<Entry, number>;
  length: number;
  seen: Map<string, Set<number>>; // the `write_ts` of the entries that this import has read, by key
}

const emptyBatch = () => ({ batch: [] as CheckedEntry[], receipts: new Map<Entry, number>(), length: 0 });

class People {
  readonly #options: ImportOptions;
  readonly #byOwner = new Map<string, Promise<Recipient | null>>();
  readonly #recipients = new Map<string, Recipient>();
  readonly #pending = { entries: 0, length: 0 };

  constructor(options: ImportOptions) {
    this.#options = options;
  }

  /** null: the import does not include this person. */
  find(owner: Owner, part: Part): Promise<Recipient | null> {
    const key = `${part.names} ${owner?.uuid}`;
    const found = this.#byOwner.get(key) ?? this.#resolve(owner, part);
    this.#byOwner.set(key, found);
    return found;
  }

  async #resolve(owner: Owner, { names }: Part): Promise<Recipient | null> {
    const { whom, store, now, dryRun } = this.#options;
    if (owner !== null && (whom === null || names === 'people')) {
      const isWanted = whom === null || whom.name === owner.user_email || whom.name.toLowerCase() === owner.uuid;
      if (!isWanted) return null;
      const { user, registered } = await register(owner, this.#options);
      return this.#recipient(user, registered);
    }
    if (whom?.user != null) return this.#recipient(whom.user, false);
    if (!whom?.create) throw new TypeError('data without a user can be imported only for a registered user');
    const { name } = whom;
    const user = dryRun ? { uuid: '', user_email: name } : (await store.users.register(name, { now: now() })).user;
    return this.#recipient(user, true);
  }

  #recipient({ uuid, user_email }: UserName, registered: boolean): Recipient {
    const user = { uuid, user_email };
    const known = this.#recipients.get(uuid);
    const recipient = known ?? { user, registered, counts: noCounts(), ...emptyBatch(), seen: new Map() };
    this.#recipients.set(uuid, recipient);
    return recipient;
  }

  async take(recipient: Recipient, found: Found, report: PartReport): Promise<void> {
    if ('entry' in found || 'unusable' in found) {
      add([report, recipient.counts], { read: 1 });
      const checked = 'entry' in found ? checkPushed(found.entry) : found.unusable;
      recipient.batch.push(checked);
      const received = 'entry' in found ? found.received_ts : undefined;
      // Ignore a receipt in the future: the clock of the other service was wrong.
      if (received !== undefined && received <= this.#options.now() && isEntry(checked))
        recipient.receipts.set(checked, received);
      const length = lengthOf('entry' in found ? found.entry : found.unusable.entry);
      recipient.length += length;
      this.#pending.entries += 1;
      this.#pending.length += length;
      const { ofUser, ofAll } = most;
      const isFull = recipient.batch.length >= ofUser.entries || recipient.length >= ofUser.length;
      if (isFull) await this.#store(recipient, report);
      if (this.#pending.entries > ofAll.entries || this.#pending.length > ofAll.length) await this.flush(report);
      return;
    }
    const { store, entriesOnly, dryRun } = this.#options;
    if (entriesOnly) return;
    if ('error' in found) add([report, recipient.counts], { read: 1, ...(await this.#reject(recipient, found.error)) });
    if (dryRun) return;
    if ('profile' in found) await store.profiles.merge(recipient.user.uuid, {}, found.profile);
    if ('document' in found) await this.#putDocument(recipient, found.document);
  }

  async flush(report: PartReport): Promise<void> {
    for (const recipient of this.#recipients.values()) await this.#store(recipient, report);
  }

  async #store(recipient: Recipient, report: PartReport): Promise<void> {
    const { batch, receipts, length } = recipient;
    if (batch.length === 0) return;
    this.#pending.entries -= batch.length;
    this.#pending.length -= length;
    Object.assign(recipient, emptyBatch());
    const { store, now, log, dryRun } = this.#options;
    const doubled = batch.map((checked) => isEntry(checked) && isDoubled(recipient, checked.metadata));
    if (dryRun) {
      for (const [i, checked] of batch.entries()) {
        const isKnown =
          !doubled[i] && isEntry(checked) && (await hasEntry(store, recipient.user.uuid, checked.metadata));
        const what = !isEntry(checked) ? 'set_aside' : doubled[i] ? 'doubled' : isKnown ? 'known' : 'stored';
        add([report, recipient.counts], { [what]: 1 });
      }
      return;
    }
    // The profile of a user records only the puts of phones.
    const put = await (this.#options.put?.(batch, receipts) ??
      putChecked(recipient.user.uuid, batch, { store, now, inProfile: false, receipts, ...(log && { log }) }));
    const again = doubled.filter(Boolean).length;
    const known = put.updated - again;
    const counts = { stored: put.inserted, known, doubled: again, set_aside: put.rejected };
    add([report, recipient.counts], counts);
  }

  /** Does nothing if the store has the error, or a valid entry with its identity. */
  async #reject({ user: { uuid } }: Recipient, row: ErrorRow): Promise<Partial<ImportCounts>> {
    const { store, dryRun } = this.#options;
    if (row.identity !== null && (await hasEntry(store, uuid, row.identity))) return { known: 1 };
    if ((await store.errors.list(uuid, { id: row.id, limit: 1 })).length > 0) return { known: 1 };
    if (!dryRun) await store.errors.put(uuid, [row]);
    return { set_aside: 1 };
  }

  async #putDocument({ user: { uuid } }: Recipient, document: Document): Promise<void> {
    const { documents, leases } = this.#options.store;
    if ((await documents.keys(uuid)).includes(document.key)) return;
    const taken = await leases.acquire(uuid, `import ${document.key}`, documentLease);
    if ('heldBy' in taken) return; // a run that works on the user writes the documents itself
    await documents.apply(uuid, { put: [document], remove: [] }, taken.lease, { release: true });
  }

  report(): ImportReport['users'] {
    return [...this.#recipients.values()].map(({ user, registered, counts }) => ({ ...user, registered, ...counts }));
  }
}

const documentLease = 60; // s; if the import is killed, another process gets the lease after this time

function add(sums: readonly ImportCounts[], counts: Partial<ImportCounts>): void {
  for (const name of countNames) for (const sum of sums) sum[name] += counts[name] ?? 0;
}

function isDoubled({ seen }: Recipient, { key, write_ts }: Identity): boolean {
  const times = seen.get(key) ?? new Set();
  seen.set(key, times);
  return times.size === times.add(write_ts).size;
}

/** An existing user with this UUID stays unchanged, even if the name differs. */
async function register(
  { uuid, user_email: name = uuid, update_ts }: SourcePerson,
  { store, now, dryRun }: ImportOptions,
): Promise<{ user: UserName; registered: boolean }> {
  const user_email = isUserName(name) ? name : uuid; // no one could log in with an invalid name
  const known = await store.users.byUuid(uuid);
  if (known !== null) return { user: known, registered: false };
  const namesake = await store.users.byEmail(user_email);
  if (namesake !== null) {
    const text =
      `expected the same UUID for ${user_email} in source and store, found ${uuid} in the source and ` +
      `${namesake.uuid} in ${store.address}: import into another store, or with --user for a user whom you choose`;
    throw new MobilityError('MOBILITY_USER_EXISTS', text);
  }
  if (dryRun) return { user: { uuid, user_email }, registered: true };
  const { user } = await store.users.register(user_email, { uuid, now: update_ts ?? now() });
  return { user, registered: true };
}
