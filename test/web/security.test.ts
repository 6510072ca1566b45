// Nobody sees another's days: every page and form by every kind of caller, forms of other sites, cookies, and headers.
import { writeFile } from 'node:fs/promises';

import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Act } from '../../src/log/audit-log.ts';
import { type TokenKind, tokenHash, type UserRecord } from '../../src/model/user.ts';
import { passwordHash } from '../../src/web/password-hash.ts';
import { openTiles, type Tiles } from '../../src/web/pmtiles.ts';
import { webRoutes } from '../../src/web/routes.ts';
import { csrfOf } from '../../src/web/sessions.ts';
import { SignInLimits } from '../../src/web/sign-in-limits.ts';
import { addToken, config, formType, type Kit, now, openKit } from '../server/kit.ts';
import { tempFolder } from '../support/clean-up.ts';
import { greyPixel, pmtiles } from '../support/pmtiles.ts';
import { managerRecord, studySettings } from '../support/study.ts';
import { until } from '../support/until.ts';

let kit: Kit;
let tiles: Tiles;
let clock = now;
/** Names the person of the study `sunny` on pages of managers. */
let person = '';
const acts: Act[] = [];
const password = 'a password for tests';

/** The cookie of a user, as a browser sends it. */
type Browser = { cookie: string; csrf: string };
/** Far below the real one: these tests try some hundred passwords. */
const passwordCost = 2 ** 10;
const nobody: Browser = { cookie: '', csrf: '' };
const people: Record<string, Browser> = {};

beforeAll(async () => {
  const audit = async (act: Act): Promise<void> => void acts.push(act);
  const map = join(tempFolder(), 'map.pmtiles');
  await writeFile(map, pmtiles([{ id: 0, run: 4 ** 19, image: greyPixel }]));
  tiles = await openTiles(map);
  kit = await openKit({ tiles, now: () => clock, config: { ...config, auth: 'token' }, audit, passwordCost });
  const hash = await passwordHash(password, passwordCost);
  for (const name of ['sunny', 'windy']) {
    await kit.store.studies.put(studySettings({ name }));
    const record = managerRecord({ name: `of-${name}`, studies: [name], password: hash });
    await kit.store.managers.change(record.name, () => record);
    await kit.store.users.register(`${name}@example.org`, { now, study: name });
    people[name] = await signedIn(name);
    people[`of-${name}`] = await managing(`of-${name}`);
  }
  person = /sunny\/p\/(\w+)/.exec((await look('/study/sunny', people['of-sunny']!)).text)![1]!;
});
afterAll(async () => {
  await tiles.close();
});

const userOf = async (name: string): Promise<UserRecord> => (await kit.store.users.byEmail(`${name}@example.org`))!;

async function token(name: string, kind: TokenKind, expires_ts: number | null): Promise<string> {
  const { uuid } = await userOf(name);
  const text = `${kind} ${name} ${Math.floor(clock)} ${(await kit.store.tokens.list(uuid)).length}`;
  await addToken(kit.store, uuid, text, { kind, expires_ts });
  return text;
}

const link = (name = 'sunny') => token(name, 'link', clock + 60);

const form = (path: string, fields: Record<string, string>, { cookie }: Browser, headers = {}) =>
  kit.form(path, fields, { Cookie: cookie, ...headers });
const look = (path: string, { cookie }: Browser) => kit.request(path, { headers: { Cookie: cookie } });
const signInAs = (name: string, given = password, browser = nobody, headers = {}) =>
  form('/sign-in/study', { name, password: given }, browser, headers);
const openLink = (key: string, browser = nobody, headers = {}) => form('/me/open', { key }, browser, headers);

function browserOf(headers: Headers): Browser {
  const cookie = headers.get('set-cookie')!.split(';')[0]!;
  return { cookie, csrf: csrfOf(cookie.slice(cookie.indexOf('=') + 1)) };
}

async function signedIn(name: string): Promise<Browser> {
  return browserOf((await openLink(await link(name))).headers);
}

const managing = async (name: string): Promise<Browser> => browserOf((await signInAs(name)).headers);

/** The path of a route about the study and the person of `sunny`. */
const pathOf = (path: string): string =>
  path.replace(':study', 'sunny').replace(':id', person).replace(':day', '2016-05-17').replace(/:\w+/g, 'x');

/** What a caller gets: in, `door` (sent to sign in), or a status. */
async function outcome({ method, path }: (typeof webRoutes)[number], browser: Browser): Promise<string> {
  const url = pathOf(path);
  const answer = await (method === 'GET' ? look(url, browser) : form(url, { csrf: browser.csrf }, browser));
  const to = answer.headers.get('location') ?? '';
  return answer.status === 303 && to.startsWith('/sign-in') && !to.includes('done') ? 'door' : String(answer.status);
}

const endsSession = ({ path }: { path: string }): boolean => path.includes('sign-out');
/** Routes that end the session of their caller, last. */
const inOrder = [...webRoutes].sort((a, b) => Number(endsSession(a)) - Number(endsSession(b)));

it.each(inOrder)('$method $path admits $who only', async (route) => {
  const { who, method, path } = route;
  const expired = await signedIn('sunny');
  const revoked = await signedIn('sunny');
  const { uuid } = await userOf('sunny');
  const hash = tokenHash(revoked.cookie.slice(revoked.cookie.indexOf('=') + 1));
  expect(await kit.store.tokens.revoke(uuid, hash, { ts: clock, why: 'revoked' })).toBe(true);
  const phone = await token('sunny', 'owntracks', null);
  const own = { person: people.sunny!, study: people['of-sunny']!, manager: people['of-sunny']! }[who as 'person'];
  const strangers: Record<string, Browser> = {
    nobody,
    revoked,
    windy: people.windy!,
    'of-windy': people['of-windy']!,
    phone: { cookie: `mobility-days=${phone}`, csrf: csrfOf(phone) },
    invented: { cookie: 'mobility-days=x; mobility-study=of-sunny.x', csrf: csrfOf('x') },
    other: who === 'person' ? people['of-sunny']! : people.sunny!,
  };
  if (who === 'anybody') return;
  for (const [name, browser] of Object.entries(strangers)) {
    const isOfOther = who === 'person' ? name === 'windy' : name === 'of-windy';
    // A browser of the same role is admitted to its own data if the path names no user.
    if (isOfOther && who !== 'study' && who !== 'operator') continue;
    expect([name, await outcome(route, browser)]).toEqual([name, isOfOther ? '404' : 'door']);
  }
  clock += 91 * 86_400;
  expect(await outcome(route, expired)).toBe('door');
  clock = now;
  if (own !== undefined && path !== '/sign-out/study' && !route.takesFile) {
    const got = await outcome(route, own);
    expect(['200', '303', '400', '404']).toContain(got);
    if (method === 'POST') expect((await form(pathOf(path), {}, own)).status).toBe(path === '/me/sign-out' ? 303 : 403);
  }
  if (path === '/me/sign-out') people.sunny = await signedIn('sunny');
});

it('a form of another site is refused, with and without its cookie', async () => {
  const own = people.sunny!;
  const { uuid } = await userOf('sunny');
  const stopped = async () =>
    (await kit.store.tokens.list(uuid)).filter(({ revoked_why: why }) => why === 'stopped').length;
  await token('sunny', 'made', null);
  const before = await stopped();
  const foreign = [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }, { Origin: 'null' }];
  for (const headers of foreign) {
    expect((await form('/me/stop', { csrf: own.csrf }, own, headers)).status).toBe(403);
    expect((await signInAs('of-sunny', password, nobody, headers)).status).toBe(403);
  }
  expect((await form('/me/stop', { csrf: people.windy!.csrf }, own)).status).toBe(403);
  expect(await stopped()).toBe(before);
  expect((await form('/me/stop', { csrf: own.csrf }, own, { 'Sec-Fetch-Site': 'same-origin' })).status).toBe(303);
  expect(await stopped()).toBeGreaterThan(before);
});

it('a link works once, is not used up by showing it, expires, and is not a token for other calls', async () => {
  const key = await link();
  for (let i = 0; i < 2; i++)
    expect((await kit.request(`/me/open?key=${encodeURIComponent(key)}`)).text).toContain('Open my days');
  expect((await kit.post('/profile/get', {}, { Authorization: `Bearer ${key}` })).status).toBe(403);
  const both = await Promise.all([openLink(key), openLink(key)]);
  expect(both.map(({ status }) => status).sort()).toEqual([303, 403]);
  const late = await link();
  clock += 61;
  expect((await openLink(late)).status).toBe(403);
  clock = now;
  const session = people.sunny!.cookie.replace('mobility-days=', '');
  expect((await kit.post('/profile/get', {}, { Authorization: `Bearer ${session}` })).status).toBe(403);
  expect(kit.log.concat(kit.console).filter((text) => text.includes(key) || text.includes(session))).toEqual([]);
});

it('signing in always makes a new session, and behind TLS a cookie with the prefix __Host-', async () => {
  const chosen = { cookie: 'mobility-days=chosen-by-somebody-else', csrf: '' };
  const answer = await openLink(await link(), chosen);
  expect(answer.headers.get('set-cookie')).toMatch(/^mobility-days=[\w-]{43};/);
  const cookieBehind = async (proto: string): Promise<string> =>
    (await openLink(await link(), nobody, { 'X-Forwarded-Proto': proto })).headers.get('set-cookie')!;
  for (const proto of ['https', 'https, http', 'HTTPS'])
    expect(await cookieBehind(proto), proto).toMatch(/^__Host-mobility-days=.*; Secure$/);
  expect(await cookieBehind('http, https')).toMatch(/^mobility-days=(?!.*Secure)/);
});

it('signing out other browsers ends their sessions and unused links, and signing out clears cached maps', async () => {
  const [own, other] = [await signedIn('sunny'), await signedIn('sunny')];
  const unopened = await link();
  expect((await form('/me/sign-out-others', { csrf: own.csrf }, own)).status).toBe(303);
  expect((await openLink(unopened)).status).toBe(403);
  expect([(await look('/me', own)).status, (await look('/me', other)).status]).toEqual([200, 303]);
  const manager = await managing('of-sunny');
  const outs = [
    await form('/me/sign-out', { csrf: own.csrf }, own),
    await form('/sign-out/study', { csrf: manager.csrf }, manager),
  ];
  expect(outs.map(({ headers }) => headers.get('clear-site-data'))).toEqual(['"cache"', '"cache"']);
  people.sunny = await signedIn('sunny');
});

it('five wrong passwords from a network lock an account for it for 15 minutes, with the same answers if no such account exists', async () => {
  const tries = [];
  for (const name of ['of-windy', 'unknown']) for (let i = 0; i < 5; i++) tries.push(await signInAs(name, 'wrong'));
  const answers = tries.map(({ status, text }) => `${status} ${text.replace(/value="[\w-]*"/, '')}`);
  expect(new Set(answers).size).toBe(1);
  expect((await signInAs('of-windy')).status).toBe(403);
  clock += 901;
  expect((await signInAs('of-windy')).status).toBe(303);
  clock = now;
});

async function fromWith(remoteAddress: string, name: string, given: string): Promise<Response> {
  const body = String(new URLSearchParams({ name, password: given }));
  const incoming = Object.assign(Readable.from([Buffer.from(body)]), { socket: { remoteAddress } });
  const init = { method: 'POST', headers: { 'Content-Type': formType }, body };
  return kit.app.request('/sign-in/study', init, { incoming });
}

const from = async (...signIn: Parameters<typeof fromWith>): Promise<number> => (await fromWith(...signIn)).status;

it('wrong passwords from one network do not lock a manager out of another network', async () => {
  for (let i = 0; i < 5; i += 1) expect(await from('203.0.113.5', 'of-windy', 'wrong')).toBe(403);
  expect(await from('203.0.113.6', 'of-windy', password)).toBe(403);
  expect(await from('198.51.100.9', 'of-windy', password)).toBe(303);
  // From many networks the name is locked at last. Then the right password is not held against anybody's network.
  for (let i = 0; i < 50; i += 1) await from(`192.0.${Math.floor(i / 4)}.7`, 'of-windy', 'wrong');
  for (let i = 0; i < 40; i += 1) expect(await from('198.51.100.9', 'of-windy', password)).toBe(403);
  expect(await from('198.51.100.9', 'of-sunny', password)).toBe(303);
  clock += 901;
  expect(await from('198.51.100.9', 'of-windy', password)).toBe(303);
  // A network with many wrong ones, for whomever, has to wait.
  for (let i = 0; i < 30; i += 1) await from('203.0.113.5', `unknown-${i}`, 'wrong');
  const held = await fromWith('203.0.113.5', 'of-windy', password);
  const seconds = Number(held.headers.get('retry-after'));
  expect([held.status, seconds > 0 && seconds <= 900]).toEqual([429, true]);
  expect(await held.text()).toContain(`Try again in ${Math.ceil(seconds / 60)} minute`);
  clock = now;
});

it('during a flood of sign-ins on a locked account, a signed-in browser works, and a known browser can sign in', async () => {
  const own = await managing('of-windy');
  for (let i = 0; i < 60; i += 1) await from(`192.0.${i}.7`, 'of-windy', 'wrong'); // locks the name
  expect((await kit.store.managers.byName('of-windy'))!.locked_ts).toBeGreaterThan(clock);
  const flood = Array.from({ length: 100 }, (_, i) => from(`100.${i}.0.7`, `invented-${i}`, 'wrong'));
  const unknown = Array.from({ length: 40 }, () => signInAs('nobody', 'x'));
  expect((await look('/study/windy', own)).status).toBe(200);
  const again = await signInAs('of-windy', password, own);
  expect(again.status).toBe(303);
  expect(again.headers.get('set-cookie')).toContain('Max-Age=34560000');
  expect((await signInAs('of-windy')).status).not.toBe(303);
  // Who has the cookie may guess no more often than a network may.
  const next = browserOf(again.headers);
  for (let i = 0; i < 5; i += 1) expect((await signInAs('of-windy', 'wrong', next)).status).toBe(403);
  expect((await signInAs('of-windy', password, next)).status).toBe(403);
  expect((await Promise.all(flood)).filter((status) => status === 429).length).toBeGreaterThan(50);
  await Promise.all(unknown);
  // A session that is over opens nothing; its browser is known for a year.
  clock += 13 * 3600;
  expect((await look('/study/windy', next)).status).toBe(303);
  expect((await signInAs('of-windy', password, next)).status).toBe(303);
  await kit.store.managers.change('of-windy', (before) => before && { ...before, failures: 0, locked_ts: 0 });
  clock = now;
});

it('a weak hash of a password is replaced at the next sign-in', async () => {
  const weak = await passwordHash(password, passwordCost / 2);
  await kit.store.managers.change('of-windy', (before) => before && { ...before, password: weak });
  await managing('of-windy');
  const { password: stored } = (await kit.store.managers.byName('of-windy'))!;
  expect(stored.split(':').slice(0, 4)).toEqual(['scrypt', String(passwordCost), '8', '3']);
  await managing('of-windy');
  expect((await kit.store.managers.byName('of-windy'))!.password).toBe(stored);
});

it('a password that is changed while it is checked does not sign in', async () => {
  const { managers } = kit.store;
  const { byName } = managers;
  const other = await passwordHash('another password for tests', passwordCost);
  managers.byName = async (name) => {
    const found = await byName(name);
    await managers.change(name, (before) => before && { ...before, password: other, sessions: [] });
    return found;
  };
  const before = (await byName('of-windy'))!;
  const answer = await signInAs('of-windy');
  managers.byName = byName;
  expect([answer.status, answer.headers.get('set-cookie')]).toEqual([403, null]);
  expect((await byName('of-windy'))!.sessions).toEqual([]);
  await managers.change('of-windy', () => before);
});

it('wrong links and names do not block other people, and right passwords do not count as attempts', async () => {
  for (let i = 0; i < 320; i += 1) await openLink(`invented ${i}`);
  expect((await openLink(await link())).status).toBe(303);
  for (let i = 0; i < 40; i += 1) await managing('of-windy');
});

it('the queue of password checks is limited per network, and for callers without a known network', async () => {
  const limits = new SignInLimits(() => now);
  let compute = (): void => {};
  const first = new Promise<void>((resolve) => {
    compute = resolve;
  });
  const origins = [...new Array(9).fill('203.0.113.0/24'), ...new Array(20).fill(null), '198.51.100.0/24'];
  const tries = origins.map((origin) => limits.runInQueue(origin, () => first.then(() => 'computed')));
  compute();
  const computed = (await Promise.all(tries)).flatMap((result, i) => (result === null ? [] : [i]));
  expect(computed).toEqual([0, 1, 9, 10, 11, 12, 13, 14, 15, 16, 29]);
});

it('a HEAD request for a file leaves no call open', async () => {
  const headers = { Cookie: people.sunny!.cookie };
  kit.console.length = 0;
  for (let i = 0; i < 70; i += 1)
    expect((await kit.request('/me/data/records.jsonl', { method: 'HEAD', headers })).status).toBe(200);
  expect((await kit.request('/me/data/records.jsonl', { headers })).status).toBe(200);
  await until(() => kit.console.filter((text) => text.includes('END')).length === 71);
});

it('a file is compressed for a browser that accepts gzip; a page, whose form has a secret, never is', async () => {
  const get = async (path: string, accepted: string): Promise<Response> =>
    kit.app.request(path, { headers: { Cookie: people.sunny!.cookie, 'Accept-Encoding': accepted } });
  const bytesOf = async (answer: Response): Promise<Buffer> => Buffer.from(await answer.arrayBuffer());
  for (const name of ['records.jsonl', 'download?format=geojson']) {
    const packed = await get(`/me/data/${name}`, 'br, gzip');
    expect(packed.headers.get('Content-Encoding')).toBe('gzip');
    const bytes = await bytesOf(packed);
    for (const accepted of ['br', 'br, gzip;q=0', 'gzip; q=0.0, br']) {
      const plain = await get(`/me/data/${name}`, accepted);
      expect(plain.headers.get('Content-Encoding')).toBe(null);
      expect(gunzipSync(bytes)).toEqual(await bytesOf(plain));
    }
  }
  expect((await get('/me/data', 'gzip')).headers.get('Content-Encoding')).toBe(null);
});

it('a day at the end of the calendar has no page', async () => {
  const { sunny, 'of-sunny': mira } = people;
  for (const day of ['0001-01-01', '9999-12-30', '9999-12-31']) {
    expect((await look(`/me/day/${day}`, sunny!)).status).toBe(404);
    expect((await look(`/study/sunny/p/${person}/${day}`, mira!)).status).toBe(404);
  }
});

it('the page of a person shows whether the study sees their name', async () => {
  const page = async (): Promise<string> => (await look('/me/data', people.windy!)).text;
  expect(await page()).toContain('without your name');
  const windy = (await kit.store.studies.byName('windy'))!;
  await kit.store.studies.put({ ...windy, show_names: true });
  expect(await page()).toContain('under your name');
});

it('no page may be cached or shown in a frame, and each may load only files of this server', async () => {
  const policy = /^default-src 'none';(?!.*unsafe).*frame-ancestors 'none'/;
  for (const { path } of webRoutes.filter(({ method }) => method === 'GET'))
    for (const browser of [nobody, people.sunny!, people['of-sunny']!]) {
      const { headers, text } = await look(pathOf(path), browser);
      expect([path, headers.get('cache-control'), headers.get('x-frame-options')]).toEqual([path, 'no-store', 'DENY']);
      expect(headers.get('content-security-policy')).toMatch(policy);
      expect(text).not.toMatch(/<script|\sstyle=|\son\w+=|(src|href)="(https?:)?\/\//);
    }
  const style = await kit.request('/assets/pages.css');
  expect(style.headers.get('content-type')).toContain('text/css');
  const known = { headers: { 'If-None-Match': style.headers.get('etag')! } };
  expect((await kit.request('/assets/pages.css', known)).status).toBe(304);
  const lost = await kit.request('/nowhere', { headers: { Accept: 'text/html' } });
  expect([lost.status, lost.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  const asked = async (path: string, who: string) =>
    (await kit.request(path, { headers: { Accept: 'text/html', Cookie: people[who]!.cookie } })).text;
  expect(await asked('/nowhere', 'sunny')).toContain('<a href="/me/month">');
  expect(await asked('/study/other', 'of-sunny')).toContain('<a href="/study">');
});

it('the log names neither the person nor the day of a page', async () => {
  for (const [path, who] of [
    [`/study/sunny/p/${person}/2016-05-17`, 'of-sunny'],
    [`/study/sunny/p/${person}`, 'of-sunny'],
    ['/me/day/2016-05-17', 'sunny'],
    ['/me/%64ay/2016-05-17', 'sunny'],
    [`/study/sunny/%70/${person}/2016-05-17`, 'of-sunny'],
  ] as const) {
    kit.log.length = kit.console.length = 0;
    expect((await look(path, people[who]!)).status).toBe(200);
    const lines = [...kit.log, ...kit.console].join('\n');
    expect(lines).toMatch(/START .*GET \/(study\/sunny\/p|me\/day)\/:hidden$/m);
    for (const secret of [person, '2016-05-17']) expect(lines).not.toContain(secret);
  }
});

it('a tile that cannot be read answers 404, and the log reports that the map is damaged', async () => {
  const own = tiles.tile;
  tiles.tile = () => Promise.reject(new Error('it ends too early'));
  const answer = await look('/me/tiles/14/8191/5460', people.sunny!);
  tiles.tile = own;
  expect([answer.status, kit.log.join('\n')]).toEqual([404, expect.stringContaining('Base map is damaged: it ends')]);
});

it('tiles are sent only to callers who may see the map, not cached by proxies, and logged without their position', async () => {
  const answerTo = async (path: string, who: string) => {
    kit.log.length = kit.console.length = 0;
    const { status, headers } = await look(path, people[who] ?? nobody);
    expect([...kit.log, ...kit.console].join('\n')).not.toContain('/8191');
    return [status, headers.get('content-type'), headers.get('cache-control')];
  };
  people['of-windy'] = await managing('of-windy');
  const shown = [200, 'image/png', expect.stringMatching(/^private, max-age=\d+$/)];
  const kept = ['text/html; charset=utf-8', 'no-store'];
  for (const [path, who, answer] of [
    ['/me/tiles/14/8191/5460', 'sunny', shown],
    ['/study/sunny/tiles/14/8191/5460', 'of-sunny', shown],
    ['/study//sunny//tiles/14/8191/5460', 'of-windy', [404, ...kept]],
    ['/me/tiles/14/8191/5460', 'nobody', [303, ...kept]],
    ['/me/tiles/14/8191/5460', 'of-sunny', [303, ...kept]],
  ] as const)
    expect([path, who, await answerTo(path, who)]).toEqual([path, who, answer]);
  for (const tile of ['14/8191/99999', '19/8191/0', '14/-8191/1', '14/8191/1e0', '14/%30x8191/1', 'x/8191/x'])
    expect([tile, await answerTo(`/me/tiles/${tile}`, 'sunny')]).toEqual([tile, [404, ...kept]]);
});

it('each visit of a manager to the days of a person is in the audit log, without the name or UUID of the person', async () => {
  const manager = people['of-sunny']!;
  acts.length = 0;
  const page = await look(`/study/sunny/p/${person}/2016-05-17`, manager);
  expect(page.status).toBe(200);
  const user = await userOf('sunny');
  const [figures] = await kit.store.users.figures({ uuid: user.uuid });
  const act = { who: 'manager of-sunny', people: [figures!.audit_key], outcome: 'done' };
  expect(acts).toMatchObject([{ ...act, action: 'look at 2016-05-17' }]);
  for (const secret of [user.user_email, user.uuid]) expect(page.text).not.toContain(secret);
  acts.length = 0;
  expect((await look('/study/sunny', manager)).text).toContain(`/p/${person}`);
  expect(acts).toMatchObject([{ ...act, action: 'list of people' }]);
  await kit.store.studies.put({ ...(await kit.store.studies.byName('sunny'))!, show_names: true });
  expect((await look('/study/sunny', manager)).text).toContain(user.user_email);
});
