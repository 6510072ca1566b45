// Small calls beside large bodies: getTrips while 64 connections push 10,000 entries each, as a ratio to an idle
// server; and the same while they push to another server, which is what a busy processor alone costs.
import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { openStore, runPipeline, silentLog, simulateDays } from '../dist/index.js';
import { against, bodyOf, createClient, inFolder, line, locations, ms, quantile, seconds, startServer } from './kit.js';

const days = 14;
const entries = 10_000; // as many as a phone sends in one push
const latencyTarget = 2; // times idle
const memoryTarget = 300; // MiB a worker

/**
 * Prints p99 of getTrips idle, beside one push after the other, and beside 64 at once, and the memory of each process.
 */
export async function beside({ duration = 12, workers = 2 } = {}) {
  console.log(`\nbeside: getTrips of one caller beside pushes of ${entries} entries, ${workers} workers`);
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    const { user } = await store.users.register('ada', { now: 1 });
    for (const day of simulateDays({ platform: 'ios', day: '2024-03-01', seed: 'ada' }, days)) {
      await store.usercache.put(user.uuid, { entries: day, unusable: [] }, 1);
    }
    await runPipeline(store, user.uuid, { log: silentLog, now: () => Date.now() / 1000 });
    await registerPhones(store);
    await store.close();
    const server = await startServer(folder, { workers });
    const other = await otherServer(`${folder}/other`, { workers });
    await tripsFor(server.port, 2);
    const idle = [];
    const measured = [];
    for (const lanes of [1, 64]) {
      idle.push(...(await tripsFor(server.port, duration / 2)));
      measured.push({ lanes, elsewhere: await besidePushes(other.port), beside: await besidePushes(server.port) });

      async function besidePushes(port) {
        const pushing = pushUntilStopped(port, lanes);
        const times = await tripsFor(server.port, duration);
        return { times, ...(await pushing.stop()) };
      }
    }
    idle.push(...(await tripsFor(server.port, duration / 2))); // the machine's pace changes meanwhile
    line('getTrips idle: number, median, p99', told(idle));
    for (const { lanes, elsewhere, beside } of measured) {
      const [before, floor, during] = [idle, elsewhere.times, beside.times].map((times) => quantile(times, 0.99));
      line(`beside ${lanes} at a time: number, median, p99`, told(beside.times));
      line(
        '  ratio of p99',
        `${(during / before).toFixed(1)} x`,
        against(during / before, latencyTarget, `${latencyTarget} x`),
      );
      line('  pushes meanwhile, refused', `${beside.pushed}, ${beside.refused}`);
      line('  pushed to another server: number, median, p99', told(elsewhere.times));
      line('  ratio of p99: a busy processor alone', `${(floor / before).toFixed(1)} x`);
    }
    const peaks = server.peak();
    line(
      'peak memory of each process',
      peaks.map((mib) => `${mib.toFixed(0)} MiB`).join(', '),
      against(Math.max(...peaks), memoryTarget, `${memoryTarget} MiB`),
    );
    await other.stop();
    await server.stop();
  });
}

async function registerPhones(store) {
  for (let i = 0; i < 64; i++) await store.users.register(`phone${i}`, { now: 1 });
}

async function otherServer(folder, options) {
  const store = await openStore(folder);
  await registerPhones(store);
  await store.close();
  return startServer(folder, options);
}

const told = (times) => `${times.length}, ${ms(quantile(times, 0.5))}, ${ms(quantile(times, 0.99))}`;

/** Seconds that each call took, one after the other. */
async function tripsFor(port, length) {
  const client = createClient(port, 4);
  const body = bodyOf('ada', []);
  const times = [];
  for (let i = 0, end = seconds() + length; seconds() < end; i++) {
    const began = seconds();
    await client.post(`/timeline/getTrips/2024-03-${String((i % days) + 1).padStart(2, '0')}`, body);
    times.push(seconds() - began);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  client.close();
  return times;
}

/** Pushes from a thread of its own, so that what it costs here does not count as the server's. */
function pushUntilStopped(port, lanes) {
  const pusher = new Worker(new URL(import.meta.url), { workerData: { port, lanes } });
  return {
    stop: async () => {
      pusher.postMessage('stop');
      const [told] = await once(pusher, 'message');
      await pusher.terminate();
      return told;
    },
  };
}

/** In the thread: every push is new, each lane is another phone. */
async function push({ port, lanes }) {
  const client = createClient(port, lanes);
  let [running, pushed, refused] = [true, 0, 0];
  parentPort.once('message', () => {
    running = false;
  });
  const lane = async (i) => {
    for (let at = 1_700_000_000 + lanes * 1e7; running; at += entries) {
      await client.post('/usercache/put', bodyOf(`phone${i}`, locations(entries, at))).then(
        () => {
          pushed += 1;
        },
        () => {
          refused += 1;
        },
      );
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, i) => lane(i)));
  client.close();
  parentPort.postMessage({ pushed, refused });
}

if (!isMainThread && workerData?.lanes !== undefined) await push(workerData);
