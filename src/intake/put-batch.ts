// The one way in: what was pushed, by a phone or by anybody else, becomes entries of a user, is counted and told in the
// log.
import { type Log, type Messages, silentLog } from '../log/log.ts';
import { line, type PutCounts } from '../log/messages.ts';
import type { Entry, EntryText } from '../model/entry.ts';
import { errorText, isMobilityError, MobilityError } from '../model/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';
import { keys } from '../model/keys.ts';
import type { PutBatch, PutResult, Store, UnusableEntry } from '../store/store.ts';
import { startSlices } from '../turns.ts';
import { isEntry, type Taken, takeEntry } from './take-entry.ts';

/**
 * Entries stored in one transaction: as many as a phone sends at most. A larger batch is stored in parts, so that it
 * holds up nobody.
 */
export const maxTransactionEntries = 10_000;

/** Something to put: an entry or anything else as a JSON value, or the JSON text of one. */
export type Pushed = Entry | JsonValue;

/** The error of a part behind others that were stored. Putting everything again completes them. */
export class PartlyStored extends MobilityError {
  constructor(error: MobilityError) {
    super(error.code, error.message, { cause: error });
  }
}

/** Where `putBatch` stores, and whom it tells. */
export interface PutOptions {
  store: Pick<Store, 'usercache'>;
  /** Seconds since the epoch. */
  now: () => number;
  /**
   * Takes a line for each entry (DEBUG), for each thing set aside (WARNING) and for the whole (INFO). Default: none.
   */
  log?: Log;
  /** Whether the profile records the put. Default: true. */
  inProfile?: boolean;
}

/**
 * Stores what was pushed for a user. This is the only way in: `/usercache/put`, the routes of other apps, `simulate`
 * and every import call it.
 *
 * `pushed` may be a list of any length, a generator or an asynchronous one: it is read and stored in parts, so that its
 * length costs no memory. Each element is looked at on its own (`takeEntry`): an entry may name its `metadata.platform`
 * or not, its times may be in milliseconds, it may stand there as an object or as JSON text; an invalid entry is
 * set aside with the reason and counted as `rejected`, and fails nothing. An entry replaces what has its identity:
 * user, `metadata.key` and `metadata.write_ts`. The same may be pushed any number of times, so that a caller who was
 * interrupted begins again.
 *
 * Resolves when all of it is durable; the user's profile then says when entries came last. Rejects when the store does
 * (`MOBILITY_STORE_FULL`, …): parts before the one that failed are stored.
 *
 *     const counts = await putBatch(user.uuid, entries, { store, log, now });
 *     // { inserted: 1912, updated: 0, rejected: 3 }
 */
export async function putBatch(
  userId: string,
  pushed: Iterable<Pushed> | AsyncIterable<Pushed>,
  options: PutOptions,
): Promise<PutCounts> {
  // A list in memory is not awaited element by element: that would cost an eighth of its time.
  return putTaken(userId, isAsync(pushed) ? takeAll(pushed) : takeEach(pushed), options);
}

/** As `putBatch`, for what went through `takeEntry` already. */
export async function putTaken(
  userId: string,
  taken: Iterable<Taken> | AsyncIterable<Taken>,
  options: PutOptions,
): Promise<PutCounts> {
  const { store, now, log = silentLog, inProfile = true } = options;
  const counts = { inserted: 0, updated: 0, rejected: 0 };
  // The store writes the note with the part: a put that fails is not noted.
  const onFailure = (error: unknown): void =>
    log.write('WARNING', `Profile does not show this put: ${errorText(error)}`);
  const seen = new NewestTimes();
  let hasStored = false;
  for await (const { batch, isLast } of partsOf(taken)) {
    seen.add(batch.entries);
    const put = withReceipts(batch);
    if (isLast && inProfile) put.note = { fields: { last_put_ts: now(), ...seen.fields() }, onFailure };
    const results = await store.usercache.put(userId, put, now()).catch((error: unknown) => {
      throw hasStored && isMobilityError(error) ? new PartlyStored(error) : error;
    });
    hasStored = true;
    await logEntries(log, userId, batch, results);
    for (const result of results) counts[result] += 1;
    counts.rejected += batch.unusable.length;
  }
  log.write('INFO', line.putStored(userId, counts));
  return counts;
}

const isAsync = (pushed: Iterable<Pushed> | AsyncIterable<Pushed>): pushed is AsyncIterable<Pushed> =>
  (pushed as Partial<AsyncIterable<Pushed>>)[Symbol.asyncIterator] !== undefined;

function* takeEach(pushed: Iterable<Pushed>): Generator<Taken> {
  for (const one of pushed) yield takeOne(one);
}

async function* takeAll(pushed: AsyncIterable<Pushed>): AsyncGenerator<Taken> {
  for await (const one of pushed) yield takeOne(one);
}

const takeOne = (one: Pushed): Taken => (typeof one === 'string' ? takeText(one) : takeEntry(one as JsonValue));

const halfCharacter = /\p{Surrogate}/u;

/** A text that is no JSON is set aside as it is. Half characters are written as escapes: no file can hold them. */
function takeText(text: string): Taken {
  try {
    return takeEntry(JSON.parse(text) as JsonValue, halfCharacter.test(text) ? null : text);
  } catch (error) {
    if (error instanceof SyntaxError) return takeEntry(text);
    throw error;
  }
}

interface Batch {
  entries: EntryText[];
  unusable: UnusableEntry[];
}

/** With the times of first receipt, where any of the entries brings one. */
function withReceipts({ entries, unusable }: Batch): PutBatch {
  const put: PutBatch = { entries, unusable };
  if (hasReceipt(entries)) put.received_ts = entries.map(receiptOf);
  return put;
}

function hasReceipt(entries: readonly EntryText[]): boolean {
  for (const { received_ts } of entries) if (received_ts !== undefined) return true;
  return false;
}

const receiptOf = ({ received_ts }: EntryText): number | undefined => received_ts;

/** What one transaction takes at a time: at least one batch, which is empty when nothing was pushed. */
async function* partsOf(
  taken: Iterable<Taken> | AsyncIterable<Taken>,
): AsyncGenerator<{ batch: Batch; isLast: boolean }> {
  let batch: Batch = { entries: [], unusable: [] };
  // As above: what is in memory is not awaited.
  for await (const piece of Symbol.iterator in taken ? [taken] : onesOf(taken)) {
    for (const one of piece) {
      if (batch.entries.length + batch.unusable.length >= maxTransactionEntries) {
        yield { batch, isLast: false };
        batch = { entries: [], unusable: [] };
      }
      if (isEntry(one)) batch.entries.push(one);
      else batch.unusable.push(one);
    }
  }
  yield { batch, isLast: true };
}

async function* onesOf(taken: AsyncIterable<Taken>): AsyncGenerator<[Taken]> {
  for await (const one of taken) yield [one];
}

const linesAtOnce = 500;

async function logEntries(
  log: Log,
  userId: string,
  { entries, unusable }: Batch,
  results: readonly PutResult[],
): Promise<void> {
  if (log.enabled('DEBUG')) log.writeAll('DEBUG', new StoredMessages(userId, entries, results));
  if (!log.enabled('WARNING')) return;
  const slices = startSlices();
  for (let start = 0; start < unusable.length; start += linesAtOnce) {
    const some = unusable.slice(start, start + linesAtOnce);
    log.writeAll(
      'WARNING',
      some.map(({ entry, reason }) => line.entryRejected(userId, ...named(entry), reason)),
    );
    if (slices.isOver()) await slices.next();
  }
}

/** The message of each stored entry, made when the put has its answer; the texts of the entries are free until then. */
class StoredMessages implements Messages {
  readonly length: number;
  private readonly user: string;
  private readonly keys: readonly string[];
  private readonly times: Float64Array;
  private readonly results: readonly PutResult[];

  constructor(user: string, entries: readonly EntryText[], results: readonly PutResult[]) {
    this.length = entries.length;
    this.user = user;
    const keys = new Array<string>(entries.length);
    this.times = new Float64Array(entries.length);
    for (let i = 0; i < entries.length; i++) {
      keys[i] = entries[i]!.key;
      this.times[i] = entries[i]!.write_ts;
    }
    this.keys = keys;
    this.results = results;
  }

  at(i: number): string {
    return line.entryStored(this.user, this.keys[i]!, this.times[i]!, this.results[i]!);
  }
}

/** Key and `write_ts` of something unusable, as far as it names them. */
function named(entry: JsonValue): [key: string | null, writeTs: number | null] {
  const metadata = isJsonObject(entry) && isJsonObject(entry.metadata) ? entry.metadata : {};
  const { key, write_ts: writeTs } = metadata;
  return [
    typeof key === 'string' ? key : null,
    typeof writeTs === 'number' && Number.isFinite(writeTs) ? writeTs : null,
  ];
}

/** The newest times of a put, for the profile. */
class NewestTimes {
  private data = Number.NEGATIVE_INFINITY;
  private location = Number.NEGATIVE_INFINITY;

  add(entries: readonly EntryText[]): void {
    for (const { key, write_ts, ts } of entries) {
      this.data = Math.max(this.data, write_ts);
      if (key === keys.location && ts !== null) this.location = Math.max(this.location, ts);
    }
  }

  fields(): JsonObject {
    const fields: JsonObject = {};
    if (Number.isFinite(this.data)) fields.last_phone_data_ts = this.data;
    if (Number.isFinite(this.location)) fields.last_location_ts = this.location;
    return fields;
  }
}
