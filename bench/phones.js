// How many phones one machine serves: days of phones pushed over HTTP, then analysed, as a share of the time there is.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openStore, simulateDay } from '../dist/index.js';
import {
  bodyOf,
  createClient,
  inFolder,
  inLanes,
  line,
  ms,
  quantile,
  run,
  seconds,
  startServer,
  thousands,
} from './kit.js';

const phones = 200;
const piece = 200; // entries of a push: what a phone has after a trip or two
const connections = 8;
const processes = 2; // of server and of pipeline each
/** The time that a machine should be busy on average: the rest is for rush hours, and for the unforeseen. */
const share = 0.1;

/**
 * Prints what a phone's day costs, and how many phones that allows. `address`: a store to use in place of a new folder.
 */
export async function measurePhones({ address } = {}) {
  console.log(
    `\nphones: a day of ${phones} phones in pushes of ${piece}, then the pipeline, ${processes} processes each`,
  );
  await inFolder((folder) => measure(address ?? folder, address === undefined ? folder : null));
}

async function measure(store, folder) {
  const names = Array.from({ length: phones }, (_, i) => `phone-${i}@example.org`);
  const opened = await openStore(store);
  for (const name of names) await opened.users.register(name, { now: 1 });
  await opened.close();
  const bodies = names.flatMap((name, i) => {
    const day = simulateDay({ platform: i % 2 ? 'ios' : 'android', day: '2024-03-12', seed: name });
    return Array.from({ length: Math.ceil(day.length / piece) }, (_, at) => {
      const entries = day.slice(at * piece, (at + 1) * piece);
      return { count: entries.length, body: bodyOf(name, entries) };
    });
  });
  const entries = bodies.reduce((sum, { count }) => sum + count, 0);

  const server = await startServer(store, { workers: processes });
  const client = createClient(server.port, connections);
  const began = seconds();
  const puts = await inLanes(bodies.length, connections, (i) => client.post('/usercache/put', bodies[i].body));
  const pushing = seconds() - began;
  client.close();
  await server.stop();
  const pipeline = await run(['pipeline', '--all', '--workers', String(processes), '--store', store]);

  const perPhone = (pushing + pipeline.seconds) / phones;
  line('entries of a phone', (entries / phones).toFixed(0));
  line(
    'pushed',
    `${thousands(entries / pushing)} entries/s`,
    `put, median (95 %): ${ms(quantile(puts, 0.5))} (${ms(quantile(puts, 0.95))})`,
  );
  line('analysed', `${thousands(entries / pipeline.seconds)} entries/s`);
  line('a phone and day, whole machine', ms(perPhone));
  if (folder !== null) line('a phone and day, disk', `${(bytesIn(folder) / phones / 1024).toFixed(0)} KiB`);
  line(`phones that keep it busy for ${share * 100} % of the time`, thousands((share * 86_400) / perPhone));
}

const bytesIn = (folder) => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
