// Collections, their indexes and shard keys, and the version of all that. Made once, by `mobility store init` or the
// first opening.
import type { IndexDescription, Collection as Rows } from 'mongodb';
import { errorText, MobilityError } from '../../model/errors.ts';
import type { Connection } from './connection.ts';
import { fold, foldedAtOnce } from './fold.ts';
import { admitAll } from './members.ts';

/** Version of the layout. A store of a newer version is refused. */
export const formatVersion = 3;

/** What belongs to the store as a whole. */
interface MetaRow {
  _id: 'format' | 'ping';
  version?: number;
  ready?: boolean;
  /** Documents of entries may be left that are not in chunks yet. */
  rows?: boolean;
  count?: number;
}

/** The collection of the version of the layout, and of what `ping` writes. */
export function metaOf({ db }: Connection): Rows<MetaRow> {
  return db.collection<MetaRow>('meta');
}

/** Every index besides those on `_id`. All begin with the user, except those of the registry and for expiry. */
export const indexes: Readonly<Record<string, readonly IndexDescription[]>> = {
  users: [{ name: 'name', key: { user_email: 1 }, unique: true }],
  tokens: [{ name: 'user', key: { user_id: 1 } }],
  studies: [],
  profiles: [{ name: 'identity', key: { user_id: 1 }, unique: true }],
  usercache: [{ name: 'identity', key: { user_id: 1, key: 1, write_ts: 1 }, unique: true }],
  documents: [{ name: 'identity', key: { user_id: 1, key: 1 }, unique: true }],
  errors: [{ name: 'identity', key: { user_id: 1, id: 1 }, unique: true }],
  timeseries: [{ name: 'identity', key: { user_id: 1, key: 1, write_ts: 1 }, unique: true }],
  // Named by statements: with so many that begin alike, a planner may choose one that reads more.
  chunks: [
    { name: 'identity', key: { user_id: 1, key: 1, until: 1, from: 1 }, unique: true },
    { name: 'first', key: { user_id: 1, key: 1, first: 1, last: 1 } },
    { name: 'last', key: { user_id: 1, key: 1, last: 1, first: 1 } },
    { name: 'first_ts', key: { user_id: 1, key: 1, first_ts: 1, last_ts: 1 } },
    { name: 'last_ts', key: { user_id: 1, key: 1, last_ts: 1, first_ts: 1 } },
    { name: 'named_first', key: { user_id: 1, named: 1, first: 1, last: 1 } },
    { name: 'named_last', key: { user_id: 1, named: 1, last: 1, first: 1 } },
    { name: 'bare', key: { user_id: 1, bare: 1, first: 1, last: 1 } },
  ],
  trips: [
    { name: 'identity', key: { user_id: 1, chain_ts: 1 }, unique: true },
    { name: 'settled', key: { user_id: 1, settled_ts: 1, chain_ts: 1 } },
    { name: 'day', key: { user_id: 1, kind: 1, day: 1, chain_ts: 1 } },
    { name: 'kind', key: { user_id: 1, kind: 1, chain_ts: 1 } },
  ],
  pipeline: [{ name: 'identity', key: { user_id: 1 }, unique: true }],
  leases: [{ name: 'identity', key: { user_id: 1 }, unique: true }],
  members: [{ name: 'identity', key: { user_id: 1, of: 1 }, unique: true }],
  use: [{ name: 'until', key: { until: 1 }, expireAfterSeconds: 0 }],
  parts: [{ name: 'identity', key: { user_id: 1, row: 1, name: 1, n: 1 }, unique: true }],
};

/** Collections that stay on one shard: they are small, and found by name or hash, not by user. */
const unsharded = new Set(['users', 'tokens', 'studies', 'use']);

/** Collections sharded on a cluster, by `{ user_id: 1 }`, so that the rows of a user are together. */
export const shardedCollections: readonly string[] = Object.keys(indexes).filter((name) => !unsharded.has(name));

/** The key by which collections of a sharded cluster are distributed. */
const shardKey = { user_id: 1 } as const;

interface Format {
  version: number;
  ready: boolean;
  rows: boolean;
}

/**
 * What the store says about its layout; null when it has none yet. Throws `MOBILITY_STORE_VERSION` when it is newer
 * than this program.
 */
export async function readFormat(connection: Connection): Promise<Format | null> {
  const found = await connection.once(() => metaOf(connection).findOne({ _id: 'format' }));
  if (found === null) return null;
  const { version = formatVersion, ready = false, rows = false } = found;
  if (version > formatVersion) {
    throw new MobilityError(
      'MOBILITY_STORE_VERSION',
      `expected a store of version ${formatVersion} or older at ${connection.address}, found version ${version}: ` +
        'update this program',
    );
  }
  return { version, ready, rows };
}

/**
 * Makes collections and indexes, and shards them on a cluster. Repeatable; returns what could not be done though the
 * store works. Throws `MOBILITY_STORE_VERSION` when the database holds something else.
 */
export async function makeLayout(connection: Connection): Promise<string[]> {
  const before = await readFormat(connection);
  if (before === null) await refuseForeignRows(connection);
  await writeFormat(connection, false);
  for (const [name, wanted] of Object.entries(indexes)) {
    await connection.once(() => connection.db.collection(name).createIndexes([...wanted]));
  }
  const warnings = connection.sharded ? await shardCollections(connection) : [];
  // Version 1 had no members: every registered user is admitted.
  if (before?.version === 1) await admitRegistered(connection);
  // Up to version 2, each entry had a document.
  const rows = before?.rows || (before !== null && before.version < 3 && !(await foldSmall(connection)));
  await writeFormat(connection, true, rows);
  return warnings;
}

async function admitRegistered(connection: Connection): Promise<void> {
  const users = connection.db.collection<{ _id: string }>('users');
  const rows = await connection.once(() => users.find({}, { projection: { _id: 1 } }).toArray());
  await admitAll(
    connection,
    rows.map(({ _id }) => _id),
  );
}

/** Notes whether documents of entries, the layout before chunks, are left. The empty collection stays. */
export async function findRowsLeft(connection: Connection, format: { rows: boolean }): Promise<void> {
  if (!format.rows) return;
  const rows = connection.db.collection('timeseries');
  if ((await connection.once(() => rows.findOne({}, { projection: { _id: 1 } }))) !== null) {
    connection.rowsLeft ??= { folded: new Set() };
    return;
  }
  await connection.once(() => metaOf(connection).updateOne({ _id: 'format' }, { $unset: { rows: true } }));
}

/** Folds a store that is small; a large one is folded when its users are met. True when nothing is left to fold. */
async function foldSmall(connection: Connection): Promise<boolean> {
  const rows = connection.db.collection<{ user_id: string }>('timeseries');
  if ((await connection.once(() => rows.estimatedDocumentCount())) > foldedAtOnce) return false;
  const users = await connection.once(() =>
    rows.aggregate<{ _id: string }>([{ $group: { _id: '$user_id' } }]).toArray(),
  );
  connection.rowsLeft = { folded: new Set() };
  for (const { _id } of users) await fold(connection, _id);
  connection.rowsLeft = null;
  return (await connection.once(() => rows.findOne({}, { projection: { _id: 1 } }))) === null;
}

async function writeFormat(connection: Connection, ready: boolean, rows = false): Promise<void> {
  const change = ready
    ? { $set: { version: formatVersion, ready, ...(rows && { rows }) } }
    : { $setOnInsert: { version: formatVersion, ready } };
  await connection.once(() => metaOf(connection).updateOne({ _id: 'format' }, change, { upsert: true }));
}

async function refuseForeignRows(connection: Connection): Promise<void> {
  for (const name of Object.keys(indexes)) {
    const row = await connection.once(() => connection.db.collection(name).findOne({}, { projection: { _id: 1 } }));
    if (row === null) continue;
    if ((await readFormat(connection)) !== null) return; // another process made the layout meanwhile
    throw new MobilityError(
      'MOBILITY_STORE_VERSION',
      `expected an empty database or one that this program created at ${connection.address}, found rows in ${name} and no ` +
        'version in meta: name another database in the address',
    );
  }
}

async function shardCollections(connection: Connection): Promise<string[]> {
  const warnings: string[] = [];
  const admin = connection.db.client.db('admin');
  for (const name of shardedCollections) {
    try {
      await connection.once(() =>
        admin.command({ shardCollection: `${connection.db.databaseName}.${name}`, key: shardKey }),
      );
    } catch (error) {
      warnings.push(
        `${name} is not sharded: ${errorText(error)}; run \`mobility store init\` with the role clusterManager`,
      );
    }
  }
  return warnings;
}
