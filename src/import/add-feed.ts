// Reads a GTFS zip from an unknown author. Unpacks nothing to disk.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { deflateRawSync } from 'node:zlib';
import { parse } from 'csv-parse';
import type { Entry } from 'yauzl';
import { errorText, MobilityError, usageError } from '../model/mobility-error.ts';
import type { FeedRecord } from '../store/store.ts';
import { buildIndex, type FeedNotes, type GtfsRow, type GtfsTables } from '../transit/build-index.ts';
import { type FeedIndex, formatIndex, type TransitKind } from '../transit/feed-index.ts';
import { cellsOfFeed } from '../transit/network.ts';
import type { Bytes } from './read/bytes.ts';
import { openSourceFile, zippedFile } from './source.ts';
import { SourceBroken } from './source-error.ts';
import { zipEntries } from './zip.ts';

export type FeedFacts = ReturnType<typeof factsOf> & {
  name: string; // name of the zip file
  notes: { [Note in keyof FeedNotes]: number };
  bytes: number; // size of the zip
  index_bytes: number; // size of the packed index
  added_ts: number;
};

const maxZipBytes = 64 * 1024 * 1024; // the store keeps the whole zip
const maxIndexBytes = 1024 * 1024; // of the packed index for each agency; a usual agency has 50 KiB

/** Throws `MOBILITY_USAGE` with the reason if the zip is not usable. Stores nothing. */
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
    box: [least(latitudes), least(longitudes), greatest(latitudes), greatest(longitudes)],
    cells: cellsOfFeed(index),
  };
}

const maxUnpacked = 200 * 1024 * 1024; // bytes of all tables together
const maxRecord = 64 * 1024; // bytes of a row
const maxRows = 8_000_000; // rows of a table; the largest national feeds have 10 times as many, and must be split
const needed = ['agency', 'routes', 'stops', 'stop_times', 'trips'];
const tables = [...needed, 'calendar', 'calendar_dates', 'feed_info', 'frequencies', 'shapes'];

/** Throws `MOBILITY_USAGE` if the zip is not a feed. */
async function openGtfs(path: string): Promise<GtfsTables> {
  await openSourceFile(path);
  const found = new Map((await gtfsFiles(path)).map((entry) => [tableOf(entry.fileName)!, entry]));
  return {
    async *rows(table) {
      const entry = found.get(table);
      if (entry === undefined) return;
      const file = await zippedFile(path, entry);
      const parser = parse({
        bom: true,
        columns: trimmed,
        max_record_size: maxRecord,
        relax_column_count: true,
        relax_quotes: true,
        skip_empty_lines: true,
        trim: true,
      });
      // On an error, `pipeline` destroys the parser with that error, and the loop throws it.
      void pipeline(decoded(file.bytes()), parser).catch(() => {});
      try {
        for await (const row of parser) {
          if (parser.info.records > maxRows)
            throw unusable(path, `at most ${maxRows} rows in ${table}.txt, found more: split it by agency`);
          yield row as GtfsRow;
        }
      } catch (error) {
        if (error instanceof MobilityError && !(error instanceof SourceBroken)) throw error;
        const found = `${errorText(error)}: correct the table, or add another feed`;
        throw unusable(path, `${table}.txt as a CSV table in UTF-8, found an error: ${found}`);
      } finally {
        parser.destroy();
      }
    },
  };
}

async function* decoded(chunks: Bytes): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const bytes of chunks) yield decoder.decode(bytes, { stream: true });
  yield decoder.decode();
}

const trimmed = (names: string[]): string[] => names.map((name) => name.trim().replace(/^"|"$/g, ''));

async function gtfsFiles(path: string): Promise<Entry[]> {
  try {
    const entries = (await zipEntries(path)).files.filter(({ fileName }) => tableOf(fileName) !== null);
    // Some feeds are in a folder of the zip. Of equal names, the file nearest to the root counts.
    const depth = (name: string): number => name.split('/').length;
    entries.sort((a, b) => depth(b.fileName) - depth(a.fileName));
    const size = entries.reduce((sum, entry) => sum + entry.uncompressedSize, 0);
    if (size > maxUnpacked) {
      throw unusable(path, `at most 200 MiB unpacked, found ${Math.ceil(size / 1024 ** 2)} MiB: split it by agency`);
    }
    const missing = needed.find((table) => !entries.some(({ fileName }) => tableOf(fileName) === table));
    if (missing === undefined) return entries;
    throw unusable(path, `${missing}.txt, found a ZIP archive without it: add the file that the agency publishes`);
  } catch (error) {
    if (error instanceof SourceBroken) throw usageError(`${path}: ${error.message}`);
    throw error;
  }
}

const tableOf = (name: string): string | null => {
  const base = name.split('/').at(-1)!.toLowerCase();
  return tables.find((table) => base === `${table}.txt`) ?? null;
};

const unusable = (path: string, reason: string): MobilityError =>
  usageError(`${path}: expected a GTFS feed with ${reason}`);
