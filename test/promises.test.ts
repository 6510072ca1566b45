// The pages about running the service and its promises: every file and setting that they name exists.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { settings } from '../src/config.ts';

const pathOf = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));
const textOf = (name: string): string => readFileSync(pathOf(name), 'utf8');

it('docs/promises.md has the ten promises in order, and tests of each', () => {
  const text = textOf('docs/promises.md');
  const names = Array.from({ length: 10 }, (_, i) => `P${i + 1}`);
  expect([...text.matchAll(/^## (P\d+) /gm)].map(([, name]) => name)).toEqual(names);
  expect([...text.matchAll(/^\| (P\d+) \| `test\//gm)].map(([, name]) => name)).toEqual(names);
});

describe.each(['SECURITY.md', 'docs/operations.md', 'docs/promises.md'])('%s', (page) => {
  it('names files that exist', () => {
    const named = [...textOf(page).matchAll(/`((?:test|src|docs|bench)\/[\w./-]+)`|\]\(([\w./-]+)(?:#[\w-]+)?\)/g)];
    const folder = page.includes('/') ? page.slice(0, page.lastIndexOf('/') + 1) : '';
    for (const [, path, link] of named) {
      const target = path ?? `${folder}${link}`;
      expect(existsSync(pathOf(target)), `${page} names ${target}`).toBe(true);
    }
    expect(named.length).toBeGreaterThan(3);
  });
});

describe.each(['SECURITY.md', 'docs/operations.md'])('%s', (page) => {
  const text = textOf(page);

  it('names only settings that exist', () => {
    const known = new Set(settings.map(({ variable }) => variable));
    for (const [name] of text.matchAll(/MOBILITY_[A-Z_]+/g)) {
      if (!/^MOBILITY_STORE_/.test(name)) expect(known, name).toContain(name);
    }
  });
});
