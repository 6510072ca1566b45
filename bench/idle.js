// Measures a pipeline run over 1,000 users who have nothing new.
import { openStore, runAll, silentLog, simulateDay } from '../dist/index.js';
import { against, inFolder, line, median, ms, run, seconds } from './kit.js';

const users = 1000;
const target = 2; // s

/** Prints the wall time of the command and of the run without the start of the process. */
export async function idle({ rounds = 5 } = {}) {
  console.log(`\nidle: pipeline --all over ${users} users with nothing new, ${rounds} rounds`);
  await inFolder(async (folder) => {
    const options = { log: silentLog, now: () => Date.now() / 1000 };
    const store = await openStore(folder);
    const morning = simulateDay({ platform: 'android', day: '2024-03-11', seed: 'ada' }).slice(0, 250);
    for (let i = 0; i < users; i++) {
      const { user } = await store.users.register(`phone-${i}`, { now: 1 });
      await store.usercache.put(user.uuid, { entries: morning, unusable: [] }, 1);
    }
    await runAll(store, options);
    const alone = [];
    for (let i = 0; i < rounds; i++) {
      const began = seconds();
      const report = await runAll(store, options);
      alone.push(seconds() - began);
      if (report.nothing_new !== users)
        throw new Error(`expected ${users} users with nothing new, found ${JSON.stringify(report)}`);
    }
    await store.close();
    const commands = [];
    for (let i = 0; i < rounds; i++) commands.push(await run(['pipeline', '--all', '--store', folder]));
    const whole = median(commands.map((one) => one.seconds));
    line('the run alone, median', ms(median(alone)), `${ms(median(alone) / users)} a user`);
    line('the command with the start of its process, median', ms(whole), against(whole, target, `${target} s`));
    line('peak memory', `${Math.max(...commands.map((one) => one.peak)).toFixed(0)} MiB`);
  });
}
