// Files in the shapes that other programs write, with made-up places: each is read whole, as what it is.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { FileReading } from '../../src/import/import-format.ts';
import { findParts } from '../../src/import/import-formats.ts';
import { SourceBroken } from '../../src/import/source-error.ts';
import { convert } from '../../src/intake/converters/convert.ts';
import type { Entry } from '../../src/model/entry.ts';

const folder = fileURLToPath(new URL('../fixtures/recordings/', import.meta.url));

/** What an import finds in a file, in lines: its formats, what is in it, and what is not taken. */
async function found(name: string, reading: FileReading = {}): Promise<string[]> {
  const { parts, skipped } = await findParts([folder + name], undefined, reading);
  const lines = [parts.map(({ format }) => format).join(' ')];
  for (const part of parts) {
    try {
      for await (const one of part.read({ onBytes: () => {} })) {
        if ('entry' in one) lines.push(entryLine(one.entry as Entry));
        else if ('warning' in one) lines.push(`warning: ${one.warning}`);
        else lines.push('unread' in one ? `unread: ${one.unread}` : 'skipped' in one ? `left: ${one.skipped}` : 'else');
      }
    } catch (error) {
      if (!(error instanceof SourceBroken)) throw error;
      lines.push(`broken: ${error.message}`);
    }
  }
  const names = skipped.map(({ path }) => `skipped: ${path.slice(folder.length)}`);
  return [...lines.filter((line) => line !== ''), ...names];
}

/** Seconds after 08:00 UTC, where, and the rest; every entry must be one that the converters take. */
function entryLine(entry: Entry): string {
  const { key, time_zone } = convert(entry).metadata as { key: string; time_zone?: string };
  if (key === 'statemachine/transition') return '';
  const { ts, latitude, longitude, type, ...more } = entry.data;
  if (key === 'background/battery') return 'battery';
  if (key.startsWith('manual/')) return `${key} ${JSON.stringify(entry.data)}`;
  const at = Math.round((Number(ts) - Date.UTC(2024, 2, 12, 8) / 1000) * 1000) / 1000;
  const others = Object.entries(more).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  if (key !== 'background/location') return [at, 'motion', type, ...others].join(' ');
  return [at, `${latitude},${longitude}`, ...(time_zone === 'Europe/Lisbon' ? [] : [time_zone]), ...others].join(' ');
}

/** By file, how it is read and what is found. */
const expected = JSON.parse(readFileSync(join(folder, '../recordings.json'), 'utf8')) as Record<
  string,
  { reading?: FileReading; lines: string[] }
>;

it.each([...new Set([...readdirSync(folder), ...Object.keys(expected)])])('%s', async (name) => {
  const { reading, lines } = expected[name] ?? { lines: [] };
  expect(await found(name, reading)).toEqual(lines);
});
