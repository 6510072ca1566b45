import { type Identity, identityText } from '../../model/entry.ts';
import { identitiesIn, readHeader, receiptAt } from '../chunks/batch.ts';
import { chunkDay } from '../chunks/chunk.ts';
import { batches, chunks, errors } from '../rows/tables.ts';
import type { ChunkHead, UserRows } from './chunk-cache.ts';

/** Facts that the store has for an identity. */
export interface Known {
  received_ts: number;
  /** The id of the batch and the index of the entry in it; null: the entry is not pending. */
  pending: { batch: number; place: number } | null;
  /** Earlier failures of an entry that is rejected or was recovered; null for other entries. */
  failed: { first_ts: number; tries: number } | null;
}

/** Looks up identities in all parts of the store. The keys of the map are `identityText`. */
export async function loadKnown(own: UserRows, identities: readonly Identity[]): Promise<Map<string, Known>> {
  const { rows, cache, user } = own;
  const known = new Map<string, Known>();
  if (identities.length === 0) return known;
  const times = Float64Array.from(identities, ({ write_ts }) => write_ts).sort();
  const [first, last] = [times[0]!, times.at(-1)!];
  const columns = ['key', 'write_ts', 'received_ts', 'first_ts', 'tries'] as const;
  const rejected = await rows.find(errors, { where: { user, write_ts: { gte: first, lte: last } } }, columns);
  const around = await chunksAround(own, times);
  const overlapping = { user, first: { lte: last }, last: { gte: first } };
  const pending = await rows.find(batches, { where: overlapping }, ['user', 'id', 'waiting']);
  if (rejected.length + around.length + pending.length === 0) return known; // usually, the store has none of them
  const wanted = new Set(identities.map(identityText));
  const keys = new Set(identities.map(({ key }) => key));
  for (const { key, write_ts, received_ts, first_ts, tries } of rejected) {
    const name = identityText({ key: key!, write_ts: write_ts! });
    if (wanted.has(name)) known.set(name, { received_ts, pending: null, failed: { first_ts, tries } });
  }
  const failedBefore = (name: string): Known['failed'] => known.get(name)?.failed ?? null;
  for (const heads of around) {
    const touched = heads.filter((head) => keys.has(head.key));
    for (const [i, { list }] of (await cache.open(rows, touched)).entries()) {
      for (const { write_ts, received_ts } of list) {
        const name = identityText({ key: touched[i]!.key, write_ts });
        if (wanted.has(name)) known.set(name, { received_ts, pending: null, failed: failedBefore(name) });
      }
    }
  }
  for (const row of pending) {
    const header = readHeader(row);
    for (const [place, identity] of identitiesIn(header).entries()) {
      const name = identityText(identity);
      if (!wanted.has(name)) continue;
      const failed = header.failed[place] ?? failedBefore(name);
      known.set(name, { received_ts: receiptAt(header, place), pending: { batch: row.id, place }, failed });
    }
  }
  return known;
}

/** Days. If two successive times are further apart, different calls read their chunks. */
const longestGap = 7;

/** Finds the chunks that may contain identities with these ascending times, in groups. */
async function chunksAround({ rows, user }: UserRows, times: Float64Array): Promise<ChunkHead[][]> {
  const groups: ChunkHead[][] = [];
  for (let i = 0; i < times.length; ) {
    const first = times[i]!;
    let last = first;
    while (i < times.length && times[i]! - last <= longestGap * chunkDay) last = times[i++]!;
    const from = Math.floor(first / chunkDay) * chunkDay;
    const where = { user, first: { gte: from, lte: last }, last: { gte: first } };
    const heads = await rows.find(chunks, { where }, ['user', 'key', 'first', 'last', 'sum']);
    const touched = heads.filter((head) => times.some((ts) => ts >= head.first && ts <= head.last));
    if (touched.length > 0) groups.push(touched);
  }
  return groups;
}
