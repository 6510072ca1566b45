// A program for tests: opens a log, writes lines, and ends in the way asked for. `write-log.mjs PROGRAM DIR KIND LINES
// END [SIZE [SOURCE]]`; PROGRAM is the folder of a build.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [program, dir, kind, lines, end, size = '10', source] = process.argv.slice(2);
const { openFileLog } = await import(pathToFileURL(join(program, 'dist', 'log', 'files.js')).href);
const files = openFileLog({
  ...{ dir, name: kind, level: 'debug', maxSizeMiB: Number(size), maxFiles: 1000 },
  ...(source && { source }),
});
for (let n = 0; n < Number(lines); n += 1) files.log.write('DEBUG', `line ${n} of ${process.pid}`);
if (end === 'close') {
  await files.close();
  process.exit(0);
}
process.stdout.write('written\n');
setInterval(() => {}, 1000); // waits to be killed
