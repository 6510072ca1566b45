// Puts a second by size of the batch, from eight connections at once.
import { openStore } from '../dist/index.js';
import {
  bodyOf,
  createClient,
  inFolder,
  inLanes,
  line,
  locations,
  ms,
  openFloor,
  quantile,
  seconds,
  startServer,
  thousands,
} from './kit.js';

const connections = 8;
const phones = 40;

/** Prints puts and entries a second for each size. */
export async function batches({ seconds: long = 4 } = {}) {
  console.log(`\nbatches: ${connections} connections, ${phones} phones, 2 workers, about ${long} s each`);
  for (const size of [1, 50, 500, 2000]) await inFolder((folder) => measure(folder, size, long));
}

async function measure(folder, size, long) {
  const store = await openStore(folder);
  for (let phone = 0; phone < phones; phone++) await store.users.register(`phone-${phone}`, { now: 1 });
  await store.close();
  const server = await startServer(folder, { workers: 2 });
  const client = createClient(server.port, connections);
  const floor = openFloor(folder);
  const body = (i) => bodyOf(`phone-${i % phones}`, locations(size, 1_600_000_000 + i * size));
  let made = 0;
  const push = () => client.post('/usercache/put', body(made++));
  await inLanes(Math.ceil(20_000 / size / 10) + 20, connections, push);
  const trial = await inLanes(20, connections, push);
  const count = Math.max(40, Math.round((long * connections) / Math.max(1e-4, quantile(trial, 0.5))));
  const bodies = Array.from({ length: Math.min(count, 2000) }, () => body(made++));
  const floors = bodies.slice(0, 200).map((one) => floor.measure(one));
  const began = seconds();
  const times = await inLanes(bodies.length, connections, (i) => client.post('/usercache/put', bodies[i]));
  const rate = bodies.length / (seconds() - began);
  const least = floors.length / floors.reduce((sum, one) => sum + one, 0);
  line(
    `${size} entries: puts/s (entries/s)`,
    `${rate.toFixed(0)} (${thousands(rate * size)})`,
    `${(rate / least).toFixed(2)} of the floor's ${least.toFixed(0)}; ${ms(quantile(times, 0.5))}, 99 % ${ms(quantile(times, 0.99))}`,
  );
  floor.close();
  client.close();
  await server.stop();
}
