// Shared by the collections: rows of entries, pages of bounded size, and the users of the shards.
import { createHash } from 'node:crypto';
import type { Entry } from '../../model/entry.ts';
import type { Shard } from './folder.ts';

/** All shards of a store, and the one of a user. */
export interface Shards {
  all: readonly Shard[];
  /** Holds the registry and the tokens too. */
  first: Shard;
  of(userId: string): Shard;
}

/** Distributes users over shards by a hash of their UUID. */
export function shardsOf(all: readonly Shard[]): Shards {
  const first = all[0]!;
  if (all.length === 1) return { all, first, of: () => first };
  return { all, first, of: (userId) => all[shardNumber(userId, all.length)]! };
}

/** The number of the shard that holds the rows of a user. */
export function shardNumber(userId: string, shards: number): number {
  return shards === 1 ? 0 : createHash('sha256').update(userId).digest().readUInt32BE(0) % shards;
}

/** The entry of a stored text. */
export function parseEntry(text: string): Entry {
  return JSON.parse(text) as Entry;
}

/** Bytes of JSON that one page may hold before it ends early: a page has a size, whatever phones send. */
export const pageBytes = 32 * 1024 * 1024;
