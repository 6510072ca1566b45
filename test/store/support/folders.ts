// Temporary folders, and stores in them.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { type OpenOptions, openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { newPerson, type Person } from '../contract/kit.ts';

export function newFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'mobility-store-'));
}

export function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Folders and stores that are closed and removed after each test of the file that calls this. */
export interface Places {
  folder(): Promise<string>;
  open(folder: string, options?: OpenOptions): Promise<Store>;
  /** A store in a new folder, with a user. */
  newStore(): Promise<{ folder: string; store: Store; user: Person }>;
  /** Also to be done after the test, before folders are removed. */
  later(work: () => Promise<unknown> | unknown): void;
}

export function usePlaces(): Places {
  const undo: (() => Promise<unknown> | unknown)[] = [];
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step();
  });
  const folder = async (): Promise<string> => {
    const made = await newFolder();
    undo.push(() => removeFolder(made));
    return made;
  };
  const open = async (where: string, options: OpenOptions = {}): Promise<Store> => {
    const store = await openStore(where, options);
    undo.push(() => store.close());
    return store;
  };
  return {
    folder,
    open,
    newStore: async () => {
      const where = await folder();
      const store = await open(where);
      return { folder: where, store, user: await newPerson(store) };
    },
    later: (work) => undo.push(work),
  };
}
