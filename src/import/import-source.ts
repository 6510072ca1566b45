// The import: what readers find goes through the one way in, batch by batch, and is counted.

import { isEntry, type Taken } from '../intake/check-entry.ts';
import { type Pushed, putTaken, takePushed } from '../intake/put-batch.ts';
import type { Log } from '../log/log.ts';
import type { Entry, Identity } from '../model/entry.ts';
import { errorText, isMobilityError, MobilityError } from '../model/mobility-error.ts';
import { justAfter } from '../model/time.ts';
import { isUserName, type UserRecord } from '../model/user.ts';
import type { Document, ErrorRow, Store } from '../store/store.ts';
import type { Found, Owner, Part, SourcePerson } from './import-format.ts';
import { SourceBroken } from './source-error.ts';

/** What came of things read: `read` is the sum of the five behind it. */
export interface ImportCounts {
  read: number;
  /** New in the store. */
  stored: number;
  /** In the store before this import. */
  known: number;
  /** Once more in the same import. */
  doubled: number;
  /** Invalid entries. `mobility doctor --user` lists them, unless they belong to no user. */
  set_aside: number;
  /** Derived by another service: the pipeline derives it again. */
  left_behind: number;
}

/** One source and its counts. */
export interface PartReport extends ImportCounts {
  source: string;
  format: string;
  /** What is wrong with it, first things first; at most `maxProblems`. */
  problems: string[];
}

/** What an import came to. */
export interface ImportReport extends ImportCounts {
  parts: PartReport[];
  /** Every user who got data. `registered`: the import registered them. */
  users: (Pick<UserRecord, 'uuid' | 'user_email'> & ImportCounts & { registered: boolean })[];
  /** True when a signal ended it: the same import continues. */
  interrupted: boolean;
}

/** The person an import is for. */
export interface ImportedFor {
  /** Name or UUID. */
  name: string;
  /** The registered user; null if not registered yet. */
  user: UserRecord | null;
  /** True: registers unknown people with the first entry of theirs. */
  create?: boolean;
}

/** Where an import stores, and whom it informs. */
export interface ImportOptions {
  store: Store;
  /** Seconds since the epoch. */
  now: () => number;
  log?: Log;
  /**
   * Whom it is for; null: for everybody whom the sources name. Sources that name people give only what is theirs; what
   * others hold is theirs.
   */
  whom: ImportedFor | null;
  /** Reads and counts, and stores nothing. */
  dryRun?: boolean;
  signal?: AbortSignal;
  /** Called now and then with the part, its share that is read (0 to 1; null: unknown), and the counts so far. */
  onProgress?(part: Part, share: number | null, counts: ImportCounts): void;
}

/** The most problems reported per source: a file of the wrong kind would have one on each line. */
const maxProblems = 5;

/** Entries of a user, and characters of them, that wait in memory before they are stored. */
const batchEntries = 5000;
const batchLength = 1024 * 1024;

/** The same for all users together: a database may hold ten thousand in turns. Parsed, characters take twenty bytes. */
const waitingEntries = 20_000;
const waitingLength = 4 * 1024 * 1024;

const lengthOf = (pushed: Pushed): number =>
  typeof pushed === 'string' ? pushed.length : JSON.stringify(pushed).length;

const noCounts = (): ImportCounts => ({ read: 0, stored: 0, known: 0, doubled: 0, set_aside: 0, left_behind: 0 });

/**
 * Imports sources one after the other. Entries that the store has stay as they are, so that an interrupted import is
 * simply repeated. Of a source that breaks off, what was read before is stored; the other sources are imported.
 */
export async function importParts(parts: readonly Part[], options: ImportOptions): Promise<ImportReport> {
  const people = new People(options);
  const report: ImportReport = { ...noCounts(), parts: [], users: [], interrupted: false };
  for (const part of parts) {
    if (options.signal?.aborted) break;
    const one: PartReport = { source: part.name, format: part.format, ...noCounts(), problems: [] };
    report.parts.push(one);
    await importPart(part, one, people, options);
    for (const name of countNames) report[name] += one[name];
  }
  report.users = people.report();
  report.interrupted = options.signal?.aborted === true;
  return report;
}

const countNames = ['read', 'stored', 'known', 'doubled', 'set_aside', 'left_behind'] as const;

async function importPart(part: Part, report: PartReport, people: People, options: ImportOptions): Promise<void> {
  const problem = (text: string): void => {
    if (report.problems.length < maxProblems) report.problems.push(text);
    else if (report.problems.length === maxProblems) report.problems.push('and more of the kind');
  };
  let bytes = 0;
  let told = 0;
  let left: string | undefined;
  let owner: string | undefined; // of a source that names UUIDs
  const tell = (): void => {
    const share = part.size === null ? null : part.size === 0 ? 1 : Math.min(1, bytes / part.size);
    options.onProgress?.(part, share, report);
  };
  const onBytes = (count: number): void => {
    bytes += count;
  };
  try {
    for await (const found of part.read({ onBytes })) {
      if (options.signal?.aborted) break;
      if ('unread' in found) {
        report.read += 1;
        report.set_aside += 1;
        problem(found.unread);
      } else if ('left' in found) {
        report.read += 1;
        report.left_behind += 1;
        left ??= found.left;
      } else if ('warning' in found) {
        problem(found.warning);
      } else {
        const person = await people.find(found.of, part);
        owner ??= found.of?.uuid;
        if (found.of !== null && found.of.uuid !== owner && part.names === 'uuids' && options.whom !== null) {
          throw new SourceBroken(
            `expected entries of one person, ${options.whom.name}, found a second UUID: ` +
              'leave out --user to import each person as a user of their own',
          );
        }
        if (person !== null) await person.take(found, report);
        if (people.isFull()) await people.flush(report);
      }
      if (report.read - told >= 1000) {
        told = report.read;
        tell();
      }
    }
  } catch (error) {
    const isOfPart = error instanceof SourceBroken || isMobilityError(error, 'MOBILITY_USER_EXISTS');
    // A fault of a reader ends its part; one of the store ends the import.
    if (!isOfPart && isMobilityError(error)) throw error;
    problem(isOfPart ? error.message : `the program failed on it: ${errorText(error)}`);
  }
  await people.flush(report);
  if (isEmpty(report) && part.names === 'none' && report.problems.length === 0)
    problem(left === undefined ? 'expected recorded points, found none' : `found only what is not imported: ${left}`);
  tell();
}

/** True for a source that gave no entry. */
const isEmpty = ({ stored, known, doubled }: ImportCounts): boolean => stored + known + doubled === 0;

/** The users of one import, each with pending things. */
class People {
  readonly #options: ImportOptions;
  readonly #byOwner = new Map<string, Promise<Recipient | null>>();
  readonly #met = new Map<string, Recipient>();
  readonly #waiting: Waiting = { entries: 0, length: 0 };

  constructor(options: ImportOptions) {
    this.#options = options;
  }

  /** The user who gets the data of `of`; null if the import does not include this person. */
  find(of: Owner, part: Part): Promise<Recipient | null> {
    const key = `${part.names} ${of?.uuid ?? ''}`;
    let found = this.#byOwner.get(key);
    if (found === undefined) {
      found = this.#resolve(of, part);
      this.#byOwner.set(key, found);
    }
    return found;
  }

  async #resolve(of: Owner, { names }: Part): Promise<Recipient | null> {
    const { whom } = this.#options;
    if (of !== null && (whom === null || names === 'people')) {
      const isMeant = whom === null || whom.name === of.user_email || whom.name.toLowerCase() === of.uuid;
      if (!isMeant) return null;
      const { user, registered } = await register(of, this.#options);
      return this.#recipient(user, registered);
    }
    if (whom?.user != null) return this.#recipient(whom.user, false);
    if (!whom?.create) throw new TypeError('data that name no user are imported for a registered user only');
    const { store, now, dryRun } = this.#options;
    const { name } = whom;
    const user = dryRun ? { uuid: '', user_email: name } : (await store.users.register(name, { now: now() })).user;
    return this.#recipient(user, true);
  }

  #recipient(user: Pick<UserRecord, 'uuid' | 'user_email'>, registered: boolean): Recipient {
    const known = this.#met.get(user.uuid);
    if (known !== undefined) return known;
    const recipient = new Recipient(user, registered, this.#options, this.#waiting);
    this.#met.set(user.uuid, recipient);
    return recipient;
  }

  /** True when more waits than memory should hold. */
  isFull(): boolean {
    return this.#waiting.entries > waitingEntries || this.#waiting.length > waitingLength;
  }

  async flush(report: PartReport): Promise<void> {
    for (const recipient of this.#met.values()) await recipient.flush(report);
  }

  report(): ImportReport['users'] {
    return [...this.#met.values()].map(({ uuid, user_email, registered, counts }) => ({
      uuid,
      user_email,
      registered,
      ...counts,
    }));
  }
}

/** Registers a person whom a source names. A user with that UUID stays unchanged, whatever the name. */
async function register(
  { uuid, user_email: name = uuid, update_ts }: SourcePerson,
  { store, now, dryRun }: ImportOptions,
): Promise<{ user: Pick<UserRecord, 'uuid' | 'user_email'>; registered: boolean }> {
  const user_email = isUserName(name) ? name : uuid; // it could not log in
  const known = await store.users.byUuid(uuid);
  if (known !== null) return { user: known, registered: false };
  const namesake = await store.users.byEmail(user_email);
  if (namesake !== null) {
    throw new MobilityError(
      'MOBILITY_USER_EXISTS',
      `${user_email} has the UUID ${uuid} in the source and ${namesake.uuid} in ${store.address}: ` +
        'two people cannot be distinguished; import into another store, or with --user for a user whom you choose',
    );
  }
  if (dryRun) return { user: { uuid, user_email }, registered: true };
  const { user } = await store.users.register(user_email, { uuid, now: update_ts ?? now() });
  return { user, registered: true };
}

/** Entries of all users in memory that are not stored yet. */
interface Waiting {
  entries: number;
  length: number;
}

/** One user who gets entries. */
class Recipient {
  readonly uuid: string;
  readonly user_email: string;
  readonly registered: boolean;
  readonly counts = noCounts();
  readonly #options: ImportOptions;
  readonly #waiting: Waiting;
  #batch: Taken[] = [];
  #receipts = new Map<Entry, number>();
  #length = 0;
  readonly #seen = new Map<string, Set<number>>();

  constructor(
    { uuid, user_email }: Pick<UserRecord, 'uuid' | 'user_email'>,
    registered: boolean,
    options: ImportOptions,
    waiting: Waiting,
  ) {
    this.uuid = uuid;
    this.user_email = user_email;
    this.registered = registered;
    this.#options = options;
    this.#waiting = waiting;
  }

  async take(found: Found, report: PartReport): Promise<void> {
    if ('entry' in found || 'unusable' in found) {
      this.#count(report, { read: 1 });
      this.#batch.push('entry' in found ? this.#take(found.entry, found.received_ts) : found.unusable);
      const length = lengthOf('entry' in found ? found.entry : found.unusable.entry);
      this.#length += length;
      this.#waiting.entries += 1;
      this.#waiting.length += length;
      if (this.#batch.length >= batchEntries || this.#length >= batchLength) await this.flush(report);
    } else if ('error' in found) {
      this.#count(report, { read: 1, ...(await this.#setAside(found.error)) });
    } else if (this.#options.dryRun) {
      return;
    } else if ('profile' in found) {
      await this.#options.store.profiles.merge(this.uuid, {}, found.profile);
    } else if ('document' in found) {
      await this.#putDocument(found.document);
    }
  }

  /** An entry keeps the time of its first receipt, unless that has yet to come. */
  #take(pushed: Pushed, receivedTs: number | undefined): Taken {
    const taken = takePushed(pushed);
    if (receivedTs !== undefined && isEntry(taken) && receivedTs <= this.#options.now()) {
      this.#receipts.set(taken, receivedTs);
    }
    return taken;
  }

  /** Stores the pending things. */
  async flush(report: PartReport): Promise<void> {
    const batch = this.#batch;
    const receipts = this.#receipts;
    if (batch.length === 0) return;
    this.#waiting.entries -= batch.length;
    this.#waiting.length -= this.#length;
    this.#batch = [];
    this.#receipts = new Map();
    this.#length = 0;
    const { store, now, log, dryRun } = this.#options;
    const doubled = batch.map((taken) => isEntry(taken) && this.#isDoubled(taken.metadata));
    if (dryRun) {
      for (const [i, taken] of batch.entries()) {
        if (!isEntry(taken)) this.#count(report, { set_aside: 1 });
        else
          this.#count(report, {
            [doubled[i] ? 'doubled' : (await this.#isKnown(taken.metadata)) ? 'known' : 'stored']: 1,
          });
      }
      return;
    }
    // The profile records the phone's last put: an import is not a phone.
    const put = await putTaken(this.uuid, batch, { store, now, inProfile: false, receipts, ...(log && { log }) });
    const again = doubled.filter(Boolean).length;
    this.#count(report, {
      stored: put.inserted,
      known: put.updated - again,
      doubled: again,
      set_aside: put.rejected,
    });
  }

  #isDoubled({ key, write_ts }: Identity): boolean {
    const seen = this.#seen.get(key) ?? new Set();
    this.#seen.set(key, seen);
    if (seen.has(write_ts)) return true;
    seen.add(write_ts);
    return false;
  }

  #count(report: PartReport, counts: Partial<ImportCounts>): void {
    for (const name of countNames) {
      report[name] += counts[name] ?? 0;
      this.counts[name] += counts[name] ?? 0;
    }
  }

  async #isKnown({ key, write_ts }: Identity): Promise<boolean> {
    const { timeseries, usercache } = this.#options.store;
    if ((await timeseries.get(this.uuid, { key, write_ts })) !== null) return true;
    const range = { from: write_ts, to: justAfter(write_ts) };
    const { entries } = await usercache.find(this.uuid, { keys: [key], time: 'write_ts', ...range, limit: 1 });
    return entries.length > 0;
  }

  /** An error that is here, or was mended here since, is known; any other is as it was where it comes from. */
  async #setAside(row: ErrorRow): Promise<Partial<ImportCounts>> {
    const { store, dryRun } = this.#options;
    if (row.identity !== null && (await this.#isKnown(row.identity))) return { known: 1 };
    if ((await store.errors.list(this.uuid, { id: row.id, limit: 1 })).length > 0) return { known: 1 };
    if (!dryRun) await store.errors.put(this.uuid, [row]);
    return { set_aside: 1 };
  }

  async #putDocument(document: Document): Promise<void> {
    const { documents, leases } = this.#options.store;
    if ((await documents.get(this.uuid, document.key)) !== null) return;
    const taken = await leases.acquire(this.uuid, `import ${document.key}`, secondsOfDocument);
    if ('heldBy' in taken) return; // a run that works on the user writes their documents itself
    await documents.apply(this.uuid, { put: [document], remove: [] }, taken.lease, { release: true });
  }
}

/** s; how long an import that is killed while it writes a document keeps the user. */
const secondsOfDocument = 60;
