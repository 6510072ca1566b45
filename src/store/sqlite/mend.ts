// Mending of rows that are not as they were written: a single flipped bit is put right, what can be read is kept, and
// the rest is handed to the caller before it leaves the store. Nothing goes silently.
import { dataTime, type Entry } from '../../model/entry.ts';
import { MobilityError } from '../../model/errors.ts';
import { CheckTally, type Finding } from '../check.ts';
import { chunkRecord } from '../chunks/edit.ts';
import { checksumOf, decodeTexts, decodeTimes } from '../chunks/form.ts';
import { checksumIn, readIdentities, splitTexts } from './batch-form.ts';
import { isMarked, summaryOf } from './batches.ts';
import { type CheckedFile, checkTable, numbersOf, type TableRow as Row, whyBroken } from './check-rows.ts';
import { derivedTables, mendedTables, type OwnedTable } from './damaged.ts';
import type { SqlValue } from './driver.ts';
import { unlessTrouble } from './engine-errors.ts';
import { flippedBit } from './flipped-bit.ts';
import { fileName, openFolder, type Shard } from './folder.ts';
import { admittedUser } from './ids.ts';
import { leases, mergeState } from './pipeline.ts';
import { putWaiting } from './put-waiting.ts';
import { type SummedTable, sealRow, summedColumns } from './row-sums.ts';
import { shardsOf } from './rows.ts';

/** What became of a damaged row. */
export interface MendedRow {
  file: string;
  table: string;
  /** Its number in the table. */
  row: number;
  /**
   * `corrected`: one bit was wrong, and is right again. `kept`: its content was whole, or is kept in another place.
   * `removed`: it could not be read; `keep` was given it before. `left`: nothing was changed.
   */
  outcome: 'corrected' | 'kept' | 'removed' | 'left';
  found: string;
  /** Entries that went with it. */
  entries?: number;
}

/** How a user is mended. */
export interface MendOptions {
  /** Mend trips, documents and the pipeline state, which derive from the entries; default: everything else. */
  derived?: boolean;
  owner: string;
  leaseSeconds: number;
  /** Seconds since the epoch. */
  now: () => number;
  /** Once aborted, the mending ends with its reason as the error; what is done stays. */
  signal?: AbortSignal;
  /** Called with a row before it is removed. What it throws leaves the row and ends the mending. */
  keep: (row: { file: string; table: string; row: number; columns: Record<string, SqlValue> }) => Promise<void>;
}

/** A damaged row: its file, its table, and what the check found. */
interface Place {
  checked: CheckedFile;
  table: OwnedTable;
  finding: Finding;
}

/**
 * Mends the damaged rows of a user in the store of a folder, under their lease. Throws `MOBILITY_LEASE_HELD` when
 * somebody works on them.
 */
export async function mendSqliteUser(folder: string, userId: string, options: MendOptions): Promise<MendedRow[]> {
  const opened = await openFolder(folder, {});
  const shards = shardsOf(opened);
  const shard = shards.of(userId);
  const held = leases(shards, options.now);
  try {
    const taken = await held.acquire(userId, options.owner, options.leaseSeconds);
    if ('heldBy' in taken) {
      const text = `${taken.heldBy.owner} works on this user; try again when it is done`;
      throw new MobilityError('MOBILITY_LEASE_HELD', text);
    }
    try {
      return await mendTables(shard, opened.indexOf(shard), userId, options);
    } finally {
      // Where even this fails, the lease ends by itself; the caller hears of what failed before.
      await held.release(taken.lease).catch(() => {});
    }
  } finally {
    for (const { usercache, timeseries } of opened) {
      usercache.close();
      timeseries.close();
    }
  }
}

async function mendTables(shard: Shard, number: number, userId: string, options: MendOptions): Promise<MendedRow[]> {
  const { signal } = options;
  const mended: MendedRow[] = [];
  const tables = options.derived ? derivedTables : mendedTables;
  for (const role of ['usercache', 'timeseries'] as const) {
    const file = shard[role];
    const checked = { file, name: fileName(role, number), ...(await numbersOf(file)) };
    for (const table of tables.filter(
      (one) => (['profiles', 'errors', 'batches'].includes(one) ? 'usercache' : 'timeseries') === role,
    )) {
      const tally = new CheckTally({});
      await checkTable(checked, table, tally, { userId, ...(signal && { signal }) });
      for (const finding of tally.findings) {
        signal?.throwIfAborted();
        if (finding.row === undefined) continue;
        mended.push(await mendRow({ checked, table, finding }, shard, userId, options));
      }
      signal?.throwIfAborted();
    }
  }
  if (options.derived && mended.length > 0) {
    await shard.timeseries.write(() => {
      const user = shard.timeseries.sql('SELECT id FROM user_ids WHERE uuid = ?').get<{ id: number }>(userId);
      if (user !== undefined) mergeState(shard.timeseries, user.id, { documents_due: true });
    });
  }
  return mended;
}

/** Puts the indexes of all files in order again from their tables. */
export async function mendIndexes(folder: string): Promise<string[]> {
  const opened = await openFolder(folder, {});
  const files = opened.flatMap(({ usercache, timeseries }) => [usercache, timeseries]);
  try {
    for (const file of files) await file.write(() => file.connection.exec('REINDEX'));
    return files.map(({ path }) => path);
  } finally {
    for (const file of files) file.close();
  }
}

const withoutPrefix = (text: string, prefix: string): string =>
  text.startsWith(prefix) ? text.slice(prefix.length) : text;

async function mendRow(
  { checked, table, finding }: Place,
  shard: Shard,
  userId: string,
  options: MendOptions,
): Promise<MendedRow> {
  const { file, name } = checked;
  const at = finding.row!;
  const told = { file: name, table, row: at, found: withoutPrefix(finding.what, `row ${at}: `) };
  const read = (): Row | undefined =>
    file.connection.prepare(`SELECT rowid AS at, * FROM ${table} WHERE rowid = ?`).get<Row>(at);
  const row = await file.read(read).catch((error) => unlessTrouble(error, file.path, undefined));
  if (row === undefined) return { ...told, outcome: 'left' };
  const isWhole = (one: Row): boolean => whyBroken(checked, table, one, userId) === null;
  const better = rewritten(table, row, isWhole) ?? withoutFlip(table, row, isWhole);
  if (better !== null) {
    await file.write(() => {
      const columns = Object.keys(better.columns);
      const set = columns.map((column) => `${column} = ?`).join(', ');
      file.connection.prepare(`UPDATE ${table} SET ${set} WHERE rowid = ?`).run(...Object.values(better.columns), at);
      if (table in summedColumns) sealRow(file, table as SummedTable, 'rowid = ?', at);
    });
    return { ...told, outcome: better.outcome };
  }
  const entries = finding.entries === undefined ? {} : { entries: finding.entries };
  const { at: _, ...columns } = row;
  if (!options.derived) await options.keep({ file: name, table, row: at, columns });
  const remove = (): unknown => file.connection.prepare(`DELETE FROM ${table} WHERE rowid = ?`).run(at);
  const texts = table === 'batches' ? readableTexts(row) : null;
  if (texts !== null) {
    const again = function* (): Generator<void, void> {
      remove();
      yield* putWaiting(shard, userId, admittedUser(file, userId), texts, options.now());
    };
    await file.writeInSteps(again, texts.length);
    return { ...told, outcome: 'kept', entries: texts.length };
  }
  await file.write(remove);
  return { ...told, outcome: 'removed', ...entries };
}

/**
 * The entries that wait in a batch whose columns are damaged, if its texts are whole. Those that left stay away: they
 * may have come again since with other content. Marks that contradict the count are damaged themselves.
 */
function readableTexts(row: Row): { key: string; write_ts: number; ts: number | null; text: string }[] | null {
  try {
    const texts = splitTexts(row.entries as Uint8Array, row.size as number);
    const waiting = texts.filter((text, place) => text !== '' && !isMarked(row.gone as Uint8Array | null, place));
    return (waiting.length === row.count ? waiting : texts.filter((text) => text !== '')).map((text) => {
      const entry = JSON.parse(text) as Entry;
      const { key, write_ts } = entry.metadata;
      return { key, write_ts, ts: dataTime(entry.data), text };
    });
  } catch {
    return null;
  }
}

interface Better {
  outcome: 'corrected' | 'kept';
  columns: Record<string, SqlValue>;
}

/** The columns that follow from the content of a row, where the content is whole. */
function rewritten(table: OwnedTable, row: Row, isWhole: (row: Row) => boolean): Better | null {
  try {
    const columns = table === 'chunks' ? chunkColumns(row) : table === 'batches' ? batchColumns(row) : null;
    return columns !== null && isWhole({ ...row, ...columns }) ? { outcome: 'kept', columns } : null;
  } catch {
    return null;
  }
}

function chunkColumns(row: Row): Record<string, SqlValue> {
  const times = decodeTimes(row.times as Uint8Array, row.count as number);
  const texts = decodeTexts(row.entries as Uint8Array, times);
  const rows = texts.map((text, i) => ({
    write_ts: times.write_ts[i]!,
    ts: Number.isNaN(times.ts[i]!) ? null : times.ts[i]!,
    received_ts: times.received_ts[i]!,
    zone: times.zones[times.zone[i]!]!,
    text,
  }));
  const { first, last, count, size, first_ts, last_ts, zones } = chunkRecord(rows).record;
  return { first, last, count, size, first_ts, last_ts, zones };
}

function batchColumns(row: Row): Record<string, SqlValue> | null {
  const columns = readIdentities(row.columns as Uint8Array, row.size as number);
  // Marks of entries that left follow from nothing else: they stay unless they contradict the count.
  const marks = [row.gone as Uint8Array | null, null].find((gone) => summaryOf(columns, gone).count === row.count);
  if (marks === undefined) return null;
  return { ...summaryOf(columns, marks), gone: marks };
}

/** The row with one bit the other way, if that makes it whole: the common fault of memory and disks. */
function withoutFlip(table: OwnedTable, row: Row, isWhole: (row: Row) => boolean): Better | null {
  const parts = { chunks: ['times', 'entries'], batches: ['columns', 'entries'] }[table as string] ?? [];
  for (const column of parts) {
    const bytes = Buffer.from(row[column] as Uint8Array);
    const { at, covers, difference } = table === 'chunks' ? checksumOf(bytes) : checksumIn(bytes);
    // The bit is one that the checksum covers, one of the checksum itself, or one of the form before it, which older
    // forms leave out of the checksum.
    const places = Array.from({ length: 8 * at }, (_, bit) => bit);
    if (difference !== 0) {
      const bit = flippedBit(difference, bytes.length - covers);
      const own = Math.log2(difference >>> 0);
      if (Number.isInteger(own)) places.unshift(8 * at + own);
      if (bit !== null) places.unshift(8 * covers + bit);
    }
    for (const place of places) {
      const right = Buffer.from(bytes);
      right[place >> 3]! ^= 1 << (place & 7);
      if (isWhole({ ...row, [column]: right })) return { outcome: 'corrected', columns: { [column]: right } };
    }
  }
  return null;
}
