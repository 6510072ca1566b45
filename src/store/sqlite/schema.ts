// The tables of the store as SQLite has them.
import type { ColumnKind, Table } from '../rows/rows.ts';
import { allTables } from '../rows/tables.ts';
import type { Connection } from './driver.ts';

const types: Record<ColumnKind, string> = {
  text: 'TEXT NOT NULL',
  'text?': 'TEXT',
  number: 'REAL NOT NULL',
  'number?': 'REAL',
  bytes: 'BLOB NOT NULL',
};

/** A table or index, and the statement that makes it. */
interface SchemaPart {
  name: string;
  sql: string;
}

/** All tables and indexes; `about` keeps what concerns the file itself. */
const parts: readonly SchemaPart[] = [
  { name: 'about', sql: 'CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL)' },
  ...allTables.flatMap((table) => partsOf(table)),
];

/** The statements that make all tables and indexes. */
export const schema: readonly string[] = [...parts.map(({ sql }) => sql), "INSERT INTO about VALUES ('ping', '')"];

/** The statements that make what a store lacks: an earlier version of this program made it. */
export function missingParts(connection: Connection): string[] {
  const found = connection.prepare('SELECT name FROM sqlite_schema').all<{ name: string }>();
  const names = new Set(found.map(({ name }) => name));
  return parts.filter(({ name }) => !names.has(name)).map(({ sql }) => sql);
}

function partsOf({ name, columns, key, indexes }: Table<never>): SchemaPart[] {
  const defined = Object.entries<ColumnKind>(columns).map(([column, kind]) => `"${column}" ${types[kind]}`);
  // The checksum comes before the bytes, so that it can be read without them.
  const all = ['sum TEXT NOT NULL', ...defined, `PRIMARY KEY (${columnList(key)})`].join(', ');
  return [
    { name, sql: `CREATE TABLE IF NOT EXISTS ${name} (${all})` },
    ...indexes.map(({ columns: indexed, unique }) => {
      const index = [name, ...indexed].join('_');
      const kind = unique ? 'UNIQUE INDEX' : 'INDEX';
      return { name: index, sql: `CREATE ${kind} IF NOT EXISTS ${index} ON ${name} (${columnList(indexed)})` };
    }),
  ];
}

/** Column names for a statement; some are words of SQL. */
export function columnList(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ');
}
