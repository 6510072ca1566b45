// Runs test files on request, again and again in one process, and sends the names of the files that failed.
import { join, relative } from 'node:path';
import { createVitest } from 'vitest/node';

const vitest = await createVitest('test', { watch: false, bail: 1, reporters: [{}] });

process.on('disconnect', () => process.exit());

let last; // the source that was changed before
process.on('message', async ({ tests, sources, changed }) => {
  for (const path of [last, changed]) if (path !== undefined) vitest.invalidateFile(join(process.cwd(), path));
  last = changed ?? last;
  vitest.state.filesMap.clear();
  vitest.state.errorsSet.clear();
  await vitest.runTestSpecifications(await specificationsOf(tests, sources), true);
  const failed = vitest.state.getFiles().filter(({ result }) => result?.state === 'fail');
  const names = failed.map(({ filepath }) => relative(process.cwd(), filepath));
  // An error outside every test belongs to no file.
  process.send(names.length > 0 || vitest.state.getUnhandledErrors().length === 0 ? names : tests);
});

/** The tests in these files and folders; without any, the quick tests that reach the sources. */
async function specificationsOf(tests, sources) {
  if (tests.length > 0) return vitest.globTestSpecifications(tests);
  vitest.config.related = sources.map((path) => join(process.cwd(), path));
  const found = await vitest.getRelevantTestSpecifications();
  return found.filter(({ project }) => project.name === 'quick');
}
