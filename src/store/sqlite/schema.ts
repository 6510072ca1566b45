// Tables and indexes of the two kinds of file, and the steps from one version of the file format to the next.
import { longestLease } from '../lease-end.ts';
import type { Connection } from './driver.ts';
import type { SummedTable } from './row-sums.ts';

/** `usercache`: what phones push, errors, people. `timeseries`: the long term and everything derived, documents too. */
export type Role = 'usercache' | 'timeseries';

/** Which file of a store a file is; written into it, so that files of different stores are not mixed up unnoticed. */
export interface FileAbout {
  role: Role;
  shard: number;
  shards: number;
}

/** Lifts a file from one version to the next, inside a transaction. */
export type Migration = (connection: Connection, about: FileAbout) => void;

const common = `
  CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE user_ids (id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE);
  CREATE TABLE keys (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
`;

const documentsTable = `
  CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    user INTEGER NOT NULL,
    key TEXT NOT NULL,
    write_ts REAL NOT NULL,
    data TEXT NOT NULL
  );
  CREATE UNIQUE INDEX documents_identity ON documents (user, key);
`;

const usercacheTables = `
  CREATE TABLE waiting (
    id INTEGER PRIMARY KEY,
    user INTEGER NOT NULL,
    key INTEGER NOT NULL,
    write_ts REAL NOT NULL,
    ts REAL,
    revision INTEGER NOT NULL,
    failed_first_ts REAL,
    failed_tries INTEGER,
    entry TEXT NOT NULL
  );
  CREATE UNIQUE INDEX waiting_identity ON waiting (user, key, write_ts);
  CREATE TABLE errors (
    row INTEGER PRIMARY KEY,
    user INTEGER NOT NULL,
    id TEXT NOT NULL,
    key TEXT,
    write_ts REAL,
    reason TEXT NOT NULL,
    message TEXT NOT NULL,
    first_ts REAL NOT NULL,
    last_ts REAL NOT NULL,
    tries INTEGER NOT NULL,
    entry TEXT NOT NULL
  );
  CREATE UNIQUE INDEX errors_id ON errors (user, id);
  CREATE INDEX errors_identity ON errors (user, key, write_ts);
  ${documentsTable}
  CREATE TABLE profiles (user INTEGER PRIMARY KEY, profile TEXT NOT NULL);
  CREATE TABLE users (uuid TEXT PRIMARY KEY, user_email TEXT NOT NULL UNIQUE, update_ts REAL NOT NULL) WITHOUT ROWID;
  CREATE TABLE tokens (
    hash TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    created_ts REAL NOT NULL,
    expires_ts REAL
  ) WITHOUT ROWID;
  CREATE INDEX tokens_user ON tokens (user_id, created_ts);
  INSERT INTO counters VALUES ('revision', 0), ('ping', 0);
`;

const timeseriesTables = `
  CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    user INTEGER NOT NULL,
    key INTEGER NOT NULL,
    write_ts REAL NOT NULL,
    ts REAL,
    latitude REAL,
    longitude REAL,
    zone TEXT,
    entry TEXT NOT NULL
  );
  CREATE UNIQUE INDEX entries_identity ON entries (user, key, write_ts);
  CREATE INDEX entries_ts ON entries (user, key, ts, write_ts) WHERE ts IS NOT NULL;
  CREATE INDEX entries_zone ON entries (user, write_ts) WHERE zone IS NOT NULL;
  CREATE INDEX entries_zoneless ON entries (user, key, write_ts, ts) WHERE zone IS NULL;
  CREATE TABLE trips (
    id INTEGER PRIMARY KEY,
    user INTEGER NOT NULL,
    chain_ts REAL NOT NULL,
    kind TEXT NOT NULL,
    start_ts REAL NOT NULL,
    end_ts REAL NOT NULL,
    day TEXT NOT NULL,
    settled_ts REAL,
    record TEXT NOT NULL
  );
  CREATE UNIQUE INDEX trips_chain ON trips (user, chain_ts);
  CREATE INDEX trips_settled ON trips (user, settled_ts, chain_ts);
  CREATE INDEX trips_day ON trips (user, day);
  CREATE TABLE pipeline (user INTEGER PRIMARY KEY, due INTEGER NOT NULL, state TEXT NOT NULL);
  CREATE TABLE leases (user INTEGER PRIMARY KEY, owner TEXT NOT NULL, fence INTEGER NOT NULL, expires_ts REAL NOT NULL);
  INSERT INTO counters VALUES ('fence', 0);
`;

function createTables(connection: Connection, about: FileAbout): void {
  connection.exec(common);
  connection.exec(about.role === 'usercache' ? usercacheTables : timeseriesTables);
  const insert = connection.prepare('INSERT INTO about VALUES (?, ?)');
  for (const [name, value] of Object.entries(about)) insert.run(name, String(value));
}

/** When each trip was last written: apps ask for what is new since then. */
function addWrittenTime(connection: Connection, { role }: FileAbout): void {
  if (role === 'timeseries') connection.exec('ALTER TABLE trips ADD COLUMN written_ts REAL');
}

/** Studies and their members, the origin of a token, and its last use. */
function addStudies(connection: Connection, { role }: FileAbout): void {
  if (role !== 'usercache') return;
  connection.exec(`
    CREATE TABLE studies (name TEXT PRIMARY KEY, settings TEXT NOT NULL, joined TEXT NOT NULL) WITHOUT ROWID;
    ALTER TABLE users ADD COLUMN study TEXT;
    ALTER TABLE users ADD COLUMN subgroup TEXT;
    ALTER TABLE tokens ADD COLUMN kind TEXT;
    ALTER TABLE tokens ADD COLUMN used_ts REAL;
  `);
}

/**
 * Documents lie beside the trips they derive from, so that one transaction covers both. Those of older stores follow
 * when both files are open, see `moveDocuments`; then the table that they leave goes.
 */
function addDocuments(connection: Connection, { role }: FileAbout): void {
  if (role === 'timeseries') connection.exec(documentsTable);
}

/**
 * When the service received each entry first. What is there already counts as received now: the default of the new
 * column says so of every row at once, without a write to any.
 */
function addReceipts(connection: Connection, { role }: FileAbout): void {
  const received = `received_ts REAL NOT NULL DEFAULT ${Date.now() / 1000}`;
  if (role === 'timeseries') connection.exec(`ALTER TABLE entries ADD COLUMN ${received}`);
  if (role !== 'usercache') return;
  connection.exec(`
    ALTER TABLE waiting ADD COLUMN ${received};
    ALTER TABLE waiting ADD COLUMN kept INTEGER;
    ALTER TABLE errors ADD COLUMN ${received};
  `);
}

/**
 * Entries lie in chunks, see `chunks/form.ts`. Rows of older stores stay where they are until their user is met, or the
 * store is opened and small, see `fold.ts`; a new store has none.
 */
function addChunks(connection: Connection, { role }: FileAbout): void {
  if (role !== 'timeseries') return;
  connection.exec(`
    CREATE TABLE chunks (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      user INTEGER NOT NULL,
      key INTEGER NOT NULL,
      first REAL NOT NULL,
      last REAL NOT NULL,
      count INTEGER NOT NULL,
      size INTEGER NOT NULL,
      first_ts REAL,
      last_ts REAL,
      zones INTEGER NOT NULL,
      times BLOB NOT NULL,
      entries BLOB NOT NULL
    );
    CREATE UNIQUE INDEX chunks_written ON chunks (user, key, first);
    CREATE INDEX chunks_ts ON chunks (user, key, first_ts, id, last_ts, count);
    CREATE INDEX chunks_zoned ON chunks (user, key, first) WHERE zones > 0;
    CREATE INDEX chunks_zoneless ON chunks (user, key, first) WHERE zones < 2;
  `);
  if (connection.prepare('SELECT 1 FROM entries LIMIT 1').get() === undefined) connection.exec('DROP TABLE entries');
}

/**
 * Who may be written about: a user from their registration to their erasure. Registered users of older stores are
 * admitted when all files are open, see `admitRegistered`.
 */
function addAdmission(connection: Connection, { role }: FileAbout): void {
  if (role === 'usercache') connection.exec('ALTER TABLE user_ids ADD COLUMN admitted INTEGER NOT NULL DEFAULT 0');
}

/** How long each lease lasts: one that ends later than that was taken under a clock that was ahead. */
function addLeaseLength(connection: Connection, { role }: FileAbout): void {
  const column = `seconds REAL NOT NULL DEFAULT ${longestLease}`;
  if (role === 'timeseries') connection.exec(`ALTER TABLE leases ADD COLUMN ${column}`);
}

/** What format 7 adds. */
function addAdmissionAndLeaseLength(connection: Connection, about: FileAbout): void {
  addAdmission(connection, about);
  addLeaseLength(connection, about);
}

/** A checksum for each row of the tables of few rows: those that are there have none until they are written again. */
function addRowSums(connection: Connection, { role }: FileAbout): void {
  const here: Record<Role, readonly SummedTable[]> = {
    usercache: ['errors', 'profiles', 'users', 'tokens', 'studies'],
    timeseries: ['trips', 'documents', 'pipeline'],
  };
  for (const table of here[role]) connection.exec(`ALTER TABLE ${table} ADD COLUMN sum INTEGER`);
}

/** Chunks hold their texts as columns of values; those of earlier formats stay until they are written again. */
function allowColumns(): void {}

/**
 * What waits lies in batches, a row for each put, see `batches.ts`. Rows of older stores follow when the file is open,
 * see `fold-waiting.ts`; then the table that they leave goes.
 */
function addBatches(connection: Connection, { role }: FileAbout): void {
  if (role !== 'usercache') return;
  connection.exec(`
    CREATE TABLE batches (
      id INTEGER PRIMARY KEY,
      user INTEGER NOT NULL,
      size INTEGER NOT NULL,
      texts INTEGER NOT NULL,
      count INTEGER NOT NULL,
      first REAL NOT NULL,
      last REAL NOT NULL,
      first_ts REAL,
      last_ts REAL,
      due_ts REAL NOT NULL,
      keys BLOB NOT NULL,
      gone BLOB,
      columns BLOB NOT NULL,
      entries BLOB NOT NULL
    );
    CREATE INDEX batches_user ON batches (user, last, first, count, due_ts);
  `);
  if (connection.prepare('SELECT 1 FROM waiting LIMIT 1').get() === undefined) connection.exec('DROP TABLE waiting');
}

/** Texts that wait may lie in columns; batches of format 10 stay as they are until they are moved. */
function allowHeldPieces(): void {}

/**
 * Trips and documents may lie as bytes of a form of their own; those of earlier formats stay until they are written.
 */
function allowPackedValues(): void {}

/** Step `i` lifts a file of version `i` to `i + 1`; an empty file has version 0. Steps are only ever added. */
export const migrations: readonly Migration[] = [
  createTables,
  addWrittenTime,
  addStudies,
  addDocuments,
  addReceipts,
  addChunks,
  addAdmissionAndLeaseLength,
  addRowSums,
  allowColumns,
  addBatches,
  allowHeldPieces,
  allowPackedValues,
];
