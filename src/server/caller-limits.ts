// What one caller may send: calls and bytes a minute and a day, entries that wait, and keys that nobody knows.
import { isEntry, type Taken, tooManyKeys } from '../intake/take-entry.ts';
import type { Log } from '../log/log.ts';
import { line } from '../log/messages.ts';
import type { EntryText } from '../model/entry.ts';
import type { JsonValue } from '../model/json.ts';
import { keyTable } from '../model/keys.ts';
import { useWindows } from '../model/use-windows.ts';
import type { CallerUse, Store } from '../store/store.ts';
import { type Problem, tooManyCalls } from './problem.ts';

/** Limits of one caller; 0: none. */
export interface CallerLimits {
  callsPerMinute: number;
  callsPerDay: number;
  bytesPerMinute: number;
  bytesPerDay: number;
  /** Entries that the pipeline has not moved yet. */
  waitingEntries: number;
  /** Different keys that the service does not know. */
  unknownKeys: number;
}

/** What a caller used in one window of time. */
interface Used {
  /** Number of the window since the epoch. */
  window: number;
  calls: number;
  bytes: number;
  /** Calls whose body was refused; of the minute only. */
  refused: number;
}

/** The use by callers since it was last told to the others, by UUID. */
export type UsedByCaller = Record<string, { calls: number; bytes: number }>;

/**
 * Calls of a caller a minute that may be refused for their body, before all of that minute are: reading in vain costs
 * most.
 */
const mostRefused = 30;

const { minute, day } = useWindows;
const mostRemembered = 20_000; // callers
const known: ReadonlySet<string> = new Set(keyTable.map(({ key }) => key));

interface Remembered {
  minute: Used;
  day: Used;
  /** Entries that wait, as the store said, and what was pushed since. */
  waiting: number | null;
  keys: Set<string>;
  /** The time of the last warning, by limit. */
  told: Map<string, number>;
}

/**
 * Counts what callers do and refuses what goes beyond. One for a process; processes tell each other what they counted,
 * see `share-use.ts`.
 */
export class CallerCounts {
  readonly #limits: CallerLimits;
  readonly #now: () => number;
  readonly #callers = new Map<string, Remembered>();
  #news: UsedByCaller = {};

  /** `now`: seconds since the epoch. */
  constructor(limits: CallerLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Counts a call. Throws a 429 `Problem` where the caller has used up calls or bytes of this minute or day. */
  call(userId: string): void {
    const { minute: ofMinute, day: ofDay } = this.#of(userId);
    this.#check('calls_per_minute', ofMinute.calls, this.#limits.callsPerMinute, 'calls a minute', minute);
    this.#check('calls_per_day', ofDay.calls, this.#limits.callsPerDay, 'calls a day', day);
    this.#check('bytes_per_minute', ofMinute.bytes, this.#limits.bytesPerMinute, 'bytes a minute', minute);
    this.#check('bytes_per_day', ofDay.bytes, this.#limits.bytesPerDay, 'bytes a day', day);
    if (this.#limits.callsPerMinute > 0) {
      this.#check('refused_per_minute', ofMinute.refused, mostRefused, 'calls a minute whose body is refused', minute);
    }
    this.#add(userId, 1, 0);
  }

  /** Counts a call whose body was read in vain. */
  refused(userId: string): void {
    this.#of(userId).minute.refused += 1;
  }

  /** Counts the bytes of a body. */
  bytes(userId: string, bytes: number): void {
    this.#add(userId, 0, bytes);
  }

  /**
   * Throws a 429 `Problem` where so many more entries would be more than may wait. The store is asked only near the
   * limit.
   */
  async entries(userId: string, more: number, usercache: Pick<Store['usercache'], 'summary'>): Promise<void> {
    const limit = this.#limits.waitingEntries;
    if (limit === 0 || more === 0) return;
    const caller = this.#of(userId);
    if (caller.waiting === null || caller.waiting + more > limit) {
      caller.waiting = (await usercache.summary(userId)).count;
    }
    if (caller.waiting + more > limit) {
      throw met('waiting_entries', `expected at most ${limit} entries to wait for the pipeline`, limit, 10 * minute);
    }
    caller.waiting += more;
  }

  /**
   * The same list, in which entries of unknown keys beyond the limit are set aside. The store is asked which of them
   * the user has when one comes that this process has not seen: other servers, earlier ones and recoveries count. It is
   * asked at the limit too, so that nothing is set aside whose key the user has.
   */
  async keys(
    userId: string,
    list: readonly Taken[],
    store: { usercache: Pick<Store['usercache'], 'keys'>; timeseries: Pick<Store['timeseries'], 'summary'> },
  ): Promise<readonly Taken[]> {
    const limit = this.#limits.unknownKeys;
    if (limit === 0) return list;
    const { keys } = this.#of(userId);
    if (!hasOtherKey(list, keys)) return list;
    const waiting = await store.usercache.keys(userId);
    const moved = (await store.timeseries.summary(userId)).map(({ key }) => key);
    for (const key of [...waiting, ...moved]) if (!known.has(key)) keys.add(key);
    const isTooMany = (taken: EntryText): boolean => {
      if (known.has(taken.key) || keys.has(taken.key)) return false;
      if (keys.size >= limit) return true;
      keys.add(taken.key);
      return false;
    };
    return list.map((taken) => (isEntry(taken) && isTooMany(taken) ? setAside(taken, limit) : taken));
  }

  /** True if there was no warning about this limit of the caller in the last minute; records a warning now. */
  isNews(userId: string, limit: string): boolean {
    const { told } = this.#of(userId);
    if (this.#now() - (told.get(limit) ?? Number.NEGATIVE_INFINITY) < minute) return false;
    told.set(limit, this.#now());
    return true;
  }

  /** What callers used since this was asked last; null: nothing. */
  takeNews(): UsedByCaller | null {
    const news = this.#news;
    this.#news = {};
    return Object.keys(news).length === 0 ? null : news;
  }

  /** Takes back what could not be told. */
  giveBack(news: UsedByCaller): void {
    for (const [userId, { calls, bytes }] of Object.entries(news)) this.#note(userId, calls, bytes);
  }

  /** What all servers of a store counted, with what this process told them; what it did not tell yet comes on top. */
  setTotals(totals: Awaited<ReturnType<CallerUse['add']>>): void {
    for (const [userId, total] of totals) {
      const caller = this.#of(userId);
      const { calls = 0, bytes = 0 } = this.#news[userId] ?? {};
      for (const name of ['minute', 'day'] as const) {
        if (total[name].window !== caller[name].window) continue;
        caller[name].calls = total[name].calls + calls;
        caller[name].bytes = total[name].bytes + bytes;
      }
    }
  }

  /** Counts what callers used in other processes. */
  addNews(news: UsedByCaller): void {
    for (const [userId, { calls, bytes }] of Object.entries(news)) this.#count(userId, calls, bytes);
  }

  #add(userId: string, calls: number, bytes: number): void {
    this.#count(userId, calls, bytes);
    this.#note(userId, calls, bytes);
  }

  #note(userId: string, calls: number, bytes: number): void {
    const { calls: before = 0, bytes: held = 0 } = this.#news[userId] ?? {};
    this.#news[userId] = { calls: before + calls, bytes: held + bytes };
  }

  #count(userId: string, calls: number, bytes: number): void {
    const { minute: ofMinute, day: ofDay } = this.#of(userId);
    for (const used of [ofMinute, ofDay]) {
      used.calls += calls;
      used.bytes += bytes;
    }
  }

  #check(name: string, used: number, limit: number, what: string, length: number): void {
    if (limit === 0 || used < limit) return;
    throw met(name, `expected at most ${limit} ${what} of one caller`, limit, length - (this.#now() % length));
  }

  #of(userId: string): Remembered {
    const windows = { minute: Math.floor(this.#now() / minute), day: Math.floor(this.#now() / day) };
    let caller = this.#callers.get(userId);
    if (caller === undefined) {
      if (this.#callers.size >= mostRemembered) this.#forget(windows.day);
      caller = {
        minute: unused(windows.minute),
        day: unused(windows.day),
        waiting: null,
        keys: new Set(),
        told: new Map(),
      };
      this.#callers.set(userId, caller);
    }
    if (caller.minute.window !== windows.minute) caller.minute = unused(windows.minute);
    if (caller.day.window !== windows.day) {
      caller.day = unused(windows.day);
      caller.waiting = null;
    }
    return caller;
  }

  /** Makes room: those go that have not called today, else the half that came first. */
  #forget(today: number): void {
    for (const [userId, caller] of this.#callers) if (caller.day.window !== today) this.#callers.delete(userId);
    if (this.#callers.size < mostRemembered) return;
    for (const userId of [...this.#callers.keys()].slice(0, mostRemembered / 2)) this.#callers.delete(userId);
  }
}

function hasOtherKey(list: readonly Taken[], keys: ReadonlySet<string>): boolean {
  for (const taken of list) if (isEntry(taken) && !known.has(taken.key) && !keys.has(taken.key)) return true;
  return false;
}

const unused = (window: number): Used => ({ window, calls: 0, bytes: 0, refused: 0 });

function met(name: string, detail: string, limit: number, seconds: number): Problem {
  return tooManyCalls(`${detail}; nothing was stored by this call, send it again later`, seconds, {
    limit: name,
    most: limit,
  });
}

/** With its identity: what is pushed of it later finds it, and its times are not corrected again. */
function setAside({ key, write_ts, text }: EntryText, limit: number): Taken {
  const message = `expected at most ${limit} different keys that the service does not know, found another one`;
  return { entry: JSON.parse(text) as JsonValue, identity: { key, write_ts }, reason: tooManyKeys, message };
}

/** Tells log and profile that a caller meets a limit, once a minute: `mobility status` shows it. */
export function tellLimit(
  problem: Problem,
  userId: string,
  { counts, log, store, now }: { counts: CallerCounts; log: Log; store: Pick<Store, 'profiles'>; now: () => number },
): void {
  const { limit, most } = problem.options.members ?? {};
  const name = typeof limit === 'string' ? limit : 'open_calls';
  if (!counts.isNews(userId, name)) return;
  log.write('WARNING', line.aboutUser(userId, `meets the limit ${name}${most === undefined ? '' : ` = ${most}`}`));
  // A note for operators: if it cannot be written, the refusal and the log line remain.
  store.profiles.merge(userId, { last_limit: name, last_limit_ts: now() }).catch(() => {});
}
