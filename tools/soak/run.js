// Tests that take longer than a build: `npm run soak -- NAME [NUMBER]`. CONTRIBUTING.md says when to run each.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { hour } from './hour.js';
import { pages } from './pages.js';
import { requests } from './requests.js';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** Runs test files with more rounds than usual; resolves with the exit code. */
function tests(variables, ...files) {
  const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
  const child = spawn(process.execPath, [vitest, 'run', '--mode', 'full', '--testTimeout=0', ...files], {
    cwd: project,
    env: { ...process.env, ...variables },
    stdio: 'inherit',
  });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}

/** Runs a program of the project; resolves with the exit code. */
function program(...command) {
  const child = spawn(command[0], command.slice(1), { cwd: project, stdio: 'inherit' });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}

/** The tests by name: the default number, the meaning of the number, and the function. */
const soaks = {
  kills: {
    usual: 1000,
    of: 'kills of a put, of a put with a pipeline, and of a pipeline',
    run: (n) =>
      tests(
        { MOBILITY_TEST_KILLS: String(n) },
        'test/faults/killed-server.test.ts',
        'test/faults/killed-pipeline.test.ts',
      ),
  },
  sequences: {
    usual: 1000,
    of: 'random sequences of operations, compared with a model of the store',
    run: (n) => tests({ MOBILITY_MODEL_RUNS: String(n) }, 'test/faults/store/model.test.ts'),
  },
  people: {
    usual: 200,
    of: 'people whom pipeline workers share on MongoDB while they are killed (needs `npm run test:servers`)',
    run: (n) =>
      tests({ MOBILITY_TEST_PEOPLE: String(n), MOBILITY_REQUIRE_ALL: '1' }, 'test/faults/servers/workers.test.ts'),
  },
  lives: {
    usual: 500,
    of: 'random lives, pushed in random orders',
    run: (n) =>
      tests(
        { MOBILITY_TEST_RUNS: String(n) },
        'test/faults/pipeline/order.test.ts',
        'test/faults/analysis/stretches.test.ts',
        'test/faults/diary/observed-lives.test.ts',
      ),
  },
  corrections: {
    usual: 250,
    of: 'random lives with some 1,000 corrections that move between stores, MongoDB too (needs `npm run test:servers`)',
    run: (n) =>
      tests({ MOBILITY_TEST_RUNS: String(n), MOBILITY_REQUIRE_ALL: '1' }, 'test/faults/corrections/journeys.test.ts'),
  },
  recorded: {
    usual: 1,
    of: 'round over every recorded day, in every order and on both stores (needs the days in MOBILITY_SHARED)',
    run: () => program('bash', '.ci/recorded-days', 'all'),
  },
  damages: {
    usual: 1000,
    of: 'stores with a flipped bit, an overwritten page or a lost end',
    run: (n) => tests({ MOBILITY_TEST_DAMAGES: String(n) }, 'test/faults/damaged-files.test.ts'),
  },
  imports: {
    usual: 10_000,
    of: 'mutated files of every format that `import` reads, beside sound ones',
    run: (n) => tests({ MOBILITY_TEST_IMPORTS: String(n) }, 'test/faults/mutated-imports.test.ts'),
  },
  hour: {
    usual: 60,
    of: 'minutes of puts and reads with erase, backup, recovery, rebuild and migrate beside them',
    run: (n) => hour(n),
  },
  requests: {
    usual: 100_000,
    of: 'malformed requests, pipelined, slow, in chunks and cut off, beside thousands of silent connections',
    run: (n) => requests(n),
  },
  pages: {
    usual: 20_000,
    of: 'calls of signed-in browsers that follow every link and send every form with wrong values',
    run: (n) => pages(n),
  },
};

const [name, number] = process.argv.slice(2);
const soak = Object.hasOwn(soaks, name ?? '') ? soaks[name] : undefined;
const amount = number === undefined ? soak?.usual : Number(number);
if (soak === undefined || !(amount > 0)) {
  const lines = Object.entries(soaks).map(([one, { usual, of }]) => `  ${one} [${usual}]  ${of}`);
  console.error(`expected one of these, with a number greater than 0 or without:\n${lines.join('\n')}`);
  process.exit(2);
}
if (!existsSync(new URL('../../dist/index.js', import.meta.url))) {
  console.error('expected a build in dist: run `npm run build` first');
  process.exit(2);
}
process.exitCode = await soak.run(amount);
