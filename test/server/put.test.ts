import { beforeEach, expect, it } from 'vitest';
import { maxTransactionEntries } from '../../src/intake/put-batch.ts';
import { MobilityError } from '../../src/model/mobility-error.ts';
import { tokenHash, tokenId } from '../../src/model/user.ts';
import { interposedStore } from '../faults/interposed-store.ts';
import { newStore, pendingEntries } from '../support/store.ts';
import { until } from '../support/until.ts';
import { addToken, androidLocation, config, iosActivity, type Kit, openKit } from './kit.ts';

const ts = 1463502000.412;
let kit: Kit;
let ada: string;
const put = (entries: unknown) => kit.put(entries);
const putOne = (the_entry: unknown) => kit.post('/usercache/putone', { user: 'ada', the_entry });

beforeEach(async () => {
  kit = await openKit();
  ada = (await kit.user('ada')).uuid;
});

it('entries of an Android phone and an iPhone are stored as sent, and counted', async () => {
  const entries = [iosActivity(ts - 5.123456), androidLocation(ts)];
  const versions = { app_version: '1.9', deployment_config_version: 4 };
  const answer = await kit.post('/usercache/put', { user: 'ada', phone_to_server: entries, ...versions });
  expect(answer.status).toBe(200);
  expect(answer.json).toEqual({ inserted: 2, updated: 0, rejected: 0 });
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(await pendingEntries(kit.store, ada)).toEqual(entries); // by write_ts
});

it('a correction that a phone pushes has its user as author, not the author that it names', async () => {
  const metadata = { key: 'manual/correction', type: 'message', write_ts: ts, platform: 'android' };
  const data = { kind: 'set_aside', start_ts: ts - 60, end_ts: ts, author: 'helen', reason: 'a borrowed phone' };
  await put([{ metadata, data }]);
  await putOne({ metadata: { ...metadata, write_ts: ts + 1 }, data });
  const { author: _, ...kept } = data;
  expect((await pendingEntries(kit.store, ada)).map((entry) => entry.data)).toEqual([kept, kept]);
});

it('an entry has the id of the token that pushed it, not one from the phone, and none if tokens are names', async () => {
  const { metadata, data } = androidLocation(ts);
  const claimed = { metadata: { ...(metadata as object), token_id: 'x' }, data };
  await put([claimed]);
  expect(await pendingEntries(kit.store, ada)).toEqual([androidLocation(ts)]);
  const byToken = await openKit({ config: { ...config, auth: 'token' } });
  const { uuid } = await byToken.user('ada');
  for (const token of ['one', 'two']) await addToken(byToken.store, uuid, token);
  await byToken.put([claimed], 'one');
  await byToken.post('/usercache/putone', { user: 'two', the_entry: androidLocation(ts + 1) });
  const ids = (await pendingEntries(byToken.store, uuid)).map(({ metadata }) => metadata.token_id);
  expect(ids).toEqual(['one', 'two'].map((token) => tokenId(tokenHash(token))));
});

it('a put of several parts reports what is stored when a later part fails, and sending it again completes it', async () => {
  const entries = Array.from({ length: maxTransactionEntries + 1 }, (_, i) => iosActivity(ts + i));
  let parts = 0;
  const store = interposedStore(await newStore(), (call) => {
    if (call !== 'usercache.put') return;
    parts += 1;
    if (parts === 1 || parts === 3) throw new MobilityError('MOBILITY_STORE_FULL', 'no space');
  });
  await store.users.register('ada', { now: 1 });
  const full = await openKit({ store });
  const [first, second, third] = [await full.put(entries), await full.put(entries), await full.put(entries)];
  expect([first.status, second.status, third.status]).toEqual([503, 503, 200]);
  expect(first.json.detail).toMatch(/full; nothing was stored by this call$/);
  expect(second.json.detail).toMatch(/full; only some entries of this call are stored, send all of them again$/);
  expect(third.json).toEqual({ inserted: 1, updated: maxTransactionEntries, rejected: 0 });
});

it('bad entries are rejected with the reason, and the others are stored', async () => {
  const bad = [null, 7, {}, { metadata: { key: 'a/b', write_ts: ts } }]; // check-entry.test.ts has all kinds
  const answer = await put([androidLocation(ts), ...bad, iosActivity(ts)]);
  expect([answer.status, answer.json]).toEqual([200, { inserted: 2, updated: 0, rejected: bad.length }]);
  expect(await pendingEntries(kit.store, ada)).toHaveLength(2);
  const errors = await kit.store.errors.list(ada, { limit: 100 });
  expect(errors.map(({ entry }) => JSON.stringify(entry)).sort()).toEqual(bad.map((e) => JSON.stringify(e)).sort());
  await put(bad);
  expect(await kit.store.errors.list(ada, { limit: 100 })).toHaveLength(bad.length);
});

it('NaN, bad UTF-8, NUL and lone surrogates reject at most the entry that has them', async () => {
  const text = JSON.stringify({ user: 'ada', phone_to_server: [0, 1, 2].map((i) => androidLocation(ts + i)) })
    .replace('"accuracy":12', '"accuracy":NaN')
    .replaceAll('"filter":"time"', '"filter":"\\u0000\\ud800"')
    .replace(`"write_ts":${ts + 2}`, '"write_ts":1e999');
  const at = text.indexOf('May 17');
  const bytes = [Buffer.from(text.slice(0, at)), Buffer.from([0xe4]), Buffer.from(text.slice(at))];
  const answer = await kit.post('/usercache/put', Buffer.concat(bytes));
  expect([answer.status, answer.json]).toEqual([200, { inserted: 1, updated: 0, rejected: 2 }]);
  const [first] = await pendingEntries(kit.store, ada);
  const errors = await kit.store.errors.list(ada, { limit: 9 });
  expect(errors.map(({ entry }) => entry)).toContainEqual(expect.stringContaining('"accuracy":NaN'));
  expect(first!.data.filter).toBe('\u0000\ud800');
  expect(kit.log.filter((line) => line.startsWith('WARNING')).join('\n')).toMatch(/UTF-8/);
});

it('a batch of too many entries is refused with the limit', async () => {
  const answer = await kit.post('/usercache/put', `{"user":"ada","phone_to_server":[${'0,'.repeat(300_000)}0]}`);
  expect([answer.status, answer.json.limit_entries]).toEqual([413, 200_000]);
  const values = await kit.post('/usercache/put', `{"user":"ada","phone_to_server":[[${'[],'.repeat(50_000)}0]]}`);
  expect([values.status, values.json.limit_values]).toEqual([413, 50_000]);
});

it('the log has each step in order and each entry with its result, and no data of entries', async () => {
  const isEnded = () => kit.log.some((line) => line.includes(':END '));
  await put([androidLocation(ts)]);
  await until(isEnded);
  kit.log.length = 0;
  await put([androidLocation(ts), iosActivity(ts), { metadata: { key: 'a/b' }, data: { latitude: 37.8716 } }]);
  await until(isEnded);
  expect(kit.log.map((line) => line.replace(/\d\.\d{6}$/, 'SECONDS'))).toEqual([
    'INFO:w1-2:START POST /usercache/put',
    'INFO:w1-2:Called userCache.put',
    'INFO:w1-2:Found user email ada',
    `INFO:w1-2:user_uuid ${ada}`,
    `DEBUG:w1-2:Updated result for user = ${ada}, key = background/location, write_ts = ${ts} = updated`,
    `DEBUG:w1-2:Updated result for user = ${ada}, key = background/motion_activity, write_ts = ${ts} = inserted`,
    `WARNING:w1-2:Updated result for user = ${ada}, key = a/b, write_ts = null = rejected (write_ts_missing)`,
    `INFO:w1-2:Stored entries of user = ${ada}, inserted = 1, updated = 1, rejected = 1`,
    'INFO:w1-2:Answered 200 POST /usercache/put',
    `INFO:w1-2:END POST /usercache/put ${ada} SECONDS`,
  ]);
  expect(kit.log.join()).not.toContain('37.87');
  expect(kit.console.slice(2).map((line) => line.replace(/\d\.\d{6}$/, 'SECONDS'))).toEqual([
    expect.stringMatching(/^START \S+ POST \/usercache\/put$/),
    expect.stringMatching(new RegExp(`^END \\S+ POST /usercache/put ${ada} SECONDS$`)),
  ]);
});

it('putone stores one entry like a put', async () => {
  const [good, bad] = [await putOne(iosActivity(ts)), await putOne('x')];
  expect([good.status, good.json]).toEqual([200, { putone: true, inserted: 1, updated: 0, rejected: 0 }]);
  expect([bad.status, bad.json]).toEqual([200, { putone: true, inserted: 0, updated: 0, rejected: 1 }]);
  expect((await kit.post('/usercache/putone', { user: 'ada' })).status).toBe(400);
  expect(await pendingEntries(kit.store, ada)).toEqual([iosActivity(ts)]);
});
