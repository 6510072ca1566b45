// How long getTrips takes, beside a call that asks the store for nothing.
import { openStore, runPipeline, silentLog, simulateDays } from '../dist/index.js';
import { bodyOf, createClient, inFolder, inLanes, line, ms, quantile, startServer } from './kit.js';

const days = 30;
const calls = 1500;

/** Prints latencies of one caller at a time. */
export async function trips() {
  console.log(`\ntrips: getTrips of one day out of ${days}, ${calls} calls one after the other, 2 workers`);
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    const { user } = await store.users.register('ada', { now: 1 });
    for (const entries of simulateDays({ platform: 'ios', day: '2024-03-01', seed: 'ada' }, days)) {
      await store.usercache.put(user.uuid, { entries, unusable: [] }, 1);
    }
    await runPipeline(store, user.uuid, { log: silentLog, now: () => Date.now() / 1000 });
    await store.close();
    const server = await startServer(folder, { workers: 2 });
    const client = createClient(server.port, 1);
    const body = bodyOf('ada', []);
    const path = (i) => `/timeline/getTrips/2024-03-${String((i % days) + 1).padStart(2, '0')}`;
    const kinds = {
      'GET / (nothing from the store)': () => client.get('/'),
      'POST /profile/get (one row)': () => client.post('/profile/get', body),
      'POST /timeline/getTrips/<day>': (i) => client.post(path(i), body),
      'POST /usercache/get (a week of documents)': () => client.post('/usercache/get', body),
    };
    for (const [what, call] of Object.entries(kinds)) {
      await inLanes(200, 1, call);
      const times = await inLanes(calls, 1, call);
      line(`${what}: median, 99 %`, `${ms(quantile(times, 0.5))}, ${ms(quantile(times, 0.99))}`);
    }
    client.close();
    await server.stop();
  });
}
