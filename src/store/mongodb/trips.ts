// The chain of trips.
import { createHash } from 'node:crypto';
import type { ClientSession, Document, Filter } from 'mongodb';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { addDays } from '../../model/time.ts';
import type { TripRecord } from '../../model/trip.ts';
import type { Lease, PipelineState, Trips } from '../store.ts';
import type { Connection } from './connection.ts';
import { requireLease } from './leases.ts';
import { mergeState, rangeAround, readState } from './pipeline-states.ts';
import {
  type KnownRow,
  knownFields,
  type NewRow,
  newRow,
  payloadsOf,
  removeParts,
  withSession,
  writeParts,
  writeRows,
} from './rows.ts';

export function tripsOn(connection: Connection): Trips {
  const rows = connection.rows('trips');

  const recordsOf = async (found: readonly Document[]): Promise<TripRecord[]> =>
    (await payloadsOf(connection, found, 'record')) as unknown as TripRecord[];

  const first = (filter: Filter<Document>, sort: Record<string, 1 | -1>): Promise<TripRecord | null> =>
    connection.once(async () => {
      const row = await rows.findOne(filter, { sort });
      return row === null ? null : (await recordsOf([row]))[0]!;
    });

  return {
    chain: (userId, { from, to, limit }) =>
      connection.once(async () => {
        if (limit <= 0) return [];
        const filter = { user_id: userId, chain_ts: rangeOf(from, to) };
        return recordsOf(await rows.find(filter, { sort: { chain_ts: 1 }, limit }).toArray());
      }),
    async lastSettledBefore(userId, ts) {
      const bound = await connection.once(() => firstUnsettled(connection, userId, ts));
      return first({ user_id: userId, chain_ts: { $lt: bound } }, { chain_ts: -1 });
    },
    byDay: (userId, { from, to }) =>
      connection.once(async () => {
        const filter = { user_id: userId, kind: 'trip', day: { $gte: from, $lt: addDays(to, 1) } };
        return recordsOf(await rows.find(filter, { sort: { chain_ts: 1 }, allowDiskUse: true }).toArray());
      }),
    next: (userId, chainTs) => first({ user_id: userId, kind: 'trip', chain_ts: { $gt: chainTs } }, { chain_ts: 1 }),
    async summary(userId) {
      const filter = { user_id: userId, kind: 'trip' };
      const count = await connection.once(() => rows.countDocuments(filter));
      const one = await connection.once(() =>
        rows.findOne(filter, { sort: { chain_ts: 1 }, projection: { start_ts: 1 } }),
      );
      const last = await connection.once(() =>
        rows.findOne(filter, { sort: { chain_ts: -1 }, projection: { end_ts: 1 } }),
      );
      return { count, start_ts: one?.start_ts ?? null, end_ts: last?.end_ts ?? null };
    },
    written: (userId, { from, to }) =>
      connection.once(async () => {
        const projection = { _id: 0, chain_ts: 1, written_ts: 1 };
        const filter = { user_id: userId, chain_ts: rangeOf(from, to) };
        const found = await rows.find(filter, { sort: { chain_ts: 1 }, projection }).toArray();
        return found.map(({ chain_ts, written_ts = null }) => ({ chain_ts, written_ts }));
      }),
    replace: (userId, range, records, state, lease) => replace(connection, userId, range, records, state, lease),
  };
}

function rangeOf(from: number = Number.NEGATIVE_INFINITY, to?: number): Document {
  return to === undefined ? { $gte: from } : { $gte: from, $lt: to };
}

/** `chain_ts` of the first link that is not settled below `ts`; infinity when all are. */
async function firstUnsettled(connection: Connection, userId: string, ts: number): Promise<number> {
  const rows = connection.rows('trips');
  const options = { sort: { chain_ts: 1 }, projection: { _id: 0, chain_ts: 1 } } as const;
  const later = await rows.findOne({ user_id: userId, settled_ts: { $gte: ts } }, options);
  const never = await rows.findOne({ user_id: userId, settled_ts: null }, options);
  return Math.min(later?.chain_ts ?? Number.POSITIVE_INFINITY, never?.chain_ts ?? Number.POSITIVE_INFINITY);
}

/** The record as a whole, and beside it what links are found by, and when it was written. */
function tripRow(userId: string, record: TripRecord, written_ts: number): NewRow {
  const { kind, chain_ts, start_ts, end_ts, day, settled_ts } = record;
  const text = jsonText(record as unknown as JsonValue);
  const hash = createHash('sha256').update(text).digest('base64url');
  return newRow(
    { in: 'trips', user_id: userId, at: { chain_ts } },
    { kind, start_ts, end_ts, day, settled_ts: settled_ts ?? null, written_ts, hash },
    { record: record as unknown as JsonValue },
  );
}

/**
 * Without transactions: what is going to change is marked as changed, then come the links and then the state. After a crash in
 * between the marks stand, and the next run derives the links again. At the end `changed` is as told, or as it was.
 */
async function replace(
  connection: Connection,
  userId: string,
  range: { from: number; to: number },
  records: readonly TripRecord[],
  state: Partial<PipelineState>,
  lease: Lease,
): Promise<{ added: number; removed: number; changed: number; unchanged: number }> {
  const outside = records.find(({ chain_ts }) => !(chain_ts >= range.from && chain_ts < range.to));
  if (outside !== undefined) {
    throw new TypeError(
      `expected links with chain_ts from ${range.from} to below ${range.to}, found ${outside.chain_ts}`,
    );
  }
  const now = Date.now() / 1000;
  const made = new Map(records.map((record) => [record.chain_ts, tripRow(userId, record, now)]));
  await writeParts(connection, [...made.values()]);
  let before: PipelineState | undefined; // of the first try: later ones would find its mark
  return connection.atomically(async (session) => {
    await requireLease(connection, userId, lease, session);
    const old = await linksIn(connection, userId, range, session);
    const gone = [...old.values()].filter((row) => !made.has(row.chain_ts));
    const different = [...made.values()].filter(({ row }) => old.get(row.chain_ts)?.hash !== row.hash);
    const added = different.filter(({ row }) => !old.has(row.chain_ts)).length;
    const touched = [...different.map(({ row }) => row), ...gone];
    if (session === undefined && touched.length > 0) {
      before ??= await readState(connection, userId);
      await mark(connection, userId, before, touched);
    }
    await writeRows(connection, different, ({ row }) => old.get(row.chain_ts) as KnownRow | undefined, session);
    await removeLinks(connection, userId, gone, session);
    const unmarked = before === undefined || state.changed !== undefined ? {} : { changed: before.changed };
    await mergeState(connection, userId, { ...state, ...unmarked }, session);
    const changed = different.length - added;
    return { added, removed: gone.length, changed, unchanged: made.size - different.length };
  });
}

async function linksIn(
  connection: Connection,
  userId: string,
  range: { from: number; to: number },
  session: ClientSession | undefined,
): Promise<Map<number, Document>> {
  const projection = { ...knownFields, chain_ts: 1, start_ts: 1, end_ts: 1, hash: 1 };
  const rows = await connection
    .rows('trips')
    .find({ user_id: userId, chain_ts: rangeOf(range.from, range.to) }, { projection, ...withSession(session) })
    .toArray();
  return new Map(rows.map((row) => [row.chain_ts, row]));
}

async function removeLinks(
  connection: Connection,
  userId: string,
  rows: readonly Document[],
  session: ClientSession | undefined,
): Promise<void> {
  if (rows.length === 0) return;
  const filter = { user_id: userId, chain_ts: { $in: rows.map((row) => row.chain_ts) } };
  await connection.rows('trips').deleteMany(filter, withSession(session));
  await removeParts(connection, userId, rows as unknown as KnownRow[], session);
}

/** Marks what is going to change, beside what the state says already. */
async function mark(
  connection: Connection,
  userId: string,
  { changed }: PipelineState,
  rows: readonly Document[],
): Promise<void> {
  const range = {
    from: Math.min(...rows.map((row) => Math.min(row.chain_ts, row.start_ts))),
    to: Math.max(...rows.map((row) => Math.max(row.chain_ts, row.end_ts))),
  };
  await mergeState(connection, userId, { changed: rangeAround(changed, range) }, undefined);
}
