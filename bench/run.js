// Runs the measurements named on the command line, or all: `npm run bench`, `npm run bench -- put day`. See README.md.
import { existsSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

if (!existsSync(fileURLToPath(new URL('../dist/index.js', import.meta.url)))) {
  console.error('expected a build in dist: run `npm run build` first');
  process.exit(2);
}

const measurements = {
  put: async () => (await import('./put.js')).put({ peer: process.env.MOBILITY_BENCH_PEER }),
  day: async () => (await import('./day.js')).day({ file: process.env.MOBILITY_BENCH_DAY }),
  analysis: async () => (await import('./analysis.js')).analysis({ folder: process.env.MOBILITY_BENCH_CASES }),
  idle: async () => (await import('./idle.js')).idle(),
  composite: async () => (await import('./composite.js')).composite(),
  beside: async () => (await import('./beside.js')).beside(),
  archive: async () => (await import('./archive.js')).archive(),
  erase: async () => (await import('./erase.js')).erase(),
  attack: async () => (await import('./attack.js')).attack(),
  scale: async () =>
    (await import('./scale.js')).scale({
      folder: process.env.MOBILITY_BENCH_DAYS,
      days: Number(process.env.MOBILITY_BENCH_HISTORY ?? 365),
      peer: process.env.MOBILITY_BENCH_PEER,
      ...(process.env.MOBILITY_BENCH_USERS && { everybody: Number(process.env.MOBILITY_BENCH_USERS) }),
    }),
  grow: async () => (await import('./grow.js')).grow({ days: Number(process.env.MOBILITY_BENCH_HISTORY ?? 1095) }),
  study: async () => (await import('./study.js')).studyPages(),
  memory: async () => (await import('./memory.js')).memory({ years: Number(process.env.MOBILITY_BENCH_YEARS ?? 5) }),
};

const named = process.argv.slice(2);
const unknown = named.filter((name) => !Object.hasOwn(measurements, name));
if (unknown.length > 0) {
  console.error(`expected some of ${Object.keys(measurements).join(', ')}, found ${unknown.join(', ')}`);
  process.exit(2);
}
const [cpu] = cpus();
console.log(
  `Node ${process.version}, ${process.platform} ${process.arch}, ${cpus().length} x ${cpu?.model ?? 'unknown'}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
);
for (const name of named.length > 0 ? named : Object.keys(measurements)) await measurements[name]();
