// Prints the distance of a person by day and mode, from the trips of a store. Without arguments, the store of `npm run
// demo`.
//
//   node examples/daily-distance.js [STORE [USER [FROM [TO]]]]
import { existsSync } from 'node:fs';
import { openStore } from 'mobility';

const [address = 'demo-out/store', name = 'ada@example.org', from = '2024-03-01', to = '2024-03-31'] =
  process.argv.slice(2);
if (!address.includes('://') && !existsSync(address)) {
  console.error(`no store in ${address}: run \`npm run demo\` first, or name a store`);
  process.exit(2);
}

const store = await openStore(address);
try {
  const user = await store.users.byEmail(name);
  if (user === null) throw new Error(`${name} is not registered in ${address}`);
  const days = new Map();
  for (const { day, trip } of await store.trips.byDay(user.uuid, { from, to })) {
    const modes = days.get(day) ?? {};
    for (const { sensed_mode, distance } of trip.sections) {
      const mode = sensed_mode.split('.').at(-1);
      modes[mode] = Math.round((modes[mode] ?? 0) + distance);
    }
    days.set(day, modes);
  }
  for (const [day, modes] of days) console.log(day, modes);
} finally {
  await store.close();
}
