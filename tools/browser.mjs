// The browser in which pages are tested: `node tools/browser.mjs` prints where it is, or ends with 1; with --install it
// is installed where the system can do that.
import { spawnSync } from 'node:child_process';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Where the browser is: $CHROMIUM, or the first name that the path knows. */
function find() {
  const { CHROMIUM: named } = process.env;
  for (const name of named ? [named] : names) {
    const { status, stdout } = spawnSync('sh', ['-c', 'command -v -- "$1"', 'sh', name], { encoding: 'utf8' });
    if (status === 0) return stdout.trim();
  }
  return null;
}

function run(program, ...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'], env }).status === 0;
}

let found = find();
const debian = spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).status === 0;
if (found === null && process.argv.includes('--install') && debian && process.getuid?.() === 0) {
  run('apt-get', 'update', '--quiet');
  run('apt-get', 'install', '--yes', '--quiet', '--no-install-recommends', 'chromium');
  found = find();
}
if (found === null) {
  console.error(
    `browser: expected ${process.env.CHROMIUM ? '$CHROMIUM' : names.join(', ')}, found none: install Chromium ` +
      `(Debian: \`apt-get install chromium\`), or name a browser in CHROMIUM`,
  );
  process.exit(1);
}
console.log(found);
