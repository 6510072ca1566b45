// Rows that are not as they were written: how they are recognised when they are read, and what is said of them.
import { errorText, MobilityError } from '../../model/errors.ts';
import { unescapeText } from '../../model/json-text.ts';
import { mendRows, rebuildUser, restoreFolder } from '../cures.ts';
import type { StatementSource } from './driver.ts';
import { isSound, type SummedRow, type SummedTable } from './row-sums.ts';

/** A table with rows of people. */
export type OwnedTable = SummedTable | 'chunks' | 'batches' | 'entries' | 'waiting';

/** Tables whose content follows from the entries: `rebuild` renews their rows. */
const derivedTables: readonly OwnedTable[] = ['pipeline', 'documents', 'trips'];

/** Tables whose rows `store mend` puts right or sets aside. */
const mendedTables: readonly OwnedTable[] = ['profiles', 'errors', 'batches', 'chunks'];

/** What mends a damaged row. */
export function cureOf(table: OwnedTable, userId: string | null): string {
  if (userId !== null && derivedTables.includes(table)) return rebuildUser(userId);
  if (userId !== null && mendedTables.includes(table)) return mendRows(userId);
  return restoreFolder;
}

/** The error of a row that is not as it was written. `user`: their number in the file, or their UUID. */
export function damagedRow(
  file: StatementSource,
  { table, user, place }: { table: OwnedTable; user: number | string | null; place?: string },
  found: string,
  cause?: unknown,
): MobilityError {
  const userId = typeof user === 'number' ? uuidOf(file, user) : user;
  const where = [
    file.path,
    `table ${table}`,
    ...(place ? [place] : []),
    ...(userId === null ? [] : [`user ${userId}`]),
  ];
  const text = `${where.join(', ')}: a row is not as it was written (${found}); nothing was changed. To mend it: ${cureOf(table, userId)}`;
  return new MobilityError('MOBILITY_STORE_DAMAGED', text, { cause });
}

function uuidOf(file: StatementSource, user: number): string | null {
  const row = file.sql('SELECT uuid FROM user_ids WHERE id = ?').get<{ uuid: string }>(user);
  return row === undefined ? null : unescapeText(String(row.uuid));
}

/**
 * What `read` makes of a row, if the row is as it was written. Throws `MOBILITY_STORE_DAMAGED`, also when `read`
 * throws. The text of an error of the parser is left out: it quotes people's data.
 */
export function soundRow<Row extends SummedRow, T>(
  file: StatementSource,
  table: SummedTable,
  row: Row,
  read: (row: Row) => T,
): T {
  const at = { table, user: ownerOf(row) };
  if (!isSound(table, row)) throw damagedRow(file, at, 'another checksum');
  return orDamaged(file, at, () => read(row));
}

/** What `read` makes of a stored text. Throws `MOBILITY_STORE_DAMAGED` when `read` throws. */
function orDamaged<T>(
  file: StatementSource,
  at: { table: OwnedTable; user: number | string | null; place?: string },
  read: () => T,
): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof MobilityError) throw error;
    throw damagedRow(file, at, error instanceof SyntaxError ? 'a text that is not JSON' : errorText(error), error);
  }
}

/** Who a row belongs to: a number in the file, or a UUID. */
function ownerOf({ user, user_id, uuid }: SummedRow): number | string | null {
  if (typeof user === 'number') return user;
  const id = user_id ?? uuid;
  return typeof id === 'string' ? unescapeText(id) : null;
}
