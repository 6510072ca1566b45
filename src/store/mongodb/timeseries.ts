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

export function timeseriesOn(connection: Connection): Timeseries {
  const timeseries = connection.rows('timeseries');
  return {
    apply: applyOn(connection),
    find: (userId, query) => connection.once(() => findEntries(connection, 'timeseries', userId, query)),
    get: (userId, identity) =>
      connection.once(async () => {
        const row = await timeseries.findOne({ user_id: userId, ...rowIdentity(identity) });
        return row === null ? null : (await entriesOf(connection, [row]))[0]!;
      }),
    summary: (userId) => connection.once(() => summarise(connection, userId)),
    zonesAround: async (userId, writeTs) => ({
      before: await connection.once(() => zoneNextTo(connection, userId, { $lt: justAfter(writeTs) }, -1)),
      after: await connection.once(() => zoneNextTo(connection, userId, { $gt: writeTs }, 1)),
    }),
    async zonelessSpan(userId, { from, to }) {
      const [span] = await connection.once(() =>
        timeseries
          .aggregate([
            { $match: { user_id: userId, zoned: false, write_ts: { $gte: from, $lt: to } } },
            { $group: { _id: null, from: { $min: '$ts' }, to: { $max: '$ts' } } },
            { $project: { _id: 0 } },
          ])
          .toArray(),
      );
      return span === undefined || span.from === null ? null : (span as TimeRange);
    },
  };
}

async function summarise(
  connection: Connection,
  userId: string,
): Promise<{ key: string; count: number; first_ts: number | null; last_ts: number | null }[]> {
  const groups = await connection
    .rows('timeseries')
    .aggregate([
      { $match: { user_id: userId } },
      { $group: { _id: '$key', count: { $sum: 1 }, first_ts: { $min: '$ts' }, last_ts: { $max: '$ts' } } },
      { $sort: { _id: 1 } },
    ])
    .toArray();
  return groups.map(({ _id, count, first_ts, last_ts }) => ({ key: unescapeText(_id), count, first_ts, last_ts }));
}

async function zoneNextTo(
  connection: Connection,
  userId: string,
  writeTs: Document,
  direction: 1 | -1,
): Promise<ZoneSighting | null> {
  const timeseries = connection.rows('timeseries');
  const filter = { user_id: userId, zoned: true };
  const projection = { _id: 0, write_ts: 1, zone: 1 } as const;
  const nearest = await timeseries.findOne(
    { ...filter, write_ts: writeTs },
    { projection, sort: { write_ts: direction } },
  );
  if (nearest === null) return null;
  const { write_ts } = nearest;
  const first = await timeseries.findOne({ ...filter, write_ts }, { projection, sort: { key: 1 } });
  return first === null ? null : { write_ts, zone: first.zone };
}
