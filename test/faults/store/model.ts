// A store of one user as plain maps: every rule of the store in its simplest form, to compare the real one with.
import { deepStrictEqual } from 'node:assert/strict';
import { dataTime, type Entry, type Identity, identityOf } from '../../../src/model/entry.ts';
import type { JsonValue } from '../../../src/model/json.ts';
import { affectsOf } from '../../../src/model/keys.ts';
import { errorIdOf, unusableIdOf, unusableKeyOf } from '../../../src/model/rejections.ts';
import { maxTime, type TimeRange, zoneNamed } from '../../../src/model/time.ts';
import type { TripRecord, ZoneSighting } from '../../../src/model/trip.ts';
import type { Document, ErrorRow, Judge, Moved, PutContent, PutResult } from '../../../src/store/store.ts';

interface Stored {
  entry: Entry;
  received_ts: number;
}

interface Waiting extends Stored {
  failed: { first_ts: number; tries: number } | null;
}

export const nameOf = ({ key, write_ts }: Identity): string => `${write_ts + 0} ${key}`;

/** Refuses one in four contents. */
export const judge: Judge = ({ data }) =>
  (data.n as number) % 4 === 3 ? { reason: 'r', message: `m ${data.n}` } : { ts: dataTime(data) };

/** True for an entry that waits for its `write_ts`; one that no calendar has is not waited for. */
export const isAhead = ({ entry: { metadata }, received_ts }: Stored): boolean =>
  metadata.write_ts > received_ts + 86_400 &&
  !(metadata.write_ts > maxTime && metadata.write_ts <= Number.MAX_SAFE_INTEGER);

export const isSame = (a: unknown, b: unknown): boolean => {
  try {
    deepStrictEqual(a, b);
    return true;
  } catch {
    return false;
  }
};

export class Model {
  readonly waiting = new Map<string, Waiting>();
  readonly stored = new Map<string, Stored>();
  /** By id. */
  readonly errors = new Map<string, ErrorRow>();
  readonly documents = new Map<string, Document>();
  /** By `chain_ts`. */
  readonly trips = new Map<number, TripRecord>();
  changed: TimeRange | null = null;
  due = false;

  put({ entries, unusable, received_ts }: PutContent, now: number): PutResult[] {
    for (const { entry, identity, reason, message } of unusable) {
      const id = identity === undefined ? unusableIdOf(entry) : errorIdOf(identity);
      const before = identity === undefined ? this.historyOf(id) : this.takeOut(identity);
      const received = before?.received_ts ?? now;
      const same = identity === undefined ? this.errors.get(id) : undefined;
      const row = same ?? { id, entry, identity: identity ?? null, reason, message };
      this.errors.set(id, { ...row, ...this.failedNow(before?.failed ?? null, now), received_ts: received });
    }
    return entries.map((entry, i) => {
      const name = nameOf(identityOf(entry));
      const known = this.receiptOf(identityOf(entry));
      const failed = this.waiting.get(name)?.failed ?? this.historyOf(errorIdOf(identityOf(entry)))?.failed ?? null;
      this.waiting.delete(name); // it waits behind the others from now on
      this.waiting.set(name, { entry, received_ts: received_ts?.[i] ?? known ?? now, failed });
      return known === undefined ? 'inserted' : 'updated';
    });
  }

  /** Moves all that may be processed. Returns what `moveAll` must return, but for the marks of zones. */
  move(at: number): Omit<Moved, 'more' | 'moved' | 'failed'> & { moved: string[]; failed: string[] } {
    const counts = { inserted: 0, updated: 0, unchanged: 0 };
    const result = { ...counts, moved: [] as string[], failed: [] as string[] };
    const marked: Moved['dirty'] = { changed: null, documents: false };
    for (const [name, one] of [...this.waiting]) {
      const { entry, received_ts } = one;
      if (isAhead(one) && entry.metadata.write_ts > at) continue;
      this.waiting.delete(name);
      const identity = identityOf(entry);
      const id = errorIdOf(identity);
      const verdict = judge(entry);
      const before = this.stored.get(name);
      if ('reason' in verdict) {
        const failed = this.historyOf(id)?.failed ?? one.failed;
        const row = { id, entry: entry as unknown as JsonValue, identity, ...verdict, received_ts };
        this.errors.set(id, { ...row, ...this.failedNow(failed, at) });
        if (this.stored.delete(name)) markOf(marked, before!.entry);
        result.failed.push(name);
        continue;
      }
      this.errors.delete(id);
      this.stored.set(name, { entry, received_ts });
      result.moved.push(name);
      const isUnchanged = isSame(before?.entry, entry);
      result[isUnchanged ? 'unchanged' : before ? 'updated' : 'inserted'] += 1;
      if (before && !isUnchanged) markOf(marked, before.entry);
      if (!isUnchanged) markOf(marked, entry);
    }
    return { ...result, dirty: marked };
  }

  recover(errors: readonly { id: string; entry: Entry }[]): number {
    const before = new Map(errors.map(({ entry }) => [nameOf(identityOf(entry)), this.receiptOf(identityOf(entry))]));
    const waited = new Set(this.waiting.keys());
    let count = 0;
    for (const { id, entry } of errors) {
      const error = this.errors.get(id);
      const name = nameOf(identityOf(entry));
      if (error === undefined) continue;
      const known = before.get(name);
      if (error.identity === null && known !== undefined) {
        if (known > error.last_ts) this.errors.delete(id);
        continue;
      }
      this.errors.delete(id);
      if (waited.has(name) || this.waiting.has(name)) continue;
      const { first_ts, tries, received_ts } = error;
      this.waiting.set(name, { entry, received_ts, failed: { first_ts, tries } });
      count += 1;
    }
    return count;
  }

  erase(): void {
    for (const map of [this.waiting, this.stored, this.errors, this.documents, this.trips]) map.clear();
    [this.changed, this.due] = [null, false];
  }

  /** The sightings around each entry that affects trips and names no zone, by name: they decide its zone. */
  zones(): Map<string, { around: unknown; ts: number | null }> {
    const found = new Map<string, { around: unknown; ts: number | null }>();
    for (const [name, { entry }] of this.stored)
      if (zoneNamed(entry) === null && affectsOf(entry.metadata.key) === 'trips')
        found.set(name, { around: this.zonesAround(entry.metadata.write_ts), ts: dataTime(entry.data) });
    return found;
  }

  zonesAround(writeTs: number): { before: ZoneSighting | null; after: ZoneSighting | null } {
    const sightings = [...this.stored.values()].flatMap(({ entry }) => {
      const zone = zoneNamed(entry);
      return zone === null ? [] : [{ ...entry.metadata, zone }];
    });
    sightings.sort((a, b) => a.write_ts - b.write_ts || (a.key < b.key ? -1 : 1));
    const last = sightings.findLast((one) => one.write_ts <= writeTs);
    const before = last && sightings.find((one) => one.write_ts === last.write_ts);
    const after = sightings.find((one) => one.write_ts > writeTs);
    const sighting = (one: typeof after) => one && { write_ts: one.write_ts, zone: one.zone };
    return { before: sighting(before) ?? null, after: sighting(after) ?? null };
  }

  private receiptOf(identity: Identity): number | undefined {
    const name = nameOf(identity);
    const found = this.waiting.get(name) ?? this.stored.get(name) ?? this.errors.get(errorIdOf(identity));
    return found?.received_ts;
  }

  /** Removes the pending entry of an identity, and returns what is recorded about it. */
  private takeOut(identity: Identity): Pick<Waiting, 'received_ts' | 'failed'> | undefined {
    const received_ts = this.receiptOf(identity);
    if (received_ts === undefined) return undefined;
    const name = nameOf(identity);
    const failed = this.waiting.get(name)?.failed ?? this.historyOf(errorIdOf(identity))?.failed ?? null;
    this.waiting.delete(name);
    return { received_ts, failed };
  }

  private historyOf(id: string): Pick<Waiting, 'received_ts' | 'failed'> | undefined {
    const error = this.errors.get(id);
    return error && { received_ts: error.received_ts, failed: { first_ts: error.first_ts, tries: error.tries } };
  }

  private failedNow(failed: Waiting['failed'], now: number): Pick<ErrorRow, 'first_ts' | 'last_ts' | 'tries'> {
    return { first_ts: failed?.first_ts ?? now, last_ts: now, tries: (failed?.tries ?? 0) + 1 };
  }

  /** Key and reason of each error, as a summary names them. */
  errorCounts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { identity, entry, reason } of this.errors.values()) {
      const name = JSON.stringify([identity?.key ?? unusableKeyOf(entry), reason]);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return counts;
  }
}

function markOf(marked: Moved['dirty'], { metadata, data }: Entry): void {
  const affects = affectsOf(metadata.key);
  if (affects === 'documents') marked.documents = true;
  const ts = dataTime(data);
  if (affects === 'trips' && ts !== null) marked.changed = around(marked.changed, { from: ts, to: ts });
}

/** The range around both. */
export function around(a: TimeRange | null, b: TimeRange | null): TimeRange | null {
  if (a === null || b === null) return a ?? b;
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
}
