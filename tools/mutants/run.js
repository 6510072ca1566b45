// Mutation testing: `npm run mutants -- ROOM` or `src/FILE.ts [test files…]`, with [--most N] [--seed N], changes the
// sources in small ways, one at a time, and runs the tests of the room, or the tests that import the file. If no test
// fails, a test is missing or the change has no effect. StrykerJS needs a newer Node than the project supports.
import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { mutationsOf } from './mutations.js';
import { rooms } from './rooms.js';

const project = fileURLToPath(new URL('../..', import.meta.url));
const slackSeconds = 20; // added to three times the usual duration; a mutant that takes longer counts as noticed

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { most: { type: 'string', default: '50' }, seed: { type: 'string', default: '1' } },
});
const [given = '', ...tests] = positionals;
const most = Number(values.most);
const room = rooms[given] ?? { sources: [relative(project, resolve(given))], tests };
if (!room.sources.every((path) => /^src\/.*\.ts$/.test(path)) || !(most > 0)) {
  const names = Object.keys(rooms).join(', ');
  console.error(`expected a room (${names}) or a file of src: npm run mutants -- put [--most 50] [--seed 1]`);
  process.exit(2);
}

/** A copy of the project without installed and built files. The project itself is never changed. */
function copyProject() {
  const copy = mkdtempSync(join(tmpdir(), 'mobility-mutants-'));
  const left = /^(?:node_modules|dist|\.git|\.servers|\.readers|\.browser|\.debian|\.api-tests)$/;
  for (const name of readdirSync(project)) {
    if (!left.test(name)) cpSync(join(project, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(project, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** A process that runs tests in the copy. It keeps compiled modules, so a mutant takes seconds. */
let worker = null;

/**
 * Runs tests in the copy after `changed` was written. Returns the outcome (`survived`, `killed`, or `stopped` if it
 * took too long), its duration, and the test files that failed.
 */
async function runTests(copy, limitSeconds, { changed, tests = room.tests } = {}) {
  worker ??= fork(fileURLToPath(new URL('worker.js', import.meta.url)), [], {
    cwd: copy,
    env: { ...process.env, MOBILITY_TEST_SEED: values.seed },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true,
  });
  const began = performance.now();
  worker.send({ tests, sources: room.sources, changed });
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), limitSeconds * 1000);
  try {
    const [failed] = await Promise.race([
      once(worker, 'message', { signal: limit.signal }),
      once(worker, 'exit', { signal: limit.signal }).then(() => Promise.reject(new Error('the tests ended early'))),
    ]);
    const seconds = (performance.now() - began) / 1000;
    return { outcome: failed.length > 0 ? 'killed' : 'survived', failed, seconds };
  } catch {
    endWorker();
    return { outcome: 'stopped', failed: [], seconds: limitSeconds };
  } finally {
    clearTimeout(timer);
    limit.abort(); // ends both timers
  }
}

/** Ends the process and its child processes. */
function endWorker() {
  if (worker?.exitCode === null) process.kill(-worker.pid, 'SIGKILL');
  worker = null;
}

/**
 * One mutation of each of `count` equal parts. The seed selects which: neighbours are alike, so seeds must not step.
 */
function chosen(mutations, count) {
  const step = Math.max(1, mutations.length / count);
  const size = Math.min(count, mutations.length);
  return Array.from({ length: size }, (_, i) => mutations[Math.floor((i + fractionOf(i)) * step)]);
}

/** A number from 0 to below 1. */
const fractionOf = (i) => createHash('sha256').update(`${values.seed} ${i}`).digest().readUInt32BE() / 2 ** 32;

const copy = copyProject();
process.on('exit', () => {
  endWorker();
  rmSync(copy, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

const all = room.sources.flatMap((path) => {
  const text = readFileSync(join(project, path), 'utf8');
  return mutationsOf(text).map((mutation) => ({ path, text, ...mutation }));
});
const usual = await runTests(copy, 1800);
if (usual.outcome !== 'survived') {
  console.error('expected that the tests pass without a change; they failed or did not end');
  process.exit(1);
}
const limit = 3 * usual.seconds + slackSeconds;
const counts = { killed: 0, survived: 0, stopped: 0, flaky: 0 };
const picked = chosen(all, most);
for (const { path, text, from, to, line, before, after } of picked) {
  writeFileSync(join(copy, path), text.slice(0, from) + after + text.slice(to));
  let { outcome, failed } = await runTests(copy, limit, { changed: path, tests: room.first ?? room.tests });
  if (outcome === 'survived' && room.first !== undefined) ({ outcome, failed } = await runTests(copy, limit));
  // Run the failed tests again: a failure by chance does not count.
  if (outcome === 'killed' && (await runTests(copy, limit, { tests: failed })).outcome === 'survived')
    outcome = 'flaky';
  writeFileSync(join(copy, path), text);
  counts[outcome] += 1;
  if (outcome !== 'killed') console.log(`${outcome.padEnd(9)} ${path}:${line}  ${shown(before)}  ->  ${shown(after)}`);
}
const found = Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`);
console.log(`${given}: ${picked.length} of ${all.length} mutants tried: ${found.join(', ')}`);
process.exit(); // ends the worker

function shown(code) {
  const line = code.replace(/\s+/g, ' ');
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
