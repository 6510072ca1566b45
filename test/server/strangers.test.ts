// A flood of calls that nobody is known to have made: what it leaves in the log, and what of everybody else stays
// there.
import { expect, it } from 'vitest';
import { MobilityError } from '../../src/model/errors.ts';
import { mostStrangers } from '../../src/server/call.ts';
import type { Store } from '../../src/store/store.ts';
import { androidLocation, type Kit, now, openKit } from './kit.ts';

it('of strangers leaves so many calls a minute in the log, a count of the others, and every line of people', async () => {
  let time = now;
  const kit = await openKit({ now: () => time });
  await kit.user('ada');
  const refused = async (calls: number): Promise<void> => {
    for (let n = 0; n < calls; n += 1) expect((await kit.post('/usercache/put', { user: 'eve' })).status).toBe(403);
  };
  await refused(mostStrangers + 40);
  expect(kit.log.filter((line) => line.includes('START'))).toHaveLength(mostStrangers);
  expect(kit.console.filter((line) => line.startsWith('START'))).toHaveLength(mostStrangers + 40);

  kit.log.length = 0;
  const entries = [androidLocation(now - 60)];
  expect((await kit.post('/usercache/put', { user: 'ada', phone_to_server: entries })).status).toBe(200);
  const messages = kit.log.map((line) => line.replace(/^\w+:[\w-]+:/, '').split(' ')[0]);
  expect(messages).toEqual(['START', 'Called', 'Found', 'user_uuid', 'Updated', 'Stored', 'Answered', 'END']);

  kit.log.length = 0;
  time += 61;
  await refused(1);
  expect(kit.log[0]).toMatch(/^WARNING:w1:Refused calls not logged = 40 since \S+$/);
  expect(kit.log.filter((line) => line.includes('START'))).toHaveLength(1);
  await kit.close();
});

it('of calls that a full disk fails leaves one line each on standard error, and a fault its stack', async () => {
  let failure: Error = new MobilityError('MOBILITY_STORE_FULL', 'no space is left');
  const wrap = (store: Store): Store => ({
    ...store,
    usercache: { ...store.usercache, put: () => Promise.reject(failure) },
  });
  const kit: Kit = await openKit({ wrap });
  await kit.user('ada');
  const put = () => kit.post('/usercache/put', { user: 'ada', phone_to_server: [androidLocation(now - 60)] });
  expect((await put()).status).toBe(503);
  expect(kit.errors).toEqual(['w1-1 POST /usercache/put: no space is left']);
  failure = new TypeError('a fault of ours');
  expect((await put()).status).toBe(500);
  expect(kit.errors[1]).toMatch(/TypeError: a fault of ours\n +at /);
  await kit.close();
});
