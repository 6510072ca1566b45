// A store to test with: embedded, in a temporary folder that is removed with it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import { newUuid } from '../../src/model/ids.ts';
import { openStore } from '../../src/store/open.ts';
import type { Document, Documents, Lease, PutResult, Store } from '../../src/store/store.ts';

async function openNew(options: { now?: () => number }): Promise<{ store: Store; dispose(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'mobility-test-'));
  const store = await openStore(`sqlite:${folder}`, options);
  const dispose = async (): Promise<void> => {
    await store.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  return { store, dispose };
}

/**
 * A new, empty store for the tests of the file or `describe` that calls this: opened before the first, gone after the
 * last. `now` is the clock of its leases, seconds since the epoch.
 */
export function useStore(options: { now?: () => number } = {}): Store {
  let opened: Awaited<ReturnType<typeof openNew>>;
  beforeAll(async () => {
    opened = await openNew(options);
  });
  afterAll(() => opened.dispose());
  // Tests keep this object in a constant: each access goes to the store that is open at that time.
  return new Proxy({} as Store, {
    get: (_, name) => Reflect.get(opened.store, name),
    ownKeys: () => Reflect.ownKeys(opened.store),
    getOwnPropertyDescriptor: (_, name) => ({
      ...Reflect.getOwnPropertyDescriptor(opened.store, name),
      configurable: true,
    }),
  });
}

/** A new, empty store for the test that is running; gone after it. */
export async function newStore(options: { now?: () => number } = {}): Promise<Store> {
  const { store, dispose } = await openNew(options);
  onTestFinished(dispose);
  return store;
}

let users = 0;

/** Registers a user and returns their UUID. */
export async function newUser(store: Store, uuid = newUuid()): Promise<string> {
  users += 1;
  const { user } = await store.users.register(`somebody-${users}@example.org`, { uuid, now: 1_700_000_000 });
  return user.uuid;
}

/** Everything that waits in the usercache of a user, by write time. */
export async function waitingOf(store: Store, userId: string): Promise<Entry[]> {
  return (await store.usercache.find(userId, { time: 'write_ts', limit: 100_000 })).entries;
}

/** Takes the lease on a user; throws if another owner has it. */
export async function leaseOn(store: Store, userId: string, owner = 'test', seconds = 600): Promise<Lease> {
  const taken = await store.leases.acquire(userId, owner, seconds);
  if ('lease' in taken) return taken.lease;
  throw new Error(`expected a free user, found a lease of ${taken.heldBy.owner}`);
}

/** Writes a document as the pipeline does: under a lease, taken for it unless the caller has one. */
export async function putDocument(
  store: Store,
  userId: string,
  document: Document,
  lease?: Lease,
): Promise<PutResult | 'unchanged'> {
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
  const lease = await leaseOn(store, userId);
  try {
    return await store.documents.apply(userId, change, lease);
  } finally {
    await store.leases.release(lease);
  }
}
