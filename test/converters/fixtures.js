// Reads and rewrites the fixtures of entries: what a phone pushed, and what the timeseries keeps of it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../fixtures/entries/', import.meta.url));
/** Names of the fixtures in a folder, sorted, without `.json`. */
export function fixtureNames(folder) {
  return readdirSync(`${root}${folder}`)
    .map((file) => file.replace(/\.json$/, ''))
    .sort();
}
export function readFixture(folder, name) {
  return JSON.parse(readFileSync(`${root}${folder}/${name}.json`, 'utf8'));
}
/** `REGEN=1` rewrites what is expected by what comes out, for review. */
export function rewriteFixture(folder, name, fixture) {
  writeFileSync(`${root}${folder}/${name}.json`, `${JSON.stringify(fixture, null, 2)}\n`);
}
/** The fixture that belongs to a key. */
export function fixtureName(key) {
  return key.replace(/[/_]/g, '-');
}
