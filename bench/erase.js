// Measures the longest wait of a put while a person with a year of data is erased from a store of 0.5 GB.
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { openStore, runPipeline, silentLog, simulateDays } from '../dist/index.js';
import { against, inFolder, line, locations, ms, putsBeside, quantile, run, startServer } from './kit.js';

const bytes = 0.5e9; // size of the store
const target = 0.5; // s, the longest wait of a put

/** Prints the longest wait of a put of 50 beside `mobility erase`. `days`: days of data of the erased person. */
export async function erase({ days = 365 } = {}) {
  console.log(`\nerase: one person of ${days} days from a store of ${bytes / 1e6} MB, puts of 50 beside it`);
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    await fill(store, join(folder, 'mobility.db'), days);
    await store.close();
    const server = await startServer(folder, { workers: 2 });
    const name = ['--user', 'ada', '--yes', '--store', folder, '--log-dir', join(folder, 'logs')];
    const { times, result } = await putsBeside(server.port, 'ben', () => run(['erase', ...name]));
    const longest = Math.max(...times);
    line('the command with the start of its process', `${result.seconds.toFixed(2)} s`);
    line(`puts: ${times.length}; median`, ms(quantile(times, 0.5)));
    line('  longest', ms(longest), against(longest, target, ms(target)));
    await server.stop();
  });
}

/**
 * Stores the erased person first, so that the pages of the others come after theirs. The others have pending entries
 * only.
 */
async function fill(store, file, days) {
  const { user } = await store.users.register('ada', { now: 1 });
  for (const entries of simulateDays({ platform: 'android', day: '2023-01-01', seed: 'ada' }, days)) {
    await store.usercache.put(user.uuid, { entries, unusable: [] }, 1);
  }
  await runPipeline(store, user.uuid, { log: silentLog, now: () => Date.now() / 1000 });
  line(`size of ${days} days`, `${(statSync(file).size / 1e6).toFixed(0)} MB`);
  const { user: other } = await store.users.register('ben', { now: 1 });
  for (let i = 0; statSync(file).size < bytes; i++) {
    const entries = locations(100, 1_600_000_000 + i * 100);
    for (const entry of entries) entry.data.noise = randomBytes(600).toString('base64');
    await store.usercache.put(other.uuid, { entries, unusable: [] }, 1);
  }
}
