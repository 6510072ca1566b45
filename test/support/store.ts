// A store to test with: embedded, in a folder of its own that goes away with it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newUuid } from '../../src/model/ids.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';

export interface TempStore {
  store: Store;
  folder: string;
  /** Closes the store and removes its folder. */
  dispose(): Promise<void>;
}

/** A new, empty store; `now` is the clock of its leases, seconds since the epoch. */
export async function tempStore(options: { now?: () => number } = {}): Promise<TempStore> {
  const folder = await mkdtemp(join(tmpdir(), 'mobility-test-'));
  const store = await openStore(`sqlite:${folder}`, options);
  return {
    store,
    folder,
    async dispose() {
      await store.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

let users = 0;

/** Registers somebody and returns their UUID. */
export async function newUser(store: Store, uuid = newUuid()): Promise<string> {
  users += 1;
  const { user } = await store.users.register(`somebody-${users}@example.org`, { uuid, now: 1_700_000_000 });
  return user.uuid;
}
