// The seam between the rules of the store and its engines: rows of tables, read and written in transactions. The rules
// (`rules/`) stand once; SQLite and MongoDB each fulfil this page.

/** A value of a column. */
export type ColumnValue = string | number | null | Uint8Array;

/** What a column must be for a row to match: a value, or a range or list of values. Null matches no range. */
export type Condition =
  | ColumnValue
  | { gt?: ColumnValue; gte?: ColumnValue; lt?: ColumnValue; lte?: ColumnValue }
  | { in: readonly (string | number)[] };

/** Conditions by column; a row must meet all of them. */
export type Where<Row> = { readonly [Column in keyof Row]?: Condition };

/** The kind of a column: `text` and `number` can be compared, `bytes` cannot. A column may hold null if it says so. */
export type ColumnKind = 'text' | 'text?' | 'number' | 'number?' | 'bytes';

/** A table: its columns, of which `key` names a row. Every index begins with the user where the table has one. */
export interface Table<Row> {
  readonly name: string;
  readonly columns: { readonly [Column in keyof Row]-?: ColumnKind };
  readonly key: readonly (keyof Row & string)[];
  readonly indexes: readonly { columns: readonly (keyof Row & string)[]; unique?: true }[];
  /** The column that names the user; null for tables that are read across users. */
  readonly user: (keyof Row & string) | null;
}

/** Which rows to read, in which order, and how many. */
export interface Query<Row> {
  where: Where<Row>;
  /** Columns to sort by, the first first; `-` before a name: descending. Texts sort by their bytes in UTF-8. */
  order?: readonly ((keyof Row & string) | `-${keyof Row & string}`)[];
  limit?: number;
}

/** The checksum of a row, which every table has beside its columns: another content has another one. */
export interface Summed {
  sum: string;
}

/** Rows as one snapshot shows them. */
export interface Rows {
  /**
   * The rows that match. With `columns` only these are read. A row that is read whole is compared with its checksum:
   * throws `MOBILITY_STORE_DAMAGED`, which names table and row, if they differ.
   */
  find<Row>(table: Table<Row>, query: Query<Row>): Promise<Row[]>;
  find<Row, Column extends keyof (Row & Summed) & string>(
    table: Table<Row>,
    query: Query<Row>,
    columns: readonly Column[],
  ): Promise<Pick<Row & Summed, Column>[]>;
  /** The sum of a column over the rows that match; without a column their number. */
  total<Row>(table: Table<Row>, where: Where<Row>, column?: keyof Row & string): Promise<number>;
}

/** Rows inside a transaction: it sees its own changes. */
export interface WritableRows extends Rows {
  /** Inserts rows; a row whose key is there already is replaced. Returns the checksum of each, over all its columns. */
  put<Row>(table: Table<Row>, rows: readonly Row[]): Promise<string[]>;
  /** Removes the rows that match, at most `limit`; returns how many. */
  remove<Row>(table: Table<Row>, where: Where<Row>, limit?: number): Promise<number>;
}

/**
 * A database that keeps rows. Texts may hold any characters; numbers are doubles and come back exactly. Errors of the
 * engine reject as `MOBILITY_STORE_FULL`, `_UNAVAILABLE`, `_BUSY` or `_DAMAGED`.
 */
export interface Engine {
  /** The address without credentials. */
  readonly address: string;
  /** Runs `work` in one snapshot. `work` must wait for nothing but rows. */
  read<T>(work: (rows: Rows) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in one transaction; resolves when the commit is durable. All writes of one user happen one after
   * another, in every process. A unique index that is violated, or a conflict with another writer, makes it run again:
   * `work` must leave nothing behind in memory, and wait for nothing but rows. What it throws rolls back and rejects.
   */
  write<T>(user: string | null, work: (rows: WritableRows) => Promise<T>): Promise<T>;
  /** The clock of the store, seconds since the epoch: the same for all processes that use it. */
  now(): Promise<number>;
  /** Resolves when no byte of removed rows is left where the engine can reach it. */
  forget(): Promise<void>;
  /** Looks at the structures of the engine itself, such as pages and indexes; returns what is wrong with them. */
  check(): Promise<string[]>;
  /** Resolves when a small write and a small read work. */
  ping(): Promise<void>;
  /** What the store takes on disk, and what is free there; null: the server does not say. */
  disk(): Promise<{ bytes: number; free: number | null }>;
  version(): Promise<string>;
  close(): Promise<void>;
}

/** Options for opening a store. An engine ignores options that it does not use. */
export interface OpenOptions {
  /** False: where there is no store, none is made: throws `MOBILITY_STORE_ADDRESS`. Default: it is made. */
  make?: boolean;
  /** The clock of the leases if the store has none, seconds since the epoch. */
  now?: () => number;
  /**
   * Embedded store: s that a call waits for other processes before it fails with `MOBILITY_STORE_BUSY`; default: 10.
   */
  busySeconds?: number;
  /** MongoDB: called at opening with a warning for each task that failed although the store works. */
  onWarning?: (message: string) => void;
}
