// Installs the test server of the MongoDB backend into .servers: `npm run test:servers`. Does nothing when it is there
// already.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../.servers', import.meta.url));
const list = fileURLToPath(new URL('requirements.txt', import.meta.url));
const programs = `${folder}/${process.platform === 'win32' ? 'Scripts' : 'bin'}`;
const done = `${folder}/installed.txt`;

function fail(message) {
  console.error(`test:servers: ${message}`);
  process.exit(1);
}

function run(program, args) {
  const { status, error } = spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) fail(`\`${[program, ...args].join(' ')}\` failed: ${error?.message ?? `exit code ${status}`}`);
}

/** The first Python of 3.10 or later, among $PYTHON, python3 and python. */
function findPython() {
  const check = 'import sys; sys.exit(0 if sys.version_info >= (3, 10) else 1)';
  for (const name of [process.env.PYTHON, 'python3', 'python']) {
    if (name && spawnSync(name, ['-c', check], { stdio: 'ignore' }).status === 0) return name;
  }
  return fail(
    'expected CPython 3.10 or later as python3, python or $PYTHON, found none: install one (with pip and venv)',
  );
}

const wanted = readFileSync(list, 'utf8');
if (existsSync(done) && readFileSync(done, 'utf8') === wanted) {
  console.log(`test:servers: already installed in ${folder}`);
  process.exit(0);
}
const python = findPython();
rmSync(done, { force: true });
run(python, ['-m', 'venv', folder]);
run(`${programs}/pip`, ['install', '--quiet', '--disable-pip-version-check', '--requirement', list]);
if (spawnSync(`${programs}/secantusd-py`, ['--help'], { stdio: 'ignore' }).status !== 0)
  fail('the server does not start');
writeFileSync(done, wanted);
console.log(`test:servers: installed in ${folder}`);
