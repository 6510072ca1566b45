// The chain of trips of each user.
import type { JsonValue } from '../../model/json.ts';
import type { TripRecord } from '../../model/trip.ts';
import { isPackedAs, type PackedValue, packValue, unpackValue } from '../chunks/packed-value.ts';
import { outlineOf } from '../outline.ts';
import { checkRange } from '../refusals.ts';
import type { TripOutline, TripSpan, Trips } from '../store.ts';
import { soundRow } from './damaged.ts';
import type { SqlValue } from './driver.ts';
import type { StoreFile } from './file.ts';
import { userIn } from './ids.ts';
import { leasedUser, mergeState } from './pipeline.ts';
import { columnsOf, isSound, type SummedRow, sumOf } from './row-sums.ts';
import type { Shards } from './rows.ts';

interface Row extends SummedRow {
  chain_ts: number;
  record: PackedValue;
}

const columns = columnsOf('trips');

// Of the statements of every run, texts are made once, as all statements are found by them.
const linksIn = `SELECT ${columns} FROM trips WHERE user = ? AND chain_ts >= ? AND chain_ts < ?`;
const linksFrom = `${linksIn} ORDER BY chain_ts LIMIT ?`;
const lastBefore = `SELECT ${columns} FROM trips WHERE user = ? AND chain_ts < ? ORDER BY chain_ts DESC LIMIT 1`;

/** Links with the checksums of their rows, by `chain_ts`. */
export type WrittenLinks = Map<number, WrittenLink>;

interface WrittenLink {
  record: TripRecord;
  sum: number;
}

/** Links that a run keeps: those of some days of a phone. */
const mostWritten = 64;

function noteWritten(written: WrittenLinks | undefined, links: readonly WrittenLink[]): void {
  if (written === undefined) return;
  for (const link of links.slice(-mostWritten)) {
    written.delete(link.record.chain_ts); // the last is the newest
    written.set(link.record.chain_ts, link);
  }
  for (const chainTs of written.keys()) {
    if (written.size <= mostWritten) break;
    written.delete(chainTs);
  }
}

/** The link of a row; of one in `written` that record, while the row is still as it was written. */
function recordOf(file: StoreFile, row: Row, written?: WrittenLinks): TripRecord {
  const own = written?.get(row.chain_ts);
  if (own !== undefined && own.sum === row.sum) return own.record;
  return soundRow(file, 'trips', row, ({ record }) => linkIn(record));
}

const linkIn = (record: PackedValue): TripRecord => unpackValue(record) as unknown as TripRecord;

const beginning = Number.NEGATIVE_INFINITY;
const end = Number.POSITIVE_INFINITY;

/**
 * The chains of trips. `now`: the clock for the time at which a link is written. `written`: the links of one user that
 * a run has written, which it then need not read.
 */
export function trips(shards: Shards, now: () => number, written?: { userId: string; links: WrittenLinks }): Trips {
  const writtenOf = (userId: string): WrittenLinks | undefined =>
    written?.userId === userId ? written.links : undefined;
  const all = (file: StoreFile, userId: string, sql: string, ...values: SqlValue[]): TripRecord[] => {
    const links = writtenOf(userId);
    const rows = file.sql(sql).all<Row>(...values);
    return rows.map((row) => recordOf(file, row, links));
  };
  const one = (file: StoreFile, userId: string, sql: string, ...values: SqlValue[]): TripRecord | null => {
    const row = file.sql(sql).get<Row>(...values);
    return row === undefined ? null : recordOf(file, row, writtenOf(userId));
  };
  /** Reads in the user's file; `user` is null when it has nothing of them. */
  const reading = <T>(userId: string, work: (file: StoreFile, user: number | null) => T): Promise<T> => {
    const file = shards.of(userId).timeseries;
    return file.read(() => work(file, userIn(file, userId)));
  };
  return {
    chain: (userId, { from = beginning, to = end, limit }) =>
      reading(userId, (file, user) => {
        return all(file, userId, linksFrom, user, from, to, limit);
      }),
    lastSettledBefore: (userId, ts) => reading(userId, (file, user) => lastSettled(file, user, ts)),
    byDay: (userId, { from, to }) =>
      reading(userId, (file, user) => {
        const sql = `SELECT ${columns} FROM trips WHERE user = ? AND day BETWEEN ? AND ? AND kind = 'trip' ORDER BY chain_ts`;
        return all(file, userId, sql, user, from, to);
      }),
    next: (userId, chainTs) =>
      reading(userId, (file, user) => {
        const sql = `SELECT ${columns} FROM trips WHERE user = ? AND chain_ts > ? AND kind = 'trip' ORDER BY chain_ts LIMIT 1`;
        return one(file, userId, sql, user, chainTs);
      }),
    previous: (userId, chainTs) =>
      reading(userId, (file, user) => {
        const sql = `SELECT ${columns} FROM trips WHERE user = ? AND chain_ts < ? AND kind = 'trip' ORDER BY chain_ts DESC LIMIT 1`;
        return one(file, userId, sql, user, chainTs);
      }),
    days: (userId, { from, to }) =>
      reading(userId, (file, user) => {
        const sql =
          "SELECT DISTINCT day FROM trips WHERE user = ? AND day >= ? AND day <= ? AND kind = 'trip' ORDER BY day";
        return file
          .sql(sql)
          .all<{ day: string }>(user, from, to)
          .map(({ day }) => day);
      }),
    summary: (userId) => reading(userId, summaryOf),
    spans: (userId, { from, to }) =>
      reading(userId, (file, user) => {
        const sql =
          'SELECT chain_ts, start_ts, end_ts, written_ts FROM trips ' +
          "WHERE user = ? AND chain_ts >= ? AND chain_ts < ? AND kind = 'trip' ORDER BY chain_ts";
        return file.sql(sql).all<TripSpan>(user, from, to);
      }),
    outlines: (userId, chainTs) =>
      reading(userId, (file, user) =>
        [...new Set(chainTs)].sort((a, b) => a - b).flatMap((ts) => outlineAt(file, user, ts) ?? []),
      ),
    replace: async (userId, range, records, state, lease) => {
      const file = shards.of(userId).timeseries;
      const rows = records.map((record) => ({ record, bytes: packValue(record as unknown as JsonValue) }));
      checkRange(range, records);
      const work = () => {
        const user = leasedUser(file, userId, lease);
        const done = replaceRows(file, user, range, rows, now());
        mergeState(file, user, state);
        return done;
      };
      const { counts, links } = await file.write(work, records.length);
      noteWritten(writtenOf(userId), links);
      return counts;
    },
  };
}

/**
 * All links from the first that is not settled below `ts` on are out of the question: the last one before it is meant.
 */
function lastSettled(file: StoreFile, user: number | null, ts: number): TripRecord | null {
  const unsettled = [
    file.sql('SELECT min(chain_ts) AS chain_ts FROM trips WHERE user = ? AND settled_ts IS NULL').get(user),
    file.sql('SELECT min(chain_ts) AS chain_ts FROM trips WHERE user = ? AND settled_ts >= ?').get(user, ts),
  ] as { chain_ts: number | null }[];
  const first = Math.min(...unsettled.map((row) => row.chain_ts ?? end));
  const row = file.sql(lastBefore).get<Row>(user, first);
  return row === undefined ? null : recordOf(file, row);
}

/** Outlines read last, by user and `chain_ts`, with what tells whether the row is still the same; the oldest first. */
const outlinesRead = new WeakMap<StoreFile, Map<string, RowMark & { outline: TripOutline }>>();

/** Some MiB: an outline has a few hundred bytes. */
const mostOutlines = 20_000;

/** Both change with a row. */
interface RowMark {
  written_ts: number | null;
  sum: number | null;
}

/** Labels are suggested from outlines of many trips. They are kept: to make one means to read the trip's whole line. */
function outlineAt(file: StoreFile, user: number | null, chainTs: number): TripOutline | null {
  const where = "FROM trips WHERE user = ? AND chain_ts = ? AND kind = 'trip'";
  const mark = file.sql(`SELECT written_ts, sum ${where}`).get<RowMark>(user, chainTs);
  if (mark === undefined) return null;
  const outlines = outlinesRead.get(file) ?? new Map<string, RowMark & { outline: TripOutline }>();
  outlinesRead.set(file, outlines);
  const name = `${user} ${chainTs}`;
  const kept = outlines.get(name);
  outlines.delete(name);
  const isSame = kept !== undefined && kept.sum === mark.sum && kept.written_ts === mark.written_ts;
  const outline = isSame
    ? kept.outline
    : outlineOf(recordOf(file, file.sql(`SELECT ${columns} ${where}`).get<Row>(user, chainTs)!));
  if (mark.sum !== null) outlines.set(name, { ...mark, outline });
  if (outlines.size > mostOutlines) outlines.delete(outlines.keys().next().value!);
  return copyOf(outline);
}

/** What a caller does to an outline has no effect on the one that is kept. */
function copyOf(outline: TripOutline): TripOutline {
  const sections = outline.sections.map((section) => ({ ...section }));
  return { ...outline, start_loc: [...outline.start_loc], end_loc: [...outline.end_loc], sections };
}

function summaryOf(file: StoreFile, user: number | null): Awaited<ReturnType<Trips['summary']>> {
  const edge = (column: 'start_ts' | 'end_ts', order: 'ASC' | 'DESC'): number | null => {
    const sql = `SELECT ${column} AS ts FROM trips WHERE user = ? AND kind = 'trip' ORDER BY chain_ts ${order} LIMIT 1`;
    return file.sql(sql).get<{ ts: number }>(user)?.ts ?? null;
  };
  const sql = "SELECT count(*) AS count FROM trips WHERE user = ? AND kind = 'trip'";
  const { count } = file.sql(sql).get<{ count: number }>(user)!;
  return { count, start_ts: edge('start_ts', 'ASC'), end_ts: edge('end_ts', 'DESC') };
}

function replaceRows(
  file: StoreFile,
  user: number,
  { from, to }: { from: number; to: number },
  rows: readonly { record: TripRecord; bytes: Uint8Array }[],
  now: number,
): { counts: Awaited<ReturnType<Trips['replace']>>; links: WrittenLink[] } {
  const stored = file.sql(linksIn).all<Row>(user, from, to);
  const old = new Map(stored.map((row) => [row.chain_ts, row]));
  const counts = { added: 0, removed: 0, changed: 0, unchanged: 0 };
  const links: WrittenLink[] = [];
  for (const { record, bytes } of rows) {
    const before = old.get(record.chain_ts);
    old.delete(record.chain_ts);
    const same = before !== undefined && isLike(before, record) && isStored(before, record, bytes);
    counts[before === undefined ? 'added' : same ? 'unchanged' : 'changed']++;
    const sum = same ? before.sum : putLink(file, user, record, bytes, now);
    if (sum !== null) links.push({ record, sum });
  }
  const remove = file.sql('DELETE FROM trips WHERE user = ? AND chain_ts = ?');
  for (const chainTs of old.keys()) counts.removed += remove.run(user, chainTs).changes;
  return { counts, links };
}

/** False when columns beside the text tell that a link is another one: then nothing is unpacked. */
function isLike(row: Row, { kind, start_ts, end_ts, day, settled_ts }: TripRecord): boolean {
  return (
    row.kind === kind &&
    row.start_ts === start_ts &&
    row.end_ts === end_ts &&
    row.day === day &&
    row.settled_ts === (settled_ts ?? null)
  );
}

/** True where a row has this link; false if it is damaged, so that the new one takes its place. */
function isStored(row: Row, record: TripRecord, bytes: Uint8Array): boolean {
  try {
    return isSound('trips', row) && isPackedAs(row.record, record as unknown as JsonValue, bytes);
  } catch {
    return false;
  }
}

/** Returns the checksum of the row. */
function putLink(file: StoreFile, user: number, record: TripRecord, bytes: Uint8Array, now: number): number {
  const { chain_ts, kind, start_ts, end_ts, day, settled_ts } = record;
  const sql = `
    INSERT INTO trips (user, chain_ts, kind, start_ts, end_ts, day, settled_ts, written_ts, record, sum)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (user, chain_ts) DO UPDATE SET kind = excluded.kind, start_ts = excluded.start_ts, end_ts = excluded.end_ts,
      day = excluded.day, settled_ts = excluded.settled_ts, written_ts = excluded.written_ts, record = excluded.record,
      sum = excluded.sum`;
  const values = [user, chain_ts, kind, start_ts, end_ts, day, settled_ts ?? null, now, bytes];
  const sum = sumOf(values);
  file.sql(sql).run(...values, sum);
  return sum;
}
