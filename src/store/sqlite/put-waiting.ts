// Entries on their way into the usercache: one batch for a put, and what waited under the same identities leaves.
import type { EntryText, Identity } from '../../model/entry.ts';
import { escapeText } from '../../model/json-text.ts';
import type { PutResult } from '../store.ts';
import type { BatchRow } from './batch-form.ts';
import { type Batch, headsOf, insertBatches, openBatch, takeOut } from './batches.ts';
import { findIdentity, newestWritten } from './chunks.ts';
import { inSnapshot, type StoreFile } from './file.ts';
import type { Shard } from './folder.ts';
import { userIn } from './ids.ts';

/** An entry that is put. */
export interface PutEntry extends EntryText {
  /** Its first receipt, where another store recorded it. */
  received_ts?: number;
}

/** Where an entry waits: the place in its batch. */
interface Twin {
  batch: Batch;
  place: number;
}

/** The entries of a put under one key, ascending by `write_ts`; of equal identities in the order of the put. */
interface KeyGroup {
  key: number;
  name: string;
  /** Places in the put. */
  order: number[];
}

/** Stores what was pushed; a later entry replaces an earlier one. Inside `write` only. */
export function* putWaiting(
  shard: Shard,
  userId: string,
  user: number,
  entries: readonly PutEntry[],
  now: number,
): Generator<void, PutResult[]> {
  const file = shard.usercache;
  const groups = groupsOf(entries, internedIn(file));
  yield;
  const twins = waitingTwins(file, user, entries, groups);
  const known = new KnownElsewhere(shard, userId, user);
  const results = new Array<PutResult>(entries.length);
  const rows: BatchRow[] = [];
  for (const { key, name, order } of groups) {
    const ofKey = known.under(name);
    for (let i = 0; i < order.length; i++) {
      const at = order[i]!;
      const { write_ts, ts, text, received_ts } = entries[at]!;
      const last = rows.at(-1);
      const before = last?.key === key && last.write_ts === write_ts ? last : undefined;
      const twin = before === undefined ? twins.get(at) : undefined;
      const elsewhere = before === undefined ? known.receiptOf(ofKey, write_ts) : null;
      const received = twin?.batch.columns.received_ts[twin.place] ?? before?.received_ts ?? elsewhere ?? now;
      const failed = before?.failed ?? twin?.batch.failedAt(twin.place) ?? null;
      if (before !== undefined) rows.pop();
      rows.push({ key, write_ts, ts, text, received_ts: received_ts ?? received, kept: false, failed });
      results[at] = before || twin || elsewhere !== null ? 'updated' : 'inserted';
      if ((rows.length & yieldMask) === 0) yield;
    }
  }
  yield* replace(file, user, rows, twins.values());
  return results;
}

const yieldMask = 255; // after so many entries the clock is asked whether others have their turn

/**
 * Stores entries whose identity does not wait yet, the first of each; what waits already is newer and stays. Returns
 * how many were stored. Inside `write` only.
 */
export function* addWaiting(
  file: StoreFile,
  user: number,
  entries: readonly (EntryText & Pick<BatchRow, 'received_ts' | 'kept' | 'failed'>)[],
): Generator<void, number> {
  const groups = groupsOf(entries, internedIn(file));
  const twins = waitingTwins(file, user, entries, groups);
  const rows: BatchRow[] = [];
  for (const { key, order } of groups) {
    for (const at of order) {
      const { write_ts, ts, text, received_ts, kept, failed } = entries[at]!;
      const last = rows.at(-1);
      const isSecond = last?.key === key && last.write_ts === write_ts;
      if (!isSecond && !twins.has(at)) rows.push({ key, write_ts, ts, text, received_ts, kept, failed });
    }
  }
  yield* replace(file, user, rows, []);
  return rows.length;
}

/** What the store has under an identity. */
export interface KnownBefore {
  /** The first receipt; null for an identity that is known nowhere. */
  received_ts: number | null;
  /** Earlier failures of the entry that waits. */
  failed: BatchRow['failed'];
  /** Where it waits. */
  twin: Twin | undefined;
}

/** What usercache, timeseries and error timeseries have under identities, in their order. Inside `write` only. */
export function* knownBefore(
  shard: Shard,
  userId: string,
  user: number,
  identities: readonly Identity[],
): Generator<void, KnownBefore[]> {
  const file = shard.usercache;
  // A key that has no number waits nowhere; it gets none, as most of what is asked for here is not going to wait.
  const groups = groupsOf(identities, (name) => file.keys.find(name));
  const twins = waitingTwins(file, user, identities, groups);
  const known = new KnownElsewhere(shard, userId, user);
  const keys = new Map<string, KnownKey>();
  const found: KnownBefore[] = [];
  for (const [at, { key, write_ts }] of identities.entries()) {
    const twin = twins.get(at);
    if (twin !== undefined) {
      const { batch, place } = twin;
      found.push({ received_ts: batch.columns.received_ts[place]!, failed: batch.failedAt(place), twin });
      continue;
    }
    const ofKey = keys.get(key) ?? known.under(key);
    keys.set(key, ofKey);
    found.push({ received_ts: known.receiptOf(ofKey, write_ts), failed: null, twin });
    if ((at & yieldMask) === 0) yield;
  }
  return found;
}

/** Takes out what waits under identities. Inside `write` only. */
export function takeOutWaiting(file: StoreFile, user: number, known: readonly KnownBefore[]): Generator<void, void> {
  const twins = known.flatMap(({ twin }) => twin ?? []);
  return replace(file, user, [], twins);
}

function* replace(
  file: StoreFile,
  user: number,
  rows: readonly BatchRow[],
  twins: Iterable<Twin>,
): Generator<void, void> {
  const leaving = new Map<Batch, Set<number>>();
  for (const { batch, place } of twins) {
    const places = leaving.get(batch) ?? new Set();
    leaving.set(batch, places.add(place));
  }
  for (const [batch, places] of leaving) {
    takeOut(file, { head: batch.head, places: [...places] }, batch);
    yield;
  }
  if (rows.length > 0) yield* insertBatches(file, user, rows);
}

const internedIn =
  (file: StoreFile) =>
  (name: string): number =>
    file.keys.intern(name);

/** `numberOf`: the number of a key; entries of a key without one are in no group. */
function groupsOf(entries: readonly Identity[], numberOf: (name: string) => number | null): KeyGroup[] {
  const byName = new Map<string, KeyGroup>();
  for (let at = 0; at < entries.length; at++) {
    const { key: name, write_ts } = entries[at]!;
    if (!Number.isFinite(write_ts)) throw new TypeError(`expected a finite write_ts, found ${write_ts}`);
    const group = byName.get(name);
    if (group !== undefined) {
      group.order.push(at);
      continue;
    }
    const key = numberOf(name);
    if (key !== null) byName.set(name, { key, name, order: [at] });
  }
  const groups = [...byName.values()].sort((a, b) => a.key - b.key);
  for (const { order } of groups) {
    // Phones push in the order in which they wrote; the sort keeps the order of equal identities.
    if (!isAscending(entries, order)) order.sort((a, b) => entries[a]!.write_ts - entries[b]!.write_ts);
  }
  return groups;
}

function isAscending(entries: readonly Identity[], order: readonly number[]): boolean {
  for (let i = 1; i < order.length; i++) {
    if (entries[order[i]!]!.write_ts < entries[order[i - 1]!]!.write_ts) return false;
  }
  return true;
}

/** Where entries of a put wait already, by their place in the put. */
function waitingTwins(
  file: StoreFile,
  user: number,
  entries: readonly Identity[],
  groups: readonly KeyGroup[],
): Map<number, Twin> {
  const twins = new Map<number, Twin>();
  const writtenAt = (order: readonly number[], i: number): number => entries[order[i]!]!.write_ts;
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { order } of groups) {
    first = Math.min(first, writtenAt(order, 0));
    last = Math.max(last, writtenAt(order, order.length - 1));
  }
  for (const head of headsOf(file, user, { first, last })) {
    let batch: Batch | null = null;
    for (const { key, order } of groups) {
      const span = head.keys.find((one) => one.key === key);
      if (span === undefined || span.first > writtenAt(order, order.length - 1)) continue;
      if (span.last < writtenAt(order, 0)) continue;
      batch ??= openBatch(file, head);
      const { write_ts } = batch.columns;
      const { from, to } = batch.runOf(key)!;
      // Both ascend.
      for (let i = 0, place = from; i < order.length && place < to; ) {
        const difference = writtenAt(order, i) - write_ts[place]!;
        if (difference > 0) place++;
        else {
          if (difference === 0 && batch.waits(place)) twins.set(order[i]!, { batch, place });
          i++;
        }
      }
    }
  }
  return twins;
}

/**
 * Tells, key by key, since when the timeseries or the error timeseries knows a `write_ts`. What is moved is in the
 * timeseries before it leaves the usercache: asked while this transaction holds the usercache, an entry that does not
 * wait there is seen wherever it went. Most entries are newer than all that is known of their key, so that one look for
 * each key answers for them.
 */
class KnownElsewhere {
  private readonly usercache: StoreFile;
  private readonly timeseries: StoreFile;
  private readonly user: number;
  /** The user in the timeseries. */
  private readonly owner: number | null;
  private readonly hasFailed: boolean;

  constructor({ usercache, timeseries }: Shard, userId: string, user: number) {
    timeseries.keys.refresh();
    this.usercache = usercache;
    this.timeseries = timeseries;
    this.user = user;
    this.owner = userIn(timeseries, userId);
    this.hasFailed = usercache.sql('SELECT 1 FROM errors WHERE user = ? LIMIT 1').get(user) !== undefined;
  }

  under(name: string): KnownKey {
    const { owner, timeseries } = this;
    const key = owner === null ? null : timeseries.keys.find(name);
    const last = owner === null || key === null ? Number.NEGATIVE_INFINITY : newestWritten(timeseries, owner, key);
    return { key, last, escaped: escapeText(name) };
  }

  receiptOf({ key, last, escaped }: KnownKey, writeTs: number): number | null {
    const moved = writeTs <= last ? receiptIn(this.timeseries, this.owner, key, writeTs) : null;
    if (moved !== null || !this.hasFailed) return moved;
    const sql = 'SELECT received_ts FROM errors WHERE user = ? AND key = ? AND write_ts = ?';
    return this.usercache.sql(sql).get<{ received_ts: number }>(this.user, escaped, writeTs)?.received_ts ?? null;
  }
}

/** A key: its number in the timeseries, the last `write_ts` there, and its name as the error timeseries has it. */
interface KnownKey {
  key: number | null;
  last: number;
  escaped: string;
}

function receiptIn(file: StoreFile, user: number | null, key: number | null, writeTs: number): number | null {
  const found = inSnapshot(file, () => findIdentity(file, user, key, writeTs));
  return found === null ? null : found.chunk.times.received_ts[found.place]!;
}
