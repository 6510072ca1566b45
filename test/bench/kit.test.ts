// What the measurements in bench/ share, on the build of the present sources.
import { expect, it } from 'vitest';
import { bodyOf, createClient, inFolder, inLanes, startServer } from '../../bench/kit.js';
import { readConfig } from '../../src/config.ts';
import { openStore } from '../../src/store/open.ts';
import { buildProgram } from '../support/build.ts';

it('the server of a measurement answers one caller as often as the machine can', async () => {
  const root = await buildProgram();
  const calls = readConfig({}).callsPerMinute + 1;
  await inFolder(async (folder) => {
    const store = await openStore(folder);
    await store.users.register('ada', { now: 1 });
    await store.close();
    const server = await startServer(folder, { root });
    const client = createClient(server.port);
    try {
      const times = await inLanes(calls, 8, () => client.post('/profile/get', bodyOf('ada', [])));
      expect(times).toHaveLength(calls);
    } finally {
      client.close();
      await server.stop();
    }
  });
}, 120_000);
