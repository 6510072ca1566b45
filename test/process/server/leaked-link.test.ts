// Abuse of the link of an open study: filling the study so that no one else can join, or filling the store.
import { beforeEach, expect, it } from 'vitest';
import { networksOf } from '../../../src/model/networks.ts';
import type { StudySettings } from '../../../src/model/study.ts';
import { originFinder } from '../../../src/server/origin.ts';
import { refuse, succeed } from '../../cli/kit.ts';
import { androidLocation, config, countedCalls, type Kit, listen, openKit } from '../../server/kit.ts';
import { studySettings } from '../../support/study.ts';

const day = 86_400;
const midnight = Math.floor(1_710_000_000 / day) * day;

let kit: Kit;
let clock: number;
const open = async (parts: Parameters<typeof openKit>[0] = {}): Promise<void> => {
  kit = await openKit({ config: { ...config, auth: 'token' }, now: () => clock, ...parts });
};
beforeEach(() => {
  clock = midnight + 12 * 3600;
  return open();
});

const study = (fields: Partial<StudySettings> = {}) =>
  kit.store.studies.put(studySettings({ hour_limit: 200, total_limit: 10_000, config: { version: 1 }, ...fields }));
const tokenOf = (person: number, name = 'sunny'): string =>
  `nrelop_${name}_default_${String(person).padStart(32, '0')}`;
const join = (person: number, name?: string) => kit.post('/profile/create', { user: tokenOf(person, name) });
const joinAll = async (from: number, to: number): Promise<number[]> => {
  const statuses: number[] = [];
  for (let person = from; person < to; person += 1) statuses.push((await join(person)).status);
  return statuses;
};
const push = (person: number, entry = androidLocation(clock)) => kit.put([entry], tokenOf(person));
const surroundings = () => ({ env: { MOBILITY_STORE: kit.store.address }, now: clock });
const run = (...args: string[]) => succeed(args, surroundings());
const names = async (): Promise<string[]> => (await kit.store.users.list({ limit: 999 })).map((one) => one.user_email);

it('a removed member counts neither for the total limit nor for the hourly limit of a study', async () => {
  await study({ total_limit: 3 });
  expect(await joinAll(0, 4)).toEqual([200, 200, 200, 403]);
  await run('users', 'remove', (await names())[0]!);
  expect(await joinAll(4, 6)).toEqual([200, 403]);
  await study({ hour_limit: 3 });
  const { status, headers } = await join(7);
  expect([status, Number(headers.get('Retry-After')) > 0]).toEqual([429, true]);
  await run('users', 'remove', (await names())[0]!);
  expect(await joinAll(7, 9)).toEqual([200, 429]);
});

it('a full study admits new members after the pipeline removes accounts that pushed nothing for a week', async () => {
  await study({ total_limit: 3 });
  await joinAll(0, 3);
  expect((await push(0)).status).toBe(200);
  clock += 7 * day - 1;
  await run('pipeline', '--all');
  expect((await join(3)).status).toBe(403);
  clock += 2;
  expect((await join(3)).status).toBe(403);
  await run('pipeline', '--all');
  expect(await joinAll(3, 6)).toEqual([200, 200, 403]);
  expect((await push(0)).status).toBe(200);
  expect((await push(1)).status).toBe(403);
  expect(await names()).toHaveLength(3);
  await study();
  expect((await join(1)).status).toBe(200);
});

it('a new link invalidates the old one, members stay, and they can set up a phone again', async () => {
  await study();
  const { uuid } = (await join(1)).json;
  const name = (await run('study', 'new-link', 'sunny')).stdout.trim();
  expect(name).toMatch(/^sunny-[a-z0-9]{8}$/);
  const detail = expect.stringContaining('its study admits no new members now');
  expect((await join(2)).json).toMatchObject({ status: 403, detail });
  expect([(await push(1)).status, (await join(1)).json]).toEqual([200, { uuid }]);
  for (const file of ['sunny', name]) {
    expect((await kit.request(`/configs/${file}.nrel-op.json`)).json).toEqual({ version: 1 });
  }
  expect((await run('study', 'link', 'sunny')).stdout).toContain(`study_config=${name}&`);
  const { json } = await join(3, name);
  expect(await kit.store.users.byUuid(String(json.uuid))).toMatchObject({ study: 'sunny', subgroup: 'default' });
  const [made] = (await run('study', 'tokens', 'sunny', '--json')).json<{ users: [{ token: string }] }>().users;
  expect(made.token).toMatch(`nrelop_${name}_default_`);
  await refuse(['study', 'create', name], 'expected a new name, found sunny', surroundings());
});

it('a wave of joins appears in the log, the metrics and `study show`, and one command removes it', async () => {
  await open({ metrics: countedCalls() });
  await study({ hour_limit: 20 });
  await joinAll(0, 2);
  await push(0);
  clock = midnight + day + 10 * 3600; // the next day at 10:00
  await joinAll(2, 12);
  await push(2);
  const wave = /WARNING:\S+:Study sunny: (\d+) people joined within an hour, of at most 20; see mobility study show$/;
  expect(kit.log.flatMap((line) => wave.exec(line)?.[1] ?? [])).toEqual(['10']);
  const { text } = await kit.request('/metrics');
  for (const figure of ['members 12', 'joined_last_hour 10', 'never_pushed 10'])
    expect(text).toContain(`mobility_study_${figure.replace(' ', '{study="sunny"} ')}`);
  const { stdout } = await run('study', 'show', 'sunny');
  expect(stdout).toMatch(/members +12 of 10000; 12 joined so far\njoined in the last hour +10 of 20\nnever pushed +10/);
  const since = ['--study', 'sunny', '--joined-since', '10:00'];
  const joined = async () => (await run('users', 'list', ...since, '--json')).json<{ users: object[] }>().users;
  expect(await joined()).toHaveLength(10);
  clock += 1800;
  const removed = (await run('users', 'remove', ...since, '--never-pushed', '--json')).json<{ removed: object[] }>();
  expect(removed.removed).toHaveLength(9);
  for (const person of [0, 1, 2]) expect((await push(person)).status).toBe(200);
  expect((await push(3)).status).toBe(403);
  clock = midnight + 2 * day + 9 * 3600; // before 10:00, so this is yesterday
  expect(await joined()).toHaveLength(1);
  expect((await run('study', 'list')).stdout).toMatch(/sunny +open +default +3 /);
  await refuse(['users', 'remove', '--study', 'sunny'], '--study NAME with --never-pushed', surroundings());
});

it('a new member has a lower limit until three days after the first entries, unless an operator made the account', async () => {
  await study();
  await joinAll(0, 1);
  const most = 16 * 2 ** 20;
  const large = (ts: number) => androidLocation(ts, { filter: 'x'.repeat(most) });
  const limit = { status: 429, limit: 'new_member_bytes_per_day', most };
  expect((await push(0, large(clock))).json).toMatchObject(limit);
  expect((await push(0)).status).toBe(200);
  clock += 3 * day - 60;
  expect((await push(0, large(clock))).status).toBe(429);
  clock += 120;
  expect((await push(0, large(clock))).status).toBe(200);
  const [made] = (await run('study', 'tokens', 'sunny', '--json')).json<{ users: [{ token: string }] }>().users;
  expect((await kit.put([large(1)], made.token)).status).toBe(200);
});

it('the new members of a study share a limit that does not affect older members and other studies', async () => {
  await open({ limits: { studyBytesPerDay: 10_000 } });
  await study();
  await joinAll(0, 4);
  await push(0);
  clock += 4 * day;
  const some = androidLocation(1, { filter: 'x'.repeat(6_000) });
  expect((await push(1, some)).status).toBe(200);
  expect((await push(2, some)).json).toMatchObject({ status: 429, limit: 'study_bytes_per_day' });
  expect((await push(0, some)).status).toBe(200);
  await kit.store.studies.put({ ...(await kit.store.studies.byName('sunny'))!, name: 'rainy', join_names: ['rainy'] });
  await join(5, 'rainy');
  expect((await kit.put([some], tokenOf(5, 'rainy'))).status).toBe(200);
  clock += day;
  expect((await push(2, some)).status).toBe(200);
});

it('one network may take only a part of the joins of an hour, and only a trusted proxy may forward its address', async () => {
  const statuses = async (trustedProxies: string): Promise<number[]> => {
    await open({ config: { ...config, auth: 'token', trustedProxies } });
    await study();
    const { port } = await listen(kit.app);
    const found: number[] = [];
    for (let person = 0; person < 42; person += 1) {
      const origin = person < 40 ? `203.0.113.${person}` : `198.51.100.${person}`;
      const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': `192.0.2.${person}, ${origin}` };
      const init = { method: 'POST', headers, body: JSON.stringify({ user: tokenOf(person) }) };
      found.push((await fetch(`http://127.0.0.1:${port}/profile/create`, init)).status);
    }
    return found;
  };
  expect(await statuses('127.0.0.1')).toEqual([...Array(30).fill(200), ...Array(10).fill(429), 200, 200]);
  expect(await statuses('10.0.0.0/8')).toEqual(Array(42).fill(200));
});

it.each([
  ['203.0.113.7', '', '203.0.113.0/24'],
  ['::ffff:203.0.113.7', '', '203.0.113.0/24'],
  ['2001:0db8:1:2::3', '', '2001:db8:1::/48'],
  ['2001:db8::3', '', '2001:db8:0::/48'],
  ['203.0.113.7', '198.51.100.1', '203.0.113.0/24'],
  ['127.0.0.1', '198.51.100.1, 203.0.113.7', '203.0.113.0/24'],
  ['::ffff:127.0.0.1', '198.51.100.1, 203.0.113.7, 10.1.2.3', '203.0.113.0/24'],
  ['127.0.0.1', 'nonsense', null],
  ['127.0.0.1', '', null],
  ['192.168.1.1', '203.0.113.7', null],
  [undefined, '203.0.113.7', null],
])('a call of %s, forwarded for "%s", comes from %s', (peer, forwarded, origin) => {
  expect(originFinder(networksOf('127.0.0.1, 10.0.0.0/8'))(peer, forwarded)).toBe(origin);
});
