// Creates collections, indexes and shards of a store, and keeps its format.
import { createHash } from 'node:crypto';
import { type Collection, type Document, type IndexDescription, MongoServerError } from 'mongodb';
import { errorText, MobilityError } from '../../model/mobility-error.ts';
import { NoStore } from '../../model/store-errors.ts';
import type { Table } from '../rows/rows.ts';
import { allTables, storeFormat } from '../rows/tables.ts';
import type { Connection, MongoOptions } from './connect.ts';
import { parts } from './mongodb-rows.ts';
import { inTransaction, retry } from './mongodb-transactions.ts';

const tables: readonly Table<never>[] = [...allTables, parts as Table<never>];

/** Returns the indexes of each collection, without the index on `_id`. */
export function mongoIndexes(): Record<string, IndexDescription[]> {
  return Object.fromEntries(tables.map((table) => [table.name, indexesOf(table)] as const));
}

function indexesOf({ key, indexes }: Table<never>): IndexDescription[] {
  return [{ columns: key, unique: true as const }, ...indexes].map(({ columns, unique }) => ({
    key: Object.fromEntries(columns.map((column: string) => [column, 1])),
    ...(unique && { unique }),
  }));
}

/** A store with another digest has other indexes: `ensureStore` creates those that are missing. */
const layout = createHash('sha256').update(JSON.stringify(mongoIndexes())).digest('hex').slice(0, 16);

interface AboutRow {
  _id: 'format' | 'ping' | 'try';
  version?: number;
  layout?: string;
  count?: number;
}

/** The collection with the format of the store, and with the counter that `ping` writes. */
export const aboutOf = ({ db }: Connection): Collection<AboutRow> => db.collection('about');

/**
 * Makes sure that the database holds a store. Throws `MOBILITY_STORE_ADDRESS` if there is none and
 * none may be created, `MOBILITY_STORE_VERSION` for another format or foreign rows,
 * `MOBILITY_UNSUPPORTED` for a server without a command of the store.
 */
export async function ensureStore(connection: Connection, { make, onWarning }: MongoOptions): Promise<void> {
  const format = await readFormat(connection);
  if (format?.layout === layout && make !== true) return;
  if (format === null && make === false) throw new NoStore(connection.address);
  if (format === null) await refuseForeignRows(connection);
  for (const [name, indexes] of Object.entries(mongoIndexes()))
    await retry(connection, () => connection.db.collection(name).createIndexes(indexes));
  if (connection.isSharded) await shardCollections(connection, onWarning ?? (() => {}));
  await tryCommands(connection);
  // The format is written last, so that the next opening completes an interrupted opening.
  await retry(connection, () =>
    aboutOf(connection).updateOne(
      { _id: 'format' },
      { $setOnInsert: { version: storeFormat }, $set: { layout } },
      { upsert: true },
    ),
  );
}

async function readFormat(connection: Connection): Promise<AboutRow | null> {
  const format = await retry(connection, () => aboutOf(connection).findOne({ _id: 'format' }));
  if (format === null || format.version === storeFormat) return format;
  throw new MobilityError(
    'MOBILITY_STORE_VERSION',
    `expected a store of format ${storeFormat} at ${connection.address}, found format ${format.version}: use the version of this program that wrote it`,
  );
}

async function refuseForeignRows(connection: Connection): Promise<void> {
  for (const { name } of tables) {
    const row = await retry(connection, () => connection.db.collection(name).findOne({}, { projection: { _id: 1 } }));
    if (row === null || (await readFormat(connection)) !== null) continue; // another process has created the store meanwhile
    throw new MobilityError(
      'MOBILITY_STORE_VERSION',
      `expected an empty database or a store at ${connection.address}, found rows in ${name} but no store format in the collection about: name another database in the address`,
    );
  }
}

/** Shards the collections by user, so all rows of a user in a table are on one shard. */
async function shardCollections(connection: Connection, onWarning: (message: string) => void): Promise<void> {
  const admin = connection.client.db('admin');
  for (const table of tables.filter(({ user }) => user !== null)) {
    const command: Document = {
      shardCollection: `${connection.db.databaseName}.${table.name}`,
      key: { [table.user as string]: 1 },
    };
    await retry(connection, () => admin.command(command)).catch((error) =>
      onWarning(
        `${table.name} is not sharded: ${errorText(error)}; run \`mobility store init\` with the role clusterManager`,
      ),
    );
  }
}

/** Tries each command that the store sends, before the store has data. */
async function tryCommands(connection: Connection): Promise<void> {
  const { db, client, address } = connection;
  const rows = aboutOf(connection);
  const one = { _id: 'try' } as const;
  let tried = '';
  const sent = <T>(command: string, answer: Promise<T>): Promise<T> => {
    tried = command;
    return answer;
  };
  try {
    await inTransaction(connection, async (session) => {
      const within = { session };
      await sent('findAndModify', rows.findOneAndUpdate(one, { $inc: { count: 1 } }, { ...within, upsert: true }));
      await sent('update', rows.updateOne(one, { $set: { count: 2 } }, within));
      await sent('find', rows.find({ _id: { $in: ['try'] } }, within).toArray());
      const sums = [{ $match: one }, { $group: { _id: null, count: { $sum: '$count' } } }];
      await sent('aggregate', rows.aggregate(sums, within).toArray());
      await sent('delete', rows.deleteMany(one, within));
      tried = 'commitTransaction';
    });
    await retry(connection, () => sent('find', rows.findOne(one)));
    await retry(connection, () => sent('dbStats', client.db(db.databaseName).command({ dbStats: 1 })));
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error;
    throw new MobilityError(
      'MOBILITY_UNSUPPORTED',
      `expected a server with every command of the store at ${address}, found that it refuses ${tried}: ${errorText(error)}; docs/storage-mongodb.md lists servers`,
      { cause: error },
    );
  }
}
