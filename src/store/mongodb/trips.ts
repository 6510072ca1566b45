// The chain of trips.
import { createHash } from 'node:crypto';
import type { Document } from 'mongodb';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { addDays } from '../../model/time.ts';
import type { TripRecord } from '../../model/trip.ts';
import { outlineOf } from '../outline.ts';
import { checkRange } from '../refusals.ts';
import type { Trips } from '../store.ts';
import type { Connection } from './connection.ts';
import { type KnownRow, knownFields, type NewRow, newRow, payloadsOf, removeRows, writeRows } from './rows.ts';
import { underLeaseOn } from './under-lease.ts';
import type { TripRow, Tx, UserRows } from './user-rows.ts';

/** The chains of users. */
export function tripsOn(connection: Connection): Trips {
  const first = async (from: UserRows, filter: Document, sort: Record<string, 1 | -1>): Promise<TripRecord | null> => {
    const row = await from.rows('trips').findOne(filter, { sort });
    return row === null ? null : (await recordsOf(from, [row]))[0]!;
  };
  return {
    chain: (userId, { from: start, to: end, limit }) =>
      connection.reading(userId, async (from) => {
        if (limit <= 0) return [];
        const options = { sort: { chain_ts: 1 }, limit } as const;
        return recordsOf(
          from,
          await from
            .rows('trips')
            .find({ chain_ts: rangeOf(start, end) }, options)
            .toArray(),
        );
      }),
    lastSettledBefore: (userId, ts) =>
      connection.reading(userId, async (from) =>
        first(from, { chain_ts: { $lt: await firstUnsettled(from, ts) } }, { chain_ts: -1 }),
      ),
    byDay: (userId, days) =>
      connection.reading(userId, async (from) => {
        const filter = { kind: 'trip', day: { $gte: days.from, $lt: addDays(days.to, 1) } };
        const options = { sort: { chain_ts: 1 }, allowDiskUse: true } as const;
        return recordsOf(from, await from.rows('trips').find(filter, options).toArray());
      }),
    next: (userId, chainTs) =>
      connection.reading(userId, (from) => first(from, { kind: 'trip', chain_ts: { $gt: chainTs } }, { chain_ts: 1 })),
    previous: (userId, chainTs) =>
      connection.reading(userId, (from) => first(from, { kind: 'trip', chain_ts: { $lt: chainTs } }, { chain_ts: -1 })),
    days: (userId, days) =>
      connection.reading(userId, async (from) => {
        const filter = { kind: 'trip', day: { $gte: days.from, $lt: addDays(days.to, 1) } };
        return [...new Set((await from.rows('trips').pick(filter, ['day']).toArray()).map(({ day }) => day))].sort();
      }),
    summary: (userId) => connection.reading(userId, summarise),
    spans: (userId, range) =>
      connection.reading(userId, async (from) => {
        const filter = { kind: 'trip', chain_ts: rangeOf(range.from, range.to) };
        const fields = ['chain_ts', 'start_ts', 'end_ts', 'written_ts'] as const;
        const rows = await from
          .rows('trips')
          .pick(filter, fields, { sort: { chain_ts: 1 } })
          .toArray();
        return rows.map(({ chain_ts, start_ts, end_ts, written_ts = null }) => ({
          chain_ts,
          start_ts,
          end_ts,
          written_ts,
        }));
      }),
    outlines: (userId, chainTs) =>
      connection.reading(userId, async (from) => {
        const filter = { kind: 'trip', chain_ts: { $in: [...chainTs] } };
        const options = { sort: { chain_ts: 1 }, projection: outlineFields } as const;
        return (await recordsOf(from, await from.rows('trips').find(filter, options).toArray())).map(outlineOf);
      }),
    replace: async (userId, range, records, state, lease) => {
      const made = tripRows(userId, range, records);
      return underLeaseOn(connection)(userId, lease, (tx) => replaceTrips(tx, range, made, null), { state });
    },
  };
}

/** What outlines are made of: of a record that is kept as text, the text. */
const outlineFields: Document = Object.fromEntries(
  ['revision', 'record_json', 'record_parts', 'record.chain_ts', 'record.start_ts']
    .concat(['start_zone', 'start_loc', 'end_loc'].map((name) => `record.trip.${name}`))
    .concat(['sensed_mode', 'distance'].map((name) => `record.trip.sections.${name}`))
    .map((name) => [name, 1]),
);

/** The links that rows hold, in their order. */
export async function recordsOf(from: UserRows, rows: readonly TripRow[]): Promise<TripRecord[]> {
  return payloadsOf<TripRecord>(from, rows, 'record');
}

async function summarise(from: UserRows): ReturnType<Trips['summary']> {
  const trips = from.rows('trips');
  const filter = { kind: 'trip' };
  const end = async (direction: 1 | -1) =>
    (await trips.pick(filter, ['start_ts', 'end_ts'], { sort: { chain_ts: direction }, limit: 1 }).toArray())[0];
  const [one, last] = [await end(1), await end(-1)];
  return { count: await trips.count(filter), start_ts: one?.start_ts ?? null, end_ts: last?.end_ts ?? null };
}

/** The filter of a half-open range. */
export function rangeOf(from: number = Number.NEGATIVE_INFINITY, to?: number): Document {
  return to === undefined ? { $gte: from } : { $gte: from, $lt: to };
}

/** `chain_ts` of the first link that is not settled below `ts`; infinity when all are. */
async function firstUnsettled(from: UserRows, ts: number): Promise<number> {
  const first = async (settled_ts: unknown): Promise<number> => {
    const options = { sort: { chain_ts: 1 }, limit: 1 } as const;
    const [row] = await from.rows('trips').pick({ settled_ts }, ['chain_ts'], options).toArray();
    return row?.chain_ts ?? Number.POSITIVE_INFINITY;
  };
  return Math.min(await first({ $gte: ts }), await first(null));
}

/** Links to be written, by `chain_ts`. Throws when one lies outside the range. */
export function tripRows(
  userId: string,
  range: { from: number; to: number },
  records: readonly TripRecord[],
): Map<number, NewTrip> {
  checkRange(range, records);
  const now = Date.now() / 1000;
  return new Map(records.map((record) => [record.chain_ts, tripRow(userId, record, now)]));
}

/** A link to be written, and its JSON text. */
export interface NewTrip {
  made: NewRow;
  text: string;
}

/** The record as a whole, and beside it what links are found by, and when it was written. */
function tripRow(userId: string, record: TripRecord, written_ts: number): NewTrip {
  const { kind, chain_ts, start_ts, end_ts, day, settled_ts } = record;
  const text = jsonText(record as unknown as JsonValue);
  const hash = createHash('sha256').update(text).digest('base64url');
  const plain = { kind, start_ts, end_ts, day, settled_ts: settled_ts ?? null, written_ts, hash };
  return { made: newRow('trips', userId, { chain_ts }, plain, { record }), text };
}

/** What is read of a link that is going to be replaced. */
export type KnownTrip = KnownRow & Pick<TripRow, 'chain_ts' | 'hash'>;

type Replaced = Awaited<ReturnType<Trips['replace']>>;

/** What a change of links comes to. */
interface TripsChange {
  counts: Replaced;
  different: NewRow[];
  gone: KnownTrip[];
}

/** What it means to replace the links `there` by `rows`. */
export function tripsChange(there: readonly KnownTrip[], rows: ReadonlyMap<number, NewTrip>): TripsChange {
  const old = new Map(there.map((row) => [row.chain_ts, row]));
  const gone = there.filter((row) => !rows.has(row.chain_ts));
  const made = [...rows.values()].map((row) => row.made);
  const different = made.filter(({ row }) => old.get(row.chain_ts)?.hash !== row.hash);
  const added = different.filter(({ row }) => !old.has(row.chain_ts)).length;
  const changed = different.length - added;
  const counts = { added, removed: gone.length, changed, unchanged: rows.size - different.length };
  return { counts, different, gone };
}

/**
 * Replaces the links of a range. `known`: those that are there, as they are, for who holds the lease since it was read;
 * null: they are read.
 */
export async function replaceTrips(
  tx: Tx,
  range: { from: number; to: number },
  rows: ReadonlyMap<number, NewTrip>,
  known: readonly KnownTrip[] | null,
): Promise<Replaced> {
  const fields = ['chain_ts', 'hash', ...knownFields] as const;
  const filter = { chain_ts: rangeOf(range.from, range.to) };
  const there = known ?? (await tx.rows('trips').pick(filter, fields).toArray());
  const old = new Map(there.map((row) => [row.chain_ts, row]));
  const { counts, different, gone } = tripsChange(there, rows);
  await writeRows(tx, different, ({ row }) => old.get(row.chain_ts));
  await removeRows(tx, 'trips', gone, [{ chain_ts: { $in: gone.map(({ chain_ts }) => chain_ts) } }]);
  return counts;
}
