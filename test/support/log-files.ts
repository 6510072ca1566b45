// Log files, read plainly.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

export function logFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .sort();
}

export function textOf(folder: string, name: string): string {
  const bytes = readFileSync(join(folder, name));
  return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
}

/** Everything in the log files of a folder. */
export function logText(folder: string): string {
  const names = logFiles(folder).filter((name) => /\.log(\.gz)?$/.test(name));
  return names.map((name) => textOf(folder, name)).join('');
}
