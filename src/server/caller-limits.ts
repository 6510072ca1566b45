// Limits of a caller in a process. Routes and pages store entries through `CallerLimiter.put` only.
import type { Config } from '../config.ts';
import { beyondLimit, limitText, tooManyCorrections } from '../diary/corrections/read-corrections.ts';
import { type CheckedEntry, isEntry, tooManyKeys, tooManyStatements } from '../intake/check-entry.ts';
import { type PutCheckedOptions, putChecked } from '../intake/put-batch.ts';
import type { Log } from '../log/log.ts';
import { line, type PutCounts } from '../log/messages.ts';
import { type Entry, identityOf } from '../model/entry.ts';
import type { JsonValue } from '../model/json.ts';
import { keys as keyNames, keyTable } from '../model/keys.ts';
import { isNewMember } from '../model/study.ts';
import type { UserRecord } from '../model/user.ts';
import { hasEntry } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { WindowCounts } from '../util/rate-counts.ts';
import { mebibyte } from './byte-budget.ts';
import { type Problem, tooManyCalls } from './problem.ts';

/**
 * The limits for these settings; 0: no limit. A phone makes some hundred calls a day. The fixed
 * limits leave room for a script that reads or pushes a history, and stop a faulty app.
 */
export const callerLimits = (config: Pick<Config, 'mibPerDay' | 'pendingEntries'>) => ({
  callsPerMinute: 3_000,
  callsPerDay: 100_000,
  bytesPerMinute: 512 * mebibyte,
  bytesPerDay: config.mibPerDay * mebibyte,
  refusedPerMinute: 30, // calls whose body is refused: they cost most and store nothing
  pendingEntries: config.pendingEntries, // pending and rejected entries together
  unknownKeys: 1_000, // different keys that the service does not know
  linesPerDay: 100_000, // entries that the log lists, one line each; 100,000 lines take 16 MB
  studyBytesPerDay: 2_048 * mebibyte, // all new members of a study together; 5,000 phones send this on their first day
});

export type CallerLimits = ReturnType<typeof callerLimits>;

// Limits of a person who joined a study by its link and has not sent data on several days yet:
// anyone can create many such accounts. A phone may be offline for a month: 32,000 entries, 11 MB.
const newMemberLimits = { bytesPerDay: 16 * mebibyte, pendingEntries: 50_000, unknownKeys: 100 };

const keysKept = 30_000; // ms that unknown keys stay in memory; a key may contain an erased user's name
const countSeconds = 10; // s between two counts of a user's entries, since a count takes long

const [minute, day] = [60, 86_400]; // s

/** Rate limits: the name in answers, the counted things in words, and the length of a window in s. */
export const rateLimits = {
  callsPerMinute: ['calls_per_minute', 'calls a minute', minute],
  callsPerDay: ['calls_per_day', 'calls a day', day],
  bytesPerMinute: ['bytes_per_minute', 'bytes a minute', minute],
  bytesPerDay: ['bytes_per_day', 'bytes a day', day],
  refusedPerMinute: ['refused_per_minute', 'refused bodies a minute', minute],
} as const;

type RateLimit = keyof typeof rateLimits;
const rateLimitNames = Object.keys(rateLimits) as RateLimit[];

/** Options of a put. The put of a page has no `sentWith`, and is not recorded in the profile. */
type CallerPut = Omit<PutCheckedOptions, 'store' | 'now' | 'mostLines'>;

/** Characters a day in entries of a user under `manual/`: readers hold all of a day in memory. A survey has 10,000. */
const mostStatements = 8 * mebibyte;
const mostRemembered = 20_000; // callers in memory
const knownKeys: ReadonlySet<string> = new Set(keyTable.map(({ key }) => key));

const mostOpen = 64; // open calls of a caller; a phone has a few, a parallel script more
const mostAnswers = 4; // pages and diaries that are made for a caller at a time; further calls wait

class Caller {
  openCalls = 0;
  slots = 0; // slots for pages and diaries that are in use
  readonly waiting: (() => void)[] = []; // functions that start the calls that wait for a slot
  /** Pending and rejected entries: the count at `counted_ts`, plus the entries pushed since. */
  entries: number | null = null;
  counted_ts = Number.NEGATIVE_INFINITY;
  readonly unknownKeys = new Set<string>();
  /** When each kind of event was last recorded, s since the epoch. */
  readonly recorded = new Map<string, number>();
}

export class CallerLimiter {
  readonly #limits: CallerLimits;
  readonly #store: Store;
  readonly #now: () => number;
  readonly #callers = new Map<string, Caller>();
  readonly #counts: Readonly<Record<RateLimit, WindowCounts>>;
  /** Bytes of the new members of a study, characters of a user's statements, a user's log lines. */
  readonly #today: Readonly<Record<'studies' | 'statements' | 'lines', WindowCounts>>;

  constructor(limits: CallerLimits, store: Store, now: () => number) {
    this.#limits = limits;
    this.#store = store;
    this.#now = now;
    const counts = rateLimitNames.map((limit) => [limit, new WindowCounts(rateLimits[limit][2], now)]);
    this.#counts = Object.fromEntries(counts);
    const ofDay = (): WindowCounts => new WindowCounts(day, now);
    this.#today = { studies: ofDay(), statements: ofDay(), lines: ofDay() };
  }

  /** Throws a 429 `Problem` if the caller has used up the calls or bytes of this minute or day. */
  countCall(user: UserRecord): void {
    const limits = this.#limitsOf(user);
    for (const limit of rateLimitNames) {
      const [name, what] = rateLimits[limit];
      const counts = this.#counts[limit];
      check(name, counts.of(user.uuid), limits[limit], `${what} of one caller`, counts);
    }
    this.#counts.callsPerMinute.add(user.uuid);
    this.#counts.callsPerDay.add(user.uuid);
  }

  /** Counts a call as open until the returned function is called. Throws a 429 `Problem` at the limit. */
  openCall(userId: string): () => void {
    const caller = this.#of(userId);
    if (caller.openCalls >= mostOpen) {
      const detail = `expected at most ${mostOpen} calls open at once; wait until one of them ends`;
      throw tooManyCalls(detail, 5, { limit: 'open_calls', most: mostOpen });
    }
    caller.openCalls += 1;
    return () => {
      caller.openCalls -= 1;
    };
  }

  /** Resolves when a page or diary of the user may be made. The returned function releases the slot. */
  async waitForSlot(userId: string): Promise<() => void> {
    const caller = this.#of(userId);
    if (caller.slots < mostAnswers) caller.slots += 1;
    else await new Promise<void>((begin) => caller.waiting.push(begin));
    return () => {
      const begin = caller.waiting.shift();
      if (begin === undefined) caller.slots -= 1;
      else begin();
    };
  }

  countRefusal(userId: string): void {
    this.#counts.refusedPerMinute.add(userId);
  }

  /** Counts the bytes of a body. Throws a 429 `Problem` beyond a limit of new members. */
  countBytes(user: UserRecord, bytes: number): void {
    const ofDay = this.#counts.bytesPerDay;
    this.#counts.bytesPerMinute.add(user.uuid, bytes);
    if (isNewMember(user, this.#now())) {
      const { study = '' } = user;
      const ofOne = ofDay.of(user.uuid) + bytes - 1;
      const ofStudy = this.#today.studies.of(study) + bytes - 1;
      const most = newMemberLimits.bytesPerDay;
      check('new_member_bytes_per_day', ofOne, most, 'bytes a day of a new member', ofDay);
      check('study_bytes_per_day', ofStudy, this.#limits.studyBytesPerDay, 'bytes a day of new members', ofDay);
      this.#today.studies.add(study, bytes);
    }
    ofDay.add(user.uuid, bytes);
  }

  /** Counts a log line for each entry of a put. Returns how many lines may be written. */
  countLines(userId: string, entries: number): number {
    const { linesPerDay: most } = this.#limits;
    const left = most === 0 ? Infinity : Math.max(0, most - this.#today.lines.of(userId));
    this.#today.lines.add(userId, entries);
    return left;
  }

  #limitsOf(user: UserRecord): CallerLimits {
    if (!isNewMember(user, this.#now())) return this.#limits;
    const limits = { ...this.#limits };
    for (const name of ['bytesPerDay', 'pendingEntries', 'unknownKeys'] as const)
      limits[name] = Math.min(limits[name] || Infinity, newMemberLimits[name]);
    return limits;
  }

  /** Throws a 429 `Problem` beyond the limit. Reads the count from the store at first, and again before a 429. */
  async countEntries(user: UserRecord, more: number): Promise<void> {
    const limit = this.#limitsOf(user).pendingEntries;
    if (limit === 0 || more === 0) return;
    const { uuid } = user;
    const caller = this.#of(uuid);
    const isStale = this.#now() - caller.counted_ts >= countSeconds;
    if (caller.entries === null || (caller.entries + more > limit && isStale)) {
      caller.counted_ts = this.#now();
      caller.entries = (await this.#store.usercache.count(uuid)) + (await this.#store.errors.count(uuid));
    }
    if (caller.entries + more > limit) {
      const detail = `expected at most ${limit} pending or rejected entries`;
      throw limitProblem('waiting_entries', detail, limit, 10 * minute);
    }
    caller.entries += more;
  }

  /**
   * Rejects entries beyond the limit of unknown keys. For a new key, reads all keys of the user from
   * the store, because other processes and recoveries add keys, too.
   */
  async limitKeys(user: UserRecord, list: readonly CheckedEntry[]): Promise<readonly CheckedEntry[]> {
    const limit = this.#limitsOf(user).unknownKeys;
    const { unknownKeys: keys } = this.#of(user.uuid);
    const isNew = (checked: CheckedEntry): checked is Entry =>
      isEntry(checked) && !knownKeys.has(checked.metadata.key) && !keys.has(checked.metadata.key);
    if (limit === 0 || !list.some(isNew)) return list;
    const pending = await this.#store.usercache.keys(user.uuid);
    const moved = (await this.#store.timeseries.summary(user.uuid)).map(({ key }) => key);
    setTimeout(() => keys.clear(), keysKept).unref();
    for (const key of [...pending, ...moved]) if (!knownKeys.has(key)) keys.add(key);
    const message = `expected at most ${limit} unknown keys of one user, found one more`;
    return list.map((checked) => {
      if (!isNew(checked)) return checked;
      if (keys.size >= limit) return rejectEntry(checked, tooManyKeys, message);
      keys.add(checked.metadata.key);
      return checked;
    });
  }

  /** Rejects statements beyond the limit, unless they are retries. Call `uncount` if the put fails. */
  async limitStatements({ uuid }: UserRecord, list: readonly CheckedEntry[]) {
    const message = `expected at most ${mostStatements} characters of JSON a day in entries under manual/, found more`;
    const allowed: CheckedEntry[] = [];
    let counted = 0;
    for (const checked of list) {
      if (!isEntry(checked) || !checked.metadata.key.startsWith('manual/')) {
        allowed.push(checked);
        continue;
      }
      const { length } = JSON.stringify(checked.data);
      if (this.#today.statements.of(uuid) + length <= mostStatements) {
        this.#today.statements.add(uuid, length);
        counted += length;
        allowed.push(checked);
      } else {
        const isStored = await hasEntry(this.#store, uuid, checked.metadata);
        allowed.push(isStored ? checked : rejectEntry(checked, tooManyStatements, message));
      }
    }
    return { allowed, uncount: () => this.#today.statements.add(uuid, -counted) };
  }

  /** Rejects entries beyond a limit. Throws a 429 `Problem` if too many would be pending. */
  async put(user: UserRecord, checked: readonly CheckedEntry[], options: CallerPut): Promise<PutCounts> {
    const { uuid } = user;
    await this.countEntries(user, checked.length);
    const { allowed, uncount } = await this.limitStatements(user, await this.limitKeys(user, checked));
    try {
      const stated = allowed.filter(isEntry).filter(({ metadata }) => metadata.key === keyNames.correction);
      const beyond = await beyondLimit(this.#store, uuid, stated);
      const reject = (entry: Entry) => rejectEntry(entry, tooManyCorrections, `${limitText}, found more`);
      const entries = allowed.map((one) => (isEntry(one) && beyond.has(one) ? reject(one) : one));
      const mostLines = this.countLines(uuid, checked.length);
      return await putChecked(uuid, entries, { store: this.#store, now: this.#now, mostLines, ...options });
    } catch (error) {
      uncount();
      throw error;
    }
  }

  /** Records for `mobility status` that a caller exceeded a limit, at most once a minute. */
  report({ options }: Problem, userId: string, log: Log): void {
    const { limit, most } = options.members ?? {};
    const name = typeof limit === 'string' ? limit : 'open_calls';
    if (!this.mayRecord(userId, name)) return;
    log.write('WARNING', line.aboutUser(userId, `meets the limit ${name}${most === undefined ? '' : ` = ${most}`}`));
    // If the write fails, the caller still gets the refusal, and operators still see the log line.
    this.#store.profiles.merge(userId, { last_limit: name, last_limit_ts: this.#now() }).catch(() => {});
  }

  /** True if `what` was not recorded in the last `seconds`. It then counts as recorded now. */
  mayRecord(userId: string, what: string, seconds = minute): boolean {
    const { recorded } = this.#of(userId);
    if (this.#now() - (recorded.get(what) ?? Number.NEGATIVE_INFINITY) < seconds) return false;
    recorded.set(what, this.#now());
    return true;
  }

  #of(userId: string): Caller {
    const known = this.#callers.get(userId);
    if (known !== undefined) return known;
    const [oldest] = this.#callers.keys();
    if (this.#callers.size >= mostRemembered) this.#callers.delete(oldest!);
    const caller = new Caller();
    this.#callers.set(userId, caller);
    return caller;
  }
}

/** Throws a 429 `Problem` if at least `most` were used in the window. `most` 0: no limit. */
function check(name: string, used: number, most: number, what: string, window: WindowCounts): void {
  if (most > 0 && used >= most) throw limitProblem(name, `expected at most ${most} ${what}`, most, window.left());
}

function limitProblem(limit: string, detail: string, most: number, seconds: number): Problem {
  const text = `${detail}; nothing was stored by this call, send it again later`;
  return tooManyCalls(text, seconds, { limit, most });
}

/** Keeps the identity, so that a later push replaces the entry and a recovery keeps its times. */
function rejectEntry(entry: Entry, reason: string, message: string): CheckedEntry {
  return { entry: entry as unknown as JsonValue, identity: identityOf(entry), reason, message };
}
