import type { JsonObject, JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { justAfter } from '../../model/time.ts';
import type { BriefRecord, TripRecord } from '../../model/trip.ts';
import { briefOf } from '../../model/trip-fields.ts';
import { partsOf } from '../../util/parts-of.ts';
import { mapInSlices } from '../../util/slices.ts';
import { packValue, unpackValue } from '../chunks/pack.ts';
import { briefIn, briefText } from '../chunks/stored-brief.ts';
import type { Condition, Engine, Query, Rows, Where } from '../rows/rows.ts';
import { readColumn } from '../rows/sums.ts';
import { months as monthTable, places, type TripRow, trips as table } from '../rows/tables.ts';
import type { Trips } from '../store.ts';
import { putAccount, stateIn, underLease, withState } from './accounts.ts';

const onlyTrips = { kind: 'trip' } as const;
const onlyLinks = { kind: { in: ['trip', 'dropped'] } } as const;
/** The condition on `settled_ts` is always true for drafts, but lets the engine use an index. */
const onlyDrafts = { kind: 'draft', settled_ts: { gte: Number.POSITIVE_INFINITY } } as const;
const beginning = Number.NEGATIVE_INFINITY;
const end = Number.POSITIVE_INFINITY;

export function trips(engine: Engine): Trips {
  const links = async (userId: string, where: Where<TripRow>, rest: Omit<Query<TripRow>, 'where'> = {}) => {
    const query: Query<TripRow> = { where: { user: userId, ...where }, order: ['chain_ts'], ...rest };
    const found = await engine.read((rows) => rows.find(table, query));
    return mapInSlices(found, recordIn);
  };
  const first = async (userId: string, chain_ts: Condition, order: 'chain_ts' | '-chain_ts') =>
    (await links(userId, { ...onlyTrips, chain_ts }, { order: [order], limit: 1 }))[0] ?? null;
  const chain: Trips['chain'] = async (userId, { from = beginning, to = end, limit }) => {
    const found = await links(userId, { chain_ts: { gte: from, lt: to } }, { limit });
    // The query names no kind, so it finds links with a damaged kind and compares their checksums.
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
    starts: (userId, { from, to }) =>
      engine.read((rows) => rows.find(table, tripsOf(userId, { day: { gte: from, lte: to } }), ['chain_ts', 'day'])),
    summary: (userId) =>
      engine.read(async (rows) => {
        const [earliest] = await rows.find(table, { ...tripsOf(userId), limit: 1 }, ['start_ts']);
        const [latest] = await rows.find(table, lastTrips(userId, end, 1), ['end_ts']);
        const count = await rows.total(table, { user: userId, ...onlyTrips });
        return { count, start_ts: earliest?.start_ts ?? null, end_ts: latest?.end_ts ?? null };
      }),
    spans: (userId, { from, to }) =>
      engine.read((rows) => rows.find(table, tripsOf(userId, { chain_ts: { gte: from, lt: to } }), spanColumns)),
    neighbours: (userId, ts) =>
      engine.read(async (rows) => {
        const last = await rows.find(table, lastTrips(userId, ts, 2), spanColumns);
        const first = await rows.find(table, { ...tripsOf(userId, { chain_ts: { gte: ts } }), limit: 3 }, spanColumns);
        return [...last.reverse(), ...first];
      }),
    briefs: (userId, { from, to }) =>
      engine.read(async (rows) => {
        const [before] = await rows.find(table, lastTrips(userId, from, 1), ['chain_ts']);
        const later = { where: { user: userId, chain_ts: { gte: to } }, order: ['chain_ts'], limit: 1 } as const;
        const [after] = await rows.find(table, later, ['chain_ts']);
        const until = after === undefined ? { lt: to } : { lte: after.chain_ts };
        const found = await briefsIn(rows, { user: userId, chain_ts: { gte: before?.chain_ts ?? from, ...until } });
        return found.filter(({ kind, chain_ts }) => kind !== 'draft' || (chain_ts >= from && chain_ts < to));
      }),
    briefsAt: (userId, chainTs) =>
      engine.read((rows) => briefsIn(rows, { user: userId, ...onlyTrips, chain_ts: { in: [...new Set(chainTs)] } })),
    places: (userId) =>
      engine.read(async (rows) => {
        const [row] = await rows.find(places, { where: { user: userId } });
        return row === undefined
          ? null
          : readColumn(places, row, 'places', () => unpackValue(row.places) as JsonObject);
      }),
    apply: async (userId, { put, remove, drafts, places: kept, months }, state, lease) => {
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
        if (months !== undefined) {
          await rows.remove(monthTable, { user: userId });
          const fresh = months.map(({ month, figures }) => ({ user: userId, month, figures: jsonText(figures) }));
          await rows.put(monthTable, fresh);
        }
        const counted = drafts === undefined ? state : { ...state, drafts: drafts.length };
        await putAccount(rows, account, withState(account, counted));
      });
    },
  };
}

function tripsOf(user: string, where: Where<TripRow> = {}): Query<TripRow> {
  return { where: { user, ...onlyTrips, ...where }, order: ['chain_ts'] };
}

/** Selects the last trips before `chainTs`, the latest first. */
function lastTrips(user: string, chainTs: number, limit: number): Query<TripRow> {
  return { ...tripsOf(user, { chain_ts: { lt: chainTs } }), order: ['-chain_ts'], limit };
}

const spanColumns = ['chain_ts', 'start_ts', 'end_ts', 'written_ts'] as const;
const briefColumns = ['user', 'kind', 'chain_ts', 'start_ts', 'end_ts', 'day', 'outline'] as const;

/** Reads links in brief. If an older version stored them, reads the whole records. */
async function briefsIn(rows: Rows, where: Where<TripRow>): Promise<BriefRecord[]> {
  const found = await rows.find(table, { where, order: ['chain_ts'] }, briefColumns);
  const briefs = found.map(({ user, outline, ...columns }): BriefRecord | null => {
    if (outline === null) return null;
    const read = () => briefIn(columns as Parameters<typeof briefIn>[0], outline);
    return readColumn(table, { user, ...columns }, 'outline', read);
  });
  const old = found.flatMap(({ chain_ts }, i) => (briefs[i] === null ? [chain_ts] : []));
  const records = new Map<number, TripRecord>();
  for (const some of partsOf(old, linksAtOnce))
    for (const row of await rows.find(table, { where: { ...where, chain_ts: { in: some } } }))
      records.set(row.chain_ts, recordIn(row));
  return briefs.map((brief, i) => brief ?? briefOf(records.get(found[i]!.chain_ts)!));
}

const recordIn = (row: TripRow): TripRecord =>
  readColumn(table, row, 'record', () => unpackValue(row.record) as unknown as TripRecord);

function rowOf(user: string, record: TripRecord, written_ts: number): TripRow {
  const { chain_ts, kind, start_ts, end_ts, day, settled_ts } = record;
  const outline = briefText(briefOf(record));
  const times = { chain_ts, start_ts, end_ts, settled_ts: settled_ts ?? end, written_ts };
  return { user, kind, day, ...times, outline, record: packValue(record as unknown as JsonValue) };
}

/** Links per statement, since engines limit the length of a list. */
const linksAtOnce = 10_000;
