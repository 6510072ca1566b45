// What real phones pushed: files in folders outside of the repository, which MOBILITY_TEST_DAYS and MOBILITY_TEST_CASES
// name, as in CI.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Entry } from '../../src/model/entry.ts';

/** Name and path of the pushes of a folder, each `every`th of them; none without a folder. */
export function recordedIn(folder = '', every = 1): [name: string, path: string][] {
  if (folder === '') return [];
  const files = readdirSync(folder).filter((file) => file.endsWith('.put.json.gz'));
  return files
    .sort()
    .filter((_, i) => i % every === 0)
    .map((file) => [basename(file), join(folder, file)]);
}

export function pushedIn(path: string): Entry[] {
  return JSON.parse(gunzipSync(readFileSync(path)).toString()).phone_to_server;
}
