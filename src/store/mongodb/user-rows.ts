// The rows of one user: what each collection holds, and statements that name the user and belong to their transaction.
import {
  type AggregationCursor,
  type AnyBulkWriteOperation,
  type Binary,
  type BulkWriteOptions,
  type ClientSession,
  type Collection,
  type Db,
  type Document,
  type FindCursor,
  type FindOneAndUpdateOptions,
  type FindOptions,
  type ObjectId,
  ReadConcern,
  type UpdateOptions,
} from 'mongodb';
import type { TokenKind } from '../../model/user.ts';
import type { PipelineState } from '../store.ts';

/** Every row of a user. */
export interface UserRow {
  _id: ObjectId;
  user_id: string;
}

/** A row with payloads, see `rows.ts`. */
export interface PayloadRow extends UserRow {
  /** Of the write that made it; never used again. Parts of payloads are found by it. */
  revision: ObjectId;
  /** There are parts in documents of their own. */
  in_parts?: true;
  /** Of payloads that are large. */
  bytes?: number;
}

/** An entry, in the usercache and in the timeseries. */
export interface EntryRow extends PayloadRow {
  key: string;
  write_ts: number;
  /** Data time; absent if the entry has none. */
  ts?: number;
  /** When the service received it first; missing in rows of programs that did not note it, see `receivedOf`. */
  received_ts?: number;
}

/** What is known of earlier failures of an entry that was taken back from the errors. */
export interface PastFailures {
  first_ts: number;
  tries: number;
}

/** A waiting entry. */
export interface WaitingRow extends EntryRow {
  /** See `WaitingEntry.kept`. */
  kept?: true;
  failed?: PastFailures;
}

/** A moved entry as programs up to version 2 of the layout kept it, see `fold.ts`. */
export interface MovedRow extends EntryRow {
  /** Hash of the content, to compare it with other content. */
  hash: string;
  /** Whether the entry names a valid zone; missing where it names none and does not affect trips. */
  zoned?: boolean;
  zone?: string;
}

/** A chunk of entries of one key. Those of a key share all times among them: each time lies in the stretch of one. */
export interface ChunkDocument extends UserRow {
  key: string;
  /** Its stretch of `write_ts`: from the first up to the second, which is not included. */
  from: number;
  until: number;
  /** Changes with every write. Parts are found by it. */
  revision: ObjectId;
  count: number;
  size: number;
  /** `write_ts` of its first and last entry, and the least and the greatest data time. Missing in an empty chunk. */
  first: number;
  last: number;
  first_ts: number | null;
  last_ts: number | null;
  /** See `zonesNamed`. */
  zones: number;
  /** Whether an entry names a zone. */
  named: boolean;
  /** Whether an entry that affects trips names none. */
  bare: boolean;
  times: Binary;
  /** Missing in an empty chunk, and where the bytes are in parts. */
  entries?: Binary;
  in_parts?: true;
  entries_parts?: number;
}

/** An entry set aside. */
export interface FailedRow extends PayloadRow, PastFailures {
  id: string;
  key: string | null;
  write_ts: number | null;
  reason: string;
  message: string;
  last_ts: number;
  received_ts?: number;
}

/** What phones pull. */
export interface DocumentRow extends PayloadRow {
  key: string;
  write_ts: number;
}

/** A link of the chain of trips, with what it is found by. */
export interface TripRow extends PayloadRow {
  chain_ts: number;
  kind: string;
  start_ts: number;
  end_ts: number;
  day: string;
  settled_ts: number | null;
  /** Missing in rows of programs that did not note it. */
  written_ts?: number;
  hash: string;
}

/** Where the pipeline stands. */
export interface StateRow extends UserRow, Partial<PipelineState> {}

/** The lease of the user; times in ms by the server's clock. */
export interface LeaseRow extends UserRow {
  /** null when it was given back. */
  owner: string | null;
  fence: number;
  expires_ms: number;
  /** Missing in rows of programs that did not note it. */
  seconds?: number;
  /** New with every lease. */
  mark?: ObjectId;
  /** In which its owner has its transactions. */
  sessions?: Binary[];
}

/** That rows of one kind may be written about the user. */
export interface MemberRow extends UserRow {
  of: 'usercache' | 'errors' | 'profiles' | 'tokens';
  writes: number;
}

/** A piece of a payload that is too large for its row. */
export interface PartRow extends UserRow {
  /** Revision of the row. */
  row: ObjectId;
  /** Of the payload. */
  name: string;
  n: number;
  /** Of JSON. */
  text: string;
  /** Of a chunk. */
  bytes?: Binary;
}

/** A token. */
export interface TokenRow {
  /** The hash. */
  _id: string;
  user_id: string;
  created_ts: number;
  expires_ts: number | null;
  kind?: TokenKind;
  used_ts?: number;
}

/** What each collection of users' rows holds. */
export interface RowTypes {
  tokens: TokenRow;
  profiles: PayloadRow;
  usercache: WaitingRow;
  documents: DocumentRow;
  errors: FailedRow;
  timeseries: MovedRow;
  chunks: ChunkDocument;
  trips: TripRow;
  pipeline: StateRow;
  leases: LeaseRow;
  members: MemberRow;
  parts: PartRow;
}

/** Every collection of which each row belongs to one user. */
export type UserCollection = keyof RowTypes;

/** The collections that hold entries. */
export type EntryCollection = 'usercache' | 'timeseries';

/** How many rows the updates of a bulk write matched, and how many its deletions removed. */
export interface BulkCounts {
  matchedCount: number;
  deletedCount: number;
}

/** Statements on the rows of one user in one collection. Filters need not name the user. */
export interface Statements<Row extends { user_id: string }> {
  find(filter: Document, options?: FindOptions): FindCursor<Row>;
  findOne(filter: Document, options?: FindOptions): Promise<Row | null>;
  /** Reads some fields only. */
  pick<Field extends keyof Row & string>(
    filter: Document,
    fields: readonly Field[],
    options?: FindOptions,
  ): FindCursor<Pick<Row, Field>>;
  count(filter?: Document): Promise<number>;
  distinct(field: keyof Row & string): Promise<string[]>;
  /** Aggregates the rows that match `filter`. */
  aggregate<Result extends Document>(filter: Document, stages: Document[]): AggregationCursor<Result>;
  /** Sends operations, which name the user themselves, in any order. */
  bulkWrite(operations: readonly AnyBulkWriteOperation<Document>[], options?: BulkWriteOptions): Promise<BulkCounts>;
  /** Returns how many rows matched. */
  updateOne(filter: Document, change: Document | Document[], options?: UpdateOptions): Promise<number>;
  findOneAndUpdate(filter: Document, change: Document[], options: FindOneAndUpdateOptions): Promise<Row | null>;
  /** Removes the row, if it is there. */
  deleteOne(filter: Document): Promise<void>;
  /** Returns how many rows went. */
  deleteMany(filter?: Document, options?: { maxTimeMS?: number }): Promise<number>;
}

/** The rows of one user. */
export interface UserRows {
  readonly userId: string;
  rows<Name extends UserCollection>(collection: Name): Statements<RowTypes[Name]>;
}

/** The rows of one user in a transaction. What takes a `Tx` is done as a whole or not at all. */
export interface Tx extends UserRows {
  readonly session: ClientSession;
}

/**
 * The rows of a user outside of any transaction. Chunks are rewritten while others read: each statement sees them as of
 * one moment.
 */
export function userRows(db: Db, userId: string): UserRows {
  const atOnce = { readConcern: new ReadConcern('snapshot') };
  return {
    userId,
    rows: (collection) => statementsOn(db.collection(collection), userId, {}, collection === 'chunks' ? atOnce : {}),
  };
}

/** The rows of a user in the transaction of a session. */
export function txOf(db: Db, userId: string, session: ClientSession): Tx {
  return { userId, session, rows: (collection) => statementsOn(db.collection(collection), userId, { session }) };
}

/** Rows per answer, which also ends at 16 MiB; the default of servers is 101. */
const batchSize = 5000;

function statementsOn<Row extends { user_id: string }>(
  collection: Collection<Document>,
  userId: string,
  within: { session?: ClientSession },
  reading: { readConcern?: ReadConcern } = {},
): Statements<Row> {
  const own = (filter: Document): Document => ({ ...filter, user_id: userId });
  const find = <Found extends Document>(filter: Document, options: FindOptions): FindCursor<Found> =>
    collection.find<Found>(own(filter), { batchSize, ...options, ...within, ...reading });
  return {
    find: (filter, options = {}) => find(filter, options),
    findOne: (filter, options = {}) => collection.findOne<Row>(own(filter), { ...options, ...within, ...reading }),
    pick: (filter, fields, options = {}) => {
      const projection: Document = fields.includes('_id' as never) ? {} : { _id: 0 };
      for (const field of fields) projection[field] = 1;
      return find(filter, { ...options, projection });
    },
    count: (filter = {}) => collection.countDocuments(own(filter), within),
    distinct: (field) => collection.distinct(field, own({}), within),
    aggregate: (filter, stages) =>
      collection.aggregate([{ $match: own(filter) }, ...stages], { ...within, ...reading }),
    bulkWrite: (operations, options = {}) =>
      collection.bulkWrite([...operations], { ordered: false, ...options, ...within }),
    updateOne: async (filter, change, options = {}) =>
      (await collection.updateOne(own(filter), change, { ...options, ...within })).matchedCount,
    findOneAndUpdate: async (filter, change, options) =>
      (await collection.findOneAndUpdate(own(filter), change, { ...options, ...within })) as Row | null,
    deleteOne: async (filter) => {
      await collection.deleteOne(own(filter), within);
    },
    deleteMany: async (filter = {}, options = {}) =>
      (await collection.deleteMany(own(filter), { ...options, ...within })).deletedCount,
  };
}
