import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';

/** Compares markup with a file of test/fixtures, an element a line. `REGEN=1` rewrites the file for review. */
export function expectFixture(name: string, text: string): void {
  const path = new URL(`../fixtures/${name}`, import.meta.url);
  const found = `${text.replaceAll('><', '>\n<')}\n`;
  if (process.env.REGEN) writeFileSync(path, found);
  expect(found).toBe(readFileSync(path, 'utf8'));
}
