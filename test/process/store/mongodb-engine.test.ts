// The engine on MongoDB: the contract of the engines, and its own layout, commands and faults.
import { type Db, type Document, MongoClient } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import type { MongoOptions } from '../../../src/store/mongodb/connect.ts';
import { mongoIndexes } from '../../../src/store/mongodb/layout.ts';
import { openMongoEngine } from '../../../src/store/mongodb/mongodb-engine.ts';
import type { Engine, WritableRows } from '../../../src/store/rows/rows.ts';
import { accounts, documents, trips } from '../../../src/store/rows/tables.ts';
import { rejects } from '../../store/contract/kit.ts';
import {
  accountOf,
  documentOf,
  engineContract,
  newUser,
  type OpenedEngine,
  put,
  tripOf,
} from '../../store/engine-contract.ts';
import { describeOnServers, newDatabase, startedHere, type TestServer, withClient } from '../../store/servers.ts';
import { atEnd } from '../../support/clean-up.ts';
import { until } from '../../support/until.ts';

async function openOn(server: TestServer): Promise<OpenedEngine> {
  const address = server.address();
  const engine = await openMongoEngine(address);
  return {
    engine,
    reopen: () => openMongoEngine(address),
    damage: (table, column, value) =>
      withClient(address, async (client) => {
        const change = { $set: { [column]: value } };
        await client.db().collection(table).updateMany({}, change);
      }),
    async dispose() {
      await engine.close();
      await withClient(address, (client) => client.db().dropDatabase());
    },
  };
}

/** An engine on a new database, which is dropped after the test. */
async function newEngine(server: TestServer, options: MongoOptions = {}) {
  const address = newDatabase(server);
  const engine = await openMongoEngine(address, options);
  atEnd(() => engine.close());
  return { engine, address };
}

/** The database of an address through a plain client, until the test ends. */
function databaseAt(address: string): Db {
  const client = new MongoClient(address, { serverSelectionTimeoutMS: 5_000 });
  atEnd(() => client.close());
  return client.db();
}

const changeFormat = (db: Db, change: Document) =>
  db.collection<{ _id: string }>('about').updateOne({ _id: 'format' }, change);

const collectionsIn = async (db: Db): Promise<string[]> =>
  (await db.listCollections().toArray()).map(({ name }) => name).sort();

let user: string;
beforeEach(() => {
  user = newUser();
});

describeOnServers('MongoDB', (server) => {
  engineContract('engine', () => openOn(server()));

  describe('layout', () => {
    it('creates every index at the first opening, and missing ones on request', async () => {
      const { address } = await newEngine(server());
      const db = databaseAt(address);
      const missing = async (): Promise<string[]> => {
        const names: string[] = [];
        for (const [name, indexes] of Object.entries(mongoIndexes())) {
          const keys = (await db.collection(name).indexes()).map(({ key }) => JSON.stringify(key));
          if (indexes.some(({ key }) => !keys.includes(JSON.stringify(key)))) names.push(name);
        }
        return names;
      };
      expect(await missing()).toEqual([]);
      await db.collection('people').dropIndexes();
      await (await openMongoEngine(address)).close();
      expect(await missing()).toEqual(['people']);
      await (await openMongoEngine(address, { make: true })).close();
      expect(await missing()).toEqual([]);
    });

    it('of a store of an earlier version gets its missing collections and indexes whenever it is opened', async () => {
      const { address } = await newEngine(server());
      const db = databaseAt(address);
      const before = await collectionsIn(db);
      await changeFormat(db, { $unset: { layout: 1 } });
      await db.collection('managers').drop();
      await db.collection('trips').dropIndexes();
      await (await openMongoEngine(address, { make: false })).close();
      expect(await collectionsIn(db)).toEqual(before);
      expect(await db.collection('trips').indexes()).toHaveLength(mongoIndexes().trips!.length + 1);
    });

    it('opens for processes that create the store at the same moment', async () => {
      const address = newDatabase(server());
      const engines = await Promise.all(Array.from({ length: 4 }, () => openMongoEngine(address)));
      await Promise.all(engines.map((engine, i) => put(engine, user, trips, [tripOf(user, i)])));
      expect(await engines[0]!.read((rows) => rows.total(trips, { user }))).toBe(4);
      for (const engine of engines) await engine.close();
    });

    it('refuses another format and names both', async () => {
      const { address } = await newEngine(server());
      await changeFormat(databaseAt(address), { $set: { version: 7 } });
      const message = expect.stringMatching(/expected .* format 1 .* found format 7/);
      await expect(openMongoEngine(address)).rejects.toMatchObject({ code: 'MOBILITY_STORE_VERSION', message });
    });

    it('refuses a database with rows of another program, and changes nothing', async () => {
      const address = newDatabase(server());
      const db = databaseAt(address);
      await db.collection('people').insertOne({ somebody: 'else' });
      await rejects(openMongoEngine(address), 'MOBILITY_STORE_VERSION');
      expect(await collectionsIn(db)).toEqual(['people']);
    });
  });

  describe('commands', () => {
    it('are few: one for each put, removal and query, for any number of rows', async () => {
      const commands: Document[] = [];
      const sent = (): string[] => commands.splice(0).map((command) => Object.keys(command)[0]!);
      const { engine } = await newEngine(server(), { onCommand: (command) => void commands.push(command) });
      const many = Array.from({ length: 500 }, (_, i) => tripOf(user, i));
      sent();
      await put(engine, user, trips, many);
      // The second update is of the account: of two writes of a user that overlap one fails, and runs again.
      expect(sent()).toEqual(['update', 'update', 'commitTransaction']);
      expect(await engine.read((rows) => rows.find(trips, { where: { user } }))).toHaveLength(500);
      expect(sent()).toEqual(['find']);
      await engine.write(null, (rows) => rows.put(accounts, [accountOf(user, 0)]));
      expect(sent()).toEqual(['update', 'commitTransaction']);
      // The account, which every write reads, records that the user has no large bytes.
      await engine.write(user, async (rows) => {
        await rows.find(accounts, { where: { user } });
        await rows.put(trips, many.slice(0, 9));
        await rows.remove(trips, { user, chain_ts: { lt: 5 } });
        await rows.remove(documents, { user });
      });
      expect(sent()).toEqual(['findAndModify', 'update', 'delete', 'delete', 'commitTransaction']);
    });

    it('read a snapshot of the primary and wait for a majority, for any options in the address', async () => {
      const commands: Document[] = [];
      const onCommand = (command: Document): void => void commands.push(command);
      const address = newDatabase(server());
      const weak = `${address}${address.includes('?') ? '&' : '?'}w=0&readPreference=secondaryPreferred&retryWrites=false`;
      const engine = await openMongoEngine(weak, { onCommand });
      await put(engine, user, documents, [documentOf(user, 'a')]);
      await engine.read((rows) => rows.find(documents, { where: { user } }));
      await engine.ping();
      await engine.close();
      for (const { commitTransaction, update, autocommit, writeConcern } of commands) {
        if (commitTransaction || (update && autocommit !== false))
          expect(writeConcern).toMatchObject({ w: 'majority', j: true });
      }
      const begun = commands.filter((command) => command.startTransaction || command.filter?.user);
      expect(begun).toHaveLength(3); // the first tries the commands of the store
      for (const { readConcern } of begun) expect(readConcern).toMatchObject({ level: 'snapshot' });
      for (const { $readPreference } of commands) expect($readPreference?.mode ?? 'primary').not.toMatch(/^secondary/);
    });
  });

  it('removes the parts of large bytes with their row, also after reading the account, and reports missing parts', async () => {
    const { engine, address } = await newEngine(server());
    const large = (key: string) => documentOf(user, key, new Uint8Array(9 * 2 ** 20));
    const parts = databaseAt(address).collection('parts');
    await put(engine, user, documents, [large('a'), large('b'), documentOf(user, 'c')]);
    expect(await parts.countDocuments()).toBe(4);
    await put(engine, user, documents, [documentOf(user, 'a')]);
    expect(await parts.countDocuments()).toBe(2);
    await parts.deleteOne({});
    const reading = engine.read((rows) => rows.find(documents, { where: { user } }));
    await rejects(reading, 'MOBILITY_STORE_DAMAGED');
    await engine.write(user, (rows) => rows.remove(documents, { user }, 9));
    expect(await parts.countDocuments()).toBe(0);
    await put(engine, user, accounts, [accountOf(user, 1)]);
    const afterAccount = (work: (rows: WritableRows) => Promise<unknown>) =>
      engine.write(user, async (rows) => {
        await rows.find(accounts, { where: { user } });
        await work(rows);
      });
    await afterAccount((rows) => rows.put(documents, [large('a')]));
    await afterAccount((rows) => rows.remove(documents, { user }));
    expect(await parts.countDocuments()).toBe(0);
  });
});

/** How commands fail, with labels as the servers of MongoDB give them. */
const faults: Record<string, Document> = {
  'the connection is lost': { closeConnection: true },
  'the primary steps down': { errorCode: 10107, errorLabels: ['RetryableWriteError', 'TransientTransactionError'] },
  'the server shuts down': { errorCode: 11600 },
  'the result of the commit is unknown': {
    writeConcernError: { code: 91, errmsg: 'shutdown in progress', errorLabels: ['RetryableWriteError'] },
  },
};

/** Doubles the number of trips: a write that took effect twice, or in half, would show. */
async function double(engine: Engine, user: string): Promise<void> {
  await engine.write(user, async (rows) => {
    const found = await rows.find(trips, { where: { user } });
    await rows.remove(trips, { user });
    await rows.put(trips, [...found, ...found.map((row) => tripOf(user, row.chain_ts + found.length))]);
  });
}

describeOnServers(
  'MongoDB with faults',
  (server) => {
    const commands = ['update', 'find', 'delete', 'commitTransaction'];
    const fail = (mode: unknown, failCommands: string[], fault: Document) =>
      withClient(server().address('admin'), (client) =>
        client.db('admin').command({ configureFailPoint: 'failCommand', mode, data: { failCommands, ...fault } }),
      );
    const heal = () => fail('off', [], {});
    const count = (engine: Engine) => engine.read((rows) => rows.total(trips, { user }));

    it.each(Object.entries(faults))('writes once and reads if %s, at any command', async (_, fault) => {
      const { engine } = await newEngine(server());
      for (const command of fault.writeConcernError ? ['commitTransaction'] : commands) {
        for (const times of fault.closeConnection ? [1, 2] : [1]) {
          user = newUser();
          await put(engine, user, trips, [tripOf(user, 0)]);
          await fail({ times }, [command], fault);
          await double(engine, user);
          await heal();
          await fail({ times }, ['find', 'commitTransaction'], fault);
          expect(await engine.read((rows) => rows.find(trips, { where: { user } }, ['chain_ts']))).toHaveLength(2);
          await heal();
        }
      }
    });

    it.each(commands)('is unavailable while %s fails, writes all or nothing, and heals', async (command) => {
      const { engine } = await newEngine(server(), { retrySeconds: 0.5 });
      await put(engine, user, trips, [tripOf(user, 0)]);
      await fail('alwaysOn', [command], { errorCode: 11600 });
      await rejects(double(engine, user), 'MOBILITY_STORE_UNAVAILABLE');
      await heal();
      expect(await count(engine)).toBe(1);
      await double(engine, user);
      expect(await count(engine)).toBe(2);
    });

    it('reports a full disk, and writes nothing in part', async () => {
      const { engine } = await newEngine(server());
      await fail('alwaysOn', ['update'], { errorCode: 14031 });
      await rejects(put(engine, user, trips, [tripOf(user, 0)]), 'MOBILITY_STORE_FULL');
      await rejects(engine.ping(), 'MOBILITY_STORE_FULL');
      await heal();
      expect(await count(engine)).toBe(0);
    });

    /** An engine with an account, and the transaction of another writer who has changed the account. */
    async function withTransaction(options: MongoOptions) {
      const { engine, address } = await newEngine(server(), options);
      await put(engine, user, accounts, [accountOf(user, 0)]);
      const db = databaseAt(address);
      const session = db.client.startSession();
      session.startTransaction();
      await db.collection('accounts').updateOne({ user }, { $inc: { touched: 1 } }, { session });
      return { engine, session };
    }

    it('is busy while another writer does not end its transaction', async () => {
      const { engine, session } = await withTransaction({ retrySeconds: 0.5 });
      await rejects(put(engine, user, trips, [tripOf(user, 0)]), 'MOBILITY_STORE_BUSY');
      await session.abortTransaction();
      await put(engine, user, trips, [tripOf(user, 0)]);
    });

    it('does not wait for the transaction of a process that was killed longer than some seconds', async () => {
      const { engine, session } = await withTransaction({});
      await put(engine, user, trips, [tripOf(user, 0)]);
      await expect(session.commitTransaction()).rejects.toMatchObject({ codeName: 'NoSuchTransaction' });
      expect(await count(engine)).toBe(1);
    });

    it('loses nothing that was acknowledged when the server is killed, and writes nothing twice', async () => {
      // The server may be gone for longer than the usual patience of the engine: the machine may be busy.
      const { engine } = await newEngine(server(), { retrySeconds: 600 });
      const control = server().control!;
      let [acknowledged, stop] = [0, false];
      const writing = (async () => {
        // A server that was killed may not know how a commit ended: the write runs again.
        for (; !stop; acknowledged++) await put(engine, user, trips, [tripOf(user, acknowledged)]);
      })();
      for (let round = 1; round <= 3; round++) {
        const before = acknowledged;
        await Promise.race([writing, until(() => acknowledged > before + 5)]);
        await control.kill();
        await control.restart();
      }
      stop = true;
      await writing;
      const found = await engine.read((rows) => rows.find(trips, { where: { user }, order: ['chain_ts'] }));
      expect(found.map((row) => row.chain_ts)).toEqual(Array.from({ length: acknowledged }, (_, i) => i));
    });

    it('closes without delay when the server is gone', async () => {
      const { engine } = await newEngine(server(), { retrySeconds: 0.5 });
      const control = server().control!;
      await put(engine, user, trips, [tripOf(user, 0)]);
      const writing = engine.write(user, async (rows) => {
        await rows.put(trips, [tripOf(user, 1)]);
        await control.kill();
        await rows.put(trips, [tripOf(user, 2)]);
      });
      const outcome = await writing.catch((error) => error.code);
      const begin = Date.now();
      await engine.close();
      const seconds = (Date.now() - begin) / 1000;
      await control.restart();
      expect(outcome).toBe('MOBILITY_STORE_UNAVAILABLE');
      expect(seconds).toBeLessThan(25); // the driver alone waits for 30 s
    });
  },
  { only: startedHere, durable: true },
);
