// Writes `codebook.html`: all columns of an export, and how often each value occurs.
//
//     mode walking, walking, bus  ->  walking 2 (67 %), bus 1 (33 %)
import type { Column, Row } from './columns.ts';
import type { WrittenTable } from './data-package.ts';
import { instantText } from './instants.ts';

interface Figures {
  column: Column;
  filled: number;
  sum: number;
  least: number | string | null;
  greatest: number | string | null;
  counts: Map<string, number>;
}

export type Frequencies = readonly Figures[];

export const noFrequencies = (columns: readonly Column[]): Frequencies =>
  columns.map((column) => ({ column, filled: 0, sum: 0, least: null, greatest: null, counts: new Map() }));

export function countRow(frequencies: Frequencies, row: Row): void {
  for (const figures of frequencies) {
    const { name, type, values } = figures.column;
    const value = row[name] ?? null;
    if (value === null || value === '') continue;
    figures.filled += 1;
    if (type === 'boolean' || values !== undefined) {
      const text = String(value);
      figures.counts.set(text, (figures.counts.get(text) ?? 0) + 1);
    } else if (typeof value === 'number' || (type === 'day' && typeof value === 'string')) {
      if (typeof value === 'number') figures.sum += value;
      if (figures.least === null || value < figures.least) figures.least = value;
      if (figures.greatest === null || value > figures.greatest) figures.greatest = value;
    }
  }
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => escapes[sign]!);

const style = `body{font:14px/1.4 system-ui,sans-serif;margin:2em auto;max-width:70em}table{border-collapse:collapse;width:100%}
th,td{border:1px solid #bbb;padding:.25em .5em;text-align:left;vertical-align:top}tr{break-inside:avoid}td:nth-child(4){min-width:14em}`;

export function codebook(
  tables: readonly (Pick<WrittenTable, 'kind' | 'path' | 'rows'> & { frequencies: Frequencies })[],
  { created, treatment }: { created: string; treatment: string },
): string {
  const sections = tables.map(({ kind, path, rows, frequencies }) => {
    const lines = frequencies.map((figures) => {
      const { name, type, unit, meaning } = figures.column;
      const missing = rows - figures.filled;
      const cells = [name, unit === undefined ? type : `${type}, ${unit}`, meaning, valuesText(figures)];
      return `<tr>${[...cells, missing === 0 ? '' : String(missing)].map((text) => `<td>${escaped(text)}</td>`).join('')}</tr>`;
    });
    return `<h2>${kind}</h2><p>${escaped(path)}, ${rows} rows</p><table><tr><th>column</th><th>type</th><th>meaning</th><th>values</th><th>missing</th></tr>${lines.join('\n')}</table>`;
  });
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Codebook</title><style>${style}</style>
<h1>Codebook</h1><p>Written ${created}. ${escaped(treatment)}</p>${sections.join('\n')}</html>\n`;
}

function valuesText({ column: { type, values }, filled, sum, least, greatest, counts }: Figures): string {
  if (values !== undefined || type === 'boolean') {
    const all = [...new Set([...(values ?? ['true', 'false']), ...counts.keys()])];
    const share = (count: number): string => (filled === 0 ? '' : ` (${Math.round((100 * count) / filled)} %)`);
    return all.map((value) => `${value} ${counts.get(value) ?? 0}${share(counts.get(value) ?? 0)}`).join(', ');
  }
  if (least === null || greatest === null) return '';
  const text = (value: number | string): string =>
    type === 'instant'
      ? (instantText(Number(value)) ?? '')
      : String(typeof value === 'number' ? rounded(value) : value);
  const mean = type === 'number' || type === 'integer' ? `, mean ${rounded(sum / filled)}` : '';
  return `${text(least)} to ${text(greatest)}${mean}`;
}

const rounded = (value: number): number => Number(value.toPrecision(6));
