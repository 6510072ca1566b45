// Rows in MongoDB as a transaction, or one statement without a transaction, sees them. Bytes that are too large for a
// document lie in rows of their own, `parts`.
import type { AnyBulkWriteOperation, ClientSession, Collection, Db, Document } from 'mongodb';
import type { Query, Summed, Table, Where, WritableRows } from '../rows/rows.ts';
import { damagedRow, expectSum } from '../rows/sums.ts';
import { accounts } from '../rows/tables.ts';
import { documentOf, filterOf, keyOf, rowOf, sortOf } from './documents.ts';

/** A piece of the bytes of a row. */
export interface PartRow {
  user: string;
  table: string;
  /** JSON of the values of its key columns. */
  row: string;
  part: number;
  bytes: Uint8Array;
}
export const parts: Table<PartRow> = {
  name: 'parts',
  columns: { user: 'text', table: 'text', row: 'text', part: 'number', bytes: 'bytes' },
  key: ['user', 'table', 'row', 'part'],
  indexes: [],
  user: 'user',
};

/** A document ends at 16 MiB. */
const partLength = 8 * 2 ** 20; // bytes

/** More than one batch of 16 MiB holds: a query that fits one batch takes one command. */
const batchSize = 1_000_000;

/** What rows are read and written in. */
export interface Scope {
  db: Db;
  /** Of the transaction; null: the first statement is the only one, a second one throws `SecondStatement`. */
  session: ClientSession | null;
  /** The only user whose bytes are written; null: unknown. */
  user: string | null;
  /** The account of the user as the transaction has just read it; null if there is none. */
  account?: Document | null;
}

/** More than one statement without a transaction: they might see different snapshots. */
export class SecondStatement extends Error {}

/** The rows of a scope. Statements run one after another: MongoDB allows no parallel statements in a transaction. */
export function rowsIn(scope: Scope): WritableRows {
  const rows = new ScopedRows(scope);
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(statement: () => Promise<T>): Promise<T> => {
    const result = last.then(statement);
    last = result.catch(() => {});
    return result;
  };
  return {
    find: <Row>(table: Table<Row>, query: Query<Row>, columns?: Columns<Row>) =>
      inTurn(() => rows.find(table, query, columns)) as Promise<(Row & Summed)[]>,
    total: (table, where, column) => inTurn(() => rows.total(table, where, column)),
    put: (table, some) => inTurn(() => rows.put(table, some)),
    remove: (table, where, limit) => inTurn(() => rows.remove(table, where, limit)),
  };
}

type Columns<Row> = readonly (keyof (Row & Summed) & string)[];

class ScopedRows {
  readonly #db: Db;
  readonly #session: ClientSession | null;
  readonly #user: string | null;
  #account: Document | null | undefined;
  #statements = 0;
  /** Whether the user has parts; undefined: not looked up yet. */
  #hasParts: boolean | undefined;

  constructor({ db, session, user, account }: Scope) {
    this.#db = db;
    this.#session = session;
    this.#user = user;
    this.#account = account;
  }

  async find<Row>(table: Table<Row>, query: Query<Row>, columns?: Columns<Row>): Promise<Row[]> {
    const documents = await this.#documents(table, query, columns);
    const rows: Row[] = [];
    for (const document of documents) {
      if (document.parts > 0) await this.#joinParts(table, document);
      const row = rowOf<Row>(document, columns ?? Object.keys(table.columns));
      if (columns === undefined) expectSum(table, row, document.sum);
      rows.push(row);
    }
    return rows;
  }

  async total<Row>(table: Table<Row>, where: Where<Row>, column?: keyof Row & string): Promise<number> {
    const total = { $sum: column === undefined ? 1 : `$${column}` };
    const stages = [{ $match: filterOf(where) }, { $group: { _id: null, total } }];
    const [group] = await this.#collection(table).aggregate(stages, this.#reading()).toArray();
    return group?.total ?? 0;
  }

  async put<Row>(table: Table<Row>, rows: readonly Row[]): Promise<string[]> {
    if (rows.length === 0) return [];
    const pieces: PartRow[] = [];
    const sums: string[] = [];
    const writes = rows.map((row): AnyBulkWriteOperation<Document> => {
      const document = documentOf(table, row);
      sums.push(document.sum);
      pieces.push(...splitBytes(table, row, document));
      return { replaceOne: { filter: filterOf(keyOf(table, row)), replacement: document, upsert: true } };
    });
    const { matchedCount } = await this.#collection(table).bulkWrite(writes, this.#writing(table));
    if (matchedCount > 0 && (await this.#mayHaveParts(table))) await this.#removeParts(table, rows);
    if (pieces.length > 0) this.#hasParts = true;
    await this.put(parts, pieces);
    return sums;
  }

  async remove<Row>(table: Table<Row>, where: Where<Row>, limit?: number): Promise<number> {
    const filter = filterOf(where);
    const mayHaveParts = await this.#mayHaveParts(table);
    if (limit !== undefined || mayHaveParts) {
      const documents = await this.#documents(table, limit === undefined ? { where } : { where, limit }, table.key);
      if (documents.length === 0) return 0;
      filter._id = { $in: documents.map(({ _id }) => _id) };
      if (mayHaveParts) {
        await this.#removeParts(
          table,
          documents.map((document) => rowOf(document, table.key)),
        );
      }
    }
    const { deletedCount } = await this.#collection(table).deleteMany(filter, this.#writing(table));
    return deletedCount;
  }

  #collection<Row>({ name }: Table<Row>): Collection<Document> {
    return this.#db.collection(name);
  }

  #reading(): { session: ClientSession } | { readConcern: { level: 'snapshot' } } {
    this.#statements++;
    if (this.#session !== null) return { session: this.#session };
    if (this.#statements > 1) throw new SecondStatement();
    return { readConcern: { level: 'snapshot' } };
  }

  #writing({ name }: { name: string }): { session: ClientSession } {
    if (name === accounts.name) this.#account = undefined;
    return { session: this.#session! };
  }

  async #documents<Row>(table: Table<Row>, query: Query<Row>, columns?: Columns<Row>): Promise<Document[]> {
    if (this.#account !== undefined && this.#asksForAccount(table, query)) return this.#account ? [this.#account] : [];
    const { where, order, limit } = query;
    const fields = columns && [...columns, ...table.key, 'parts'];
    const projection = fields && Object.fromEntries(fields.map((field) => [field, 1]));
    const options = { ...this.#reading(), batchSize, sort: sortOf(order), ...(projection && { projection }) };
    const cursor = this.#collection(table).find(filterOf(where), options);
    return (limit === undefined ? cursor : cursor.limit(limit)).toArray();
  }

  #asksForAccount({ name }: { name: string }, { where }: { where: { user?: unknown } }): boolean {
    const { user, ...others } = where;
    return name === accounts.name && user === this.#user && Object.keys(others).length === 0;
  }

  /** Sets the bytes of a document that lie in parts. */
  async #joinParts<Row>(table: Table<Row>, document: Document): Promise<void> {
    const row = rowOf<Row>(document, table.key);
    const pieces = await this.find(parts, { where: partsOf(table, row), order: ['part'] });
    if (pieces.length !== document.parts) {
      throw damagedRow(table, row, `expected ${document.parts} parts of it, found ${pieces.length}`);
    }
    document[bytesColumnOf(table)!] = Buffer.concat(pieces.map(({ bytes }) => bytes));
  }

  async #removeParts<Row>(table: Table<Row>, rows: readonly Row[]): Promise<void> {
    const owners = rows.map((row) => partsOf(table, row));
    const users = [...new Set(owners.map(({ user }) => user))];
    await this.remove(parts, { user: { in: users }, table: table.name, row: { in: owners.map(({ row }) => row) } });
  }

  /** Asks once in a transaction: next to no user has parts. */
  async #mayHaveParts<Row>(table: Table<Row>): Promise<boolean> {
    if (bytesColumnOf(table) === undefined || table.name === parts.name) return false;
    if (this.#hasParts === undefined) {
      const user = this.#user;
      this.#hasParts = user === null || (await this.find(parts, { where: { user }, limit: 1 }, parts.key)).length > 0;
    }
    return this.#hasParts;
  }
}

function bytesColumnOf<Row>({ columns }: Table<Row>): (keyof Row & string) | undefined {
  return (Object.keys(columns) as (keyof Row & string)[]).find((column) => columns[column] === 'bytes');
}

function partsOf<Row>(table: Table<Row>, row: Row): Pick<PartRow, 'user' | 'table' | 'row'> {
  return { user: row[table.user!] as string, table: table.name, row: JSON.stringify(Object.values(keyOf(table, row))) };
}

/** Takes bytes that are too large out of the document, and returns them as parts. */
function splitBytes<Row>(table: Table<Row>, row: Row, document: Document): PartRow[] {
  const column = bytesColumnOf(table);
  const bytes = column === undefined ? null : (row[column] as Uint8Array);
  if (bytes === null || bytes.length <= partLength) return [];
  const pieces = [];
  for (let start = 0; start < bytes.length; start += partLength) {
    pieces.push({ ...partsOf(table, row), part: pieces.length, bytes: bytes.subarray(start, start + partLength) });
  }
  delete document[column!];
  document.parts = pieces.length;
  return pieces;
}
