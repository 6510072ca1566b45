// Entries that a process keeps in memory.
import { afterEach, expect, it, vi } from 'vitest';
import { chunkRows, type StoredEntries, type StoredEntry } from '../../src/store/chunks/chunk.ts';
import type { Rows } from '../../src/store/rows/rows.ts';
import { ChunkCache } from '../../src/store/rules/chunk-cache.ts';

afterEach(() => void vi.useRealTimers());

it('drops chunks within a minute of their last use: another process may have erased their person', async () => {
  vi.useFakeTimers();
  const cache = new ChunkCache();
  const head = { user: 'ada', key: 'background/location', first: 1, sum: 'x' };
  cache.keep(head, { size: 10 } as StoredEntries);
  const find = vi.fn(async () => []);
  const open = () => cache.open({ find } as unknown as Rows, [head]);
  await open();
  expect(find).not.toHaveBeenCalled();
  vi.advanceTimersByTime(60_000);
  await expect(open()).rejects.toThrow();
  expect(find).toHaveBeenCalledTimes(1);
});

it('a read of some fields returns no others, and a later read of the same chunk can return all', async () => {
  const data = { ts: 1, latitude: 48.5, altitude: 300 };
  const metadata = { key: 'background/location', write_ts: 1, platform: 'android', origin: { program: 'gpx' } };
  const list: StoredEntry[] = [{ entry: { metadata, data }, write_ts: 1, ts: 1, received_ts: 2 }];
  const row = { ...chunkRows('ada', metadata.key, list)[0]!.row, sum: 'x' };
  const find = vi.fn(async () => [row]);
  const rows = { find } as unknown as Rows;
  const cache = new ChunkCache();
  const open = async (fields?: string[]) => (await cache.open(rows, [row], fields))[0]!.list[0];
  const { platform: _, ...others } = metadata;
  const some = { entry: { metadata: others, data: { ts: 1, latitude: 48.5 } }, write_ts: 1, ts: 1, received_ts: 2 };
  expect(await open(['latitude', 'origin'])).toEqual(some);
  for (const fields of [undefined, ['latitude']]) expect(await open(fields)).toEqual(list[0]);
  expect(find).toHaveBeenCalledTimes(2);
});
