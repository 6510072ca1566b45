// Log files, read plainly.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** Files that are logs, sorted. */
export function logFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .sort();
}

/** Text of a log file, compressed or not. */
export function textOf(folder: string, name: string): string {
  const bytes = readFileSync(join(folder, name));
  return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
}

/** Everything in the log files of a folder. */
export function logText(folder: string): string {
  const names = logFiles(folder).filter((name) => /\.log(\.gz)?$/.test(name));
  return names.map((name) => textOf(folder, name)).join('');
}
