// Measures the peak memory of server and pipeline for a user with five years of data: all in one run, then one more
// day.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openStore, simulateDays } from '../dist/index.js';
import { against, bodyOf, createClient, inFolder, line, run, seconds, startServer } from './kit.js';

const target = 300; // MiB
const entriesOfPut = 10_000;

/** Prints the peak resident memory. `years`: years of data of one simulated phone. */
export async function memory({ years = 5 } = {}) {
  const days = Math.round(years * 365);
  console.log(
    `\nmemory: one user of ${years} years (${days} days), pushed over HTTP, processed in one run, then one more day`,
  );
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    await store.users.register('ada', { now: 1 });
    await store.close();
    const server = await startServer(folder, { workers: 2 });
    const client = createClient(server.port);
    const began = seconds();
    let count = 0;
    let waiting = [];
    const flush = async () => {
      count += waiting.length;
      await client.post('/usercache/put', bodyOf('ada', waiting));
      waiting = [];
    };
    for (const entries of simulateDays({ platform: 'android', day: '2019-01-01', seed: 'ada' }, days)) {
      waiting.push(...entries);
      if (waiting.length >= entriesOfPut) await flush();
    }
    await flush();
    line(`${count} entries simulated and pushed`, `${(seconds() - began).toFixed(1)} s`);
    const all = await run(['pipeline', '--all', '--store', folder]);
    line('pipeline over all of them', `${all.seconds.toFixed(1)} s`);
    line('  peak memory', `${all.peak.toFixed(0)} MiB`, against(all.peak, target, `${target} MiB`));

    const bytes = sizeOf(folder);
    line('  size of the store', `${(bytes / 2 ** 20).toFixed(0)} MiB`, `${(bytes / count).toFixed(0)} bytes an entry`);

    const [next] = simulateDays({ platform: 'android', day: '2026-01-05', seed: 'ada' }, 1);
    await client.post('/usercache/put', bodyOf('ada', next));
    const more = await run(['pipeline', '--all', '--store', folder]);
    line('pipeline over one more day', `${more.seconds.toFixed(2)} s`);
    line('  peak memory', `${more.peak.toFixed(0)} MiB`, against(more.peak, target, `${target} MiB`));

    await client.post('/usercache/get', bodyOf('ada', []));
    for (let day = 1; day <= 28; day++) {
      await client.post(`/timeline/getTrips/2021-02-${String(day).padStart(2, '0')}`, bodyOf('ada', []));
    }
    const range = { user: 'ada', start_time: 0, end_time: 2e9 };
    await client.post('/datastreams/find_entries/timestamp', Buffer.from(JSON.stringify(range)));
    const peaks = server.peak();
    line(
      'server: primary and workers, after puts, diary and 250,000 entries read',
      peaks.map((mib) => `${mib.toFixed(0)} MiB`).join(', '),
      against(Math.max(...peaks), target, `${target} MiB each`),
    );
    client.close();
    await server.stop();
  });
}

/** Bytes of the database files in a folder, without logs. */
function sizeOf(folder) {
  const names = readdirSync(folder).filter((name) => name.startsWith('mobility.db'));
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}
