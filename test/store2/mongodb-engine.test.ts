// The engine on MongoDB: the contract of the engines, and what only MongoDB has.
import { vi } from 'vitest';
import { openMongoEngine } from '../../src/store/mongodb/engine.ts';
import { engineContract, type OpenedEngine } from './engine-contract.ts';
import { describeOnServers, type TestServer, withClient } from './servers-tmp.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

async function openOn(server: TestServer): Promise<OpenedEngine> {
  const address = server.newAddress();
  const engine = await openMongoEngine(address);
  return {
    engine,
    reopen: () => openMongoEngine(address),
    damage: (table, column, value) =>
      withClient(address, async (client) => {
        await client
          .db()
          .collection(table)
          .updateMany({}, { $set: { [column]: value } });
      }),
    async dispose() {
      await engine.close();
      await withClient(address, (client) => client.db().dropDatabase());
    },
  };
}

describeOnServers('MongoDB', (server) => engineContract('engine', () => openOn(server())));
