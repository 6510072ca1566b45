// The MongoDB backend: the parts of the store on one connection.
import { MobilityError } from '../../model/errors.ts';
import type { Store } from '../store.ts';
import { type Connection, connect, type MongoStoreOptions } from './connection.ts';
import { documentsOn } from './documents.ts';
import { errorsOn } from './errors.ts';
import { findRowsLeft, formatVersion, indexes, makeLayout, metaOf, readFormat } from './indexes.ts';
import { leasesOn } from './leases.ts';
import { profilesOn, tokensOn, usersOn } from './people.ts';
import { pipelineStatesOn } from './pipeline-states.ts';
import { partsOfRun, type RunParts } from './run.ts';
import { studiesOn } from './studies.ts';
import { timeseriesOn } from './timeseries.ts';
import { tripsOn } from './trips.ts';
import { callerUseOn } from './use.ts';
import { usercacheOn } from './usercache.ts';
import { countsOn, eraseOn, unownedOn } from './whole-user.ts';

export type { MongoStoreOptions } from './connection.ts';

/** What `initMongoStore` found or made. */
export interface MongoLayout {
  address: string;
  version: number;
  /** Index names by collection. */
  indexes: Record<string, string[]>;
  /** What could not be done though the store works. */
  warnings: string[];
}

/**
 * Opens a store on a MongoDB deployment; an empty database gets its indexes first. Throws `MOBILITY_STORE_ADDRESS`
 * (also for a database without a store when `make` is false), `MOBILITY_STORE_UNAVAILABLE`, `MOBILITY_STORE_VERSION`
 * (made by a newer program, or by another), `MOBILITY_UNSUPPORTED` (a server before 6.0, or without transactions).
 */
export async function openMongoStore(address: string, options: MongoStoreOptions = {}): Promise<Store> {
  const connection = await connect(address, options);
  const warn = options.onWarning ?? (() => {});
  try {
    await connection
      .guard({
        async open() {
          let format = await readFormat(connection);
          if (!format?.ready || format.version !== formatVersion) {
            if (options.make === false && !format?.ready) throw noStore(connection.address);
            for (const warning of await makeLayout(connection)) warn(warning);
            format = (await readFormat(connection))!;
          }
          await findRowsLeft(connection, format);
        },
      })
      .open();
  } catch (error) {
    await connection.close();
    throw error;
  }
  return storeOn(connection);
}

function noStore(address: string): MobilityError {
  return new MobilityError(
    'MOBILITY_STORE_ADDRESS',
    `expected a store at ${address}, found none in that database: correct the address, or create it with \`mobility store init\``,
  );
}

/**
 * Makes collections, indexes and, on a cluster, shards; repeatable. This is `mobility store init`. Throws as
 * `openMongoStore`.
 */
export async function initMongoStore(address: string, options: MongoStoreOptions = {}): Promise<MongoLayout> {
  const connection = await connect(address, options);
  try {
    const { make } = connection.guard({ make: () => makeLayout(connection) });
    const warnings = await make();
    const names = Object.entries(indexes).map(([collection, made]) => [collection, made.map(({ name }) => name!)]);
    return {
      address: connection.address,
      version: formatVersion,
      indexes: Object.fromEntries(names),
      warnings,
    };
  } finally {
    await connection.close();
  }
}

function storeOn(connection: Connection): Store {
  const { guard } = connection;
  const parts: RunParts = {
    usercache: usercacheOn(connection),
    timeseries: timeseriesOn(connection),
    trips: tripsOn(connection),
    documents: documentsOn(connection),
    pipeline: pipelineStatesOn(connection),
  };
  const guarded = ({ usercache, timeseries, trips, documents, pipeline }: RunParts): RunParts => ({
    usercache: guard(usercache),
    timeseries: guard(timeseries),
    trips: guard(trips),
    documents: guard(documents),
    pipeline: guard(pipeline),
  });
  return {
    ...guarded(parts),
    address: connection.address,
    users: guard(usersOn(connection)),
    tokens: guard(tokensOn(connection)),
    studies: guard(studiesOn(connection)),
    profiles: guard(profilesOn(connection)),
    errors: guard(errorsOn(connection)),
    leases: guard(leasesOn(connection)),
    use: guard(callerUseOn(connection)),
    ...guard({
      counts: (userId: string) => countsOn(connection, userId),
      erase: (userId: string) => eraseOn(connection, userId),
      unowned: () => unownedOn(connection),
      ping: () => ping(connection),
      disk: () => diskOf(connection),
    }),
    forRun(userId) {
      return { ...this, ...guarded(partsOfRun(connection, parts, userId)) };
    },
    close: () => connection.close(),
  };
}

/** What the server says of this database: compressed, indexes included. */
async function diskOf({ db, once }: Connection): Promise<{ bytes: number; free: number | null }> {
  const told = await once(() => db.command({ dbStats: 1 }));
  const { storageSize = 0, indexSize = 0, totalSize = storageSize + indexSize, fsTotalSize, fsUsedSize } = told;
  const isKnown = typeof fsTotalSize === 'number' && typeof fsUsedSize === 'number';
  return { bytes: totalSize, free: isKnown ? fsTotalSize - fsUsedSize : null };
}

async function ping(connection: Connection): Promise<void> {
  const meta = metaOf(connection);
  await connection.once(() => meta.updateOne({ _id: 'ping' }, { $inc: { count: 1 } }, { upsert: true }));
  await connection.once(() => meta.findOne({ _id: 'ping' }));
}
