// A program for tests: opens a log, writes lines, and ends in the way asked for. `write-log.ts DIR KIND LINES END
// [SIZE]`
import { openFileLog } from '../../../src/log/files.ts';

const [dir, kind, lines, end, size = '10'] = process.argv.slice(2) as [
  string,
  'server' | 'pipeline',
  string,
  string,
  string?,
];
const files = openFileLog({ dir, name: kind, level: 'debug', maxSizeMiB: Number(size), maxFiles: 1000 });
for (let n = 0; n < Number(lines); n += 1) files.log.write('DEBUG', `line ${n} of ${process.pid}`);
if (end === 'close') {
  await files.close();
  process.exit(0);
}
process.stdout.write('written\n');
setInterval(() => {}, 1000); // waits to be killed
