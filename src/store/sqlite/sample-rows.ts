// Some rows of a table, whatever its size: those at its ends, and a few in between that are others each time.
import type { CheckTally } from '../check.ts';
import { checksumOf } from '../chunks/form.ts';
import { restoreOrCopy } from '../cures.ts';
import { checksumIn } from './batch-form.ts';
import { type CheckedFile, checkRow, namedBy, type TableRow } from './check-rows.ts';
import type { OwnedTable } from './damaged.ts';
import type { SqlValue } from './driver.ts';
import { unlessTrouble } from './engine-errors.ts';
import { isSound, type SummedRow, type SummedTable, summedColumns } from './row-sums.ts';

const isRight = ({ covers, difference }: { covers: number; difference: number }): boolean =>
  covers > 0 && difference === 0;

/** True if the row has checksums and they are right, which costs a hundredth of a look at what it says. */
function hasItsChecksum(table: OwnedTable, row: TableRow): boolean {
  try {
    if (table in summedColumns) return row.sum != null && isSound(table as SummedTable, row as SummedRow);
    if (table === 'chunks') return [row.times, row.entries].every((bytes) => isRight(checksumOf(bytes as Uint8Array)));
    if (table === 'batches')
      return [row.columns, row.entries].every((bytes) => isRight(checksumIn(bytes as Uint8Array)));
  } catch {
    // The look at the row says what it is.
  }
  return false;
}

const rowsOfSample = 4;
const placesOfSample = 6;

/**
 * Looks at the first and the last rows of a table, and at some from places in between that are others each time, until
 * `isOver` says so.
 */
export async function sampleTable(
  checked: CheckedFile,
  table: OwnedTable,
  tally: CheckTally,
  isOver: () => boolean,
): Promise<void> {
  const { file, name } = checked;
  const at = namedBy[table] ?? 'rowid';
  const seen = new Set<SqlValue>();
  const look = async (rest: string, ...values: SqlValue[]): Promise<void> => {
    const sql = `SELECT ${at} AS "at", * FROM ${table} ${rest} LIMIT ${rowsOfSample}`;
    for (const row of await file.read(() => file.connection.prepare(sql).all<TableRow>(...values))) {
      if (!seen.has(row.at!) && !hasItsChecksum(table, row)) await checkRow(checked, table, row, tally);
      seen.add(row.at!);
    }
  };
  try {
    await look(`ORDER BY ${at}`);
    await look(`ORDER BY ${at} DESC`);
    const [least, most] = [[...seen][0], Math.max(...[...seen].map(Number))];
    if (namedBy[table] !== undefined || typeof least !== 'number') return;
    for (let i = 0; i < placesOfSample && !isOver(); i++) {
      await look(`WHERE rowid >= ? ORDER BY rowid`, Math.floor(least + Math.random() * (most - least)));
    }
  } catch (error) {
    unlessTrouble(error, file.path, null);
    const what = 'rows that cannot be read';
    tally.find({ code: 'DAMAGED_PAGES', file: name, table, user_id: null, what, cure: restoreOrCopy });
  }
}
