// Checksums of rows: each row of these tables carries a CRC-32 of its other columns, so that flipped bits are found.
import { crc32 } from 'node:zlib';
import type { SqlValue, StatementSource } from './driver.ts';

/** The columns that the checksum of a row covers, in their order, by table. */
export const summedColumns = {
  errors: [
    'user',
    'id',
    'key',
    'write_ts',
    'reason',
    'message',
    'first_ts',
    'last_ts',
    'tries',
    'received_ts',
    'entry',
  ],
  profiles: ['user', 'profile'],
  users: ['uuid', 'user_email', 'update_ts', 'study', 'subgroup'],
  tokens: ['hash', 'user_id', 'created_ts', 'expires_ts', 'kind', 'used_ts'],
  studies: ['name', 'settings', 'joined'],
  trips: ['user', 'chain_ts', 'kind', 'start_ts', 'end_ts', 'day', 'settled_ts', 'written_ts', 'record'],
  documents: ['user', 'key', 'write_ts', 'data'],
  pipeline: ['user', 'due', 'state'],
} as const;

/** A table whose rows have a checksum. */
export type SummedTable = keyof typeof summedColumns;

/** A row with all of its summed columns. `sum` is null in rows that an earlier program wrote. */
export type SummedRow = Record<string, SqlValue | undefined> & { sum: number | null };

/** The CRC-32 of values in their order. Each goes in with its kind and length: none can be taken for another. */
export function sumOf(values: readonly SqlValue[]): number {
  let sum = 0;
  let text = ''; // of values that are still to go in: one call for many takes less than one for each
  for (const value of values) {
    if (value instanceof Uint8Array) {
      sum = crc32(value, crc32(`${text}blob ${value.byteLength}\n`, sum));
      text = '';
    } else if (typeof value === 'string') text += `text ${value.length}\n${value}`;
    else text += `${value}\n`;
  }
  return text === '' ? sum : crc32(text, sum);
}

/** The columns of a table that a row must be selected with to be verified, the checksum last. */
export function columnsOf(table: SummedTable): string {
  return `${summedColumns[table].join(', ')}, sum`;
}

/** True when a row is as it was written, as far as its checksum tells. */
export function isSound(table: SummedTable, row: SummedRow): boolean {
  return row.sum === null || row.sum === sumOf(summedColumns[table].map((column) => row[column] ?? null));
}

/** Writes the checksum of the one row that an UPDATE or an upsert may have changed. Inside `write` only. */
export function sealRow(file: StatementSource, table: SummedTable, where: string, ...at: SqlValue[]): void {
  const row = file.sql(`SELECT ${columnsOf(table)} FROM ${table} WHERE ${where}`).get<SummedRow>(...at);
  if (row === undefined) return;
  const sum = sumOf(summedColumns[table].map((column) => row[column] ?? null));
  if (sum !== row.sum) file.sql(`UPDATE ${table} SET sum = ? WHERE ${where}`).run(sum, ...at);
}
