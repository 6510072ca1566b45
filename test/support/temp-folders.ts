// Folders that go when the test file is done. Loaded before each test file, see vitest.config.ts: where files share
// their modules (`npm run test:quick`), a hook in a module counts for the first of them only.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

// Of the process, as this module may be loaded more than once.
const shared = globalThis as typeof globalThis & { foldersOfTests?: string[] };
shared.foldersOfTests ??= [];
const folders = shared.foldersOfTests;

/** A new folder that goes when the test file is done. */
export async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mobility-cli-'));
  folders.push(folder);
  return folder;
}

afterAll(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
});
