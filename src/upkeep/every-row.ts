import type { ColumnValue, Engine, Table, Where } from '../store/rows/rows.ts';
import { everyOf } from '../util/parts-of.ts';

export type AnyRow = Record<string, ColumnValue>;

export type AnyTable = Table<AnyRow>;

const pageSize = 500; // rows in memory at one time

/** Yields rows by `by`, a text column with unique values. With `columns`, checks no checksums. */
export function everyRow<Row>(
  engine: Engine,
  table: Table<Row>,
  by: keyof Row & string,
  columns?: readonly (keyof Row & string)[],
): AsyncGenerator<Row, undefined> {
  return everyOf(pageSize, (last?: Row) => {
    const where = { [by]: { gt: last?.[by] ?? '' } } as Where<Row>;
    const query = { where, order: [by], limit: pageSize };
    return engine.read((rows) =>
      columns === undefined ? rows.find(table, query) : (rows.find(table, query, columns) as Promise<Row[]>),
    );
  });
}
