// The tables of the store as SQLite has them.
import type { ColumnKind, Table } from '../rows/rows.ts';
import { allTables } from '../rows/tables.ts';

const types: Record<ColumnKind, string> = {
  text: 'TEXT NOT NULL',
  'text?': 'TEXT',
  number: 'REAL NOT NULL',
  'number?': 'REAL',
  bytes: 'BLOB NOT NULL',
};

/** The statements that make all tables and indexes, and `about`, which keeps what concerns the file itself. */
export const schema: readonly string[] = [
  'CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)',
  "INSERT INTO about VALUES ('ping', '')",
  ...allTables.flatMap((table) => statementsOf(table)),
];

function statementsOf({ name, columns, key, indexes }: Table<never>): string[] {
  const defined = Object.entries<ColumnKind>(columns).map(([column, kind]) => `"${column}" ${types[kind]}`);
  return [
    // The checksum before the bytes: whoever reads it alone need not go through these.
    `CREATE TABLE ${name} (${['sum TEXT NOT NULL', ...defined, `PRIMARY KEY (${columnList(key)})`].join(', ')})`,
    ...indexes.map(({ columns: indexed, unique }) => {
      const kind = unique ? 'UNIQUE INDEX' : 'INDEX';
      return `CREATE ${kind} ${[name, ...indexed].join('_')} ON ${name} (${columnList(indexed)})`;
    }),
  ];
}

/** Column names for a statement; some are words of SQL. */
export function columnList(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ');
}
