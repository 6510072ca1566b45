// Makes a Python environment that tests and tools use, from its list of pinned packages: `node
// tools/python-environments.mjs NAME`. Does nothing if the environment exists.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** By name: folder, list of packages, oldest Python version, and a command that checks the environment. */
const environments = {
  servers: {
    folder: '.servers',
    list: 'test/servers/requirements.txt',
    python: [3, 10],
    works: ['secantusd-py', '--help'],
  },
  readers: {
    folder: '.readers',
    list: 'test/process/readers/requirements.txt',
    python: [3, 11],
    works: [
      'python',
      '-c',
      'import duckdb, frictionless, geopandas, gpxpy, lxml, matplotlib, movingpandas, trackintel',
    ],
  },
  api: {
    folder: '.api-tests',
    list: 'test/api/requirements.txt',
    python: [3, 10],
    works: ['schemathesis', '--version'],
  },
};

const top = fileURLToPath(new URL('..', import.meta.url));
const [name, ...others] = process.argv.slice(2);
const environment = environments[name];
if (environment === undefined || others.length > 0)
  fail(
    `expected one of ${Object.keys(environments).join(', ')}, found ${process.argv.slice(2).join(' ') || 'nothing'}`,
  );
const folder = `${top}${environment.folder}`;
const list = `${top}${environment.list}`;
const programs = `${folder}/${process.platform === 'win32' ? 'Scripts' : 'bin'}`;
const done = `${folder}/installed.txt`;

function fail(message) {
  console.error(`python-environments: ${message}`);
  process.exit(1);
}

function run(program, args) {
  const { status, error } = spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) fail(`\`${[program, ...args].join(' ')}\` failed: ${error?.message ?? `exit code ${status}`}`);
}

/** The first of $PYTHON, python3 and python that is new enough. */
function findPython(oldest) {
  const check = `import sys, venv; sys.exit(0 if sys.version_info >= (${oldest.join(', ')}) else 1)`;
  for (const program of [process.env.PYTHON, 'python3', 'python']) {
    if (program && spawnSync(program, ['-c', check], { stdio: 'ignore' }).status === 0) return program;
  }
  return fail(
    `expected CPython ${oldest.join('.')} or later as python3, python or $PYTHON, found none: install one (with pip and venv)`,
  );
}

const wanted = readFileSync(list, 'utf8');
if (existsSync(done) && readFileSync(done, 'utf8') === wanted) {
  console.log(`python-environments: ${name} is already installed in ${folder}`);
  process.exit(0);
}
const python = findPython(environment.python);
rmSync(done, { force: true });
run(python, ['-m', 'venv', folder]);
// Python compiles modules at their first use; compiling all of them here takes longer than the installation.
const options = ['--quiet', '--disable-pip-version-check', '--no-compile'];
run(`${programs}/pip`, ['install', ...options, '--requirement', list]);
const [program, ...args] = environment.works;
const tried = spawnSync(`${programs}/${program}`, args, { encoding: 'utf8' });
if (tried.status !== 0) fail(`${name} is installed in ${folder} and does not work:\n${tried.stderr ?? tried.error}`);
writeFileSync(done, wanted);
console.log(`python-environments: ${name} is installed in ${folder}`);
