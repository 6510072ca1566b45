import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { MobilityError, usageError } from '../model/mobility-error.ts';
import type { FeedRecord } from '../store/store.ts';
import { buildIndex, type FeedNotes } from '../transit/build-index.ts';
import { type FeedIndex, formatIndex, type TransitKind } from '../transit/feed-index.ts';
import { cellsOfFeed } from '../transit/network.ts';
import { openGtfs } from './gtfs.ts';
import type { Bytes } from './read/bytes.ts';

/** The facts about a feed that `mobility transit` shows. */
export type FeedFacts = ReturnType<typeof factsOf> & {
  name: string; // name of the zip file
  notes: { [Note in keyof FeedNotes]: number };
  bytes: number; // the sizes of the zip and of the packed index
  index_bytes: number;
  added_ts: number;
};

const maxZipBytes = 64 * 1024 * 1024; // the zip is stored as a whole
const maxIndexBytes = 1024 * 1024; // of the packed index, for each agency; a usual agency has 50 KiB

/** Reads a GTFS zip and stores nothing. Throws `MOBILITY_USAGE` with the reason if it is not usable. */
export async function readFeed(path: string, now: number): Promise<Omit<FeedRecord, 'facts'> & { facts: FeedFacts }> {
  const tables = await openGtfs(path);
  const { size } = await stat(path);
  if (size > maxZipBytes) {
    const found = `${Math.ceil(size / 1024 ** 2)} MiB`;
    throw usageError(`${path}: expected a zip of at most 64 MiB, found ${found}: split it`);
  }
  const id = await hashOf(path);
  const { index, notes } = await buildIndex(id, tables).catch((error: Error) => {
    throw error instanceof MobilityError && !error.message.startsWith(path)
      ? usageError(`${path}: ${error.message}`, { cause: error })
      : error;
  });
  const text = formatIndex(index);
  const index_bytes = deflateRawSync(text).length;
  if (index_bytes > maxIndexBytes * index.agencies.length) {
    const found = `${(index_bytes / 1024 ** 2).toFixed(1)} MiB for ${index.agencies.length}`;
    const expected = 'expected a feed whose index has at most 1 MiB for each agency';
    throw usageError(`${path}: ${expected}, found ${found}: leave out some of its routes`);
  }
  const facts: FeedFacts = { name: basename(path), ...factsOf(index), notes, bytes: size, index_bytes, added_ts: now };
  return { id, facts, index: text };
}

export const readZip = (path: string): Bytes => createReadStream(path);

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}

function factsOf(index: FeedIndex) {
  const { agencies, zone, first_day, last_day, patterns, stops } = index;
  const routes: Partial<Record<TransitKind, number>> = {};
  for (const { kind } of index.routes) routes[kind] = (routes[kind] ?? 0) + 1;
  const [latitudes, longitudes] = [stops.map(({ latitude }) => latitude), stops.map(({ longitude }) => longitude)];
  const least = (values: number[]): number => values.reduce((a, b) => Math.min(a, b));
  const greatest = (values: number[]): number => values.reduce((a, b) => Math.max(a, b));
  return {
    agencies: [...agencies],
    zone,
    first_day,
    last_day,
    routes,
    patterns: patterns.length,
    stops: stops.length,
    /** South, west, north, east; degrees. */
    box: [least(latitudes), least(longitudes), greatest(latitudes), greatest(longitudes)],
    cells: cellsOfFeed(index),
  };
}
