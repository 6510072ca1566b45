// Temporary folders, and stores in them.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { openSqliteStore, type SqliteStoreOptions } from '../../../src/store/sqlite/store.ts';
import type { Store } from '../../../src/store/store.ts';

export function newFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'mobility-store-'));
}

/** Folders and stores that are closed and removed after each test of the file that calls this. */
export interface Places {
  folder(): Promise<string>;
  open(folder: string, options?: Partial<SqliteStoreOptions>): Promise<Store>;
  /** Also to be done after the test, before folders are removed. */
  later(work: () => Promise<unknown> | unknown): void;
}

export function usePlaces(): Places {
  const undo: (() => Promise<unknown> | unknown)[] = [];
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step();
  });
  return {
    folder: async () => {
      const folder = await newFolder();
      undo.push(() => rm(folder, { recursive: true, force: true }));
      return folder;
    },
    open: async (folder, options = {}) => {
      const store = await openSqliteStore({ folder, ...options });
      undo.push(() => store.close());
      return store;
    },
    later: (work) => undo.push(work),
  };
}
