// A program for tests: writes lines to a log and ends in the way asked for. `write-log.mjs PROGRAM DIR KIND LINES END
// [MIB [WORKERS]]`; PROGRAM is the folder of a build. With WORKERS, each of so many workers writes the lines instead.
import cluster from 'node:cluster';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [program, logDir, kind, lines, end, size = '10', workers = '0'] = process.argv.slice(2);
const { openFileLog } = await import(pathToFileURL(join(program, 'dist', 'log', 'files.js')).href);
const files = await openFileLog({
  ...{ logDir, kind, logLevel: 'debug', maxSizeMiB: Number(size), logMaxFiles: 1000 },
  warn: (text) => process.stderr.write(`${text}\n`),
});
if (cluster.isPrimary && workers !== '0') {
  const forked = Array.from({ length: Number(workers) }, () => cluster.fork());
  await Promise.all(forked.map((worker) => new Promise((resolve) => worker.on('exit', resolve))));
} else {
  for (let n = 0; n < Number(lines); n += 1) {
    files.log.write('DEBUG', `line ${n} of ${process.pid}`);
    if (n % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 1)); // several writes, so that files rotate
  }
}
if (end === 'close') {
  await files.close();
  if (cluster.isWorker) cluster.worker.disconnect();
  else process.exit(0);
} else {
  process.stdout.write('written\n');
  setInterval(() => {}, 1000); // waits to be killed
}
