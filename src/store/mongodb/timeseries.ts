// The long-term store of entries.
import type { Document } from 'mongodb';
import { unescapeText } from '../../model/json-text.ts';
import { justAfter, type TimeRange } from '../../model/time.ts';
import type { Timeseries, ZoneSighting } from '../store.ts';
import { applyOn } from './apply.ts';
import type { Connection } from './connection.ts';
import { entriesOf } from './entries.ts';
import { findEntries } from './find-entries.ts';
import { rowIdentity } from './identities.ts';
import type { UserRows } from './user-rows.ts';

/** The timeseries of users. */
export function timeseriesOn(connection: Connection): Timeseries {
  return {
    apply: applyOn(connection),
    find: (userId, query) => connection.reading(userId, (from) => findEntries(from, 'timeseries', query)),
    get: (userId, identity) =>
      connection.reading(userId, async (from) => {
        const row = await from.rows('timeseries').findOne({ ...rowIdentity(identity) });
        return row === null ? null : (await entriesOf(from, [row]))[0]!;
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

async function zoneNextTo(from: UserRows, writeTs: Document, direction: 1 | -1): Promise<ZoneSighting | null> {
  const timeseries = from.rows('timeseries');
  const next = async (write_ts: unknown, sort: Record<string, 1 | -1>) =>
    (await timeseries.pick({ zoned: true, write_ts }, ['write_ts', 'zone'], { sort, limit: 1 }).toArray())[0];
  const nearest = await next(writeTs, { write_ts: direction });
  if (nearest === undefined) return null;
  const first = await next(nearest.write_ts, { key: 1 });
  return first?.zone === undefined ? null : { write_ts: nearest.write_ts, zone: first.zone };
}
