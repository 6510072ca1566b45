// Every route that stores what callers send holds every limit of a caller.
import { afterEach, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json.ts';
import { tokenHash } from '../../src/model/user.ts';
import type { AppParts } from '../../src/server/app-parts.ts';
import { routes } from '../../src/server/routes/all-routes.ts';
import type { Store } from '../../src/store/store.ts';
import { webRoutes } from '../../src/web/routes.ts';
import { csrfOf } from '../../src/web/sessions.ts';
import { words } from '../support/words.ts';
import { type Answered, androidLocation, type Kit, noLimits, now, openKit } from './kit.ts';
import { madeTrip, storeTrips } from './trips.ts';

let kit: Kit;
let ada: string;

async function open(limits: AppParts['limits'] = {}): Promise<void> {
  kit = await openKit({ limits: { ...noLimits, ...limits } });
  ada = (await kit.user('ada')).uuid;
}
afterEach(() => kit.close());

const basic = { Authorization: `Basic ${Buffer.from('x:ada').toString('base64')}` };
const time = (i: number) => 1_463_500_000 + i;
const iso = (i: number) => new Date(time(i) * 1000).toISOString();
const secret = 'the secret of a session';

/** Sends the entry with this number as a form of the person. */
async function form(path: string, fields: Record<string, string>): Promise<Answered> {
  const token = { hash: tokenHash(secret), user_id: ada, created_ts: 1, expires_ts: now + 9, kind: 'session' } as const;
  await kit.store.tokens.add(token);
  return kit.request(path, {
    method: 'POST',
    headers: { Cookie: `mobility-days=${secret}`, 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ csrf: csrfOf(secret), ...fields }).toString(),
  });
}

/** How one entry is sent by each route that stores entries. */
const pushes: Record<string, (i: number) => Promise<Answered>> = {
  '/usercache/put': (i) => kit.post('/usercache/put', { user: 'ada', phone_to_server: [androidLocation(i)] }),
  '/usercache/putone': (i) => kit.post('/usercache/putone', { user: 'ada', the_entry: androidLocation(i) }),
  '/pub': (i) => kit.post('/pub', { _type: 'location', tst: time(i), lat: 1, lon: 2 }, basic),
  '/overland': (i) => {
    const geometry = { type: 'Point', coordinates: [1, 2] };
    return kit.post('/overland?token=ada', {
      locations: [{ type: 'Feature', geometry, properties: { timestamp: iso(i) } }],
    });
  },
  '/traccar': (i) => kit.post(`/traccar?id=ada&lat=1&lon=2&timestamp=${time(i)}`, ''),
  '/': (i) => kit.request(`/?id=ada&lat=1&lon=2&timestamp=${time(i)}`),
  '/me/correct': (i) =>
    form('/me/correct', { kind: 'place_name', ts: String(time(i)), name: `Home ${i}`, day: '2016-05-17' }),
};

/** Routes that store no entries. The form for labels needs a trip; the test of pages sends it. */
const others = words(`
  /usercache/get /timeline/getTrips/:date /pipeline/get_complete_ts /pipeline/get_range_ts /profile/create
  /profile/get /profile/update /result/metrics/timestamp /result/metrics/local_date
  /result/metrics/yyyy_mm_dd /datastreams/find_entries/timestamp /datastreams/find_entries/local_date
  /me/label /customlabel/get /customlabel/insert /customlabel/update /customlabel/delete
`);

it('every route is listed here as one that stores entries or one that does not', async () => {
  await open();
  const forms = webRoutes.filter(({ method, path }) => method === 'POST' && /^\/me\/(correct|label)/.test(path));
  const paths = [...routes, ...forms].map(({ path }) => path);
  expect(paths.filter((path) => !(path in pushes) && !others.includes(path))).toEqual([]);
});

it.each(Object.keys(pushes))(
  '%s stores at most as many entries as may be pending, and refuses the next call',
  async (path) => {
    await open({ waitingEntries: 2 });
    const isStored = async (count: number) => expect((await kit.store.usercache.summary(ada)).count).toBe(count);
    for (const i of [1, 2]) expect((await pushes[path]!(i)).status).toBeLessThan(400);
    await isStored(2);
    // Apps of other families take a 4xx for "received": they send again after a 503.
    const isOfFamily = /usercache|^\/me/.test(path);
    expect((await pushes[path]!(3)).status).toBe(isOfFamily ? 429 : 503);
    await isStored(2);
  },
);

it('unknown keys beyond the limit are rejected by each route that takes any', async () => {
  await open({ unknownKeys: 1 });
  const entry = (i: number) => ({ metadata: { key: `own/${i}`, write_ts: i }, data: {} });
  const one = (i: number) => kit.post('/usercache/putone', { user: 'ada', the_entry: entry(i) });
  expect((await one(1)).json).toMatchObject({ inserted: 1, rejected: 0 });
  expect((await one(2)).json).toMatchObject({ inserted: 0, rejected: 1 });
  await kit.post('/pub', { _type: 'mine', tst: time(1) }, basic);
  const features = [{ type: 'Feature', properties: { timestamp: iso(1), action: 'mine' } }];
  await kit.post('/overland?token=ada', { locations: features });
  expect((await kit.store.errors.summary(ada)).map(({ key, reason }) => [key, reason])).toEqual([
    ['overland/mine', 'too_many_keys'],
    ['own/2', 'too_many_keys'],
    ['owntracks/mine', 'too_many_keys'],
  ]);
});

it('putone counts statements and corrections as put does', async () => {
  await open();
  const one = async (key: string, write_ts: number, data: JsonObject): Promise<JsonObject> =>
    (
      await kit.post('/usercache/putone', {
        user: 'ada',
        the_entry: { metadata: { key, write_ts, platform: 'android' }, data },
      })
    ).json;
  const survey = { start_ts: 1, end_ts: 2, label: 'x', xmlResponse: 'x'.repeat(4_000_000) };
  for (const i of [1, 2]) expect(await one('manual/trip_user_input', i, survey)).toMatchObject({ inserted: 1 });
  expect(await one('manual/trip_user_input', 3, survey)).toMatchObject({ inserted: 0, rejected: 1 });
  const drops = Array.from({ length: 1000 }, (_, i) => ({
    metadata: { key: 'manual/correction', platform: 'android', write_ts: 1e9 + i },
    data: { kind: 'drop', ts: 1e9 + i - 1000 },
  }));
  await kit.post('/usercache/put', { user: 'ada', phone_to_server: drops });
  const drop = { kind: 'drop', ts: 1.9e9 };
  expect(await one('manual/correction', 2e9, drop)).toMatchObject({ inserted: 0, rejected: 1 });
});

it('elements of another app that are no messages are rejected together, in rows of at most 1 MiB', async () => {
  await open();
  const answer = await kit.post('/overland?token=ada', { locations: Array.from({ length: 200_000 }, (_, i) => i) });
  expect(answer.json).toEqual({ result: 'ok' });
  const rows = await kit.store.errors.list(ada, { limit: 100 });
  expect(rows).toHaveLength(2);
  for (const row of rows) expect(JSON.stringify(row).length).toBeLessThan(1024 * 1024 + 2000);
  const far = { type: 'Feature', note: 'x'.repeat(3_000_000) };
  await kit.post('/overland?token=ada', { locations: [far] });
  expect((await kit.store.usercache.summary(ada)).count).toBe(0);
  expect(await kit.store.errors.count(ada)).toBe(3);
});

it('the diary of a day holds at most the newest 8 MiB of what its person stated', async () => {
  let clock = now;
  kit = await openKit({ now: () => clock });
  ada = (await kit.user('ada')).uuid;
  const trip = madeTrip(1_463_500_000, [{ mode: 'WALKING' }]);
  await storeTrips(kit.store, ada, [trip]);
  const { start_ts, end_ts, day } = trip;
  for (let from = 0; from < 390; from += 130) {
    const surveys = Array.from({ length: 130 }, (_, i) => ({
      metadata: { key: 'manual/trip_addition_input', platform: 'android', write_ts: time(from + i) },
      data: {
        start_ts: start_ts + (from + i) / 2000,
        end_ts,
        label: `survey ${from + i}`,
        xmlResponse: 'x'.repeat(60_000),
      },
    }));
    const answer = await kit.post('/usercache/put', { user: 'ada', phone_to_server: surveys });
    expect(answer.json).toMatchObject({ inserted: 130 });
    clock += 86_400;
  }
  const { text } = await kit.post(`/timeline/getTrips/${day}`, { user: 'ada' });
  const shown = new Set([...text.matchAll(/survey (\d+)/g)].map(([, found]) => Number(found)));
  expect(shown.size).toBe(139);
  expect(Math.min(...shown)).toBe(390 - 139);
});

it('a caller has four diaries made at a time, and unread answers count for the next one', async () => {
  let most = 0;
  let running = 0;
  const wrap = (store: Store): Store => {
    const byDay: Store['trips']['byDay'] = async (...args) => {
      running += 1;
      most = Math.max(most, running);
      for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return store.trips.byDay(...args);
    };
    return { ...store, trips: { ...store.trips, byDay } };
  };
  kit = await openKit({ wrap });
  await kit.user('ada');
  const calls = Array.from({ length: 12 }, () => kit.post('/timeline/getTrips/2016-05-17', { user: 'ada' }));
  expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]));
  expect(most).toBeLessThanOrEqual(4);
  expect(most).toBeGreaterThan(1);
});
