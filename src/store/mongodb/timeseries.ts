// The long-term store of entries, in chunks.
import type { Document } from 'mongodb';
import type { Entry } from '../../model/entry.ts';
import { unescapeText } from '../../model/json-text.ts';
import { justAfter, type TimeRange } from '../../model/time.ts';
import { widestSpan, zonesNamed } from '../chunks/edit.ts';
import { united } from '../marks.ts';
import { isAhead } from '../receipts.ts';
import type { KeptEntry, Timeseries, ZoneSighting } from '../store.ts';
import { compareEscaped } from '../text-order.ts';
import { applyOn } from './apply.ts';
import { openChunks, type RowChunk, withoutTexts } from './chunk-rows.ts';
import type { Connection } from './connection.ts';
import { findInChunks, pickInChunks } from './find-chunks.ts';
import { fold, rowsToFold } from './fold.ts';
import { rowIdentity } from './identities.ts';
import type { ChunkDocument, UserRows } from './user-rows.ts';

/** The timeseries of users. */
export function timeseriesOn(connection: Connection): Timeseries {
  /** Reads once all entries of the user are in chunks. */
  const reading = async <T>(userId: string, work: (from: UserRows) => Promise<T>): Promise<T> => {
    await fold(connection, userId);
    return connection.reading(userId, work);
  };
  return {
    apply: applyOn(connection),
    older: (userId) => rowsToFold(connection, userId),
    convert: (userId, signal) => fold(connection, userId, signal),
    find: (userId, query) => reading(userId, (from) => findInChunks(from, query)),
    pick: (userId, query, fields, read) => reading(userId, (from) => pickInChunks(from, query, fields, read)),
    get: (userId, identity) =>
      reading(userId, async (from) => {
        const { key, write_ts } = rowIdentity(identity);
        const filter = { key, until: { $gt: write_ts }, from: { $lt: justAfter(write_ts) } };
        const [chunk] = await openChunks(
          from,
          await from.rows('chunks').find(filter, { limit: 1, hint: 'identity' }).toArray(),
        );
        const place = chunk?.placeAt(write_ts) ?? -1;
        if (chunk?.times.write_ts[place] !== write_ts) return null;
        return JSON.parse(chunk.texts[place]!) as Entry;
      }),
    ahead: (userId, page) => reading(userId, (from) => aheadOf(from, page)),
    summary: (userId) => reading(userId, summarise),
    zonesAround: (userId, writeTs) =>
      reading(userId, async (from) => {
        const both = [zoneNextTo(from, writeTs, -1), zoneNextTo(from, writeTs, 1)] as const;
        const [before, after] = await Promise.all(both);
        return { before, after };
      }),
    zonelessSpan: (userId, written) => reading(userId, (from) => zonelessSpan(from, written)),
  };
}

async function aheadOf(from: UserRows, { at, limit }: { at: number; limit: number }): Promise<KeptEntry[]> {
  const found: KeptEntry[] = [];
  const documents = from.rows('chunks').find({ last: { $gt: at } }, { sort: { key: 1, from: 1 } });
  for await (const document of documents) {
    for (const chunk of await openChunks(from, [document])) {
      for (const { text, ts, write_ts, received_ts } of chunk.rows()) {
        if (!isAhead({ write_ts, received_ts }, at)) continue;
        if (found.length >= limit) return found;
        found.push({ entry: JSON.parse(text) as Entry, ts, text, received_ts });
      }
    }
  }
  return found;
}

async function summarise(from: UserRows): ReturnType<Timeseries['summary']> {
  const groups = await from
    .rows('chunks')
    .aggregate<{ _id: string; count: number; first_ts: number | null; last_ts: number | null }>({}, [
      {
        $group: {
          _id: '$key',
          count: { $sum: '$count' },
          first_ts: { $min: '$first_ts' },
          last_ts: { $max: '$last_ts' },
        },
      },
      { $sort: { _id: 1 } },
    ])
    .toArray();
  return groups
    .filter(({ count }) => count > 0)
    .map(({ _id, count, first_ts = null, last_ts = null }) => ({ key: unescapeText(_id), count, first_ts, last_ts }));
}

// ---------------------------------------------------------------- zones

const chunksAtFirst = 32;

/** s; the ends of a chunk that holds a time are no farther from it, however times are rounded: bounds of both ends. */
const chunkReach = 2 * widestSpan;

/**
 * The nearest entry with a zone on one side of `writeTs`; of several at the same time that with the smallest key.
 * Chunks come by the end at which they are nearest: one that is farther than what was found ends the search.
 */
async function zoneNextTo(from: UserRows, writeTs: number, side: 1 | -1): Promise<ZoneSighting | null> {
  const filter: Document =
    side === -1
      ? { named: true, first: { $lt: justAfter(writeTs) }, last: { $lt: justAfter(writeTs + chunkReach) } }
      : { named: true, last: { $gt: writeTs }, first: { $gte: writeTs - chunkReach } };
  const sort: Record<string, 1 | -1> = side === -1 ? { last: -1 } : { first: 1 };
  for (let limit = chunksAtFirst; ; limit *= 4) {
    const options = { sort, limit, projection: withoutTexts, hint: side === -1 ? 'named_last' : 'named_first' };
    const chunks = await openChunks(from, await from.rows('chunks').find(filter, options).toArray());
    const nearest = nearestZone(chunks, writeTs, side);
    const end = chunks.at(-1)?.head;
    const isBeyond = nearest !== null && (side === -1 ? end!.last < nearest.write_ts : end!.first > nearest.write_ts);
    if (isBeyond || chunks.length < limit) return nearest;
  }
}

/** Of the entries of these chunks, see `zoneNextTo`. */
export function nearestZone(chunks: readonly RowChunk[], writeTs: number, side: 1 | -1): ZoneSighting | null {
  let nearest: (ZoneSighting & { key: string }) | null = null;
  for (const chunk of chunks) {
    const { head } = chunk;
    if (nearest !== null && (side === -1 ? head.last < nearest.write_ts : head.first > nearest.write_ts)) continue;
    const found = zoneIn(chunk, writeTs, side);
    if (found === null) continue;
    const order: number = nearest === null ? -1 : side * (found.write_ts - nearest.write_ts);
    if (order < 0 || (order === 0 && compareEscaped(head.key, nearest!.key) < 0)) nearest = { ...found, key: head.key };
  }
  return nearest && { write_ts: nearest.write_ts, zone: nearest.zone };
}

function zoneIn(chunk: RowChunk, writeTs: number, side: 1 | -1): ZoneSighting | null {
  const { write_ts } = chunk.times;
  const start = side === -1 ? chunk.placeAfter(writeTs) - 1 : chunk.placeAfter(writeTs);
  for (let place = start; place >= 0 && place < write_ts.length; place += side) {
    const zone = chunk.zoneAt(place);
    if (zone !== null) return { write_ts: write_ts[place]!, zone };
  }
  return null;
}

/** Fields of a chunk that say what its entries span. */
const spanFields = ['first', 'last', 'first_ts', 'last_ts', 'zones'] as const;

async function zonelessSpan(from: UserRows, { from: start, to: end }: TimeRange): Promise<TimeRange | null> {
  const chunks = from.rows('chunks');
  const filter = { bare: true, first: { $gte: start - chunkReach, $lt: end }, last: { $gte: start } };
  const heads = await chunks.pick(filter, ['_id', ...spanFields], { hint: 'bare' }).toArray();
  let found: TimeRange | null = null;
  const partly: ChunkDocument['_id'][] = [];
  for (const { _id, zones, first, last, first_ts, last_ts } of heads) {
    if (zones !== zonesNamed.none || first < start || last >= end) partly.push(_id);
    else if (first_ts !== null && last_ts !== null) found = united(found, { from: first_ts, to: last_ts });
  }
  if (partly.length === 0) return found;
  for await (const document of chunks.find({ _id: { $in: partly } }, { projection: withoutTexts })) {
    for (const chunk of await openChunks(from, [document])) {
      found = united(found, chunk.zonelessIn({ from: start, to: end }));
    }
  }
  return found;
}
