// Connects to MongoDB, and refuses servers that cannot keep the promises of the store.
import { type Document, MongoClient, ReadConcern } from 'mongodb';
import { databaseNameIn, withoutCredentials } from '../../model/address.ts';
import { errorText, MobilityError } from '../../model/mobility-error.ts';
import type { OpenOptions } from '../rows/rows.ts';
import { initiation, toStoreError } from './mongodb-errors.ts';

/** `make: true` also creates what an existing store lacks. */
export interface MongoOptions extends Pick<OpenOptions, 'make' | 'onWarning'> {
  /** s; lost connections, fail-over and conflicts are retried for this time. Default 20. */
  retrySeconds?: number;
  /** For tests: receives every command that is sent to the server. */
  onCommand?: (command: Document) => void;
}

export type Connection = Awaited<ReturnType<typeof connect>>;

/** The name of this program in MongoDB's logs and lists of connections. */
export const appName = 'mobility';

const defaultDatabase = 'mobility';
const defaultRetrySeconds = 20;
const leastWireVersion = 17; // MongoDB 6.0

export async function connect(fullAddress: string, options: MongoOptions) {
  const address = withoutCredentials(fullAddress);
  const retryMs = (options.retrySeconds ?? defaultRetrySeconds) * 1000;
  const { client, database } = createClient(fullAddress, address, retryMs, options.onCommand);
  try {
    const hello = await client.db('admin').command({ hello: 1 });
    const isSharded = hello.msg === 'isdbgrid';
    refuseUnsupported(hello, isSharded, address);
    // The server's time at the start of this process: `serverClock` adds `performance.now()`.
    const clock: number = (hello.localTime.getTime() - performance.now()) / 1000;
    // Overrides a weaker write concern in the address: every write must be durable.
    const writeConcern = { w: 'majority' as const, journal: true, wtimeoutMS: retryMs };
    const db = client.db(database, { readConcern: new ReadConcern('majority'), writeConcern });
    return { address, client, db, isSharded, retryMs, clock, writeConcern };
  } catch (error) {
    await client.close();
    throw toStoreError(error, address);
  }
}

function createClient(fullAddress: string, address: string, retryMs: number, onCommand: MongoOptions['onCommand']) {
  const isSet = (option: string): boolean => new RegExp(`[?&]${option}=`, 'i').test(fullAddress);
  try {
    const database = databaseNameIn(fullAddress) ?? defaultDatabase;
    checkDatabase(database);
    const client = new MongoClient(fullAddress, {
      appName,
      readPreference: 'primary',
      retryWrites: true,
      // The limit for a server that does not answer. The address may set other limits.
      ...(!isSet('serverSelectionTimeoutMS') && { serverSelectionTimeoutMS: retryMs }),
      ...(!isSet('socketTimeoutMS') && { socketTimeoutMS: Math.max(retryMs, 60_000) }),
      monitorCommands: onCommand !== undefined,
    });
    client.on('commandStarted', ({ command }) => onCommand?.(command));
    return { client, database };
  } catch (error) {
    throw new MobilityError(
      'MOBILITY_STORE_ADDRESS',
      `expected an address such as mongodb://host:27017/mobility?replicaSet=rs0, found ${address}: ${errorText(error)}`,
      { cause: error },
    );
  }
}

function checkDatabase(database: string): void {
  if (['admin', 'config', 'local'].includes(database)) {
    throw new Error(
      `${database} belongs to the server and allows no transactions: name another database; if users are defined in ${database}, add authSource=${database}`,
    );
  }
  if (/[\s/\\."$*<>:|?\0]/.test(database) || Buffer.byteLength(database) > 63) {
    throw new Error('a database name must have at most 63 bytes, no blanks and none of / \\ . " $ * < > : | ?');
  }
}

function refuseUnsupported(hello: Document, isSharded: boolean, address: string): void {
  if (hello.maxWireVersion < leastWireVersion) {
    const text = `expected MongoDB 6.0 or later at ${address}, found wire version ${hello.maxWireVersion}: update the server`;
    throw new MobilityError('MOBILITY_UNSUPPORTED', text);
  }
  if (!isSharded && typeof hello.setName !== 'string') {
    const text =
      `expected a replica set or a sharded cluster at ${address}, found a standalone server, which has no transactions: ` +
      `start it with \`--replSet rs0\` and run once \`${initiation}\``;
    throw new MobilityError('MOBILITY_UNSUPPORTED', text);
  }
}
