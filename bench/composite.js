// Measures the CPU of the server for a week of 40 composite trips, with and without labels from which others are
// suggested.
import { openStore, runPipeline, silentLog, simulateDays } from '../dist/index.js';
import { against, createClient, inFolder, line, ms, seconds, startServer } from './kit.js';

const days = 45;
const trips = 40;
const calls = 100;
const limit = 0.05; // s of CPU
const zone = 'Europe/Berlin';

/** Prints the CPU of all processes of the server for one call. */
export async function composite() {
  console.log(`\ncomposite: find_entries of ${trips} composite trips, ${calls} calls in sequence`);
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    const { user } = await store.users.register('ada', { now: 1 });
    const put = (entries) => store.usercache.put(user.uuid, { entries, unusable: [] }, 1);
    const run = () => runPipeline(store, user.uuid, { log: silentLog, now: () => Date.now() / 1000 });
    for (const day of simulateDays({ platform: 'ios', day: '2024-03-01', seed: 'ada', zone }, days)) await put(day);
    await run();
    const all = await store.trips.spans(user.uuid, { from: 0, to: 5e9 });
    const week = all.slice(-trips);
    const query = {
      user: 'ada',
      key_list: ['analysis/composite_trip'],
      key_time: 'data.end_ts',
      start_time: week[0].end_ts,
      end_time: week.at(-1).end_ts,
    };
    await measure(folder, 'without labels', query);
    const modes = ['bike', 'walk', 'bus'];
    await put(all.slice(0, -trips).flatMap((trip, i) => labelsOf(trip, modes[i % modes.length])));
    await run();
    await store.close();
    await measure(folder, `with ${all.length - trips} labelled trips before them`, query);
  });
}

function labelsOf({ start_ts, end_ts }, mode) {
  const say = (name, label, i) => ({
    metadata: { key: `manual/${name}`, type: 'message', platform: 'ios', write_ts: end_ts + i, time_zone: zone },
    data: { start_ts, end_ts, label },
  });
  return [say('mode_confirm', mode, 1), say('purpose_confirm', 'work', 2)];
}

async function measure(folder, what, query) {
  const server = await startServer(folder, { workers: 1 });
  const client = createClient(server.port, 1);
  const body = Buffer.from(JSON.stringify(query));
  const call = () => client.post('/datastreams/find_entries/timestamp', body);
  const found = JSON.parse(await call()).phone_data;
  if (found.length < trips) throw new Error(`expected ${trips} trips, found ${found.length}`);
  const suggested = found.filter(({ data }) => data.inferred_labels?.length > 0).length;
  for (let i = 0; i < 20; i += 1) await call();
  const [before, began] = [server.cpu(), seconds()];
  for (let i = 0; i < calls; i += 1) await call();
  const cpu = (server.cpu() - before) / calls;
  line(`${what} (${suggested} suggested): CPU a call`, ms(cpu), against(cpu, limit, ms(limit)));
  line(`${what}: wall`, ms((seconds() - began) / calls));
  client.close();
  await server.stop();
}
