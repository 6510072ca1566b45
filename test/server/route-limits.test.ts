// Every route that stores what callers send holds every limit of a caller, on both engines and over sockets.
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json.ts';
import type { AppParts } from '../../src/server/app-parts.ts';
import type { Serving } from '../../src/server/listen.ts';
import { routes } from '../../src/server/routes/all-routes.ts';
import type { Store } from '../../src/store/store.ts';
import { webRoutes } from '../../src/web/routes.ts';
import { describeOnServers, newStoreOn, type TestServer } from '../store/servers.ts';
import { words } from '../support/words.ts';
import {
  type Answered,
  androidLocation,
  answered,
  basic,
  formType,
  type Kit,
  listen,
  noLimits,
  now,
  openKit,
  signedIn,
} from './kit.ts';
import { madeTrip, storeTrips } from './trips.ts';

let kit: Kit;
let ada: string;
let serving: Serving;

/** Opens a server with a person, on a new database of `server` or, without one, in a folder. */
async function open(server: TestServer | null, parts: Partial<AppParts> = {}): Promise<void> {
  const database = server === null ? null : await newStoreOn(server);
  const limits = { ...noLimits, ...parts.limits };
  kit = await openKit({ ...parts, limits, ...(database !== null && { store: database.store }) });
  if (database !== null) kit.store = database.store;
  serving = await listen(kit.app);
  ada = (await kit.store.users.register('ada', { now })).user.uuid;
}

async function send(path: string, init: RequestInit): Promise<Answered> {
  const url = `http://127.0.0.1:${serving.port}${path}`;
  return answered(await fetch(url, { method: 'POST', redirect: 'manual', ...init }));
}
const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answered> =>
  send(path, { headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body) });

const time = (i: number) => 1_463_500_000 + i;
const iso = (i: number) => new Date(time(i) * 1000).toISOString();

/** Sends a form of the person. */
async function form(path: string, fields: Record<string, string>): Promise<Answered> {
  const { csrf, Cookie } = await signedIn(kit.store, ada);
  const body = String(new URLSearchParams({ csrf, day: '2016-05-17', ...fields }));
  return send(path, { headers: { Cookie, 'Content-Type': formType }, body });
}

/** Uploads a file with one location. */
async function upload(i: number): Promise<Answered> {
  const { csrf, Cookie } = await signedIn(kit.store, ada);
  const body = new FormData();
  body.append('csrf', csrf);
  body.append('file', new Blob([`time,lat,lon\n${iso(i)},1,2\n`]), 'track.csv');
  return send('/me/import', { headers: { Cookie }, body });
}

const put = (entries: readonly JsonObject[]) => post('/usercache/put', { user: 'ada', phone_to_server: entries });
const putOne = (entry: JsonObject) => post('/usercache/putone', { user: 'ada', the_entry: entry });
const overland = (properties: JsonObject) => {
  const geometry = { type: 'Point', coordinates: [1, 2] };
  return post('/overland?token=ada', { locations: [{ type: 'Feature', geometry, properties }] });
};
const named = (key: string, i: number, data: JsonObject): JsonObject => ({
  metadata: { key, write_ts: time(i), platform: 'android' },
  data,
});
const addition = (i: number, xmlResponse: string) => ({ start_ts: time(i), end_ts: time(i + 9), xmlResponse });
/** A trip of the person for forms. */
const trip = madeTrip(time(0), [{ mode: 'WALKING' }]);

/** How the entry with this number is sent by each route that stores entries. */
const pushes: Record<string, (i: number) => Promise<Answered>> = {
  '/usercache/put': (i) => put([androidLocation(i)]),
  '/usercache/putone': (i) => putOne(androidLocation(i)),
  '/pub': (i) => post('/pub', { _type: 'location', tst: time(i), lat: 1, lon: 2 }, basic('ada')),
  '/overland': (i) => overland({ timestamp: iso(i) }),
  '/traccar': (i) => send(`/traccar?id=ada&lat=1&lon=2&timestamp=${time(i)}`, {}),
  '/': (i) => send(`/?id=ada&lat=1&lon=2&timestamp=${time(i)}`, { method: 'GET' }),
  '/me/correct': (i) => form('/me/correct', { kind: 'place_name', ts: String(time(i)), name: `Home ${i}` }),
  '/me/label': (i) => form('/me/label', { trip: trip.id, mode: ['bike', 'bus', 'car'][i % 3]! }),
};

/** How a route that takes keys of any name is sent the entry of another unknown key. */
const unknownKeys: typeof pushes = {
  '/usercache/put': (i) => put([named(`own/${i}`, i, {})]),
  '/usercache/putone': (i) => putOne(named(`own/${i}`, i, {})),
  '/pub': (i) => post('/pub', { _type: `mine${i}`, tst: time(i) }, basic('ada')),
  '/overland': (i) => overland({ timestamp: iso(i), action: `mine${i}` }),
};

/** How a route that takes user input is sent some. */
const statements: typeof pushes = {
  '/usercache/put': (i) => put([named('manual/survey', i, addition(i, 'x'))]),
  '/usercache/putone': (i) => putOne(named('manual/trip_addition_input', i, addition(i, 'x'))),
  '/me/correct': pushes['/me/correct']!,
  '/me/label': pushes['/me/label']!,
};

const corrections: typeof pushes = {
  '/usercache/put': (i) => put([named('manual/correction', i, { kind: 'drop', ts: time(i) })]),
  '/usercache/putone': (i) => putOne(named('manual/correction', i, { kind: 'drop', ts: time(i) })),
  '/me/correct': pushes['/me/correct']!,
};

/** Routes that store no entries. */
const others = words(`
  /usercache/get /timeline/getTrips/:date /pipeline/get_complete_ts /pipeline/get_range_ts /profile/create
  /profile/get /profile/update /result/metrics/timestamp /result/metrics/local_date
  /result/metrics/yyyy_mm_dd /datastreams/find_entries/timestamp
  /customlabel/get /customlabel/insert /customlabel/update /customlabel/delete
`);

/** Forms that change what a person or a manager may do, and store no entries. */
const otherForms = words(
  '/me/open /me/sign-out /sign-in/study /sign-out/study /me/sign-out-others /me/stop /me/erase /me/keep /me/preview /me/lost /study/:study/export.zip /me/import/undo',
);

it('every route is listed here, as one that stores entries or one that does not', async () => {
  await open(null);
  const forms = webRoutes.filter(({ method }) => method === 'POST');
  const paths = [...routes, ...forms].map(({ path }) => path);
  const known = [...Object.keys(pushes), '/me/import', ...others, ...otherForms];
  const missing = paths.filter((path) => !known.includes(path));
  expect(missing, 'add them to `pushes` if they store entries, else to `others` or `otherForms`').toEqual([]);
});

describe('on SQLite', () => limitsHold(() => null));
describeOnServers('on MongoDB', limitsHold);

function limitsHold(server: () => TestServer | null): void {
  const reasons = async () => (await kit.store.errors.list(ada, { limit: 9 })).map(({ reason }) => reason);
  const pending = async () => kit.store.usercache.count(ada);
  /** A page says that nothing was stored. */
  const expectFull = async (path: string, sent: Promise<Answered>): Promise<void> => {
    const { status, headers } = await sent;
    const expected = path.startsWith('/me') ? [303, '/me/day/2016-05-17?done=full'] : [200, null];
    expect([status, headers.get('location')]).toEqual(expected);
  };

  it.each(Object.keys(pushes))('%s stores at most as many entries as may be pending', async (path) => {
    await open(server(), { limits: { pendingEntries: 2 } });
    await storeTrips(kit.store, ada, [trip]);
    for (const i of [1, 2]) expect((await pushes[path]!(i)).status).toBeLessThan(400);
    expect(await pending()).toBe(2);
    // Apps of other families take a 4xx for "received": they send again after a 503.
    const isOfFamily = /usercache|^\/me/.test(path);
    expect((await pushes[path]!(3)).status).toBe(isOfFamily ? 429 : 503);
    expect(await pending()).toBe(2);
  });

  it('/me/import stores nothing beyond the entries that may be pending', async () => {
    await open(server(), { limits: { pendingEntries: 2 } });
    const answers = [];
    for (const i of [1, 2, 3]) answers.push((await upload(i)).status);
    expect(answers).toEqual([303, 429, 429]);
    expect(await pending()).toBeLessThanOrEqual(2);
  });

  it.each(Object.keys(unknownKeys))('%s rejects entries of unknown keys beyond the limit', async (path) => {
    await open(server(), { limits: { unknownKeys: 1 } });
    for (const i of [1, 2, 3]) expect((await unknownKeys[path]!(i)).status).toBe(200);
    expect([await pending(), await reasons()]).toEqual([1, ['too_many_keys', 'too_many_keys']]);
  });

  it.each(Object.keys(statements))('%s rejects user input beyond 8 MiB a day', async (path) => {
    await open(server());
    await storeTrips(kit.store, ada, [trip]);
    const length = 4 * 1024 * 1024 - JSON.stringify(addition(0, '')).length;
    const most = [1, 2].map((i) => named('manual/trip_addition_input', i, addition(i, 'x'.repeat(length))));
    expect((await put(most)).json).toMatchObject({ inserted: 2, rejected: 0 });
    await expectFull(path, statements[path]!(3));
    expect([await pending(), await reasons()]).toEqual([2, ['too_many_statements']]);
  });

  it.each(Object.keys(corrections))('%s rejects corrections beyond 1,000 active ones', async (path) => {
    await open(server());
    const drops = Array.from({ length: 1000 }, (_, i) => named('manual/correction', i, { kind: 'drop', ts: time(i) }));
    expect((await put(drops)).json).toMatchObject({ inserted: 1000, rejected: 0 });
    await expectFull(path, corrections[path]!(1000));
    expect([await pending(), await reasons()]).toEqual([1000, ['too_many_corrections']]);
  });

  it.each([
    ['/overland?token=ada', 'locations'],
    ['/traccar?id=ada', 'location'],
  ])('%s rejects elements that are not messages in rows of at most 1 MiB', async (path, field) => {
    await open(server());
    const numbers = Array.from({ length: 200_000 }, (_, i) => i);
    expect((await post(path, { [field]: numbers })).json).toEqual({ result: 'ok' });
    const rows = await kit.store.errors.list(ada, { limit: 100 });
    expect(rows.flatMap(({ entry }) => entry as number[]).sort((a, b) => a - b)).toEqual(numbers);
    expect(rows).toHaveLength(2);
    for (const row of rows) expect(JSON.stringify(row).length).toBeLessThan(1024 * 1024 + 2000);
    const long = { timestamp: 'x'.repeat(3_000_000) };
    await post(path, { [field]: [{ type: 'Feature', properties: long, ...long }] });
    expect([await pending(), await kit.store.errors.count(ada)]).toEqual([0, 3]);
  });

  it.each(['/pub', '/overland?token=ada', '/traccar?id=ada'])(
    '%s keeps nothing of a body that is not JSON except its length',
    async (path) => {
      await open(server());
      const body = `{"a": "${'x'.repeat(3_000_000)}`;
      const headers = { 'Content-Type': 'application/json', ...basic('ada') };
      expect((await send(path, { headers, body })).status).toBe(200);
      const rows = await kit.store.errors.list(ada, { limit: 100 });
      expect(rows.map(({ entry }) => entry)).toEqual([`${body.length} characters`]);
    },
  );

  it('simultaneous changes of a profile neither lose one another nor exceed its size', async () => {
    await open(server());
    const labels = Array.from({ length: 12 }, (_, i) => `label ${String(i).padStart(2, '0')}`);
    const insert = (label: string) =>
      post('/customlabel/insert', { user: 'ada', inserted_label: { key: 'mode', label } });
    await Promise.all(labels.map(insert));
    const { json } = await post('/customlabel/get', { user: 'ada', keys: ['mode'] });
    expect(json.mode).toEqual(labels);
    const update = (i: number) =>
      post('/profile/update', { user: 'ada', update_doc: { [`f${i}`]: 'x'.repeat(300_000) } });
    const statuses = (await Promise.all([0, 1, 2, 3, 4, 5].map(update))).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, 200, 200, 413, 413, 413]);
  });

  it('the diary of a day holds at most the newest 8 MiB of user input', async () => {
    let clock = now;
    await open(server(), { now: () => clock });
    await storeTrips(kit.store, ada, [trip]);
    const { start_ts, end_ts, day } = trip;
    for (let from = 0; from < 390; from += 130) {
      const surveys = Array.from({ length: 130 }, (_, i) => {
        const data = { ...addition(0, 'x'.repeat(60_000)), start_ts: start_ts + (from + i) / 2000, end_ts };
        return named('manual/trip_addition_input', from + i, { ...data, label: `survey ${from + i}` });
      });
      expect((await put(surveys)).json).toMatchObject({ inserted: 130 });
      clock += 86_400;
    }
    const { text } = await post(`/timeline/getTrips/${day}`, { user: 'ada' });
    const shown = new Set([...text.matchAll(/survey (\d+)/g)].map(([, found]) => Number(found)));
    expect(shown.size).toBe(139);
    expect(Math.min(...shown)).toBe(390 - 139);
  });
}

it('four diaries of each caller are made at a time, and the next when one is finished', async () => {
  const running = new Map<string, number>();
  const most: number[] = [];
  const wrap = (store: Store): Store => {
    const byDay: Store['trips']['byDay'] = async (user, range) => {
      running.set(user, (running.get(user) ?? 0) + 1);
      most.push(Math.max(...running.values()));
      for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
      running.set(user, running.get(user)! - 1);
      return store.trips.byDay(user, range);
    };
    return { ...store, trips: { ...store.trips, byDay } };
  };
  kit = await openKit({ wrap });
  for (const name of ['ada', 'ben']) await kit.user(name);
  const look = (user: string) => kit.post('/timeline/getTrips/2016-05-17', { user });
  const calls = [...Array.from({ length: 12 }, () => look('ada')), look('ben')];
  expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]));
  expect([Math.max(...most), running.size]).toEqual([4, 2]);
  for (let i = 0; i < 5; i += 1) expect((await look('ada')).status).toBe(200);
});
