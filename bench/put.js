// Measures the time and CPU of a durable put of 10,000 entries over HTTP, as ratios to the floor: JSON.parse, append
// and fsync of the same bytes. With MOBILITY_BENCH_PEER, each put goes to both builds in turn.
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
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

const entries = 10_000; // the most that a phone sends in one push
const warmUp = 10; // rounds
const people = 10; // they push in turn, to stay below the rate limit of a caller
const target = 3.5; // times the floor

/** Prints the results. `peer`: the folder of another commit, built. */
export async function put({ rounds = 40, peer } = {}) {
  console.log(`\nput: ${entries} new entries in one push, ${rounds} rounds, floor and put in turns`);
  for (const workers of [1, 2]) await inFolder((folder) => measure(folder, { workers, rounds, peer }));
}

async function measure(folder, { workers, rounds, peer }) {
  const floor = openFloor(folder);
  const ours = await startSide(join(folder, 'ours'), { workers });
  const theirs = peer && (await startSide(join(folder, 'theirs'), { workers, root: peer }));
  const sides = [ours, ...(theirs ? [theirs] : [])];
  let [floors, floorCpu] = [[], 0];
  for (let round = 0; round < warmUp + rounds; round++) {
    if (round === warmUp) {
      [floors, floorCpu] = [[], 0];
      for (const side of sides) await side.begin();
    }
    const body = bodyOf(`ada${round % people}`, locations(entries, 1_700_000_000 + round * entries));
    const cpu = process.cpuUsage();
    floors.push(floor.measure(body));
    const { user, system } = process.cpuUsage(cpu);
    floorCpu += (user + system) / 1e6;
    for (const side of round % 2 ? sides : sides.toReversed()) await side.push(body);
  }
  for (const [name, side] of [['this build', ours], ...(theirs ? [['the other', theirs]] : [])]) {
    const all = `${workers} worker${workers > 1 ? 's' : ''}, ${name}`;
    const [ratio, cpu] = [median(side.times.map((took, i) => took / floors[i])), (await side.cpu()) / floorCpu];
    line(`${all}: put, median (95 %)`, `${ms(median(side.times))} (${ms(quantile(side.times, 0.95))})`);
    line(`${all}: against the floor`, `${ratio.toFixed(2)} x`, against(ratio, target, `${target} x`));
    line(`${all}: CPU against the floor`, `${cpu.toFixed(2)} x`, against(cpu, target, `${target} x`));
    line(`${all}: peak memory`, side.peak());
    await side.stop();
  }
  if (theirs) {
    const ratios = ours.times.map((took, i) => took / theirs.times[i]);
    line('ratio of both: median (quartiles)', [0.5, 0.25, 0.75].map((q) => quantile(ratios, q).toFixed(2)).join(', '));
  }
  floor.close();
}

async function startSide(folder, { workers, root }) {
  const build = root === undefined ? { openStore } : await import(pathToFileURL(join(root, 'dist', 'index.js')).href);
  const store = await build.openStore(folder);
  for (let i = 0; i < people; i++) await store.users.register(`ada${i}`, { now: 1 });
  await store.close();
  const server = await startServer(folder, { workers, ...(root !== undefined && { root }) });
  const client = createClient(server.port);
  const times = [];
  let before = 0;
  return {
    times,
    begin: async () => {
      times.length = 0;
      before = await restingCpu(server);
    },
    push: async (body) => {
      const began = seconds();
      await client.post('/usercache/put', body);
      times.push(seconds() - began);
    },
    cpu: async () => (await restingCpu(server)) - before,
    peak: () =>
      server
        .peak()
        .map((mib) => `${mib.toFixed(0)} MiB`)
        .join(', '),
    stop: async () => {
      client.close();
      await server.stop();
    },
  };
}

/** CPU of a server so far, s. Waits until the server has finished the work that follows its answers. */
async function restingCpu(server) {
  for (let last = Number.NaN; ; ) {
    const cpu = server.cpu();
    if (cpu === last || Number.isNaN(cpu)) return cpu;
    last = cpu;
    await setTimeout(200); // ms without work
  }
}
