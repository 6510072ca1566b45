// Finds the browser that the tests of pages use: `node tools/browser.mjs` prints its path, or ends with 1. With --install, if
// the system has none, it installs a pinned Chromium from the npm registry into `.browser`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** A package that contains Chromium for Linux on x64. Nothing else is downloaded. */
const pinned = '@sparticuz/chromium@153.0.0';
const folder = fileURLToPath(new URL('../.browser', import.meta.url));
const own = `${folder}/chromium`;

/** The path of the browser: $CHROMIUM, the first known name on the PATH, or the pinned one. */
function find() {
  const { CHROMIUM: named } = process.env;
  for (const name of named ? [named] : names) {
    const { status, stdout } = spawnSync('sh', ['-c', 'command -v -- "$1"', 'sh', name], { encoding: 'utf8' });
    if (status === 0) return stdout.trim();
  }
  return !named && existsSync(own) ? own : null;
}

function run(program, args, env = {}) {
  const stdio = ['ignore', 'inherit', 'inherit'];
  return spawnSync(program, args, { stdio, env: { ...process.env, ...env } }).status === 0;
}

/** Installs the pinned package. It unpacks Chromium into the folder for temporary files, so `folder` is used as this folder. */
function installPinned() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return;
  mkdirSync(folder, { recursive: true });
  const npm = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', pinned];
  const unpack = "import('@sparticuz/chromium').then((one) => one.default.executablePath())";
  const script = ['--input-type=module', '-e', unpack];
  if (!run('npm', npm)) return;
  spawnSync(process.execPath, script, { cwd: folder, stdio: 'inherit', env: { ...process.env, TMPDIR: folder } });
}

function installFromDebian() {
  if (spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).status !== 0 || process.getuid?.() !== 0) return;
  run('apt-get', ['update', '--quiet']);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  run('apt-get', ['install', '--yes', '--quiet', '--no-install-recommends', 'chromium'], env);
}

let found = find();
for (const install of process.argv.includes('--install') ? [installPinned, installFromDebian] : []) {
  if (found !== null) break;
  install();
  found = find();
}
if (found === null) {
  console.error(
    `browser: expected ${process.env.CHROMIUM ? '$CHROMIUM' : names.join(', ')}, found none: install Chromium ` +
      '(`npm run test:browser` on Linux, `apt-get install chromium` on Debian), or name a browser in CHROMIUM',
  );
  process.exit(1);
}
console.log(found);
