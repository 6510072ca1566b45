import { hash } from 'node:crypto';
import { MobilityError } from '../../model/mobility-error.ts';
import type { ColumnValue, Table } from './rows.ts';

/** Returns 64 bits of the SHA-1 of all columns as hex, to detect damage and changes. */
export function sumOf<Row>(table: Table<Row>, row: Row): string {
  const heads: (string | number | null)[] = [];
  const bytes: Uint8Array[] = [];
  for (const column in table.columns) {
    const value = row[column] as ColumnValue;
    if (value instanceof Uint8Array) bytes.push(value);
    else heads.push(value);
  }
  const text = Buffer.from(JSON.stringify(heads));
  return hash('sha1', bytes.length === 0 ? text : Buffer.concat([text, ...bytes]), 'hex').slice(0, 16);
}

export function expectSum<Row>(table: Table<Row>, row: Row, sum: unknown): void {
  if (sumOf(table, row) !== sum) throw damagedRow(table, row, 'its content does not match its checksum');
}

/** Names a row in messages, without any location of a user. */
export function rowName<Row>(table: Table<Row>, row: Partial<Row>): string {
  return table.key.map((column) => `${column} ${JSON.stringify(row[column])}`).join(', ');
}

/** Turns any error of `read` into `MOBILITY_STORE_DAMAGED` with table, row and column. */
export function readColumn<Row, T>(table: Table<Row>, row: Partial<Row>, column: keyof Row & string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw damagedRow(table, row, `its ${column} cannot be read`, error);
  }
}

/** Reads a JSON object. Checks its type: the checksum of the row may not have been compared. */
export function objectIn<Row, T extends object>(table: Table<Row>, row: Partial<Row>, column: keyof Row & string): T {
  return readColumn(table, row, column, () => {
    const value = JSON.parse(row[column] as string) as T;
    if (typeof value !== 'object' || value === null) throw new TypeError('expected an object');
    return value;
  });
}

export function damagedRow<Row>(table: Table<Row>, row: Partial<Row>, problem: string, cause?: unknown): MobilityError {
  const found = `row of table ${table.name} (${rowName(table, row)}): ${problem}`;
  return new MobilityError(
    'MOBILITY_STORE_DAMAGED',
    `expected a sound row, found a damaged ${found}; nothing was changed: run \`mobility store check\` and restore a backup`,
    { cause },
  );
}
