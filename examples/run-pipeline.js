// Uses the core without server and command line: stores entries in a temporary store and prints the trips.
//
//   node examples/run-pipeline.js
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore, putBatch, runPipeline, silentLog, simulateDay } from 'mobility';

const day = '2024-03-12';
const now = () => Date.now() / 1000;
const folder = await mkdtemp(join(tmpdir(), 'mobility-example-'));
const store = await openStore(folder);
try {
  const { user } = await store.users.register('ada@example.org', { now: now() });

  const pushed = simulateDay({ platform: 'ios', day, seed: 'ada' });
  await putBatch(user.uuid, pushed, { store, now });

  const report = await runPipeline(store, user.uuid, { log: silentLog, now });
  for (const { stage, counts } of report.stages) console.log(stage, counts);

  for (const { trip } of await store.trips.byDay(user.uuid, { from: day, to: day })) {
    const modes = trip.sections.map((section) => section.sensed_mode).join(', ');
    console.log(`${new Date(trip.start_ts * 1000).toISOString()}  ${Math.round(trip.distance)} m  ${modes}`);
  }
} finally {
  await store.close();
  await rm(folder, { recursive: true });
}
