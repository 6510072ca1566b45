// The database of a running e-mission server.
import { MongoClient } from 'mongodb';
import { databaseNameIn, withoutCredentials } from '../../model/address.ts';
import { errorText, MobilityError } from '../../model/errors.ts';
import type { Found, Part } from '../format.ts';
import { SourceBroken } from '../source-broken.ts';
import { type CollectionName, collectionNames, type EmissionDocument, readDatabase } from './database.ts';

/** The usual name of the database. */
const usualName = 'Stage_database';

const connectMs = 10_000;
const documentsAtOnce = 1000;

/** True for an address of a database. */
export const isDatabaseAddress = (source: string): boolean => /^mongodb(\+srv)?:\/\//i.test(source);

/**
 * A part that reads from a server. It only reads, and may run beside the server that writes. Throws `MOBILITY_USAGE`
 * when nobody answers there, or no collection of e-mission is in the database.
 */
export async function openLive(address: string): Promise<Part> {
  const name = withoutCredentials(address);
  const count = await withDatabase(address, async (client) => {
    const database = client.db(databaseNameIn(address) ?? usualName);
    const found = (await database.listCollections({}, { nameOnly: true }).toArray()).map((one) => one.name);
    if (!found.some((one) => (collectionNames as readonly string[]).includes(one))) {
      throw new MobilityError(
        'MOBILITY_USAGE',
        `expected an e-mission database at ${name} with collections such as Stage_timeseries, found ` +
          `${found.length === 0 ? 'an empty one' : found.slice(0, 5).join(', ')}; name the database in the address, as in …/${usualName}`,
      );
    }
    const counts = await Promise.all(collectionNames.map((one) => database.collection(one).estimatedDocumentCount()));
    return counts.reduce((sum, one) => sum + one, 0);
  });
  return {
    name,
    format: 'emission-live',
    size: count,
    names: 'people',
    read: ({ onBytes }) => readLive(address, () => onBytes(1)),
  };
}

async function* readLive(address: string, onDocument: () => void): AsyncGenerator<Found> {
  const client = new MongoClient(address, { serverSelectionTimeoutMS: connectMs, appName: 'mobility import' });
  try {
    const database = client.db(databaseNameIn(address) ?? usualName);
    const open = (collection: CollectionName): AsyncIterable<EmissionDocument> =>
      counted(
        // In the order in which the server wrote them, as a dump has them.
        database
          .collection(collection)
          .find({}, { sort: { $natural: 1 }, batchSize: documentsAtOnce, promoteLongs: true, noCursorTimeout: false }),
        onDocument,
      );
    yield* readDatabase(open);
  } catch (error) {
    if (error instanceof MobilityError) throw error;
    throw new SourceBroken(`the database breaks off: ${errorText(error)}: everything before it was read`, {
      cause: error,
    });
  } finally {
    await client.close();
  }
}

async function* counted(
  documents: AsyncIterable<EmissionDocument>,
  onDocument: () => void,
): AsyncGenerator<EmissionDocument> {
  for await (const document of documents) {
    onDocument();
    yield document;
  }
}

async function withDatabase<T>(address: string, work: (client: MongoClient) => Promise<T>): Promise<T> {
  let client: MongoClient | null = null;
  try {
    client = new MongoClient(address, { serverSelectionTimeoutMS: connectMs, appName: 'mobility import' });
    return await work(client);
  } catch (error) {
    if (error instanceof MobilityError) throw error;
    throw new MobilityError('MOBILITY_USAGE', `cannot read ${withoutCredentials(address)}: ${errorText(error)}`, {
      cause: error,
    });
  } finally {
    await client?.close();
  }
}
