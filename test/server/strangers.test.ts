// A flood of calls that nobody is known to have made: what it leaves in the log, and what of everybody else stays
// there.
import { expect, it } from 'vitest';
import { mostStrangers } from '../../src/server/call.ts';
import { androidLocation, now, openKit } from './kit.ts';

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
