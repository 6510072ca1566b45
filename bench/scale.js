// What many people cost: bytes on disk an entry, CPU of a day, of a day after a long history, and of a put.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { openStore, putBatch, runPipeline, silentLog, simulateDays } from '../dist/index.js';
import { against, bodyOf, inFolder, line, locations, median, ms, openFloor } from './kit.js';

const dayOfEntries = 1_064; // of a recorded day, on average

/**
 * `folder`: recorded days, `*.put.json.gz` with the body of a put each; without it some simulated ones. They are copied to `users`
 * users. `days`: of the long history.
 */
export async function scale({ folder, users = 100, days = 365 } = {}) {
  const cases = folder ? readCases(folder) : simulatedCases();
  const name = folder ? `${cases.length} recorded cases` : `${cases.length} simulated cases`;
  console.log(`\nscale: ${name}, copied to ${users} users; CPU is user and system of all threads`);
  await inFolder((place) => measureUsers(place, cases, users));
  await inFolder((place) => measureHistory(place, [30, days]));
  await inFolder(measurePut);
}

function readCases(folder) {
  const files = readdirSync(folder).filter((file) => file.endsWith('.put.json.gz'));
  return files.sort().map((file) => JSON.parse(gunzipSync(readFileSync(join(folder, file)))).phone_to_server);
}

function simulatedCases() {
  return ['android', 'ios'].flatMap((platform) =>
    Array.from({ length: 4 }, (_, i) =>
      [...simulateDays({ platform, day: '2024-03-11', seed: `case ${i}` }, 2)].flat(),
    ),
  );
}

const now = () => Date.now() / 1000;

function startCpu() {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  };
}

async function run(store, userId) {
  const report = await runPipeline(store, userId, { log: silentLog, now });
  if (report.status !== 'done') throw new Error(`the run ended as ${report.status}: ${report.message}`);
  return report;
}

async function measureUsers(place, cases, users) {
  const store = await openStore(place);
  let put = 0;
  const pushed = [];
  for (let i = 0; i < users; i++) {
    const { user } = await store.users.register(`user ${i}`, { now: 1 });
    const entries = cases[i % cases.length];
    const cpu = startCpu();
    await putBatch(user.uuid, entries, { store, now });
    put += cpu();
    pushed.push({ uuid: user.uuid, entries: entries.length });
  }
  const stages = new Map();
  const runs = [];
  let kept = 0;
  for (const { uuid, entries } of pushed) {
    const cpu = startCpu();
    const report = await run(store, uuid);
    runs.push({ cpu: cpu(), entries });
    for (const { stage, seconds } of report.stages) stages.set(stage, (stages.get(stage) ?? 0) + seconds);
    kept += (await store.counts(uuid)).timeseries;
  }
  await store.close();
  const warm = runs.slice(Math.min(cases.length, users - 1)); // the first round compiles the program
  const all = warm.reduce((sum, one) => sum + one.entries, 0);
  const day = (warm.reduce((sum, one) => sum + one.cpu, 0) / all) * dayOfEntries;
  const entries = pushed.reduce((sum, one) => sum + one.entries, 0);
  const sizes = readdirSync(place)
    .filter((file) => /\.sqlite/.test(file))
    .map((file) => [file, statSync(join(place, file)).size / kept]);
  const bytes = sizes.reduce((sum, [, size]) => sum + size, 0);
  const parts = sizes.map(([file, size]) => `${file} ${size.toFixed(1)}`).join(', ');
  line('bytes on disk an entry, after the pipeline, as left', bytes.toFixed(1), against(bytes, 50, `50 (${parts})`));
  line(`a day of ${dayOfEntries} entries, usercache to document: CPU`, ms(day), against(day, 0.02, '20 ms'));
  const total = runs.reduce((sum, one) => sum + one.entries, 0);
  for (const [stage, s] of stages) line(`  ${stage}, wall`, ms((s / total) * dayOfEntries));
  line('the put of such a day, in the process: CPU', ms((put / entries) * dayOfEntries));
}

async function measureHistory(place, lengths) {
  const medians = [];
  for (const [which, length] of lengths.entries()) {
    const store = await openStore(join(place, String(length)));
    const { user } = await store.users.register('somebody', { now: 1 });
    const newDays = 9;
    const all = simulateDays({ platform: 'android', day: '2020-03-02', seed: 'history' }, length + newDays);
    let count = 0;
    let batch = [];
    const cpus = [];
    for (const entries of all) {
      count++;
      batch.push(...entries);
      if (count < length && count % 30 > 0) continue;
      await putBatch(user.uuid, batch, { store, now });
      batch = [];
      if (count < length && count % 300 > 0) continue;
      const cpu = startCpu();
      await run(store, user.uuid);
      if (count > length) cpus.push(cpu());
    }
    await store.close();
    medians.push(median(cpus));
    const target = which === 0 ? [] : [against(medians[which] / medians[0], 1.2, '1.2 times the first')];
    line(`a new day (simulated) after ${length} days: CPU, median`, ms(medians[which]), ...target);
  }
}

/** A put of 10,000 within the process: text to commit, against parse, append and sync of the same body. */
async function measurePut(place) {
  const store = await openStore(join(place, 'store'));
  const floor = openFloor(place);
  const { user } = await store.users.register('somebody', { now: 1 });
  const ratios = [];
  for (let i = 0; i < 7; i++) {
    const body = bodyOf('somebody', locations(10_000, 1.6e9 + i * 1e5));
    const least = startCpu();
    floor.measure(body);
    const floorCpu = least();
    const cpu = startCpu();
    await putBatch(user.uuid, JSON.parse(body.toString()).phone_to_server, { store, now });
    ratios.push(cpu() / floorCpu);
  }
  floor.close();
  await store.close();
  const ratio = median(ratios.slice(1));
  line('put of 10,000 without HTTP and logs, CPU against the floor', ratio.toFixed(1), against(ratio, 2, '2'));
}
