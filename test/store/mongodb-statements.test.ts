// How many statements the MongoDB backend sends for a day of a user: each is a round trip to the server.
import type { Document } from 'mongodb';
import { expect, it, vi } from 'vitest';
import { silentLog } from '../../src/log/log.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import { pushesOf } from '../faults/kit.ts';
import { newUser } from '../support/store.ts';
import { describeOnServers, withStore } from './servers.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** What is sent, by command and collection: `find timeseries` and so on. */
function counted(commands: readonly Document[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const command of commands) {
    const [name] = Object.keys(command);
    const collection = name === 'getMore' ? command.collection : command[name!];
    const text = typeof collection === 'string' ? `${name} ${collection}` : name!;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return new Map([...counts].sort((a, b) => b[1] - a[1]));
}

/** Most statements of each kind of work; what it takes today is printed by MOBILITY_PRINT_STATEMENTS=1. */
const most = { firstPut: 10, put: 8, run: 40, nothingNew: 2, nextDay: 40 };

describeOnServers('statements of MongoDB', (server) => {
  it('a day of a phone takes few, and a run that finds nothing new takes next to none', async () => {
    const commands: Document[] = [];
    const sent = (): Map<string, number> => counted(commands.splice(0, commands.length));
    const expectFew = (name: keyof typeof most): void => {
      const found = sent();
      const sum = [...found.values()].reduce((a, b) => a + b, 0);
      if (process.env.MOBILITY_PRINT_STATEMENTS === '1') console.log(name, sum, found);
      expect(sum, JSON.stringify([...found])).toBeLessThanOrEqual(most[name]);
    };
    await withStore(
      server(),
      async (store) => {
        const user = await newUser(store);
        const days = pushesOf('somebody', 'android', 3);
        const run = () => runPipeline(store, user, { log: silentLog, now: () => 1_800_000_000 });
        sent();
        await store.usercache.put(user, { entries: days[0]!, unusable: [] }, 1);
        expectFew('firstPut'); // also records when it came
        expect(await run()).toMatchObject({ status: 'done' });
        expectFew('run');
        expect(await run()).toMatchObject({ status: 'nothing_new' });
        expectFew('nothingNew');
        for (const day of days.slice(1)) {
          sent();
          await store.usercache.put(user, { entries: day, unusable: [] }, 1);
          expectFew('put');
          expect(await run()).toMatchObject({ status: 'done' });
        }
        expectFew('nextDay');
      },
      { onCommand: (command) => void commands.push(command) },
    );
  });
});
