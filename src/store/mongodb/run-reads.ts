// What one run of the pipeline reads of a user's timeseries: the chunks of its last days in one statement, kept until
// the run changes them.
import { affectsOf, keyTable } from '../../model/keys.ts';
import { widestSpan } from '../chunks/edit.ts';
import type { EntryQuery, Timeseries } from '../store.ts';
import { openChunks, type RowChunk } from './chunk-rows.ts';
import type { Connection } from './connection.ts';
import { pageOf } from './find-chunks.ts';
import { fold } from './fold.ts';

/** Chunks kept at most: some days of a phone. Who has more to read reads page by page. */
const mostChunks = 64;

/** A query for fewer entries asks whether there are any, and is no reason to read days. */
const leastLimit = 100;

/** What runs read by data time. */
const keysOfRuns = keyTable.map(({ key }) => key).filter((key) => ['trips', 'documents'].includes(affectsOf(key)!));

/** All chunks that have entries of `keysOfRuns` from a data time on. */
interface Tail {
  from: number;
  chunks: RowChunk[];
}

/**
 * The same timeseries for one run, which holds the lease on the user: whoever else would change it takes the lease
 * first, and what the run then writes is refused. `base` does what is not answered from memory.
 */
export function readsOfRun(connection: Connection, base: Timeseries, userId: string): Timeseries {
  let tail: Tail | 'too long' | null = null;
  const { load } = connection.guard({
    async load(from: number): Promise<Tail | 'too long'> {
      await fold(connection, userId);
      return connection.reading(userId, async (rows) => {
        const filter = { key: { $in: keysOfRuns }, first_ts: { $gte: from - widestSpan }, last_ts: { $gte: from } };
        const options = { sort: { first_ts: 1 }, limit: mostChunks + 1, hint: 'first_ts' } as const;
        const documents = await rows.rows('chunks').find(filter, options).toArray();
        return documents.length > mostChunks ? 'too long' : { from, chunks: await openChunks(rows, documents) };
      });
    },
  });
  return {
    ...base,
    async apply(user, change, lease) {
      tail = null;
      return base.apply(user, change, lease).finally(() => {
        tail = null;
      });
    },
    async find(user, query) {
      const from = query.from ?? -Number.MAX_VALUE;
      if (user !== userId || !isOfRuns(query)) return base.find(user, query);
      if (tail === null && query.limit >= leastLimit) tail = await load(from);
      if (tail === null || tail === 'too long' || from < tail.from) return base.find(user, query);
      return pageOf(among(tail, query), query, null)!;
    },
  };
}

function isOfRuns({ time, descending, keys, limit }: EntryQuery): boolean {
  return time === 'ts' && !descending && limit > 0 && keys?.every((key) => keysOfRuns.includes(key)) === true;
}

/** The chunks that may have entries of the query. */
function among({ chunks }: Tail, { keys, from = -Number.MAX_VALUE, to = Number.MAX_VALUE }: EntryQuery): RowChunk[] {
  return chunks.filter(({ head }) => keys!.includes(head.key) && head.last_ts! >= from && head.first_ts! <= to);
}
