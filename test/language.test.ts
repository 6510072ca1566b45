// No comment and no message has private words.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { privateWords } from './support/private-words.ts';

const src = fileURLToPath(new URL('../src', import.meta.url));

const found: Record<string, string[]> = {};
for (const name of readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((one) => one.endsWith('.ts'))) {
  const room = name.includes('/') ? name.slice(0, name.indexOf('/')) : 'top';
  const words = privateWords(readFileSync(join(src, name), 'utf8')).map((word) => `${name}: ${word}`);
  found[room] = [...(found[room] ?? []), ...words];
}

it.each(Object.keys(found).sort())('%s has no private words', (room) => {
  expect(found[room], 'write plainly instead').toEqual([]);
});

it('private words are found in comments and texts, not in names', () => {
  const source = `/** What waits. */ const told = 'none'; // goes
    throw new Error(\`\${told} is to wait, said \${told}\`); // It stands.
`;
  expect(privateWords(source).sort()).toEqual(['What waits', 'is to wait', 'said', 'stands']);
});
