// Transactions that read and write rows of tables: the interface between the rules of the store
// (`rules/`) and its engines on SQLite and MongoDB.
import type { Store } from '../store.ts';

export type ColumnValue = string | number | null | Uint8Array;

/** A null matches no range. */
export type Condition =
  | ColumnValue
  | { gt?: ColumnValue; gte?: ColumnValue; lt?: ColumnValue; lte?: ColumnValue }
  | { in: readonly (string | number)[] };

export type Where<Row> = { readonly [Column in keyof Row]?: Condition };

/** `bytes` cannot be compared. `?`: the column may be null. */
export type ColumnKind = 'text' | 'text?' | 'number' | 'number?' | 'bytes';

export interface Table<Row> {
  readonly name: string;
  readonly columns: { readonly [Column in keyof Row]-?: ColumnKind };
  readonly key: readonly (keyof Row & string)[];
  /** If the table has a column `user`, each index begins with it. */
  readonly indexes: readonly { columns: readonly (keyof Row & string)[]; unique?: true }[];
  /** The column with the UUID of a user, the first of `key`; null: rows belong to no user. */
  readonly user: (keyof Row & string) | null;
}

export interface Query<Row> {
  where: Where<Row>;
  /** Columns to sort by, the most important first. `-`: descending. Texts sort by UTF-8 bytes. */
  order?: readonly ((keyof Row & string) | `-${keyof Row & string}`)[];
  limit?: number;
}

export interface Summed {
  sum: string;
}

export interface Rows {
  /** Without `columns`, throws `MOBILITY_STORE_DAMAGED` if a row differs from its checksum. */
  find<Row>(table: Table<Row>, query: Query<Row>): Promise<Row[]>;
  find<Row, Column extends keyof (Row & Summed) & string>(
    table: Table<Row>,
    query: Query<Row>,
    columns: readonly Column[],
  ): Promise<Pick<Row & Summed, Column>[]>;
  /** The sum of the column, or the number of rows without `column`. */
  total<Row>(table: Table<Row>, where: Where<Row>, column?: keyof Row & string): Promise<number>;
}

/** Reads and writes rows in one transaction, which sees its own changes. */
export interface WritableRows extends Rows {
  /** Inserts or replaces rows. Returns their checksums. */
  put<Row>(table: Table<Row>, rows: readonly Row[]): Promise<string[]>;
  /** Removes rows, at most `limit` if given. Returns the number of removed rows. */
  remove<Row>(table: Table<Row>, where: Where<Row>, limit?: number): Promise<number>;
}

/**
 * Texts may contain any characters. Numbers are doubles and are restored exactly. Errors reject as
 * `MOBILITY_STORE_FULL`, `_UNAVAILABLE`, `_BUSY` or `_DAMAGED`.
 */
export interface Engine extends Pick<Store, 'address' | 'ping' | 'disk' | 'version' | 'close'> {
  /** True if each write waits for the writes of all users, not only of its user. */
  readonly writesWait: boolean;
  /** Runs `work` on one state. `work` must await only calls of `rows`, one after another. */
  read<T>(work: (rows: Rows) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in one transaction, and resolves when the commit is durable. Writes of one user run
   * one after another, also across processes. After a conflict with another writer or a violated
   * unique index, the engine runs `work` again. So `work` must change nothing in memory, and await
   * only calls of `rows`, one after another. If it throws, the transaction is rolled back.
   */
  write<T>(user: string | null, work: (rows: WritableRows) => Promise<T>): Promise<T>;
  /** Reads the clock that all processes of the store share; seconds since the epoch. */
  now(): Promise<number>;
  /** Resolves when no byte of removed rows is left in the files that the engine controls. */
  forget(): Promise<void>;
  /** Describes damage of the engine's own structures, such as pages and indexes. */
  check(): Promise<string[]>;
}

/** An engine ignores options that it does not use. */
export interface OpenOptions {
  /** False: if there is no store, throws `MOBILITY_STORE_ADDRESS`. Default: creates one. */
  make?: boolean;
  /** The clock of leases for an engine without a clock; seconds since the epoch. */
  now?: () => number;
  /** SQLite: s that a call waits for other processes before `MOBILITY_STORE_BUSY`. Default: 10. */
  busySeconds?: number;
  /** Receives a warning for each collection of MongoDB that could not be sharded. */
  onWarning?: (message: string) => void;
}
