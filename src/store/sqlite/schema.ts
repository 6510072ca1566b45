import type { ColumnKind, Table } from '../rows/rows.ts';
import { allTables } from '../rows/tables.ts';

const types: Record<ColumnKind, string> = {
  text: 'TEXT NOT NULL',
  'text?': 'TEXT',
  number: 'REAL NOT NULL',
  'number?': 'REAL',
  bytes: 'BLOB NOT NULL',
};

/** Creates what is missing, also in older databases. `about` has one row, which `ping` writes. */
export const schema = [
  'CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL)',
  ...allTables.flatMap((table) => statementsOf(table)),
].join('; ');

function statementsOf({ name, columns, key, indexes }: Table<never>): string[] {
  const defined = Object.entries<ColumnKind>(columns).map(([column, kind]) => `"${column}" ${types[kind]}`);
  // `sum` comes before the bytes, so that SQLite can read the sum without the bytes.
  const all = ['sum TEXT NOT NULL', ...defined, `PRIMARY KEY (${columnList(key)})`].join(', ');
  const ofIndexes = indexes.map(({ columns: indexed, unique }) => {
    const kind = unique ? 'UNIQUE INDEX' : 'INDEX';
    return `CREATE ${kind} IF NOT EXISTS ${[name, ...indexed].join('_')} ON ${name} (${columnList(indexed)})`;
  });
  return [`CREATE TABLE IF NOT EXISTS ${name} (${all})`, ...ofIndexes];
}

/** Quotes the names, because some are keywords of SQL. */
export function columnList(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ');
}
