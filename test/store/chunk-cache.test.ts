// Entries that a process keeps in memory.
import { afterEach, expect, it, vi } from 'vitest';
import type { StoredEntries } from '../../src/store/chunks/chunk.ts';
import type { Rows } from '../../src/store/rows/rows.ts';
import { ChunkCache } from '../../src/store/rules/chunk-cache.ts';

afterEach(() => void vi.useRealTimers());

it('drops chunks within a minute of their last use: another process may have erased their person', async () => {
  vi.useFakeTimers();
  const cache = new ChunkCache();
  const head = { user: 'ada', key: 'background/location', first: 1, sum: 'x' };
  cache.keep(head as never, { size: 10 } as StoredEntries);
  let reads = 0;
  const rows = {
    find: async () => {
      reads += 1;
      return [];
    },
  } as unknown as Rows;
  await cache.open(rows, [head as never]);
  expect(reads).toBe(0);
  vi.advanceTimersByTime(60_000);
  await cache.open(rows, [head as never]).catch(() => {});
  expect(reads).toBe(1);
});
