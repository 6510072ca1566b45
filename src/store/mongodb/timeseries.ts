// The long-term store of entries.
import type { Document } from 'mongodb';
import { unescapeText } from '../../model/json-text.ts';
import { justAfter, type TimeRange } from '../../model/time.ts';
import { isAhead } from '../receipts.ts';
import type { Timeseries, ZoneSighting } from '../store.ts';
import { applyOn } from './apply.ts';
import type { Connection } from './connection.ts';
import { entriesOf, receivedOf } from './entries.ts';
import { findRows } from './find-entries.ts';
import { rowIdentity } from './identities.ts';
import type { MovedRow, UserRows } from './user-rows.ts';

/** The timeseries of users. */
export function timeseriesOn(connection: Connection): Timeseries {
  return {
    apply: applyOn(connection),
    // Entries are documents, as they always were here.
    older: async () => 0,
    convert: async () => 0,
    find: (userId, query) => connection.reading(userId, (from) => findRows(from, 'timeseries', query)),
    get: (userId, identity) =>
      connection.reading(userId, async (from) => {
        const row = await from.rows('timeseries').findOne({ ...rowIdentity(identity) });
        return row === null ? null : (await entriesOf(from, [row]))[0]!;
      }),
    ahead: (userId, { at, limit }) =>
      connection.reading(userId, async (from) => {
        const rows: MovedRow[] = [];
        for (const key of await from.rows('timeseries').distinct('key')) {
          for await (const row of from
            .rows('timeseries')
            .find({ key, write_ts: { $gt: at } }, { sort: { write_ts: 1 } })) {
            if (rows.length >= limit) break;
            if (isAhead({ ...row, received_ts: receivedOf(row) }, at)) rows.push(row);
          }
        }
        const entries = await entriesOf(from, rows);
        return rows.map((row, i) => ({ entry: entries[i]!, ts: row.ts ?? null, received_ts: receivedOf(row) }));
      }),
    summary: (userId) => connection.reading(userId, summarise),
    zonesAround: (userId, writeTs) =>
      connection.reading(userId, async (from) => ({
        before: await zoneNextTo(from, { $lt: justAfter(writeTs) }, -1),
        after: await zoneNextTo(from, { $gt: writeTs }, 1),
      })),
    zonelessSpan: (userId, { from: first, to: end }) =>
      connection.reading(userId, async (from) => {
        const filter = { zoned: false, write_ts: { $gte: first, $lt: end } };
        const ends = { from: { $min: '$ts' }, to: { $max: '$ts' } };
        const stages = [{ $group: { _id: null, ...ends } }, { $project: { _id: 0 } }];
        const [span] = await from.rows('timeseries').aggregate<Nullable<TimeRange>>(filter, stages).toArray();
        return span === undefined || span.from === null || span.to === null ? null : { from: span.from, to: span.to };
      }),
  };
}

type Nullable<T> = { [Name in keyof T]: T[Name] | null };

async function summarise(from: UserRows): ReturnType<Timeseries['summary']> {
  const groups = await from
    .rows('timeseries')
    .aggregate<{ _id: string; count: number; first_ts: number | null; last_ts: number | null }>({}, [
      { $group: { _id: '$key', count: { $sum: 1 }, first_ts: { $min: '$ts' }, last_ts: { $max: '$ts' } } },
      { $sort: { _id: 1 } },
    ])
    .toArray();
  return groups.map(({ _id, ...found }) => ({ key: unescapeText(_id), ...found }));
}

/** Of several entries at the nearest time that with the smallest key: descending, the index gives the largest first. */
async function zoneNextTo(from: UserRows, writeTs: Document, direction: 1 | -1): Promise<ZoneSighting | null> {
  const next = (write_ts: unknown, order: 1 | -1): Promise<Pick<MovedRow, 'write_ts' | 'zone'>[]> => {
    const options = { sort: { write_ts: order, key: order }, limit: 2 } as const;
    return from.rows('timeseries').pick({ zoned: true, write_ts }, ['write_ts', 'zone'], options).toArray();
  };
  const [nearest, second] = await next(writeTs, direction);
  if (nearest === undefined) return null;
  const { write_ts } = nearest;
  const alone = direction === 1 || second?.write_ts !== write_ts;
  const zone = alone ? nearest.zone : (await next(write_ts, 1))[0]?.zone;
  return zone === undefined ? null : { write_ts, zone };
}
