// The pages about running the service and its promises: every file and setting that they name exists.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { settings } from '../src/config.ts';
import { errorCodes } from '../src/model/mobility-error.ts';

const pathOf = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));
const textOf = (name: string): string => readFileSync(pathOf(name), 'utf8');

it('docs/promises.md has the ten promises in order, and tests of each', () => {
  const text = textOf('docs/promises.md');
  const names = Array.from({ length: 10 }, (_, i) => `P${i + 1}`);
  expect([...text.matchAll(/^## (P\d+) /gm)].map(([, name]) => name)).toEqual(names);
  expect([...text.matchAll(/^\| (P\d+) \| `test\//gm)].map(([, name]) => name)).toEqual(names);
});

it('tools/mutants/rooms.js names sources and tests that exist', () => {
  const paths = [...textOf('tools/mutants/rooms.js').matchAll(/'((?:src|test)\/[\w./-]+)'/g)].map(([, path]) => path!);
  expect(paths.length).toBeGreaterThan(0);
  expect(paths.filter((path) => !existsSync(pathOf(path)))).toEqual([]);
});

it.each(['SECURITY.md', 'docs/operations.md', 'docs/promises.md'])('%s names files and settings that exist', (page) => {
  const text = textOf(page);
  const paths = [...text.matchAll(/`((?:test|src|docs|bench)\/[\w./-]+)`/g)].map(([, path]) => path!);
  expect(paths.filter((path) => !existsSync(pathOf(path)))).toEqual([]);
  const known = new Set<string>([...settings.map(({ variable }) => variable), ...errorCodes]);
  expect(text.match(/MOBILITY_[A-Z]+(_[A-Z]+)*/g)!.filter((name) => !known.has(name))).toEqual([]);
});
