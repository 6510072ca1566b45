// Reads and writes rows in a transaction or with a single statement. Bytes that are too large for
// one document are stored in `parts`.
import type { AnyBulkWriteOperation, ClientSession, Collection, Db, Document } from 'mongodb';
import type { Query, Summed, Table, Where, WritableRows } from '../rows/rows.ts';
import { damagedRow, expectSum } from '../rows/sums.ts';
import { accounts } from '../rows/tables.ts';
import { documentOf, filterOf, keyOf, rowOf, sortOf } from './row-documents.ts';

interface PartRow {
  user: string;
  table: string;
  /** JSON of the values of the row's key columns. */
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

/** Bytes of a part: below MongoDB's limit of 16 MiB for a document. */
const partLength = 8 * 2 ** 20;

/** Documents per answer: so many that only the server's limit of 16 MiB splits a result. */
const batchSize = 1_000_000;

interface Scope {
  db: Db;
  /** null: the scope is a single statement, and a second statement throws `SecondStatement`. */
  session: ClientSession | null;
  /** The user whose rows are written; null: unknown. */
  user: string | null;
}

/** Outside of a transaction, a second statement might see a later state of the database. */
export class SecondStatement extends Error {}

/**
 * Runs `work`, then writes to the account of the user. So if two transactions of a user overlap,
 * both write this document: one of them fails and runs again.
 */
export async function onRows<T>(scope: Scope, work: (rows: WritableRows) => Promise<T>): Promise<T> {
  const rows = new ScopedRows(scope);
  const result = await work(rows as unknown as WritableRows);
  await rows.touchAccount();
  return result;
}

type Columns<Row> = readonly (keyof (Row & Summed) & string)[];

class ScopedRows {
  readonly #scope: Scope;
  #hasRead = false;
  /** True if the user ever had parts; undefined: this scope has not read the account. */
  #hasParts: boolean | undefined;
  #isTouched = false;

  constructor(scope: Scope) {
    this.#scope = scope;
  }

  /** Reading the account of the user in a write also changes and so locks it, see `#touchedAccount`. */
  async find<Row>(table: Table<Row>, query: Query<Row>, columns?: Columns<Row>): Promise<Row[]> {
    const isAccount =
      this.#scope.user !== null && table.name === accounts.name && filterOf(query.where).user === this.#scope.user;
    const documents = isAccount ? await this.#touchedAccount() : await this.#documents(table, query, columns);
    const rows: Row[] = [];
    for (const document of documents) {
      if (document.parts > 0) await this.#joinParts(table, document);
      const row = rowOf<Row>(document, columns ?? Object.keys(table.columns));
      if (columns === undefined) expectSum(table, row, document.sum);
      if (isAccount) this.#hasParts = document.hasParts === true;
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
    const documents = rows.map((row) => documentOf(table, row));
    const pieces = rows.flatMap((row, i) => splitBytes(table, row, documents[i]!));
    const isAccount = table.name === accounts.name;
    this.#isTouched ||= isAccount;
    const writes = documents.map((replacement, i): AnyBulkWriteOperation<Document> => {
      const filter = filterOf(keyOf(table, rows[i]!));
      // `$set` keeps fields of the account that are not columns, such as `touched`.
      if (isAccount) return { updateOne: { filter, update: { $set: replacement }, upsert: true } };
      return { replaceOne: { filter, replacement, upsert: true } };
    });
    const { matchedCount } = await this.#collection(table).bulkWrite(writes, this.#writing());
    if (matchedCount > 0 && this.#mayHaveParts(table)) await this.#removeParts(table, rows);
    if (pieces.length > 0) {
      this.#hasParts = true;
      this.#isTouched = false; // `touchAccount` must still store `hasParts`
      await this.put(parts, pieces);
    }
    return documents.map(({ sum }) => sum);
  }

  async remove<Row>(table: Table<Row>, where: Where<Row>, limit = 0): Promise<number> {
    let filter = filterOf(where);
    const mayHaveParts = this.#mayHaveParts(table);
    if (limit > 0 || mayHaveParts) {
      const documents = await this.#documents(table, { where, limit }, table.key);
      if (documents.length === 0) return 0;
      filter = { ...filter, _id: { $in: documents.map(({ _id }) => _id) } };
      const rows = documents.map((document) => rowOf<Row>(document, table.key));
      if (mayHaveParts) await this.#removeParts(table, rows);
    }
    return (await this.#collection(table).deleteMany(filter, this.#writing())).deletedCount;
  }

  /** Reads and changes the account in one command: so a conflict shows before the work begins. */
  async #touchedAccount(): Promise<Document[]> {
    const { user } = this.#scope;
    const change = { $inc: { touched: 1 } };
    const account = await this.#collection(accounts).findOneAndUpdate({ user }, change, this.#writing());
    this.#isTouched = true;
    return account === null ? [] : [account];
  }

  async touchAccount(): Promise<void> {
    const { user } = this.#scope;
    if (user === null || this.#isTouched) return;
    const change = { $inc: { touched: 1 }, ...(this.#hasParts === true && { $set: { hasParts: true } }) };
    await this.#collection(accounts).updateOne({ user }, change, this.#writing());
  }

  #collection<Row>({ name }: Table<Row>): Collection<Document> {
    return this.#scope.db.collection(name);
  }

  #reading(): { session: ClientSession } | { readConcern: { level: 'snapshot' } } {
    if (this.#scope.session !== null) return { session: this.#scope.session };
    if (this.#hasRead) throw new SecondStatement();
    this.#hasRead = true;
    return { readConcern: { level: 'snapshot' } };
  }

  #writing(): { session: ClientSession } {
    return { session: this.#scope.session! };
  }

  #documents<Row>(table: Table<Row>, query: Query<Row>, columns?: Columns<Row>): Promise<Document[]> {
    const { where, order, limit = 0 } = query;
    const fields = columns && [...columns, ...table.key, 'parts'];
    const projection = fields && Object.fromEntries(fields.map((field) => [field, 1]));
    const options = { ...this.#reading(), batchSize, limit, sort: sortOf(order), ...(projection && { projection }) };
    return this.#collection(table).find(filterOf(where), options).toArray();
  }

  async #joinParts<Row>(table: Table<Row>, document: Document): Promise<void> {
    const row = rowOf<Row>(document, table.key);
    const pieces = await this.find(parts, { where: partsOf(table, row), order: ['part'] });
    if (pieces.length !== document.parts) {
      throw damagedRow(table, row, `expected ${document.parts} parts, found ${pieces.length}`);
    }
    document[bytesColumnOf(table)!] = Buffer.concat(pieces.map(({ bytes }) => bytes));
  }

  async #removeParts<Row>(table: Table<Row>, rows: readonly Row[]): Promise<void> {
    const owners = rows.map((row) => partsOf(table, row));
    const users = [...new Set(owners.map(({ user }) => user))];
    await this.remove(parts, { user: { in: users }, table: table.name, row: { in: owners.map(({ row }) => row) } });
  }

  #mayHaveParts<Row>(table: Table<Row>): boolean {
    return this.#hasParts !== false && table.name !== parts.name && bytesColumnOf(table) !== undefined;
  }
}

function bytesColumnOf<Row>({ columns }: Table<Row>): (keyof Row & string) | undefined {
  return (Object.keys(columns) as (keyof Row & string)[]).find((column) => columns[column] === 'bytes');
}

function partsOf<Row>(table: Table<Row>, row: Row): Pick<PartRow, 'user' | 'table' | 'row'> {
  return { user: row[table.user!] as string, table: table.name, row: JSON.stringify(Object.values(keyOf(table, row))) };
}

/** Moves bytes that are longer than a part from the document to parts. */
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
