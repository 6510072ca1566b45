// What holds for every call: logs, errors, limits, hosts.
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { folderIn } from '../../src/model/address.ts';
import { type ErrorCode, MobilityError } from '../../src/model/mobility-error.ts';
import { tokenHash } from '../../src/model/user.ts';
import { openRoutes, routes } from '../../src/server/routes/all-routes.ts';
import { openStore } from '../../src/store/open.ts';
import { interposedStore } from '../faults/interposed-store.ts';
import { pendingEntries } from '../support/store.ts';
import { until } from '../support/until.ts';
import { addToken, androidLocation, basic, config, failingAt, type Kit, now, openKit } from './kit.ts';

let kit: Kit;
// Routes of other apps have other formats: other-apps.test.ts tests them.
const paths = routes
  .filter(({ dialect }) => dialect === undefined)
  .map(({ path }) => path.replace(':date', '2016-05-17'));

beforeEach(async () => {
  kit = await openKit();
  await kit.user('ada');
});

const problem = (status: number, more: object = {}) => ({
  type: 'about:blank',
  title: expect.any(String),
  status,
  detail: expect.any(String),
  request_id: expect.stringMatching(/^w1-\d+$/),
  ...more,
});

it('an unknown path is 404, a wrong method 405 with the right ones', async () => {
  const unknown = await kit.post('/usercache/steal', { user: 'ada' });
  expect(unknown.json).toEqual(problem(404));
  expect(unknown.headers.get('content-type')).toBe('application/problem+json');
  for (const path of paths) {
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await kit.request(path, { method });
      expect([answer.status, answer.headers.get('allow')], `${method} ${path}`).toEqual([405, 'POST']);
    }
  }
  for (const { path } of openRoutes) {
    const answer = await kit.post(path, {});
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  }
});

it('malformed JSON and bodies that are not objects get 400, at every route', async () => {
  for (const path of paths) {
    const malformed = await kit.post(path, '{"user": "ada",');
    expect(malformed.json, path).toEqual(problem(400, { code: 'MOBILITY_BAD_REQUEST' }));
    expect(malformed.json.detail).toContain('character 16');
    for (const body of ['[]', 'null', '"ada"', '3']) expect((await kit.post(path, body)).status, path).toBe(400);
  }
});

it('a wrong field is named with what was expected and the kind of what was found, and no value of it', async () => {
  const find = '/datastreams/find_entries/timestamp';
  const insert = '/customlabel/insert';
  const days = '/result/metrics/yyyy_mm_dd';
  const noDay = { start_time: 'secret', end_time: '2016-05-17' };
  const label = (text: string) => ({ inserted_label: { key: 'mode', label: text } });
  const noDate = '/timeline/getTrips/2016-13-01';
  const cases: [path: string, body: object | string, detail: string][] = [
    ['/usercache/put', { phone_to_server: {} }, '"phone_to_server" to be a list, found an object'],
    [find, { key_list: 'secret' }, '"key_list" to be a list or null, found a text'],
    [find, { trunc_method: 'secret' }, '"trunc_method" to be one of first, last, sample, found another text'],
    [find, { start_time: 0 }, '"start_time" and "end_time" as numbers, found a number and nothing'],
    [days, { ...noDay, metric_list: {} }, '"start_time" and "end_time" as days, YYYY-MM-DD, found another text'],
    [insert, label(''), '"inserted_label.label" to be a text with characters, found an empty text'],
    [insert, label('x'.repeat(5000)), '"inserted_label.label" to have at most 200 characters, found 5000'],
    [insert, { inserted_label: {} }, 'a field "inserted_label.key", found none'],
    ['/usercache/get', 'null', 'a JSON object as body, found null'],
    [noDate, {}, 'a day of the calendar as YYYY-MM-DD at the end of the path, found "2016-13-01"'],
  ];
  for (const [path, body, detail] of cases) {
    const { status, json } = await kit.post(path, typeof body === 'string' ? body : { user: 'ada', ...body });
    expect([status, json.detail]).toEqual([400, `expected ${detail}`]);
  }
  expect(kit.log.join()).not.toContain('secret');
});

it('a body that is not JSON by its type is 415; parameters and letter case do not matter', async () => {
  const body = JSON.stringify({ user: 'ada' });
  const status = async (type: string) => (await kit.post('/usercache/get', body, { 'Content-Type': type })).status;
  const refused = ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'json'];
  for (const type of refused) expect(await status(type), type).toBe(415);
  const read = ['application/json', 'APPLICATION/JSON; Charset=utf-8', 'application/vnd.x+json'];
  for (const type of read) expect(await status(type), type).toBe(200);
});

it('an exception is a 500 without details, and its stack is on standard error with the request id', async () => {
  const broken = await openKit({ wrap: failingAt('documents.list', new Error('secret 42')) });
  await broken.user('ada');
  const answer = await broken.post('/usercache/get', { user: 'ada' });
  expect(answer.json).toEqual(problem(500));
  expect(answer.text).not.toContain('secret');
  expect(broken.log.join()).not.toContain('secret');
  expect(broken.errors.join()).toMatch(/^w1-1 POST \/usercache\/get: Error: secret 42\n\s+at /);
  await until(() => broken.log.at(-1)?.includes('END ') === true); // later if the call is slow
  expect(broken.log.slice(-2)).toEqual([
    'ERROR:w1-1:Answered 500 POST /usercache/get EXCEPTION',
    expect.stringMatching(/^INFO:w1-1:END POST \/usercache\/get [0-9a-f-]{36} \d/),
  ]);
  expect(broken.console.at(-1)).toMatch(/^END \S+ POST \/usercache\/get [0-9a-f-]{36} \d/);
});

it.each<[ErrorCode, number]>([
  ['MOBILITY_STORE_FULL', 503],
  ['MOBILITY_STORE_UNAVAILABLE', 503],
  ['MOBILITY_STORE_BUSY', 503],
  ['MOBILITY_STORE_CLOSED', 503],
  ['MOBILITY_STORE_READONLY', 503],
  ['MOBILITY_STORE_DAMAGED', 500],
])('a put that the store refuses with %s is answered with %i', async (code, status) => {
  const broken = await openKit({ wrap: failingAt('usercache.put', new MobilityError(code, '/srv/data: no')) });
  await broken.user('ada');
  const answer = await broken.put([androidLocation(1.5e9)]);
  expect(answer.json).toEqual(problem(status, { code }));
  expect(answer.headers.get('retry-after')).toBe(status === 503 ? '5' : null);
  expect(answer.text).not.toContain('/srv');
  expect(broken.errors.join()).toContain('/srv/data: no');
  // A full disk fails every call: no stacks then.
  expect(/\n +at /.test(broken.errors.join())).toBe(status === 500);
  expect(broken.log.join()).not.toContain('Updated result');
});

it('a put succeeds even if its profile cannot be written', async () => {
  const full = new MobilityError('MOBILITY_STORE_FULL', 'no');
  const broken = await openKit({ wrap: failingAt('profiles.merge', full) });
  const { uuid } = await broken.user('ada');
  expect((await broken.put([androidLocation(1.5e9)])).status).toBe(200);
  expect(await pendingEntries(broken.store, uuid)).toHaveLength(1);
});

it('puts fail and readyz is 503 while the folder of the store is moved or replaced, or its log is missing', async () => {
  const folder = folderIn(kit.store.address);
  const put = (ts: number) => kit.put([androidLocation(ts)]);
  const unavailable = problem(503, { code: 'MOBILITY_STORE_UNAVAILABLE' });
  expect((await put(1.5e9)).status).toBe(200);
  await rename(folder, `${folder}-moved`);
  try {
    expect((await put(1.5e9 + 1)).json).toEqual(unavailable);
    expect((await kit.request('/readyz')).json).toEqual(unavailable);
    expect((await kit.request('/healthz', { method: 'HEAD' })).status).toBe(200);
    const other = await openStore(folder);
    await other.users.register('ada', { now });
    expect((await put(1.5e9 + 2)).json).toEqual(unavailable);
    expect(kit.errors.at(-1)).toMatch(/mobility\.db: expected the file .* found another one.* start them again/);
    await rm(folder, { recursive: true });
  } finally {
    await rename(`${folder}-moved`, folder);
  }
  await until(async () => (await kit.request('/readyz')).status === 200);
  const log = join(folder, 'mobility.db-wal');
  await rename(log, `${log}-moved`);
  expect((await put(1.5e9 + 2)).json).toEqual(unavailable);
  await rename(`${log}-moved`, log);
  expect((await put(1.5e9 + 3)).status).toBe(200);
  const { user } = await kit.store.users.register('ada', { now });
  const times = (await pendingEntries(kit.store, user.uuid)).map(({ metadata }) => metadata.write_ts);
  expect(times).toEqual([1.5e9, 1.5e9 + 3]);
});

it('a streamed answer that fails before its first byte is an error, and one that fails later is cut off and logged', async () => {
  let reads = 0; // before the store fails
  const broken = await openKit({
    wrap: (store) =>
      interposedStore(store, (name) => {
        if (name !== 'usercache.find') return;
        if (reads === 0) throw new MobilityError('MOBILITY_STORE_UNAVAILABLE', 'gone');
        reads -= 1;
      }),
  });
  await broken.user('ada');
  await broken.put(Array.from({ length: 2000 }, (_, i) => androidLocation(1e9 + i)));
  const body = { user: 'ada', start_time: 0, end_time: 2e9 };
  expect((await broken.post('/datastreams/find_entries/timestamp', body)).status).toBe(503);
  reads = 5;
  await expect(broken.post('/datastreams/find_entries/timestamp', body)).rejects.toThrow();
  await until(() => broken.log.at(-1)!.includes('END POST /datastreams'));
  expect(broken.errors.at(-1)).toContain('gone');
});

it('--auth dev refuses a Host other than this machine, since a page of another site could name any user', async () => {
  for (const [host, status] of [
    ['evil.example.org', 403],
    ['127.0.0.1.evil.org', 403],
    ['localhost:8080', 200],
    ['127.0.0.1', 200],
    ['[::1]:80', 200],
  ] as const) {
    const call = { method: 'POST', headers: { Authorization: 'Bearer ada' } };
    expect((await kit.request(`http://${host}/usercache/get`, call)).status, host).toBe(status);
  }
  const anywhere = await openKit({ config: { ...config, devAnywhere: true } });
  expect((await anywhere.request('http://diary.example.org/healthz')).status).toBe(200);
});

it('--auth dev refuses a call from a page of a browser at every route, for any content type', async () => {
  const headers: Record<string, string>[] = [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }];
  for (const path of routes.map((route) => route.path.replace(':date', '2016-05-17'))) {
    for (const one of headers) {
      const init = { method: 'POST', headers: { ...one, 'Content-Type': 'text/plain', Authorization: 'Bearer ada' } };
      expect([403, 503], path).toContain((await kit.request(path, { ...init, body: '{}' })).status);
    }
  }
  const direct = { method: 'POST', headers: { 'Sec-Fetch-Site': 'none', Authorization: 'Bearer ada' } };
  expect((await kit.request('/usercache/get', direct)).status).toBe(200);
});

it('every route for callers refuses calls without a token and with an unknown token', async () => {
  for (const path of paths) {
    for (const body of [{}, { user: '' }, { user: null }, { user: 'nobody' }, { user: 'ADA' }, { user: ' ada' }]) {
      const answer = await kit.post(path, body);
      expect(answer.json, path).toEqual(problem(403, { code: 'MOBILITY_FORBIDDEN' }));
    }
    expect((await kit.post(path, { user: ['ada'] })).status, path).toBe(400);
    expect((await kit.request(path, { method: 'POST' })).status, path).toBe(403);
  }
  expect(await kit.store.users.list({ limit: 10 })).toHaveLength(1);
});

it('the token may be in a header, and two different tokens are refused', async () => {
  const get = async (user: string | null, headers: Record<string, string>): Promise<number> =>
    (await kit.post('/usercache/get', user === null ? {} : { user }, headers)).status;
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
  expect(await get('ada', bearer('eve'))).toBe(403);
  await kit.user('eve');
  expect((await kit.request('/usercache/get', { method: 'POST', headers: bearer('ada') })).status).toBe(200);
  for (const [user, header, status] of [
    [null, bearer('ada'), 200],
    ['ada', bearer('ada'), 200],
    ['ada', bearer('eve'), 400],
    [null, basic('phone', 'ada'), 200],
    ['eve', basic('phone', 'ada'), 400],
    ['ada', basic('x', 'y'), 200],
    [null, basic('x', 'y'), 403],
  ] as const)
    expect([user, header, await get(user, header)]).toEqual([user, header, status]);
});

it('with open registration only profile/create creates an account, and only once for names with the same appearance', async () => {
  const open = await openKit({ config: { ...config, openRegistration: true } });
  const names = ['new@example.org', 'new@example.org', 'new@example.org', 'New@Example.org'];
  expect((await open.post('/usercache/get', { user: names[0] })).status).toBe(403);
  const made = await Promise.all(names.map((user) => open.post('/profile/create', { user })));
  expect(new Set(made.map(({ json }) => json.uuid)).size).toBe(1);
  expect((await open.post('/usercache/get', { user: names[0] })).status).toBe(200);
  for (const name of ['a\nb', 'a\u200bb', 'x'.repeat(255), '\ud800', '\u0000'])
    expect((await open.post('/profile/create', { user: name })).status).toBe(403);
  expect(await open.store.users.list({ limit: 10 })).toHaveLength(1);
});

it('a token identifies the account that it was made for, until it expires', async () => {
  const tokens = await openKit({ config: { ...config, auth: 'token', openRegistration: true } });
  const ada = await tokens.user('ada');
  const add = (token: string, user: string, expires_ts: number | null) =>
    addToken(tokens.store, user, token, { expires_ts });
  await add('good', ada.uuid, now + 1);
  await add('old', ada.uuid, now);
  await add('eternal', ada.uuid, null);
  const stranger = '00000000-0000-4000-8000-000000000000';
  await expect(add('orphan', stranger, null)).rejects.toMatchObject({ code: 'MOBILITY_USER_UNKNOWN' });
  for (const token of ['good', 'eternal'])
    expect((await tokens.post('/profile/create', { user: token })).json).toEqual({ uuid: ada.uuid });
  for (const token of ['old', 'orphan', 'ada', ada.uuid, tokenHash('good'), 'x'.repeat(10_000)]) {
    for (const path of ['/profile/create', '/usercache/get'])
      expect((await tokens.post(path, { user: token })).status, `${path} ${token}`).toBe(403);
  }
  const written = [...tokens.log, ...tokens.console, ...tokens.errors].join('\n');
  for (const token of ['good', 'eternal', 'orphan', tokenHash('good')]) expect(written).not.toContain(token);
});

it('the log has START and END of every call, with the user if one is known', async () => {
  await kit.post('/usercache/get', { user: 'ada' });
  await kit.post('/usercache/get', { user: 'eve' });
  await kit.request('/nowhere/token=abc?user=ada&lat=37.87', { headers: { Authorization: 'Bearer ada' } });
  await until(() => kit.log.filter((line) => line.includes(':END ')).length === 3);
  const shape = (line: string) => line.replace(/\S+\+\S+/, 'TIME').replace(/\d+\.\d{6}$/, 'SECONDS');
  const ada = (await kit.store.users.byEmail('ada'))!.uuid;
  expect(kit.console.map(shape).map((line) => line.replace(/^(START|END) 20\S+/, '$1 TIME'))).toEqual([
    'START TIME POST /usercache/get',
    `END TIME POST /usercache/get ${ada} SECONDS`,
    'START TIME POST /usercache/get',
    'END TIME POST /usercache/get SECONDS',
    'START TIME GET /nowhere/token=abc',
    'END TIME GET /nowhere/token=abc SECONDS',
  ]);
  expect(kit.log.filter((line) => line.includes('w1-2')).map(shape)).toEqual([
    'INFO:w1-2:START POST /usercache/get',
    'INFO:w1-2:Called userCache.get',
    expect.stringMatching(/^INFO:w1-2:Answered 403 POST \/usercache\/get MOBILITY_FORBIDDEN: no user is registered/),
    'INFO:w1-2:END POST /usercache/get SECONDS',
  ]);
  expect(kit.log.join()).not.toContain('37.87');
});

it('the log has a different thread id for each simultaneous call, which the caller gets as request id', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => kit.post('/usercache/get', { user: 'ada' })));
  const ids = answers.map(({ headers }) => headers.get('x-request-id'));
  expect(new Set(ids).size).toBe(10);
  await until(() => kit.log.filter((line) => line.includes(':END ')).length === 10);
  for (const id of ids) expect(kit.log.filter((line) => line.includes(`:${id}:`))).toHaveLength(6);
});
