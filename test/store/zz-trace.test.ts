import { it } from 'vitest';
import { writeFileSync } from 'node:fs';
import { silentLog } from '../../src/log/log.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import { pushesOf } from '../faults/kit.ts';
import { newUser } from './contract/kit.ts';
import { describeOnServers, withStore } from './servers.ts';
describeOnServers('trace', (server) => {
  it('x', async () => {
    let out = '';
    await withStore(server(), async (store) => {
      const user = await newUser(store);
      const days = pushesOf('somebody', 'android', 3);
      out = '';
      for (const day of days) {
        out += '--- put\n';
        await store.usercache.put(user, { entries: day, unusable: [] }, 1);
        out += '--- run\n';
        await runPipeline(store, user, { log: silentLog, now: () => 1_800_000_000 });
      }
      out += '--- nothing new\n';
      await runPipeline(store, user, { log: silentLog, now: () => 1_800_000_000 });
    }, { onCommand: (c) => { const [n] = Object.keys(c); out += `${n} ${c[n!]} ${JSON.stringify(c.filter ?? c.query ?? '')} ${JSON.stringify(c.sort ?? '')} ${c.limit ?? ''} ${c.projection ? JSON.stringify(Object.keys(c.projection)) : ''} ${c.txnNumber ?? ''} ${c.startTransaction ?? ''}\n`.slice(0, 330).trimEnd() + '\n'; } });
    writeFileSync('/tmp/trace.txt', out.replace(/"user":"[^"]*"/g, 'U'));
  }, 60000);
});
