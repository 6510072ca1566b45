// What a test opens is closed when it ends, what hooks and test files open when the file ends. Loaded before each test
// file, see vitest.config.ts: where files share their modules, a hook in a module counts for the first of them only.
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';

type Work = () => unknown;

// Of the process, as this module may be loaded more than once.
const shared = globalThis as typeof globalThis & { endOfTestFile?: Work[] };
shared.endOfTestFile ??= [];
const endOfFile = shared.endOfTestFile;

/** Does `work` when the test that is running ends, or at the end of the file if no test is running. Last first. */
export function atEnd(work: Work): void {
  if (TestRunner.getCurrentTest() === undefined) endOfFile.push(work);
  else onTestFinished(async () => void (await work()));
}

/** A new folder that is removed at the end of the test or file, after what was opened in it is closed. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mobility-test-'));
  atEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

afterAll(async () => {
  for (const work of endOfFile.splice(0).reverse()) await work();
});
