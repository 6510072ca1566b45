// Reads the tables of a GTFS zip from an unknown author. Unpacks nothing to disk.
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import type { Entry } from 'yauzl';
import { errorText, MobilityError, usageError } from '../model/mobility-error.ts';
import type { GtfsRow, GtfsTables } from '../transit/build-index.ts';
import type { Bytes } from './read/bytes.ts';
import { openSourceFile, zippedFile } from './source.ts';
import { SourceBroken } from './source-error.ts';
import { zipEntries } from './zip.ts';

const maxUnpacked = 200 * 1024 * 1024; // bytes of all tables that are read
const maxRecord = 64 * 1024; // bytes of a row
const maxRows = 8_000_000; // of a table; the largest national feeds have 10 times as many stop times
const needed = ['agency', 'routes', 'stops', 'stop_times', 'trips'];
const tables = [...needed, 'calendar', 'calendar_dates', 'feed_info', 'frequencies', 'shapes'];

/** The tables in a zip. Throws `MOBILITY_USAGE` if it is not a feed. */
export async function openGtfs(path: string): Promise<GtfsTables> {
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
    // Some feeds are in a folder inside the zip. If a table occurs more than once, the one nearest to the root counts.
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
