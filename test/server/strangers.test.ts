// Calls of unidentified callers: their lines in the log are limited, and lines of users are kept.
import { expect, it } from 'vitest';
import { mostUnauthenticated } from '../../src/server/call.ts';
import { androidLocation, config, now, openKit } from './kit.ts';

it('calls of unidentified callers are logged up to a limit per minute, then counted, and lines of users are all logged', async () => {
  let time = now;
  const kit = await openKit({ now: () => time });
  await kit.user('ada');
  const refused = async (calls: number): Promise<void> => {
    for (let n = 0; n < calls; n += 1) expect((await kit.put([], 'eve')).status).toBe(403);
  };
  await refused(mostUnauthenticated + 40);
  expect(kit.log.filter((line) => line.includes('START'))).toHaveLength(mostUnauthenticated);
  expect(kit.console.filter((line) => line.startsWith('START'))).toHaveLength(mostUnauthenticated + 40);

  kit.log.length = 0;
  expect((await kit.put([androidLocation(now - 60)])).status).toBe(200);
  const messages = kit.log.map((line) => line.replace(/^\w+:[\w-]+:/, '').split(' ')[0]);
  expect(messages).toEqual(['START', 'Called', 'Found', 'user_uuid', 'Updated', 'Stored', 'Answered', 'END']);

  kit.log.length = 0;
  time += 61;
  await refused(1);
  expect(kit.log[0]).toMatch(/^INFO:w1:Calls without a caller not logged = 40 since \S+$/);
  expect(kit.log.filter((line) => line.includes('START'))).toHaveLength(1);
});

it('calls without a user are limited in the log also if they are answered with 200 or fail', async () => {
  const kit = await openKit({ config: { ...config, readyDiskMiB: 1e12 } });
  for (let n = 0; n < mostUnauthenticated; n += 1) {
    const statuses = [];
    for (const path of ['/', '/healthz', '/openapi.json', '/readyz']) statuses.push((await kit.request(path)).status);
    expect(statuses).toEqual([200, 200, 200, 503]);
  }
  expect(kit.log).toHaveLength(3 * mostUnauthenticated);
});

it('a call of a scanner logs one line besides START and END, and no warning', async () => {
  const kit = await openKit();
  await kit.user('ada');
  await kit.request('/favicon.ico');
  await kit.request('/usercache/put');
  await kit.post('/usercache/get', { user: 'eve' });
  expect(kit.log.filter((line) => !/:(?:START|END|Called) /.test(line))).toEqual([
    expect.stringMatching(/^INFO:w1-1:Answered 404 GET \/favicon.ico: no endpoint/),
    expect.stringMatching(/^INFO:w1-2:Answered 405 GET \/usercache\/put: expected POST, found GET$/),
    expect.stringMatching(/^INFO:w1-3:Answered 403 POST \/usercache\/get MOBILITY_FORBIDDEN: no user is registered/),
  ]);
  await kit.put(7);
  expect(kit.log.at(-2)).toMatch(/^WARNING:w1-4:Answered 400 POST \/usercache\/put MOBILITY_BAD_REQUEST: expected /);
});
