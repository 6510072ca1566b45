// What the tests of log files share: folders that go away, children that write, and reading files back plainly.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterEach } from 'vitest';

const folders = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
/** A new folder that is removed after the test. */
export function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'mobility-log-'));
  folders.push(folder);
  return folder;
}
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
/** Starts a child that runs a TypeScript file of this folder. */
export function startChild(file, ...args) {
  return spawn(process.execPath, ['--import', here('./ts-loader.mjs'), here(file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
/** Resolves with the exit code or signal. */
export function ended(child) {
  return new Promise((resolve) => child.on('exit', (code, signal) => resolve(signal ?? code)));
}
/** Resolves at the child's first output. */
export function spoke(child) {
  return new Promise((resolve) => child.stdout.once('data', () => resolve()));
}
/** Files that are logs, sorted. */
export function logFiles(folder) {
  return readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .sort();
}
/** Text of a log file, compressed or not. */
export function textOf(folder, name) {
  const bytes = readFileSync(join(folder, name));
  return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
}
/** Messages of all files, sorted by name of the file. */
export function messagesOf(folder) {
  const lines = logFiles(folder).flatMap((name) => textOf(folder, name).split('\n'));
  return lines.filter((line) => line !== '').map((line) => line.split(':').slice(6).join(':'));
}
