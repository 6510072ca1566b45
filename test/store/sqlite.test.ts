// The contract on the embedded store.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { type Opened, testStore } from './contract.ts';

async function openNew(shards: number): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), 'mobility-store-'));
  const store = await openSqliteStore({ folder, shards });
  return {
    store,
    reopen: () => openSqliteStore({ folder }),
    dispose: async () => {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

testStore('sqlite', () => openNew(1));
testStore('sqlite with three shards', () => openNew(3));
