import type { ColumnValue, Engine, Table, Where } from '../store/rows/rows.ts';

export type AnyRow = Record<string, ColumnValue>;

export type AnyTable = Table<AnyRow>;

const pageSize = 500; // rows in memory at one time

/** Yields rows by `by`, a text column with unique values. With `columns`, checks no checksums. */
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
