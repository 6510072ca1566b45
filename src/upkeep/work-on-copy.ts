import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { copyPerson } from './copy-store.ts';

/** Runs `work` on a temporary store that contains only this user, and removes the store afterwards. */
export async function onCopyOf<T>(address: string, userId: string, work: (store: Store) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'mobility-')); // readable by this account only
  try {
    await copyPerson(address, folder, userId);
    const store = await openStore(folder, { make: false });
    return await work(store).finally(() => store.close());
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
