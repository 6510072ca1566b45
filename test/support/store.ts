// A store to test with: embedded, in a folder of its own that goes away with it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newUuid } from '../../src/model/ids.ts';
import { openStore } from '../../src/store/open.ts';
import type { Document, Documents, Lease, PutResult, Store } from '../../src/store/store.ts';

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

/** Writes a document as the pipeline does: under a lease, taken for it unless the caller has one. */
export async function putDocument(store: Store, userId: string, document: Document, lease?: Lease): Promise<PutResult> {
  const { results } = await applyDocuments(store, userId, { put: [document], remove: [] }, lease);
  return results[0]!;
}

/** Removes a document in the same way; false when there was none. */
export async function removeDocument(store: Store, userId: string, key: string, lease?: Lease): Promise<boolean> {
  return (await applyDocuments(store, userId, { put: [], remove: [key] }, lease)).removed === 1;
}

async function applyDocuments(
  store: Store,
  userId: string,
  change: Parameters<Documents['apply']>[1],
  given?: Lease,
): ReturnType<Documents['apply']> {
  if (given !== undefined) return store.documents.apply(userId, change, given);
  const taken = await store.leases.acquire(userId, 'document test', 600);
  if ('heldBy' in taken) throw new Error(`expected a free user, found a lease of ${taken.heldBy.owner}`);
  try {
    return await store.documents.apply(userId, change, taken.lease);
  } finally {
    await store.leases.release(taken.lease);
  }
}
