// Runs of chunks are the entries that a query asks for, in its order, as if each had been looked at.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Chunk, type ChunkHead, comparePoints, firstBound, type OrderPoint } from '../../../src/store/chunks/chunk.ts';
import { type ChunkRun, mergedRuns, runsIn } from '../../../src/store/chunks/runs.ts';
import type { PickQuery } from '../../../src/store/store.ts';

interface Timed {
  write_ts: number;
  ts: number;
}

function chunkOf(entries: readonly Timed[]): Chunk<ChunkHead> {
  const column = (of: (entry: Timed) => number) => Float64Array.from(entries, of);
  const [first, last] = [entries[0]!.write_ts, entries.at(-1)!.write_ts];
  const times = {
    ...{ write_ts: column(({ write_ts }) => write_ts), ts: column(({ ts }) => ts), received_ts: column(() => 0) },
    ...{ zone: new Uint16Array(entries.length), zones: [null] },
  };
  return new Chunk({ first, last, count: entries.length, size: 0 }, times, () => {
    throw new Error('nobody asks for the texts');
  });
}

/** Entries in chunks that do not overlap in `write_ts`; some have no data time, and some times are the same. */
const chunks = fc
  .uniqueArray(fc.nat(60), { minLength: 2, maxLength: 24 })
  .chain((written) =>
    fc.tuple(fc.constant(written), fc.array(fc.nat(12), { minLength: 24, maxLength: 24 }), fc.nat(24)),
  )
  .map(([written, times, cut]) => {
    const entries = written
      .sort((a, b) => a - b)
      .map((write_ts, i) => ({ write_ts, ts: times[i] === 12 ? Number.NaN : times[i]! }));
    return [entries.slice(0, cut), entries.slice(cut)].filter((part) => part.length > 0);
  });

const range = fc.tuple(fc.integer({ min: -1, max: 61 }), fc.integer({ min: 0, max: 8 }));
const within = fc.array(range, { maxLength: 6 }).map((ranges) => {
  const found: { from: number; to: number }[] = [];
  for (const [from, length] of ranges.sort(([a], [b]) => a - b)) {
    if (from > (found.at(-1)?.to ?? -2)) found.push({ from, to: from + length });
  }
  return found;
});

const query = fc.record(
  {
    time: fc.constantFrom('ts' as const, 'write_ts' as const),
    descending: fc.boolean(),
    limit: fc.integer({ min: 1, max: 30 }),
    from: fc.integer({ min: -1, max: 61 }),
    to: fc.integer({ min: -1, max: 61 }),
    after: fc.record({ time: fc.nat(60), write_ts: fc.nat(60), key: fc.constantFrom('a', 'k', 'z') }),
    within,
  },
  { requiredKeys: ['time', 'limit'] },
) as fc.Arbitrary<PickQuery>;

function expectedOf(entries: readonly Timed[], bound: OrderPoint, query: PickQuery): OrderPoint[] {
  const { time, from = -Infinity, to = Infinity, descending, limit } = query;
  const sign = descending ? -1 : 1;
  return entries
    .map((entry) => ({ time: entry[time], write_ts: entry.write_ts }))
    .filter((point) => point.time >= from && point.time < to)
    .filter((point) => sign * comparePoints(point, bound) > 0)
    .filter((point) => query.within?.some((some) => point.time >= some.from && point.time < some.to) ?? true)
    .sort((a, b) => sign * comparePoints(a, b))
    .slice(0, limit);
}

const pointsOf = (runs: readonly ChunkRun<ChunkHead>[]): OrderPoint[] =>
  runs.flatMap((run) => Array.from({ length: run.count }, (_, i) => run.pointAt(i)));

it('finds what each entry on its own would be found by, in chunks that overlap in time', () => {
  fc.assert(
    fc.property(chunks, query, (parts, asked) => {
      const bound = firstBound(asked, 'k');
      const sign = asked.descending ? -1 : 1;
      const lists = parts.map((entries) => runsIn(chunkOf(entries), asked, bound, asked.limit));
      for (const [i, entries] of parts.entries()) {
        expect(pointsOf(lists[i]!)).toEqual(expectedOf(entries, bound, asked));
      }
      const all = mergedRuns(lists[0]!, lists[1] ?? [], sign, asked.limit);
      expect(pointsOf(all)).toEqual(expectedOf(parts.flat(), bound, asked));
    }),
    { numRuns: 2_000 },
  );
});
