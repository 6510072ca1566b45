// The interface between the rules of the store and its engines: transactions that read and write rows of tables.
// The rules are in `rules/`. SQLite and MongoDB each implement `Engine`.
import type { Store } from '../store.ts';

/** A value of a column; null only if the kind of the column ends in `?`. */
export type ColumnValue = string | number | null | Uint8Array;

/** Matches a value, a range or a list of values of a column. Null matches no range. */
export type Condition =
  | ColumnValue
  | { gt?: ColumnValue; gte?: ColumnValue; lt?: ColumnValue; lte?: ColumnValue }
  | { in: readonly (string | number)[] };

/** A row must meet the conditions of all columns. */
export type Where<Row> = { readonly [Column in keyof Row]?: Condition };

/** The kind of a column. `bytes` cannot be compared. `?`: the column may be null. */
export type ColumnKind = 'text' | 'text?' | 'number' | 'number?' | 'bytes';

export interface Table<Row> {
  readonly name: string;
  readonly columns: { readonly [Column in keyof Row]-?: ColumnKind };
  /** The columns that identify a row. */
  readonly key: readonly (keyof Row & string)[];
  /** Further indexes. If the table has a user, each begins with that column. */
  readonly indexes: readonly { columns: readonly (keyof Row & string)[]; unique?: true }[];
  /** The column with the user's UUID, with which `key` then begins. null: no row of the table belongs to one user. */
  readonly user: (keyof Row & string) | null;
}

export interface Query<Row> {
  where: Where<Row>;
  /** Columns to sort by, the most important first. `-` before a name: descending. Texts sort by UTF-8 bytes. */
  order?: readonly ((keyof Row & string) | `-${keyof Row & string}`)[];
  limit?: number;
}

/** The checksum of a row. Every table has it beside its columns. */
export interface Summed {
  sum: string;
}

/** Reads rows of one snapshot. */
export interface Rows {
  /**
   * The rows that match `query`. With `columns`, reads only these columns. Without `columns`, compares each row with
   * its checksum and throws `MOBILITY_STORE_DAMAGED`, with table and row, if they differ.
   */
  find<Row>(table: Table<Row>, query: Query<Row>): Promise<Row[]>;
  find<Row, Column extends keyof (Row & Summed) & string>(
    table: Table<Row>,
    query: Query<Row>,
    columns: readonly Column[],
  ): Promise<Pick<Row & Summed, Column>[]>;
  /** The sum of a column over the rows that match; without a column, the number of rows. */
  total<Row>(table: Table<Row>, where: Where<Row>, column?: keyof Row & string): Promise<number>;
}

/** Reads and writes rows in one transaction, which sees its own changes. */
export interface WritableRows extends Rows {
  /** Inserts rows, or replaces rows with the same key. Returns their checksums. */
  put<Row>(table: Table<Row>, rows: readonly Row[]): Promise<string[]>;
  /** Removes the rows that match, at most `limit`. Returns how many were removed. */
  remove<Row>(table: Table<Row>, where: Where<Row>, limit?: number): Promise<number>;
}

/**
 * A database with rows. Texts may contain any characters. Numbers are doubles and are restored exactly. Errors reject
 * as `MOBILITY_STORE_FULL`, `_UNAVAILABLE`, `_BUSY` or `_DAMAGED`.
 */
export interface Engine extends Pick<Store, 'address' | 'ping' | 'disk' | 'version' | 'close'> {
  /** Runs `work` on one snapshot. `work` must await only calls of `rows`, one after another. */
  read<T>(work: (rows: Rows) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in one transaction, and resolves when the commit is durable. Writes of one user run one after another,
   * also across processes. After a conflict with another writer or a violated unique index, the engine runs `work`
   * again. So `work` must change nothing in memory, and await only calls of `rows`, one after another. If it throws,
   * the transaction is rolled back.
   */
  write<T>(user: string | null, work: (rows: WritableRows) => Promise<T>): Promise<T>;
  /** The clock that all processes of the store share; seconds since the epoch. */
  now(): Promise<number>;
  /** Overwrites removed rows. Resolves when no byte of them is left in the files that the engine controls. */
  forget(): Promise<void>;
  /** Checks the engine's own structures, such as pages and indexes. Returns the problems found. */
  check(): Promise<string[]>;
}

/** An engine ignores options that it does not use. */
export interface OpenOptions {
  /** False: if there is no store, throws `MOBILITY_STORE_ADDRESS`. Default: creates one. */
  make?: boolean;
  /** The clock of leases for an engine without one; seconds since the epoch. */
  now?: () => number;
  /** SQLite: seconds that a call waits for other processes. Then it fails with `MOBILITY_STORE_BUSY`. Default: 10. */
  busySeconds?: number;
  /** Called when a MongoDB is opened, with a warning for each collection that could not be sharded. */
  onWarning?: (message: string) => void;
}
