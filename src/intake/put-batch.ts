// Stores pushed entries of a user, from phones, other apps, imports and simulations.
import { type Log, type Messages, silentLog } from '../log/log.ts';
import { line, type PutCounts } from '../log/messages.ts';
import { dataTime, type Entry, type Metadata } from '../model/entry.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';
import { keys } from '../model/keys.ts';
import { errorText, isMobilityError, MobilityError } from '../model/mobility-error.ts';
import { believedAhead } from '../model/time.ts';
import type { ProfileNote, PutContent, PutResult, Store, UnusableEntry } from '../store/store.ts';
import { startSlices } from '../util/slices.ts';
import { type CheckedEntry, checkEntry, checkEntryText, isEntry } from './check-entry.ts';
import { judgeLocation } from './judge-location.ts';
import { beyondBounds } from './stated-times.ts';

/** No phone sends more entries at a time. Larger puts are split: other writers wait less. */
export const maxTransactionEntries = 10_000;

/** A value to put: an entry, any other JSON value, or the JSON text of an entry. */
export type Pushed = Entry | JsonValue;

/** An error after earlier parts of a put were stored. The caller can put all entries again. */
export class PartlyStored extends MobilityError {
  constructor(error: MobilityError) {
    super(error.code, error.message, { cause: error });
  }
}

/** Where the entries of a put go, and what is known of their sender. */
export interface PutOptions {
  store: Pick<Store, 'usercache'>;
  now: () => number; // seconds since the epoch
  /** Gets a line for each entry (DEBUG), rejected value (WARNING) and put (INFO). */
  log?: Log;
  mostLines?: number; // the most such lines for entries and rejected values; default: no limit
  /** Whether the profile records the put. Default: true. */
  inProfile?: boolean;
  /** When another service first received an entry. Default: the time of the put. */
  receipts?: ReadonlyMap<Entry, number>;
  /**
   * The id of the phone's token, stored with the entries; null: the token has no id. An `author` in
   * a correction from a phone is dropped, since the author is the user. Missing: no phone sent these.
   */
  sentWith?: string | null;
}

/**
 * Stores the pushed entries of a user.
 *
 * `pushed` is read and stored in parts of `maxTransactionEntries`, so it may be longer than memory
 * allows. An element may be an object or a JSON text. Its times are seconds or milliseconds since
 * the epoch, and `metadata.platform` may be missing. An invalid entry is stored in the error
 * timeseries with the reason and counted as `rejected`; it does not fail the put. An entry replaces
 * the entry with the same identity: user, `metadata.key` and `metadata.write_ts`. So an interrupted
 * caller can push the same entries again.
 *
 * Resolves when all entries are durable and the profile records the put. If the store fails
 * (`MOBILITY_STORE_FULL`, …), it rejects with that error. Then parts before the failure are stored.
 *
 *     const counts = await putBatch(user.uuid, entries, { store, log, now });
 *     // { inserted: 1912, updated: 0, rejected: 3 }
 */
export async function putBatch(
  userId: string,
  pushed: Iterable<Pushed> | AsyncIterable<Pushed>,
  options: PutOptions,
): Promise<PutCounts> {
  // One `await` for each element would take an eighth of the time of a put.
  return putChecked(userId, Symbol.asyncIterator in pushed ? checkAll(pushed) : checkEach(pushed), options);
}

function* checkEach(pushed: Iterable<Pushed>): Generator<CheckedEntry> {
  for (const value of pushed) yield checkPushed(value);
}

async function* checkAll(pushed: AsyncIterable<Pushed>): AsyncGenerator<CheckedEntry> {
  for await (const value of pushed) yield checkPushed(value);
}

export const checkPushed = (pushed: Pushed): CheckedEntry =>
  typeof pushed === 'string' ? checkEntryText(pushed) : checkEntry(pushed as JsonValue);

function withoutForeignFields(entry: Entry, tokenId: string | null): Entry {
  const { metadata, data } = entry;
  const isCorrection = metadata.key === keys.correction;
  if (tokenId === null && metadata.token_id === undefined && !isCorrection) return entry;
  const { author: _author, ...stated } = isCorrection ? data : {};
  const { token_id: _token, ...kept } = tokenId === null ? metadata : {};
  return {
    metadata: (tokenId === null ? kept : { ...metadata, token_id: tokenId }) as Metadata,
    data: isCorrection ? stated : data,
  };
}

export type PutCheckedOptions = PutOptions & { onStored?: ((counts: PutCounts) => void) | undefined };

export async function putChecked(
  userId: string,
  checked: Iterable<CheckedEntry> | AsyncIterable<CheckedEntry>,
  options: PutCheckedOptions,
): Promise<PutCounts> {
  const { store, now, log = silentLog, inProfile = true, receipts, sentWith } = options;
  const counts = { inserted: 0, updated: 0, rejected: 0 };
  const newest = new NewestTimes();
  let hasStored = false;
  let [toList, notListed] = [options.mostLines ?? Infinity, 0];
  for await (const { entries: pushed, unusable, isLast } of transactionParts(checked)) {
    const at = now();
    const sent = pushed.filter((entry) => {
      const rejected = beyondBounds(entry, receipts?.get(entry) ?? at);
      if (rejected !== null) unusable.push(rejected);
      return rejected === null;
    });
    const entries = sentWith === undefined ? sent : sent.map((entry) => withoutForeignFields(entry, sentWith));
    newest.add(entries, at);
    const content: PutContent = { entries, unusable };
    if (receipts !== undefined && receipts.size > 0) content.received_ts = entries.map((entry) => receipts.get(entry));
    // The store writes the note with the last part, so a failed put leaves no note.
    if (isLast && inProfile) content.note = newest.noteAt(at);
    const { results, noteError } = await store.usercache.put(userId, content, at).catch((error: unknown) => {
      throw hasStored && isMobilityError(error) ? new PartlyStored(error) : error;
    });
    hasStored = true;
    if (noteError !== null) log.write('WARNING', `The profile does not record this put: ${errorText(noteError)}`);
    log.writeAll('DEBUG', storedMessages(userId, entries.slice(0, toList), results));
    await logUnusable(log, userId, unusable.slice(0, Math.max(0, toList - entries.length)));
    notListed += Math.max(0, entries.length + unusable.length - toList);
    toList = Math.max(0, toList - entries.length - unusable.length);
    const stored = { inserted: 0, updated: 0, rejected: unusable.length };
    for (const result of results) stored[result] += 1;
    options.onStored?.(stored);
    for (const name of ['inserted', 'updated', 'rejected'] as const) counts[name] += stored[name];
  }
  if (notListed > 0) log.write('WARNING', line.entriesNotListed(userId, notListed));
  log.write('INFO', line.putStored(userId, counts));
  return counts;
}

interface Part {
  entries: Entry[];
  unusable: UnusableEntry[];
  isLast: boolean;
}

const newPart = (): Part => ({ entries: [], unusable: [], isLast: false });

async function* transactionParts(checked: Iterable<CheckedEntry> | AsyncIterable<CheckedEntry>): AsyncGenerator<Part> {
  let part = newPart();
  for await (const values of Symbol.iterator in checked ? [checked] : listsOfOne(checked)) {
    for (const value of values) {
      if (part.entries.length + part.unusable.length >= maxTransactionEntries) {
        yield part;
        part = newPart();
      }
      if (isEntry(value)) part.entries.push(value);
      else part.unusable.push(value);
    }
  }
  yield { ...part, isLast: true };
}

async function* listsOfOne(checked: AsyncIterable<CheckedEntry>): AsyncGenerator<[CheckedEntry]> {
  for await (const value of checked) yield [value];
}

const linesAtOnce = 500;

/** Warnings per transaction about values without a key. More would push others out of the log. */
const mostNameless = 100;

async function logUnusable(log: Log, userId: string, unusable: readonly UnusableEntry[]): Promise<void> {
  if (!log.enabled('WARNING')) return;
  const slices = startSlices();
  let nameless = 0;
  for (let start = 0; start < unusable.length; start += linesAtOnce) {
    const lines: string[] = [];
    for (const { entry, reason } of unusable.slice(start, start + linesAtOnce)) {
      const { key, writeTs } = claimedIdentity(entry);
      if (key === null) nameless += 1;
      if (key !== null || nameless <= mostNameless) lines.push(line.entryRejected(userId, key, writeTs, reason));
    }
    log.writeAll('WARNING', lines);
    if (slices.isOver()) await slices.next();
  }
  if (nameless > mostNameless) log.write('WARNING', line.valuesNotListed(userId, nameless - mostNameless));
}

/** The lines are made after the answer. Until then, memory holds only keys and times of entries. */
function storedMessages(userId: string, entries: readonly Entry[], results: readonly PutResult[]): Messages {
  const keysOf = entries.map(({ metadata }) => metadata.key);
  const times = Float64Array.from(entries, ({ metadata }) => metadata.write_ts);
  return { length: entries.length, at: (i) => line.entryStored(userId, keysOf[i]!, times[i]!, results[i]!) };
}

function claimedIdentity(entry: JsonValue): { key: string | null; writeTs: number | null } {
  const metadata = isJsonObject(entry) && isJsonObject(entry.metadata) ? entry.metadata : {};
  const { key, write_ts: writeTs } = metadata;
  return {
    key: typeof key === 'string' ? key : null,
    writeTs: typeof writeTs === 'number' && Number.isFinite(writeTs) ? writeTs : null,
  };
}

class NewestTimes {
  private data = Number.NEGATIVE_INFINITY;
  private locations: number[] = [];
  private readonly judged = { usable: 0, inexact: 0, misdated: 0 };

  add(entries: readonly Entry[], at: number): void {
    for (const entry of entries) {
      const { metadata, data } = entry;
      this.data = Math.max(this.data, metadata.write_ts);
      if (metadata.key !== keys.location) continue;
      this.locations.push(dataTime(data) ?? Number.NEGATIVE_INFINITY);
      this.judged[judgeLocation(entry, at)] += 1;
    }
  }

  /** Returns what the put writes into the profile, see `PersonFigures`. */
  noteAt(at: number): ProfileNote {
    const set: JsonObject = { last_put_ts: at };
    if (!Number.isFinite(this.data)) return { set };
    set.last_phone_data_ts = this.data;
    set.last_stored_ts = at;
    // Replaces the stored time only after a run, which moved the entries that were pending.
    const note: ProfileNote = { set, sinceRun: { waiting_since_ts: at } };
    if (this.locations.length === 0) return note;
    set.last_located_ts = at;
    const { usable, inexact, misdated } = this.judged;
    if (usable > 0) set.last_usable_ts = at;
    else Object.assign(set, { last_unusable_ts: at, last_unusable_why: inexact >= misdated ? 'inexact' : 'misdated' });
    const believed = (ts: number): boolean => ts <= at + believedAhead;
    const newest = this.locations.reduce((a, b) => (believed(b) ? Math.max(a, b) : a), Number.NEGATIVE_INFINITY);
    return Number.isFinite(newest) ? { ...note, raise: { last_location_ts: newest } } : note;
  }
}
