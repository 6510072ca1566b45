// Puts and runs recorded days by one build, in its own process, and reports the CPU of each. Started by scale.js:
// `days.js BUILD STORE CASES [plain]`.
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [build, place, casesFile, segmenterName] = process.argv.slice(2);
const program = await import(pathToFileURL(join(build, 'dist', 'index.js')).href);
// The command line does the same, in builds that have it.
const heap = join(build, 'dist', 'cli', 'heap.js');
if (existsSync(heap)) (await import(pathToFileURL(heap).href)).growFreely();
const cases = JSON.parse(readFileSync(casesFile, 'utf8'));
const store = await program.openStore(place);
const segmenter = segmenterName === 'plain' ? await plainSegmenter() : undefined;
const users = [];
const now = () => Date.now() / 1000;

/** The segmenter without a model from the tests, compiled to JavaScript. */
async function plainSegmenter() {
  const { default: ts } = await import('typescript');
  const source = await readFile(new URL('../test/support/hourly-segmenter.ts', import.meta.url), 'utf8');
  const compilerOptions = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext };
  const dist = pathToFileURL(join(build, 'dist/')).href;
  const script = ts
    .transpileModule(source, { compilerOptions })
    .outputText.replaceAll(/'\.\.\/\.\.\/src\/(.+)\.ts'/g, `'${dist}$1.js'`);
  const { hourlySegmenter } = await import(`data:text/javascript,${encodeURIComponent(script)}`);
  return hourlySegmenter;
}

/** CPU of all threads of this process since its start, s. */
function cpu() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Puts the entries of a case for user `i`. Commits before `putBatch` have a list of checked entries for the store. */
async function put(i) {
  const { user } = await store.users.register(`user ${i}`, { now: 1 });
  users[i] = user.uuid;
  const entries = cases[i % cases.length];
  const before = cpu();
  if (program.putBatch) await program.putBatch(user.uuid, entries, { store, now });
  else await store.usercache.put(user.uuid, program.checkEntries(entries), now());
  return { entries: entries.length, cpu: cpu() - before };
}

/** One run for user `i`. `stages`: CPU from the start of each stage to that of the next, s. */
async function run(i) {
  const before = cpu();
  const starts = [];
  const onStage = (stage) => starts.push({ stage, at: cpu() });
  const options = { log: program.silentLog, now, onStage, ...(segmenter && { segmenter }) };
  const report = await program.runPipeline(store, users[i], options);
  const end = cpu();
  if ((report.status ?? 'done') !== 'done')
    throw new Error(`expected a run that ends as done, found ${report.status}: ${report.message}`);
  const analysis = report.stages?.find(({ stage }) => stage === 'analyse trips');
  return {
    cpu: end - before,
    stages: starts.map(({ stage, at }, k) => [stage, (starts[k + 1]?.at ?? end) - at]),
    locations: analysis?.counts?.locations ?? 0,
    kept: (await store.counts?.(users[i]))?.timeseries ?? 0,
  };
}

const answers = { put, run, close: () => store.close() };
let last = cpu();
process.on('message', async ({ ask, i }) => {
  const late = cpu() - last; // of helper threads since the last answer: compilation and garbage collection
  const answer = await answers[ask](i);
  last = cpu();
  process.send({ ...answer, late });
  if (ask === 'close') process.disconnect();
});
process.send({});
