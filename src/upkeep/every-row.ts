// Rows of any table, read page by page.
import type { ColumnValue, Engine, Table, Where } from '../store/rows/rows.ts';

/** A row of any table. */
export type AnyRow = Record<string, ColumnValue>;

/** A table of any kind. */
export type AnyTable = Table<AnyRow>;

const pageSize = 500;

/** Every row, by a column of texts that no two rows share. With `columns` only these are read, without a checksum. */
export async function* everyRow<Row>(
  engine: Engine,
  table: Table<Row>,
  by: keyof Row & string,
  columns?: readonly (keyof Row & string)[],
): AsyncGenerator<Row> {
  for (let after = ''; ; ) {
    const query = { where: { [by]: { gt: after } } as Where<Row>, order: [by], limit: pageSize };
    const page = await engine.read((rows) =>
      columns === undefined ? rows.find(table, query) : (rows.find(table, query, columns) as Promise<Row[]>),
    );
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1)![by] as string;
  }
}
