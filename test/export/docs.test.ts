// docs/exports.md lists the columns that are written. REGEN=1 writes its tables anew.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { kinds, tables } from '../../src/export/columns.ts';

const path = fileURLToPath(new URL('../../docs/exports.md', import.meta.url));

const written = kinds
  .map((kind) => {
    const rows = tables[kind].map(
      ({ name, type, unit, meaning }) => `| \`${name}\` | ${type}${unit ? `, ${unit}` : ''} | ${meaning} |`,
    );
    return `## ${kind}\n\n| Column | Type | Meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
  })
  .join('\n');

it('docs/exports.md has every column with its type and meaning', () => {
  const text = readFileSync(path, 'utf8');
  const head = text.slice(0, text.indexOf(`\n## ${kinds[0]}\n`));
  if (process.env.REGEN) writeFileSync(path, `${head.trimEnd()}\n\n${written}`);
  else expect(text).toBe(`${head.trimEnd()}\n\n${written}`);
});
