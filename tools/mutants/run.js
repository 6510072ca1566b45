// Mutation testing: `npm run mutants -- src/FILE.ts [--most N] [--seed N] [test files…]` changes a file in small ways,
// one at a time, and runs the tests that reach it. A change that no test notices is a missing test, or makes no
// difference. StrykerJS would serve, but wants a newer Node than we support and more packages than all others together.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { mutationsOf } from './mutations.js';

const project = fileURLToPath(new URL('../..', import.meta.url));
const slackSeconds = 20; // beyond three times the usual: such a mutant has stopped the tests, which notices it too

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { most: { type: 'string', default: '50' }, seed: { type: 'string', default: '1' } },
});
const [given, ...tests] = positionals;
const path = given === undefined ? null : relative(project, resolve(given));
const most = Number(values.most);
if (path === null || !/^src\/.*\.ts$/.test(path) || !(most > 0)) {
  console.error('expected a file of src: npm run mutants -- src/model/time.ts [--most 50] [--seed 1] [test files…]');
  process.exit(2);
}

/** A copy of the project without its dependencies and builds: nobody's files change, however this ends. */
function copyProject() {
  const copy = mkdtempSync(join(tmpdir(), 'mobility-mutants-'));
  for (const name of readdirSync(project)) {
    if (['node_modules', 'dist', '.git'].includes(name)) continue;
    cpSync(join(project, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(project, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Runs the tests in the copy: `passed`, `failed` or `stopped` after too long, and how long it took. */
function runTests(copy, limitSeconds) {
  const vitest = join('node_modules', 'vitest', 'vitest.mjs');
  const which = tests.length > 0 ? ['run', ...tests] : ['related', path, '--run', '--config', 'vitest.quick.config.ts'];
  const args = [vitest, ...which, '--bail=1', '--reporter=dot'];
  const env = { ...process.env, MOBILITY_TEST_SEED: values.seed };
  const began = performance.now();
  const child = spawn(process.execPath, args, { cwd: copy, env, stdio: 'ignore', detached: true });
  return new Promise((done) => {
    const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), limitSeconds * 1000);
    child.on('exit', (code, signal) => {
      clearTimeout(timer);
      const outcome = signal === null ? (code === 0 ? 'passed' : 'failed') : 'stopped';
      done({ outcome, seconds: (performance.now() - began) / 1000 });
    });
  });
}

/** `count` of them, spread evenly over the file; the seed shifts which. */
function chosen(mutations, count) {
  if (mutations.length <= count) return mutations;
  const step = mutations.length / count;
  const shift = Number(values.seed) % Math.ceil(step);
  return Array.from({ length: count }, (_, i) => mutations[Math.floor(i * step + shift) % mutations.length]);
}

const copy = copyProject();
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
process.on('SIGINT', () => process.exit(130));

const text = readFileSync(join(project, path), 'utf8');
const all = mutationsOf(text);
const usual = await runTests(copy, 600);
if (usual.outcome !== 'passed') {
  console.error(`expected tests that pass before anything is changed; they ${usual.outcome}`);
  process.exit(1);
}
const counts = { killed: 0, survived: 0, stopped: 0 };
for (const { from, to, line, before, after } of chosen(all, most)) {
  writeFileSync(join(copy, path), text.slice(0, from) + after + text.slice(to));
  const { outcome } = await runTests(copy, 3 * usual.seconds + slackSeconds);
  const what = { passed: 'survived', failed: 'killed', stopped: 'stopped' }[outcome];
  counts[what] += 1;
  if (what !== 'killed') console.log(`${what.padEnd(9)} ${path}:${line}  ${shown(before)}  ->  ${shown(after)}`);
}
writeFileSync(join(copy, path), text);
const tried = counts.killed + counts.survived + counts.stopped;
console.log(
  `${tried} of ${all.length} mutants tried: ${counts.killed} killed, ${counts.survived} survived, ${counts.stopped} stopped`,
);

function shown(code) {
  const line = code.replace(/\s+/g, ' ');
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
