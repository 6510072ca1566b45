// Turns rows into documents: columns become fields, and the checksum becomes the field `sum`.
import { Binary, type Document } from 'mongodb';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import type { ColumnValue, Condition, Query, Table, Where } from '../rows/rows.ts';
import { sumOf } from '../rows/sums.ts';

/** Escapes NUL and half surrogate pairs, which BSON cannot hold. */
function toStored(value: ColumnValue): ColumnValue {
  return typeof value === 'string' ? escapeText(value) : value;
}

function fromStored(value: unknown): unknown {
  // A copy, because the driver's bytes are a view of its whole message, which would stay in memory.
  if (value instanceof Binary) return new Uint8Array(value.buffer);
  return typeof value === 'string' ? unescapeText(value) : value;
}

export function documentOf<Row>(table: Table<Row>, row: Row): Document {
  const document: Document = {};
  for (const column in table.columns) document[column] = toStored(row[column] as ColumnValue);
  document.sum = sumOf(table, row);
  return document;
}

export function rowOf<Row>(document: Document, columns: readonly string[]): Row {
  return Object.fromEntries(columns.map((column) => [column, fromStored(document[column])])) as Row;
}

export function keyOf<Row>({ key }: Table<Row>, row: Row): Where<Row> {
  return Object.fromEntries(key.map((column) => [column, row[column]])) as unknown as Where<Row>;
}

export function filterOf<Row>(where: Where<Row>): Document {
  const conditions = Object.entries<Condition | undefined>(where).map(
    ([column, condition]) => [column, condition === undefined ? undefined : operatorsOf(condition)] as const,
  );
  return Object.fromEntries(conditions.filter(([, operators]) => operators !== undefined));
}

/** Turns a condition into operators of MongoDB; undefined: the condition has no bound. */
function operatorsOf(condition: Condition): unknown {
  if (condition === null || typeof condition !== 'object' || condition instanceof Uint8Array)
    return toStored(condition);
  if ('in' in condition) return { $in: condition.in.map(toStored) };
  const bounds = Object.entries<ColumnValue | undefined>(condition).filter(([, bound]) => bound !== undefined);
  // In MongoDB null matches a range from null to null. In the store null matches no range.
  if (bounds.some(([, bound]) => bound === null)) return { $in: [] };
  return bounds.length === 0
    ? undefined
    : Object.fromEntries(bounds.map(([operator, bound]) => [`$${operator}`, toStored(bound!)]));
}

export function sortOf<Row>(order: Query<Row>['order'] = []): Record<string, 1 | -1> {
  return Object.fromEntries(
    order.map((column) => (column.startsWith('-') ? [column.slice(1), -1 as const] : [column, 1 as const])),
  );
}
