// Runs test files on request, again and again in one process, and sends the names of the files that failed.
import { join, relative } from 'node:path';
import { createVitest } from 'vitest/node';

const vitest = await createVitest('test', { watch: false, bail: 1, reporters: [{}] });
process.on('disconnect', () => process.exit());

/** How many tests of each file passed in the first run, by path. */
let usual;
let last; // the source of the last mutation
process.on('message', async ({ tests, sources, changed }) => {
  for (const path of [last, changed]) if (path !== undefined) vitest.invalidateFile(join(process.cwd(), path));
  last = changed ?? last;
  const specifications = await specificationsOf(tests, sources);
  // A run that ends at its first failure can still cancel tests of the next run.
  let found;
  do found = await filesAfter(specifications);
  while (failedOf(found).length === 0 && specifications.some(({ moduleId }) => isLess(moduleId, found)));
  usual ??= new Map(found.map((file) => [file.filepath, passed(file)]));
  const names = failedOf(found).map(({ filepath }) => relative(process.cwd(), filepath));
  // An error outside of all tests belongs to no file.
  process.send(names.length > 0 || vitest.state.getUnhandledErrors().length === 0 ? names : tests);
});

/** True if fewer tests of the file passed than in the first run. */
const isLess = (path, files) => passed(files.find(({ filepath }) => filepath === path) ?? {}) < (usual?.get(path) ?? 0);

const failedOf = (files) => files.filter(({ result }) => result?.state === 'fail');

/** The tests that passed. */
const passed = ({ type, tasks = [], result }) =>
  type === 'test' ? Number(result?.state === 'pass') : tasks.reduce((sum, task) => sum + passed(task), 0);

/** Runs the tests of these files; returns the files. */
async function filesAfter(specifications) {
  vitest.state.filesMap.clear();
  vitest.state.errorsSet.clear();
  await vitest.runTestSpecifications(specifications, true);
  return vitest.state.getFiles();
}

/** The tests in these files and folders; if none are named, the quick tests that import the sources. */
async function specificationsOf(tests, sources) {
  if (tests.length > 0) return vitest.globTestSpecifications(tests);
  vitest.config.related = sources.map((path) => join(process.cwd(), path));
  const found = await vitest.getRelevantTestSpecifications();
  return found.filter(({ project }) => project.name === 'quick');
}
