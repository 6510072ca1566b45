// Joining a study with a token that the app made: `/profile/create`, over the public door.
import { beforeEach, expect, it } from 'vitest';
import { readStudyToken, type StudySettings } from '../../src/model/study.ts';
import { tokenHash } from '../../src/model/user.ts';
import { studySettings } from '../support/study.ts';
import { androidLocation, config, type Kit, openKit } from './kit.ts';

let kit: Kit;
beforeEach(async () => {
  kit = await openKit({ config: { ...config, auth: 'token' } });
});

const random = 'aB3'.repeat(10).padEnd(32, 'x');
const token = `nrelop_sunny_west_${random}`;
const study = (fields: Partial<StudySettings> = {}) =>
  kit.store.studies.put(studySettings({ subgroups: ['west', 'east'], total_limit: 7, ...fields }));
const create = (user: string) => kit.post('/profile/create', { user });

it('a token that the app made creates an account once, which pushes, and no secret is stored', async () => {
  await study();
  const first = await create(token);
  expect(first.status).toBe(200);
  await study({ open: false });
  expect((await create(token)).json).toEqual(first.json);
  const user = await kit.store.users.byUuid(String(first.json.uuid));
  expect(user).toMatchObject({ study: 'sunny', subgroup: 'west' });
  expect(user!.user_email).toMatch(/^sunny_west_[a-z0-9]{8}$/);
  expect((await kit.put([androidLocation(5)], token)).json).toMatchObject({ inserted: 1 });
  const written = [...kit.log, ...kit.console, ...kit.errors].join('\n');
  expect(written).toContain(user!.user_email);
  expect(written).not.toContain(random);
  const tokens = await kit.store.tokens.list(user!.uuid);
  expect(tokens).toMatchObject([{ hash: tokenHash(token), kind: 'study', expires_ts: null }]);
});

it('a token of the app is refused until it has joined, and cannot join an unknown, closed or full study', async () => {
  await study();
  const answers = [await kit.put([], token)];
  for (const wrong of ['nrelop_sunny_north_', 'nrelop_rainy_west_', 'nrelop_sunny_', 'other_sunny_west_'])
    answers.push(await create(`${wrong}${random}`));
  answers.push(await create('nrelop_sunny_west_short'));
  for (const fields of [{ open: false }, { joining: 'list' }, { total_limit: 0 }] as const) {
    await study(fields);
    answers.push(await create(token));
  }
  // All alike: a stranger who asks does not find out which studies and subgroups there are.
  const text = 'this token is not known, or its study admits no new members now; ask the operator for a new one';
  expect(answers.map(({ status, json }) => [status, json.detail])).toEqual(answers.map(() => [403, text]));
  expect(await kit.store.users.list({ limit: 9 })).toEqual([]);
});

it('a token of the app gets a newer configuration with a push, if the version of the app supports it', async () => {
  const sent = { version: 4, min_app_version: '2.0.10', server: { connectUrl: 'https://a.example/' } };
  await study({ config: sent });
  await create(token);
  const push = async (fields: object) =>
    (await kit.post('/usercache/put', { user: token, phone_to_server: [], ...fields })).json.deployment_config;
  expect(await push({ deployment_config_version: 3, app_version: '2.0.10' })).toEqual(sent);
  expect(await push({ deployment_config_version: 3, app_version: '2.0.9' })).toBeUndefined();
  expect(await push({ deployment_config_version: 4, app_version: '2.1.0' })).toBeUndefined();
  expect(await push({ app_version: '2.1.0' })).toBeUndefined();
});

it.each([
  [token, { study: 'sunny', subgroup: 'west' }],
  [`nrelop_sunny_west_test_${random}`, { study: 'sunny', subgroup: 'west' }],
  [`nrelop_sunny_west_other_${random}`, null],
  [`nrelop_sunny_west_${random}_`, null],
  [`nrelop_Sunny_west_${random}`, null],
  [`nrelop__west_${random}`, null],
  [`nrelop_sunny_west_${random}\n`, null],
  ['', null],
])('%j is read as %j', (text, expected) => {
  expect(readStudyToken(text)).toEqual(expected);
});

it('the configuration of a study is served without a token, and nothing else under its address', async () => {
  await study({ config: { version: 3, server: { connectUrl: 'https://mobility.example.org/' } } });
  const found = (await kit.request('/configs/sunny.nrel-op.json')).json;
  expect(found).toEqual({ version: 3, server: { connectUrl: 'https://mobility.example.org/' } });
  for (const name of ['rainy', '', 'Sunny', '..%2Fsunny'])
    expect((await kit.request(`/configs/${name}.nrel-op.json`)).status, name).toBe(404);
  expect((await kit.request('/configs/sunny')).status).toBe(404);
  await study({ config: null });
  expect((await kit.request('/configs/sunny.nrel-op.json')).status).toBe(404);
});
