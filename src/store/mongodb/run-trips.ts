// The trips of a run of the pipeline: of the newest links what they are found by, read once, and whole records of those
// that were asked for, all kept as the run changes them.
import type { Document } from 'mongodb';
import { addDays, justAfter } from '../../model/time.ts';
import type { TripRecord } from '../../model/trip.ts';
import type { TripSpan, Trips } from '../store.ts';
import type { Connection } from './connection.ts';
import { knownFields } from './rows.ts';
import { type NewTrip, rangeOf, recordsOf, replaceTrips, tripRows, tripsChange } from './trips.ts';
import { doneAfter, type RunTransactions, type Work } from './under-lease.ts';
import type { TripRow } from './user-rows.ts';

/** Links of which it is known what they are found by: some weeks of a phone. */
const mostLinks = 512;

/** Whole records that are read ahead, and those that are kept after a change. */
const mostRecords = 64;

const headFields = [
  ...(['chain_ts', 'kind', 'start_ts', 'end_ts', 'day', 'settled_ts', 'hash', 'written_ts'] as const),
  ...knownFields,
] as const;

/** What a link is found by. */
type Head = Pick<TripRow, (typeof headFields)[number]>;

/** The newest links: all from `from` on. */
interface Known {
  from: number;
  /** By `chain_ts`, ascending. */
  heads: Head[];
  /** Whole ones, or their texts, by `chain_ts`. */
  records: Map<number, TripRecord | string>;
}

/** Days that the local day of a start may be away from that of the same moment elsewhere, and some. */
const daysApart = 3;

/** The chain of trips for one run. `stored` does what is not answered from memory. */
export function tripsOfRun(connection: Connection, stored: Trips, run: RunTransactions, userId: string): Trips {
  const base = afterFlush(stored, run);
  let kept: Known | null = null;
  const known = async (): Promise<Known> => {
    if (kept !== null) return kept;
    await run.flushState();
    kept = await connection.reading(userId, async (rows) => {
      const options = { sort: { chain_ts: -1 }, limit: mostLinks } as const;
      const heads = (await rows.rows('trips').pick({}, headFields, options).toArray()).reverse();
      const from = heads.length < mostLinks ? Number.NEGATIVE_INFINITY : heads[0]!.chain_ts;
      return { from, heads, records: new Map() };
    });
    return kept;
  };
  /** The records of links, in their order. Those that were not read are read at once, with others between them. */
  const whole = async ({ records }: Known, heads: readonly Head[]): Promise<TripRecord[]> => {
    const missing = heads.filter(({ chain_ts }) => !records.has(chain_ts));
    if (missing.length > 0) {
      await run.flushState();
      await connection.reading(userId, async (rows) => {
        const chain_ts = rangeOf(missing[0]!.chain_ts, justAfter(missing.at(-1)!.chain_ts));
        const found = await rows.rows('trips').find({ chain_ts }).toArray();
        const read = await recordsOf(rows, found);
        for (const record of read) if (!records.has(record.chain_ts)) records.set(record.chain_ts, record);
      });
    }
    return heads.flatMap(({ chain_ts }) => {
      const record = records.get(chain_ts);
      if (record === undefined) return []; // gone: another run has the user, and this one will be told
      // A text has what MongoDB would give back, and nothing of an object that somebody else may change.
      const parsed = typeof record === 'string' ? (JSON.parse(record) as TripRecord) : record;
      records.set(chain_ts, parsed);
      return [parsed];
    });
  };
  const trip = async (of: Known, head: Head | undefined): Promise<TripRecord | null> =>
    head === undefined ? null : ((await whole(of, [head]))[0] ?? null);
  const ofDays = ({ from, heads }: Known, days: { from: string; to: string }): Head[] | null => {
    const end = addDays(days.to, 1);
    const mayBeOlder = from > Number.NEGATIVE_INFINITY && addDays(utcDay(from), daysApart) > days.from;
    return mayBeOlder ? null : heads.filter(({ kind, day }) => kind === 'trip' && day >= days.from && day < end);
  };
  return {
    ...base,
    async chain(user, { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, limit }) {
      const own = user === userId ? await known() : null;
      if (own === null || from < own.from || limit <= 0) return base.chain(user, { from, to, limit });
      const heads = own.heads.filter(({ chain_ts }) => chain_ts >= from && chain_ts < to).slice(0, limit);
      return whole(own, heads);
    },
    async lastSettledBefore(user, ts) {
      const own = user === userId ? await known() : null;
      if (own === null || own.from > Number.NEGATIVE_INFINITY) return base.lastSettledBefore(user, ts);
      const { heads } = own;
      const unsettled = heads.findIndex(({ settled_ts }) => settled_ts === null || settled_ts >= ts);
      const at = (unsettled < 0 ? heads.length : unsettled) - 1;
      if (at < 0) return null;
      // What follows is compared with new links, and its first day is shown again.
      const first = heads.findIndex(({ day }) => day === heads[at]!.day);
      if (heads.length - first <= mostRecords) await whole(own, heads.slice(first));
      return trip(own, heads[at]);
    },
    async byDay(user, days) {
      const own = user === userId ? await known() : null;
      const heads = own && ofDays(own, days);
      return heads === null ? base.byDay(user, days) : whole(own!, heads);
    },
    async days(user, days) {
      const own = user === userId ? await known() : null;
      const heads = own && ofDays(own, days);
      return heads === null ? base.days(user, days) : [...new Set(heads.map(({ day }) => day))].sort();
    },
    async next(user, chainTs) {
      const own = user === userId ? await known() : null;
      if (own === null || chainTs < own.from) return base.next(user, chainTs);
      return trip(
        own,
        own.heads.find(({ kind, chain_ts }) => kind === 'trip' && chain_ts > chainTs),
      );
    },
    async previous(user, chainTs) {
      const own = user === userId ? await known() : null;
      const before = own?.heads.findLast(({ kind, chain_ts }) => kind === 'trip' && chain_ts < chainTs);
      const isOlder = before === undefined && own?.from !== Number.NEGATIVE_INFINITY;
      return own === null || isOlder ? base.previous(user, chainTs) : trip(own, before);
    },
    async spans(user, range) {
      const own = user === userId ? await known() : null;
      if (own === null || range.from < own.from) return base.spans(user, range);
      const isInside = ({ kind, chain_ts }: Head) => kind === 'trip' && chain_ts >= range.from && chain_ts < range.to;
      return own.heads.filter(isInside).map(spanOf);
    },
    async replace(user, range, records, state, lease) {
      const own = user === userId ? await known() : null;
      if (own === null) return base.replace(user, range, records, state, lease);
      const made = tripRows(userId, range, records);
      const there = own.heads.filter(({ chain_ts }) => chain_ts >= range.from && chain_ts < range.to);
      const isKnown = range.from >= own.from;
      const work: Work<Awaited<ReturnType<Trips['replace']>>> = (tx, tries) =>
        replaceTrips(tx, range, made, isKnown && tries === 1 ? there : null);
      kept = null; // until it is known what came of it
      let done: Awaited<ReturnType<Trips['replace']>>;
      if (isKnown && state.changed === null) {
        // The analysis has ended: this is stored with the documents that follow from it.
        run.wait(lease, work, state);
        done = tripsChange(there, made).counts;
      } else {
        done = await run.underLease(userId, lease, work, { state });
      }
      kept = afterReplacing(own, range, made);
      return done;
    },
  };
}

/** The same methods, each after what waits was done. */
function afterFlush(trips: Trips, run: RunTransactions): Trips {
  const flush = run.flushState;
  return {
    chain: doneAfter(flush, trips.chain),
    lastSettledBefore: doneAfter(flush, trips.lastSettledBefore),
    byDay: doneAfter(flush, trips.byDay),
    days: doneAfter(flush, trips.days),
    next: doneAfter(flush, trips.next),
    previous: doneAfter(flush, trips.previous),
    summary: doneAfter(flush, trips.summary),
    spans: doneAfter(flush, trips.spans),
    outlines: doneAfter(flush, trips.outlines),
    replace: doneAfter(flush, trips.replace),
  };
}

function spanOf({ chain_ts, start_ts, end_ts, written_ts }: Head): TripSpan {
  return { chain_ts, start_ts, end_ts, written_ts: written_ts ?? null };
}

function utcDay(ts: number): string {
  return new Date(ts * 1000).toISOString().slice(0, 10);
}

/** What is known after the links of a range were replaced. A link with the same content keeps its row. */
function afterReplacing(
  { from, heads, records }: Known,
  range: { from: number; to: number },
  made: ReadonlyMap<number, NewTrip>,
): Known {
  const isOutside = (ts: number): boolean => ts < range.from || ts >= range.to;
  const before = new Map(heads.map((head) => [head.chain_ts, head]));
  const after = heads.filter(({ chain_ts }) => isOutside(chain_ts));
  const whole = new Map([...records].filter(([ts]) => isOutside(ts)));
  for (const [ts, { made: one, text }] of made) {
    if (ts < from) continue;
    const old = before.get(ts);
    const row: Document = one.row;
    after.push(old?.hash === row.hash ? old! : (row as Head));
    whole.set(ts, text);
  }
  after.sort((a, b) => a.chain_ts - b.chain_ts);
  const newest = after.slice(-mostLinks);
  const times = [...whole.keys()].sort((a, b) => b - a).slice(0, mostRecords);
  return {
    from: after.length > mostLinks ? newest[0]!.chain_ts : from,
    heads: newest,
    records: new Map(times.map((ts) => [ts, whole.get(ts)!])),
  };
}
