// docs/exports.md lists the columns that are written. REGEN=1 writes its tables anew.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { type Column, kinds, tables } from '../../src/export/columns.ts';
import { formats } from '../../src/export/formats/export-formats.ts';

const path = fileURLToPath(new URL('../../docs/exports.md', import.meta.url));

const rowsOf = (columns: readonly Column[]): string[] =>
  columns.map(({ name, type, unit, meaning }) => `| \`${name}\` | ${type}${unit ? `, ${unit}` : ''} | ${meaning} |`);

const head = '| Column | Type | Meaning |\n|---|---|---|';
const sectionOf = (title: string, rows: readonly string[]): string => `## ${title}\n\n${head}\n${rows.join('\n')}\n`;
/** The rows of each table, without local times: they follow the column of the instant. */
const rows = kinds.map((kind) => rowsOf(tables[kind].filter(({ type }) => type !== 'local')));
const count = (row: string): number => rows.filter((own) => own.includes(row)).length;
const all = [...new Set(rows.flat())];
const every = all.filter((row) => count(row) === kinds.length);
const several = all.filter((row) => count(row) >= 3 && !every.includes(row));
const written = [
  sectionOf('every table', every),
  sectionOf(
    'several tables',
    several.map((row) => row.replace(/ \|$/, ` (${kinds.filter((_, i) => rows[i]!.includes(row)).join(', ')}) |`)),
  ),
  ...kinds.map((kind, i) =>
    sectionOf(
      kind,
      rows[i]!.filter((row) => count(row) < 3),
    ),
  ),
].join('\n');

it('docs/exports.md has every column with its type and meaning', () => {
  const text = readFileSync(path, 'utf8');
  const prose = text.slice(0, text.indexOf('\n## every table\n'));
  if (process.env.REGEN) writeFileSync(path, `${prose.trimEnd()}\n\n${written}`);
  else expect(text).toBe(`${prose.trimEnd()}\n\n${written}`);
});

it('docs/exports.md has a row for every format', () => {
  const text = readFileSync(path, 'utf8');
  for (const name of Object.keys(formats)) expect(text, name).toMatch(new RegExp(`^\\| \`${name}\` \\|`, 'm'));
});
