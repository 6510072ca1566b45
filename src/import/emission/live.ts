// Reads the database of a running e-mission server.
import { type Db, MongoClient } from 'mongodb';
import { databaseNameIn, withoutCredentials } from '../../model/address.ts';
import { errorText, MobilityError, usageError } from '../../model/mobility-error.ts';
import type { Found, Part } from '../import-format.ts';
import { SourceBroken } from '../source-error.ts';
import { collectionNames, type EmissionDocument, isCollectionName, readDatabase } from './database.ts';

const usualName = 'Stage_database'; // the name of e-mission's database, used if the address names no database
const connectMs = 10_000; // ms until an unreachable server is an error

export const isDatabaseAddress = (source: string): boolean => /^mongodb(\+srv)?:\/\//i.test(source);

const clientOf = (address: string): MongoClient =>
  new MongoClient(address, { serverSelectionTimeoutMS: connectMs, appName: 'mobility import' });

const databaseOf = (client: MongoClient, address: string): Db => client.db(databaseNameIn(address) ?? usualName);

/** Throws `MOBILITY_USAGE` if the database does not answer, or has no e-mission collection. */
export async function openLive(address: string): Promise<Part> {
  const name = withoutCredentials(address);
  let client: MongoClient | null = null;
  try {
    client = clientOf(address);
    const database = databaseOf(client, address);
    const found = (await database.listCollections({}, { nameOnly: true }).toArray()).map((one) => one.name);
    if (!found.some(isCollectionName)) {
      throw usageError(
        `expected an e-mission database at ${name} with collections such as Stage_timeseries, found ` +
          `${found.length === 0 ? 'an empty database' : found.slice(0, 5).join(', ')}; name the database in the address, as in …/${usualName}`,
      );
    }
    const counts = await Promise.all(collectionNames.map((one) => database.collection(one).estimatedDocumentCount()));
    return {
      name,
      format: 'emission-live',
      size: counts.reduce((sum, one) => sum + one, 0),
      names: 'people',
      read: ({ onBytes }) => readLive(address, () => onBytes(1)),
    };
  } catch (error) {
    if (error instanceof MobilityError) throw error;
    throw usageError(`cannot read ${name}: ${errorText(error)}`, { cause: error });
  } finally {
    await client?.close();
  }
}

async function* readLive(address: string, onDocument: () => void): AsyncGenerator<Found> {
  const client = clientOf(address);
  try {
    yield* readDatabase(async function* documentsOf(collection): AsyncGenerator<EmissionDocument> {
      // Reads the documents in the order in which MongoDB stored them, as a dump does.
      const order = { sort: { $natural: 1 }, batchSize: 1000 } as const;
      for await (const document of databaseOf(client, address).collection(collection).find({}, order)) {
        onDocument();
        yield document;
      }
    });
  } catch (error) {
    if (error instanceof MobilityError) throw error;
    const message = `expected to read the whole database, found an error: ${errorText(error)}; everything before it was read`;
    throw new SourceBroken(message, 'other', { cause: error });
  } finally {
    await client.close();
  }
}
