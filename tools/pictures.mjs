// Makes the pictures of the README from Ben's day: `npm run build && npm run demo && node tools/pictures.mjs`. Needs
// Chromium.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { main } from '../dist/cli/main.js';

const top = fileURLToPath(new URL('..', import.meta.url));
const browser = execFileSync(process.execPath, [join(top, 'tools/browser.mjs')], { encoding: 'utf8' }).trim();
const work = mkdtempSync(join(tmpdir(), 'mobility-pictures-'));
const largest = 60_000; // bytes of a picture

/** The output of a command on a terminal. */
async function outputOf(...args) {
  let text = '';
  const sink = {
    isTTY: true,
    columns: 80,
    write(piece, done) {
      text += piece;
      done?.();
      return true;
    },
  };
  const quiet = { ...sink, write: (_, done) => done?.() ?? true };
  const stdin = Object.assign(Readable.from([]), { isTTY: false });
  const env = { MOBILITY_STORE: 'demo-out/store', MOBILITY_LOG_DIR: join(work, 'logs') };
  const surroundings = { env, stdin, now: () => Date.now() / 1000, zone: 'UTC', stdout: sink, stderr: quiet };
  const code = await main(['node', 'mobility', ...args], surroundings);
  if (code !== 0) throw new Error(`mobility ${args.join(' ')} ended with ${code}: run \`npm run demo\` first`);
  return text;
}

/** The 256 colours of a terminal. */
function rgb(colour) {
  const level = (n) => (n === 0 ? 0 : 55 + 40 * n);
  const cube = colour - 16;
  const parts = [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level);
  return `rgb(${(colour >= 232 ? Array(3).fill(8 + 10 * (colour - 232)) : parts).join()})`;
}

/** An escape sequence of a terminal as HTML. */
function tag(mark) {
  if (mark.startsWith('38;5;')) return `<span style="color:${rgb(Number(mark.slice(5)))}">`;
  if (mark === '1') return '<span style="font-weight:bold;color:#fff">';
  return mark === '2' ? '<span style="color:#a8a8a8">' : '</span>';
}

/** Text with escape sequences as HTML. */
function screen(text) {
  const pieces = text.replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`).split('\u001b[');
  const marked = pieces.map((piece, i) => (i === 0 ? piece : piece.replace(/^([\d;]+)m/, (_, mark) => tag(mark))));
  const style = 'margin:0;padding:16px;background:#141414;color:#ddd;font:14px/18px DejaVu Sans Mono,monospace';
  return `<!doctype html><meta charset="utf-8"><body style="margin:0"><pre style="${style}">${marked.join('')}</pre>`;
}

function picture(page, name, size) {
  const file = join(top, 'docs/images', name);
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', `--window-size=${size}`];
  const place = [`--user-data-dir=${join(work, 'profile')}`, `--screenshot=${file}`, pathToFileURL(page).href];
  execFileSync(browser, [...flags, ...place], { stdio: 'ignore' });
  const { size: bytes } = statSync(file);
  if (bytes > largest) throw new Error(`${file} has ${bytes} bytes, expected ${largest} at most`);
  console.log(`${file}: ${bytes} bytes`);
}

try {
  const of = ['diary', '--user', 'ben@example.org', '--day', '2024-03-12'];
  const page = join(work, 'day.html');
  await outputOf(...of, '--html', page);
  picture(page, 'day-page.png', '640,800');
  const terminal = join(work, 'terminal.html');
  writeFileSync(terminal, screen(await outputOf(...of)));
  picture(terminal, 'day-terminal.png', '700,500');
} finally {
  rmSync(work, { recursive: true, force: true, maxRetries: 5 });
}
