// The pages that say what is proven where: every test and file that they name is there.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const pathOf = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const textOf = (name: string): string => readFileSync(pathOf(name), 'utf8');

describe('docs/promises.md', () => {
  const promises = textOf('docs/promises.md');
  const sections = promises.split(/^## /m).filter((section) => /^P\d+ /.test(section));
  const proofs = [...promises.matchAll(/^- `(test\/[^`]+)`: (.+)$/gm)].map(([, file, name]) => [file!, name!]);

  it('has the ten promises in order, each with its mechanism and its tests', () => {
    expect(sections.map((section) => section.split(' ')[0])).toEqual(Array.from({ length: 10 }, (_, i) => `P${i + 1}`));
    for (const section of sections) {
      expect(section).toContain('**How.**');
      expect(section.match(/^- `test\//gm)?.length ?? 0, section.split('\n')[0]).toBeGreaterThanOrEqual(5);
    }
    expect(promises.match(/^- `test/gm)).toHaveLength(proofs.length);
  });

  it.each(proofs)('%s has the test "%s"', (file, name) => {
    expect(existsSync(pathOf(file)), `${file} is not there`).toBe(true);
    const titles = textOf(file).replaceAll("\\'", "'");
    expect(titles.includes(name), `no test named "${name}" in ${file}`).toBe(true);
  });
});

describe.each(['SECURITY.md', 'docs/operations.md', 'docs/promises.md'])('%s', (page) => {
  it('names files that are there', () => {
    const named = [...textOf(page).matchAll(/`((?:test|src|docs|bench)\/[\w./-]+)`|\]\(([\w./-]+)(?:#[\w-]+)?\)/g)];
    const folder = page.includes('/') ? page.slice(0, page.lastIndexOf('/') + 1) : '';
    for (const [, path, link] of named) {
      const target = path ?? `${folder}${link}`;
      expect(existsSync(pathOf(target)), `${page} names ${target}`).toBe(true);
    }
    expect(named.length).toBeGreaterThan(3);
  });
});
