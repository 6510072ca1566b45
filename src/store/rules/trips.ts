// The chain of trips of each user.
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { justAfter } from '../../model/time.ts';
import type { TripRecord } from '../../model/trip.ts';
import { outlineOf } from '../../model/trip-fields.ts';
import { partsOf } from '../../util/parts-of.ts';
import { mapInSlices } from '../../util/slices.ts';
import { packValue, unpackValue } from '../chunks/pack.ts';
import type { Condition, Engine, Query, Where } from '../rows/rows.ts';
import { objectIn, readColumn } from '../rows/sums.ts';
import { places, type TripRow, trips as table } from '../rows/tables.ts';
import type { TripOutline, Trips } from '../store.ts';
import { putAccount, stateIn, underLease, withState } from './accounts.ts';

const onlyTrips = { kind: 'trip' } as const;
const onlyLinks = { kind: { in: ['trip', 'dropped'] } } as const;
/** Drafts are never settled: with the condition on `settled_ts`, an index finds them. */
const onlyDrafts = { kind: 'draft', settled_ts: { gte: Number.POSITIVE_INFINITY } } as const;
const beginning = Number.NEGATIVE_INFINITY;
const end = Number.POSITIVE_INFINITY;

export function trips(engine: Engine): Trips {
  const links = async (userId: string, where: Where<TripRow>, rest: Omit<Query<TripRow>, 'where'> = {}) => {
    const query: Query<TripRow> = { where: { user: userId, ...where }, order: ['chain_ts'], ...rest };
    const found = await engine.read((rows) => rows.find(table, query));
    return mapInSlices(found, (row) =>
      readColumn(table, row, 'record', () => unpackValue(row.record) as unknown as TripRecord),
    );
  };
  const first = async (userId: string, chain_ts: Condition, order: 'chain_ts' | '-chain_ts') =>
    (await links(userId, { ...onlyTrips, chain_ts }, { order: [order], limit: 1 }))[0] ?? null;
  const chain: Trips['chain'] = async (userId, { from = beginning, to = end, limit }) => {
    const found = await links(userId, { chain_ts: { gte: from, lt: to } }, { limit });
    // The query does not name kinds: a link with a damaged kind must be found, and its checksum compared.
    const own = found.filter(({ kind }) => kind !== 'draft');
    if (own.length === found.length || found.length < limit) return own;
    const rest = { from: justAfter(found.at(-1)!.chain_ts), to, limit: limit - own.length };
    return [...own, ...(await chain(userId, rest))];
  };
  return {
    chain,
    drafts: (userId) => links(userId, onlyDrafts),
    lastSettledBefore: async (userId, ts) => {
      const where = { user: userId, settled_ts: { gte: ts } };
      const [open] = await engine.read((rows) =>
        rows.find(table, { where, order: ['chain_ts'], limit: 1 }, ['chain_ts']),
      );
      const before = { ...onlyLinks, chain_ts: { lt: open?.chain_ts ?? end } };
      return (await links(userId, before, { order: ['-chain_ts'], limit: 1 }))[0] ?? null;
    },
    byDay: (userId, { from, to }) => links(userId, { ...onlyTrips, day: { gte: from, lte: to } }),
    next: (userId, chainTs) => first(userId, { gt: chainTs }, 'chain_ts'),
    previous: (userId, chainTs) => first(userId, { lt: chainTs }, '-chain_ts'),
    starts: (userId, { from, to }) => {
      const where = { user: userId, ...onlyTrips, day: { gte: from, lte: to } };
      return engine.read((rows) => rows.find(table, { where, order: ['chain_ts'] }, ['chain_ts', 'day']));
    },
    summary: (userId) =>
      engine.read(async (rows) => {
        const where = { user: userId, ...onlyTrips };
        const edge = async (order: 'chain_ts' | '-chain_ts') =>
          (await rows.find(table, { where, order: [order], limit: 1 }, ['start_ts', 'end_ts']))[0];
        const [earliest, latest] = [await edge('chain_ts'), await edge('-chain_ts')];
        const count = await rows.total(table, where);
        return { count, start_ts: earliest?.start_ts ?? null, end_ts: latest?.end_ts ?? null };
      }),
    spans: (userId, { from, to }) =>
      engine.read((rows) => {
        const where = { user: userId, ...onlyTrips, chain_ts: { gte: from, lt: to } };
        const columns = ['chain_ts', 'start_ts', 'end_ts', 'written_ts'] as const;
        return rows.find(table, { where, order: ['chain_ts'] }, columns);
      }),
    outlines: (userId, chainTs) =>
      engine.read(async (rows) => {
        const outlines: TripOutline[] = [];
        for (const some of partsOf(
          [...new Set(chainTs)].sort((a, b) => a - b),
          linksAtOnce,
        )) {
          const where = { user: userId, ...onlyTrips, chain_ts: { in: some } };
          const found = await rows.find(table, { where, order: ['chain_ts'] }, ['user', 'chain_ts', 'outline']);
          outlines.push(...found.map((row) => objectIn<TripRow, TripOutline>(table, row, 'outline')));
        }
        return outlines;
      }),
    places: (userId) =>
      engine.read(async (rows) => {
        const [row] = await rows.find(places, { where: { user: userId } });
        return row === undefined
          ? null
          : readColumn(places, row, 'places', () => unpackValue(row.places) as JsonObject);
      }),
    apply: async (userId, { put, remove, drafts, places: kept }, state, lease) => {
      const now = await engine.now();
      const fresh = [...put, ...(drafts ?? [])].map((record) => rowOf(userId, record, now));
      await engine.write(userId, async (rows) => {
        const account = await underLease(rows, userId, lease);
        const isReplacing = drafts !== undefined && stateIn(account).drafts > 0;
        if (isReplacing) await rows.remove(table, { user: userId, ...onlyDrafts });
        for (const some of partsOf(remove, linksAtOnce))
          await rows.remove(table, { user: userId, chain_ts: { in: some } });
        if (fresh.length > 0) await rows.put(table, fresh);
        if (kept !== undefined) await rows.put(places, [{ user: userId, places: packValue(kept) }]);
        const counted = drafts === undefined ? state : { ...state, drafts: drafts.length };
        await putAccount(rows, account, withState(account, counted));
      });
    },
  };
}

function rowOf(user: string, record: TripRecord, written_ts: number): TripRow {
  const { chain_ts, kind, start_ts, end_ts, day, settled_ts } = record;
  const outline = record.trip === null || kind !== 'trip' ? null : JSON.stringify(outlineOf(record));
  const times = { chain_ts, start_ts, end_ts, settled_ts: settled_ts ?? end, written_ts };
  return { user, kind, day, ...times, outline, record: packValue(record as unknown as JsonValue) };
}

/** The most links per statement, since engines limit the length of a list. */
const linksAtOnce = 10_000;
