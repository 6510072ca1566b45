// A durable put of 10,000 entries over HTTP, as a ratio to JSON.parse, append and fsync of the same bytes.
import { openStore } from '../dist/index.js';
import {
  against,
  bodyOf,
  createClient,
  inFolder,
  line,
  locations,
  median,
  ms,
  openFloor,
  quantile,
  seconds,
  startServer,
} from './kit.js';

const entries = 10_000; // as many as a phone sends in one push
const warmUp = 3; // rounds
const target = 3; // times the floor

/** Prints what one put of 10,000 new entries takes. */
export async function put({ rounds = 15 } = {}) {
  console.log(`\nput: ${entries} new entries in one push, ${rounds} rounds, floor and put in turns`);
  for (const workers of [1, 2]) await inFolder((folder) => measure(folder, workers, rounds));
}

async function measure(folder, workers, rounds) {
  const store = await openStore(folder);
  await store.users.register('ada', { now: 1 });
  await store.close();
  const server = await startServer(folder, { workers });
  const client = createClient(server.port);
  const floor = openFloor(folder);
  const floors = [];
  const puts = [];
  const repeats = [];
  for (let round = 0; round < warmUp + rounds; round++) {
    const body = bodyOf('ada', locations(entries, 1_700_000_000 + round * entries));
    const least = floor.measure(body);
    const took = await timed(() => client.post('/usercache/put', body));
    const again = await timed(() => client.post('/usercache/put', body));
    if (round < warmUp) continue;
    floors.push(least);
    puts.push(took);
    repeats.push(again);
  }
  const ratios = puts.map((took, i) => took / floors[i]);
  const all = `${workers} worker${workers > 1 ? 's' : ''}`;
  line(`${all}: floor, median`, ms(median(floors)));
  line(`${all}: put, median (95 %)`, `${ms(median(puts))} (${ms(quantile(puts, 0.95))})`);
  line(`${all}: ratio, median`, `${median(ratios).toFixed(2)} x`, against(median(ratios), target, `${target} x`));
  line(`${all}: the same push again, ratio`, `${median(repeats.map((took, i) => took / floors[i])).toFixed(2)} x`);
  line(
    `${all}: peak memory`,
    server
      .peak()
      .map((mib) => `${mib.toFixed(0)} MiB`)
      .join(', '),
  );
  floor.close();
  client.close();
  await server.stop();
}

async function timed(work) {
  const began = seconds();
  await work();
  return seconds() - began;
}
