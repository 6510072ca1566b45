// A store to test with: embedded, in a temporary folder that is removed with it.
import { beforeAll } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import { newUuid } from '../../src/model/ids.ts';
import { compareTexts } from '../../src/model/text-order.ts';
import { type OpenOptions, openStore } from '../../src/store/open.ts';
import type { Document, Lease, Store } from '../../src/store/store.ts';
import { atEnd, tempFolder } from './clean-up.ts';

type Options = { now?: () => number };

/** Opens the store of a folder until the end of the test or file. */
export async function openStoreIn(folder: string, options: OpenOptions = {}): Promise<Store> {
  const store = await openStore(folder, options);
  atEnd(() => store.close());
  return store;
}

/**
 * A new, empty store for the tests of the file or `describe` that calls this: opened before the first, gone after the
 * last. `now` is the clock of its leases, seconds since the epoch.
 */
export function useStore(options: Options = {}): Store {
  let opened: Store;
  beforeAll(async () => {
    opened = await newStore(options);
  });
  // Tests keep this object in a constant: each access goes to the store that is open at that time.
  return new Proxy({} as Store, {
    get: (_, name) => Reflect.get(opened, name),
    ownKeys: () => Reflect.ownKeys(opened),
    getOwnPropertyDescriptor: (_, name) => ({ ...Reflect.getOwnPropertyDescriptor(opened, name), configurable: true }),
  });
}

export function newStore(options: Options = {}): Promise<Store> {
  return openStoreIn(tempFolder(), options);
}

let users = 0;

/** Registers a user and returns their UUID. */
export async function newUser(store: Store, uuid = newUuid()): Promise<string> {
  users += 1;
  const { user } = await store.users.register(`somebody-${users}@example.org`, { uuid, now: 1_700_000_000 });
  return user.uuid;
}

/** The pending entries of a user, by write time. */
export async function pendingEntries(store: Store, userId: string): Promise<Entry[]> {
  return (await store.usercache.find(userId, { time: 'write_ts', limit: 100_000 })).entries;
}

/** Takes the lease on a user; throws if another owner has it. */
export async function leaseOn(store: Store, userId: string, owner = 'test', seconds = 600): Promise<Lease> {
  const taken = await store.leases.acquire(userId, owner, seconds);
  if ('lease' in taken) return taken.lease;
  throw new Error(`expected a free user, found a lease of ${taken.heldBy.owner}`);
}

/** Works under a lease on a user, and releases it. */
export async function leased<T>(store: Store, userId: string, work: (lease: Lease) => Promise<T>): Promise<T> {
  const lease = await leaseOn(store, userId);
  try {
    return await work(lease);
  } finally {
    await store.leases.release(lease);
  }
}

/** Writes a document as the pipeline does: under a lease, taken for it unless the caller has one. */
export async function putDocument(store: Store, userId: string, document: Document, given?: Lease) {
  const apply = (lease: Lease) => store.documents.apply(userId, { put: [document], remove: [] }, lease);
  return (await (given ? apply(given) : leased(store, userId, apply))).results[0]!;
}

/** Removes a document in the same way; false when there was none. */
export function removeDocument(store: Store, userId: string, key: string): Promise<boolean> {
  const change = { put: [], remove: [key] };
  return leased(store, userId, async (lease) => (await store.documents.apply(userId, change, lease)).removed === 1);
}

/** How many entries of a user are rejected, by key and reason; entries without a key come first. */
export async function countRejected({ users }: Pick<Store, 'users'>, uuid: string) {
  const [figures] = await users.figures({ uuid });
  const counts = figures!.set_aside.map(({ key, reason, count }) => ({ key, reason, count }));
  return counts.sort((a, b) => compareTexts(a.key ?? '', b.key ?? '') || compareTexts(a.reason, b.reason));
}
