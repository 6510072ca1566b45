// Measures one day of about 1,900 entries from the usercache to the document, in seconds of CPU without the start of a
// process.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { openStore, putBatch, runPipeline, silentLog, simulateDays } from '../dist/index.js';
import { against, inFolder, line, median, ms } from './kit.js';

const target = 0.5; // s of CPU

/** Prints the CPU of the first run of a process and of later runs. `file`: entries of a recorded day, JSON. */
export async function day({ rounds = 9, file } = {}) {
  const entries = file ? read(file) : [...simulateDays({ platform: 'ios', day: '2024-03-11', seed: 'ada' }, 2)].flat();
  console.log(`\nday: ${entries.length} entries of ${file ?? 'two working days of a simulated iPhone'}`);
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    const first = await measure(store, entries, 'cold');
    const later = [];
    for (let i = 0; i < rounds; i++) later.push(await measure(store, entries, `warm-${i}`));
    await store.close();
    const stages = first.report.stages.map(({ stage, seconds }) => `${stage} ${ms(seconds)}`).join(', ');
    line('first in a process: CPU', ms(first.cpu), against(first.cpu, target, `${target} s`));
    line('  wall', ms(first.wall), stages);
    line('later: CPU, median', ms(median(later.map(({ cpu }) => cpu))));
    line('  wall, median', ms(median(later.map(({ wall }) => wall))));
  });
}

function read(file) {
  const bytes = readFileSync(file);
  const value = JSON.parse((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString());
  return Array.isArray(value) ? value : value.phone_to_server;
}

async function measure(store, entries, name) {
  const { user } = await store.users.register(name, { now: 1 });
  await putBatch(user.uuid, entries, { store, now: () => 1 });
  const before = process.cpuUsage();
  const began = performance.now();
  const report = await runPipeline(store, user.uuid, { log: silentLog, now: () => Date.now() / 1000 });
  const wall = (performance.now() - began) / 1000;
  const { user: own, system } = process.cpuUsage(before);
  if (report.status !== 'done')
    throw new Error(`expected a run that ends as done, found ${report.status}: ${report.message}`);
  return { cpu: (own + system) / 1e6, wall, report };
}
