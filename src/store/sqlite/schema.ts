// The schema of the store in SQLite.
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

/** A table or index, with the statement that creates it. */
interface SchemaPart {
  name: string;
  sql: string;
}

/** All tables and indexes. Table `about` has only the row that `ping` writes. */
const parts: readonly SchemaPart[] = [
  { name: 'about', sql: 'CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL)' },
  ...allTables.flatMap((table) => partsOf(table)),
];

/** The statements that create all tables and indexes. */
export const schema: readonly string[] = [...parts.map(({ sql }) => sql), "INSERT INTO about VALUES ('ping', '')"];

/** The statements that create what the database lacks, because an earlier version of this program created it. */
export function missingParts(connection: Connection): string[] {
  const found = connection.prepare('SELECT name FROM sqlite_schema').all<{ name: string }>();
  const names = new Set(found.map(({ name }) => name));
  return parts.filter(({ name }) => !names.has(name)).map(({ sql }) => sql);
}

function partsOf({ name, columns, key, indexes }: Table<never>): SchemaPart[] {
  const defined = Object.entries<ColumnKind>(columns).map(([column, kind]) => `"${column}" ${types[kind]}`);
  // `sum` comes before the bytes, so that SQLite can read it without them.
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

/** Column names for a statement, quoted because some are keywords of SQL. */
export function columnList(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ');
}
