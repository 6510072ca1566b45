// A durable put of 10,000 entries over HTTP, as a ratio to JSON.parse, append and fsync of the same bytes, in time and
// in CPU; and, in turns with it, the same put by another build.
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

const entries = 10_000; // as many as a phone sends in one push
const warmUp = 10; // rounds
const target = 2; // times the floor

/** Prints what one put of 10,000 new entries takes. `peer`: the folder of another commit, built, to compare with. */
export async function put({ rounds = 40, peer } = {}) {
  if (peer !== undefined) return compare(peer);
  console.log(`\nput: ${entries} new entries in one push, ${rounds} rounds, floor and put in turns`);
  for (const workers of [1, 2]) await inFolder((folder) => measure(folder, { workers, rounds }));
  await inFolder((folder) => measure(folder, { workers: 2, rounds, besideSmall: true }));
}

/** `besideSmall`: with a small call now and then, so that large bodies are passed on; that has no target of its own. */
async function measure(folder, { workers, rounds, besideSmall = false }) {
  const store = await openStore(folder);
  await store.users.register('ada', { now: 1 });
  await store.close();
  const server = await startServer(folder, { workers });
  const client = createClient(server.port);
  const floor = openFloor(folder);
  const other = createClient(server.port);
  const callNow = () => void other.post('/timeline/getTrips/2024-01-01', '{"user":"ada"}').catch(() => {}); // cut off at the end
  const smallCalls = besideSmall ? setInterval(callNow, 1_000) : undefined;
  if (besideSmall) callNow();
  const bodyAt = (round) => bodyOf('ada', locations(entries, 1_700_000_000 + round * entries));
  let [floors, puts, floorCpu, before] = [[], [], 0, 0];
  for (let round = 0; round < warmUp + rounds; round++) {
    if (round === warmUp) [floors, puts, floorCpu, before] = [[], [], 0, await restingCpu(server)];
    const body = bodyAt(round);
    const cpu = process.cpuUsage();
    floors.push(floor.measure(body));
    const { user, system } = process.cpuUsage(cpu);
    floorCpu += (user + system) / 1e6;
    puts.push(await timed(() => client.post('/usercache/put', body)));
  }
  const serverCpu = (await restingCpu(server)) - before;
  const repeats = [];
  for (let round = warmUp; round < warmUp + rounds; round++) {
    const body = bodyAt(round);
    repeats.push(await timed(() => client.post('/usercache/put', body)));
  }
  const ratios = puts.map((took, i) => took / floors[i]);
  const all = `${workers} worker${workers > 1 ? 's' : ''}${besideSmall ? ', beside small calls' : ''}`;
  const judged = (ratio) => (besideSmall ? undefined : against(ratio, target, `${target} x`));
  line(`${all}: floor, median`, ms(median(floors)));
  line(`${all}: put, median (95 %)`, `${ms(median(puts))} (${ms(quantile(puts, 0.95))})`);
  line(`${all}: ratio, median`, `${median(ratios).toFixed(2)} x`, judged(median(ratios)));
  const ratio = serverCpu / floorCpu;
  const both = `${ms(serverCpu / rounds)}, ${ms(floorCpu / rounds)}`;
  line(`${all}: CPU of the server against the floor`, `${ratio.toFixed(2)} x (${both})`, judged(ratio));
  line(`${all}: the same push again, ratio`, `${median(repeats.map((took, i) => took / floors[i])).toFixed(2)} x`);
  line(
    `${all}: peak memory`,
    server
      .peak()
      .map((mib) => `${mib.toFixed(0)} MiB`)
      .join(', '),
  );
  clearInterval(smallCalls);
  other.close();
  floor.close();
  client.close();
  await server.stop();
}

/** CPU of a server so far, s, once it has done what it leaves for after its answers. */
async function restingCpu(server) {
  for (let last = Number.NaN; ; ) {
    const cpu = server.cpu();
    if (cpu === last || Number.isNaN(cpu)) return cpu;
    last = cpu;
    await setTimeout(200); // of rest
  }
}

const people = 10; // who push in turn: no one of them meets a limit

/** The same push to this build and to the one in `peer`, one after the other: the ratio does not depend on the load. */
async function compare(peer, rounds = 100) {
  console.log(`\nput: ${entries} new entries in one push, ${rounds} rounds, this build and ${peer} in turns`);
  for (const workers of [1, 2]) await inFolder((folder) => inTurns(folder, peer, workers, rounds));
}

async function inTurns(folder, peer, workers, rounds) {
  const [ours, theirs] = [
    await startSide(join(folder, 'ours'), { workers }),
    await startSide(join(folder, 'theirs'), { workers, root: peer }),
  ];
  const sides = [ours, theirs];
  for (let round = 0; round < warmUp + rounds; round++) {
    const body = bodyOf(`ada${round % people}`, locations(entries, 1_700_000_000 + round * entries));
    if (round === warmUp) for (const side of sides) side.begin();
    for (const side of round % 2 ? sides : sides.toReversed()) await side.push(body);
  }
  const ratios = ours.times.map((took, i) => took / theirs.times[i]);
  const all = `${workers} worker${workers > 1 ? 's' : ''}`;
  line(`${all}: put, median, this and the other`, sides.map(({ times }) => ms(median(times))).join(', '));
  line(`${all}: CPU of the server, this and the other`, sides.map(({ cpu }) => ms(cpu() / rounds)).join(', '));
  line(`${all}: ratio of both, median`, `${median(ratios).toFixed(2)} x`, against(median(ratios), 1, '1 x'));
  line(`${all}: ratio of both, quartiles`, [0.25, 0.75].map((q) => `${quantile(ratios, q).toFixed(2)} x`).join(', '));
  for (const side of sides) await side.stop();
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
    begin: () => {
      times.length = 0;
      before = server.cpu();
    },
    push: async (body) => void times.push(await timed(() => client.post('/usercache/put', body))),
    cpu: () => server.cpu() - before,
    stop: async () => {
      client.close();
      await server.stop();
    },
  };
}

async function timed(work) {
  const began = seconds();
  await work();
  return seconds() - began;
}
