// Reads and rewrites the fixtures of entries: what a phone pushed, and what the timeseries keeps of it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ConversionReason } from '../../../src/intake/converters/convert.ts';
import type { Entry } from '../../../src/model/entry.ts';

const root = fileURLToPath(new URL('../../fixtures/entries/', import.meta.url));

/** In the folder `failing` with a reason, in the others with `out`. */
interface Fixture {
  in: Entry;
  out: Entry;
  reason: ConversionReason;
}

/**
 * `android` and `ios`: one fixture per cell of the table; `other`: keys with a separate converter for it, and
 * locations; `unusual`: other shapes that convert; `failing`: shapes that do not.
 */
export type Folder = 'android' | 'ios' | 'other' | 'unusual' | 'failing';

/** Names of the fixtures in a folder, sorted, without `.json`. */
export function fixtureNames(folder: Folder): string[] {
  return readdirSync(`${root}${folder}`)
    .map((file) => file.replace(/\.json$/, ''))
    .sort();
}

export function readFixture(folder: Folder, name: string): Fixture {
  return JSON.parse(readFileSync(`${root}${folder}/${name}.json`, 'utf8'));
}

/** `REGEN=1` rewrites what is expected by what comes out, for review. */
export function rewriteFixture(folder: Folder, name: string, fixture: Pick<Fixture, 'in' | 'out'>): void {
  writeFileSync(`${root}${folder}/${name}.json`, `${JSON.stringify(fixture, null, 2)}\n`);
}

/** The fixture that belongs to a key. */
export const fixtureName = (key: string): string => key.replace(/[/_]/g, '-');
