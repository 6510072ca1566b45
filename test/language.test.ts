// Private words in comments and messages: their number in each room may only fall.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { privateWords } from './support/private-words.ts';

const src = fileURLToPath(new URL('../src', import.meta.url));

/** What each room may have at most. Lower the number of a room when words have gone. */
const most: Record<string, number> = {
  analysis: 0,
  cli: 58,
  diary: 0,
  emission: 13,
  evaluate: 0,
  export: 0,
  figures: 11,
  import: 0,
  intake: 0,
  log: 0,
  model: 3,
  pipeline: 0,
  server: 0,
  simulate: 2,
  store: 0,
  top: 4,
  transit: 0,
  upkeep: 0,
  util: 0,
  web: 0,
};

const found: Record<string, string[]> = {};
for (const name of readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((one) => one.endsWith('.ts'))) {
  const room = name.includes('/') ? name.slice(0, name.indexOf('/')) : 'top';
  const words = privateWords(readFileSync(join(src, name), 'utf8')).map((word) => `${name}: ${word}`);
  found[room] = [...(found[room] ?? []), ...words];
}

it.each(Object.keys(found).sort())('%s has no more private words than before', (room) => {
  const words = found[room]!;
  expect(words.length, `write plainly instead of:\n${words.join('\n')}`).toBeLessThanOrEqual(most[room] ?? 0);
});

it('private words are found in comments and texts, not in names', () => {
  const source = `/** What waits. */ const told = 'none'; // goes
    throw new Error(\`\${told} is to wait, said \${told}\`); // It stands.
`;
  expect(privateWords(source).sort()).toEqual(['What waits', 'is to wait', 'said', 'stands']);
});
