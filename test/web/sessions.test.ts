// How long browsers stay signed in, which names a sign-in accepts, and pages for closed connections.
import { EventEmitter } from 'node:events';
import { beforeEach, expect, it } from 'vitest';
import { passwordHash } from '../../src/web/password-hash.ts';
import { type Answered, addToken, config, type Kit, now, openKit, signedIn } from '../server/kit.ts';
import { managerRecord, studySettings } from '../support/study.ts';

const [day, hour] = [86_400, 3600];
const passwordCost = 2 ** 10;
const password = 'a password for tests';
let kit: Kit;
let clock: number;

beforeEach(async () => {
  clock = now;
  kit = await openKit({ now: () => clock, config: { ...config, auth: 'token' }, passwordCost });
  await kit.store.studies.put(studySettings());
  const record = managerRecord({ password: await passwordHash(password, passwordCost) });
  await kit.store.managers.change('mira', () => record);
});

const cookieOf = ({ headers }: Answered): string => headers.get('set-cookie')!.split(';')[0]!;
const signIn = (name = 'mira', headers = {}) => kit.form('/sign-in/study', { name, password }, headers);

/** Statuses of a page a second before a time and at it. */
async function statusesAround(ts: number, path: string, cookie: string): Promise<number[]> {
  const found: number[] = [];
  for (clock of [ts - 1, ts]) found.push((await kit.request(path, { headers: { Cookie: cookie } })).status);
  return found;
}

it('a person stays signed in for 90 days, and the browser keeps the cookie as long', async () => {
  const { uuid } = await kit.user('ada');
  await addToken(kit.store, uuid, 'key', { kind: 'link', expires_ts: now + 60 });
  const opened = await kit.form('/me/open', { key: 'key' });
  expect(opened.headers.get('set-cookie')).toMatch(
    /^mobility-days=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=7776000$/,
  );
  expect(await statusesAround(now + 90 * day, '/me', cookieOf(opened))).toEqual([200, 303]);
});

it('a manager stays signed in for 12 hours, and the browser remains known for 400 days', async () => {
  const signedIn = await signIn();
  expect(signedIn.headers.get('set-cookie')).toMatch(
    /^mobility-study=mira\.[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=34560000$/,
  );
  const cookie = cookieOf(signedIn);
  expect(await statusesAround(now + 12 * hour, '/study/sunny', cookie)).toEqual([200, 303]);
  // Behind a lock, only a known browser gets in.
  const known = (await kit.store.managers.byName('mira'))!;
  const statuses: number[] = [];
  for (clock of [now + 400 * day - 1, now + 400 * day]) {
    await kit.store.managers.change('mira', () => ({ ...known, locked_ts: clock + 60 }));
    statuses.push((await signIn('mira', { Cookie: cookie })).status);
  }
  expect(statuses).toEqual([303, 403]);
});

it('a manager keeps only the ten newest sessions', async () => {
  const cookies: string[] = [];
  for (let i = 0; i < 12; i += 1) {
    clock += 1;
    cookies.push(cookieOf(await signIn()));
  }
  const answers = await Promise.all(cookies.map((Cookie) => kit.request('/study/sunny', { headers: { Cookie } })));
  expect(answers.map(({ status }) => status)).toEqual([303, 303, ...Array(10).fill(200)]);
});

it('blanks around a name and its letter case are ignored, and a wrong name is shown shortened', async () => {
  expect((await signIn('  MIRA ')).status).toBe(303);
  const wrong = await signIn('m'.repeat(90));
  expect([wrong.status, /value="(m+)"/.exec(wrong.text)?.[1]]).toEqual([403, 'm'.repeat(40)]);
  expect(wrong.text).toContain('role="alert"');
  const asked = await kit.request('/sign-in/study');
  expect([asked.status, asked.text.includes('role="alert"')]).toEqual([200, false]);
});

it('a page is not made for a browser that has disconnected, and its slot is released', async () => {
  const { uuid } = await kit.user('ada');
  const headers = await signedIn(kit.store, uuid);
  const outgoing = Object.assign(new EventEmitter(), { destroyed: true, closed: true });
  for (let i = 0; i < 6; i += 1) {
    const left = await kit.app.request('/me', { headers }, { outgoing } as never);
    expect(left.status).toBe(400);
  }
  expect((await kit.request('/me', { headers })).status).toBe(200);
});

it.each([
  ['/traccar?id=first&deviceid=second&lat=1&lon=2', 'first'],
  ['/traccar?id=&deviceid=second&lat=1&lon=2', 'second'],
  ['/overland?access_token=second&token=first', 'first'],
])('of several parameters with a token, %s, the first with a value counts', async (path, name) => {
  for (const one of ['first', 'second']) {
    const { uuid } = await kit.user(one);
    await addToken(kit.store, uuid, one, { kind: 'made' });
  }
  const properties = { timestamp: '2016-05-18T00:00:00Z' };
  const geometry = { type: 'Point', coordinates: [1, 2] };
  const body = path.startsWith('/overland') ? { locations: [{ type: 'Feature', geometry, properties }] } : '';
  expect((await kit.post(path, body)).status).toBe(200);
  const { uuid } = (await kit.store.users.byEmail(name))!;
  expect(await kit.store.usercache.count(uuid)).toBe(1);
});
