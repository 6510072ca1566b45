// Measures small calls beside large work: getTrips while phones push 10,000 entries each, one at a time and 64 at once;
// puts of 50 entries while a pipeline runs.
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { openStore, runPipeline, silentLog, simulateDays } from '../dist/index.js';
import {
  against,
  bodyOf,
  createClient,
  inFolder,
  line,
  locations,
  ms,
  putsBeside,
  quantile,
  run,
  seconds,
  startServer,
} from './kit.js';

const days = 14;
const entries = 10_000; // the most that a phone sends in one push
const phones = 64;
const pause = 25; // ms between two small calls, to stay below the rate limit of a caller
const latencyTarget = 0.15; // s, beside one push at a time, and beside a pipeline
const memoryTarget = 600; // MiB of all processes together

/**
 * Prints p99 of getTrips idle and beside pushes, and the peak memory of all processes; p99 of puts beside a pipeline.
 */
export async function beside({ duration = 12, workers = 2 } = {}) {
  await besidePushes(duration, workers);
  await besidePipeline(workers);
}

async function besidePushes(duration, workers) {
  console.log(`\nbeside: getTrips of one caller beside pushes of ${entries} entries, ${workers} workers`);
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    const { user } = await store.users.register('ada', { now: 1 });
    for (const pushed of simulateDays({ platform: 'ios', day: '2024-03-01', seed: 'ada' }, days)) {
      await store.usercache.put(user.uuid, { entries: pushed, unusable: [] }, 1);
    }
    await runPipeline(store, user.uuid, { log: silentLog, now: () => Date.now() / 1000 });
    for (let i = 0; i < phones; i++) await store.users.register(`phone${i}`, { now: 1 });
    await store.close();
    const server = await startServer(folder, { workers });
    await tripsFor(server.port, 2); // warms up
    const text = ({ times, refused }) =>
      `${times.length}, ${refused}, ${ms(quantile(times, 0.5))}, ${ms(quantile(times, 0.99))}`;
    line('getTrips idle: number, refused, median, p99', text(await tripsFor(server.port, duration)));
    for (const lanes of [1, phones]) {
      const pushing = pushUntilStopped(server.port, lanes);
      const small = await tripsFor(server.port, duration);
      const { pushed, refused } = await pushing.stop();
      const p99 = quantile(small.times, 0.99);
      const judged = lanes === 1 ? against(p99, latencyTarget, ms(latencyTarget)) : '';
      line(`beside ${lanes} at a time: number, refused, median, p99`, text(small), judged);
      line('  small calls refused', String(small.refused), against(small.refused, 0, 'none'));
      line('  pushes meanwhile, refused', `${pushed}, ${refused}`);
    }
    const peaks = server.peak();
    const sum = peaks.reduce((all, mib) => all + mib, 0);
    line('peak memory of each process', peaks.map((mib) => `${mib.toFixed(0)} MiB`).join(', '));
    line('  together', `${sum.toFixed(0)} MiB`, against(sum, memoryTarget, `${memoryTarget} MiB`));
    const died = server.stderr().match(/ended with/g)?.length ?? 0;
    line('processes that ended', String(died), against(died, 0, 'none'));
    await server.stop();
  });
}

async function besidePipeline(workers) {
  const people = 400;
  console.log(
    `\nbeside: puts of 50 entries beside pipeline --all, ${people} people with a new day, ${workers} workers`,
  );
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    const [day] = simulateDays({ platform: 'ios', day: '2024-03-01', seed: 'ada' }, 1);
    for (let i = 0; i < people; i++) {
      const { user } = await store.users.register(`phone${i}`, { now: 1 });
      await store.usercache.put(user.uuid, { entries: day, unusable: [] }, 1);
    }
    await store.close();
    const server = await startServer(folder, { workers });
    const pipeline = () => run(['pipeline', '--all', '--store', folder]);
    const { times, result } = await putsBeside(server.port, 'phone0', pipeline);
    const figures = [0.5, 0.99, 1].map((q) => quantile(times, q));
    line('the run', `${result.seconds.toFixed(1)} s`);
    const judged = against(figures[1], latencyTarget, ms(latencyTarget));
    line(`puts: ${times.length}; median, p99, longest`, figures.map(ms).join(', '), judged);
    await server.stop();
  });
}

/** Sends calls one after another. Returns the seconds of each. */
async function tripsFor(port, length) {
  const client = createClient(port, 4);
  const body = bodyOf('ada', []);
  const times = [];
  let refused = 0;
  for (let i = 0, end = seconds() + length; seconds() < end; i++) {
    const began = seconds();
    const path = `/timeline/getTrips/2024-03-${String((i % days) + 1).padStart(2, '0')}`;
    await client.post(path, body).catch(() => {
      refused += 1;
    });
    times.push(seconds() - began);
    await setTimeout(pause);
  }
  client.close();
  return { times, refused };
}

/** Pushes from its own thread, so that this work does not delay the measured calls. */
function pushUntilStopped(port, lanes) {
  const pusher = new Worker(new URL(import.meta.url), { workerData: { port, lanes } });
  return {
    stop: async () => {
      pusher.postMessage('stop');
      const [counts] = await once(pusher, 'message');
      await pusher.terminate();
      return counts;
    },
  };
}

/** Runs in the thread. Every push has new entries; the phones push in turn, to stay below their rate limits. */
async function push({ port, lanes }) {
  const client = createClient(port, lanes);
  let [isRunning, made, pushed, refused] = [true, 0, 0, 0];
  parentPort.once('message', () => {
    isRunning = false;
  });
  const lane = async () => {
    while (isRunning) {
      made += 1;
      const body = bodyOf(`phone${made % phones}`, locations(entries, 1_700_000_000 + lanes * 1e7 + made * entries));
      await client.post('/usercache/put', body).then(
        () => (pushed += 1),
        () => (refused += 1),
      );
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  client.close();
  parentPort.postMessage({ pushed, refused });
}

if (!isMainThread && workerData?.lanes !== undefined) await push(workerData);
