// The browser in which pages are tested: `node tools/browser.mjs` prints where it is, or ends with 1; with --install a
// pinned Chromium comes from the npm registry into `.browser` where the system has none.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** A package that carries the program itself, for Linux on x64: nothing else is downloaded. */
const pinned = '@sparticuz/chromium@153.0.0';
const folder = fileURLToPath(new URL('../.browser', import.meta.url));
const own = `${folder}/chromium`;

/** Where the browser is: $CHROMIUM, the first name that the path knows, or the pinned one. */
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

/** Installs the pinned package; it unpacks its program into the folder for temporary files, so that is `folder`. */
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
