// OwnTracks, Overland and Traccar Client over sockets: what they send is kept, or stays with the app.
import { beforeEach, describe, expect, it } from 'vitest';
import { type AppId, phoneApps } from '../../../src/model/apps.ts';
import type { Entry } from '../../../src/model/entry.ts';
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';
import { MobilityError } from '../../../src/model/mobility-error.ts';
import type { TripRecord } from '../../../src/model/trip.ts';
import type { Serving } from '../../../src/server/listen.ts';
import { simulateDay } from '../../../src/simulate/simulate-day.ts';
import { everyError } from '../../../src/store/paging.ts';
import { interposedStore } from '../../faults/interposed-store.ts';
import { type Answered, addToken, answered, basic, config, type Kit, listen, openKit } from '../../server/kit.ts';
import { chainOf, pipeline } from '../../support/diary.ts';
import { pendingEntries } from '../../support/store.ts';

let kit: Kit;
let serving: Serving;
let uuid: string;
/** Set by a test: what every put fails with. */
let failure: Error | null;
const token = `mob_${'a'.repeat(43)}`;

beforeEach(async () => {
  failure = null;
  const fail = (call: string): void => {
    if (call === 'usercache.put' && failure !== null) throw failure;
  };
  kit = await openKit({ config: { ...config, auth: 'token' }, wrap: (store) => interposedStore(store, fail) });
  uuid = (await kit.user('ada')).uuid;
  await addToken(kit.store, uuid, token, { kind: 'owntracks' });
  serving = await listen(kit.app);
});

interface App {
  path: string;
  headers(token: string): Record<string, string>;
  /** A body with a location of the phone. */
  body(fix: Fix, token: string): JsonValue;
  delivered: JsonValue;
  /** Bodies that the app never sends. */
  invalid(token: string): JsonValue[];
  /** Texts that are not JSON objects, as far as the app could send one. */
  texts: readonly string[];
}
type Fix = Record<'ts' | 'latitude' | 'longitude' | 'accuracy' | 'speed', number>;

const isoOf = (ts: number): string => `${new Date(Math.floor(ts) * 1000).toISOString().slice(0, 19)}Z`;
const feature = ({ ts, latitude, longitude, accuracy, speed }: Fix): JsonObject => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [longitude, latitude] },
  properties: {
    ...{ timestamp: isoOf(ts), horizontal_accuracy: Math.round(accuracy), speed, altitude: 10, vertical_accuracy: 3 },
    ...{ motion: [], battery_level: 0.5, battery_state: 'unplugged', device_id: 'phone', wifi: '' },
  },
});

const noObjects = ['{"_type": "loc', '[1, 2]', '"a text"', '\u0000'];
const apps: Record<AppId, App> = {
  owntracks: {
    path: '/pub?u=ada&d=phone',
    headers: (password) => ({ ...basic('ada', password), 'X-Limit-U': 'ada', 'X-Limit-D': 'phone' }),
    body: ({ ts, latitude, longitude, accuracy, speed }) => ({
      ...{ _type: 'location', lat: latitude, lon: longitude, tst: Math.floor(ts), acc: Math.round(accuracy) },
      ...{ tid: 'AD', vel: Math.round(speed * 3.6), t: 'u', conn: 'm', batt: 50, bs: 1, topic: 'owntracks/ada/phone' },
    }),
    delivered: [],
    invalid: () => [{ nothing: 1, device_id: 'a' }, ...['encrypted', 'location'].map((_type) => ({ _type, tst: 'x' }))],
    texts: noObjects,
  },
  overland: {
    path: '/overland',
    headers: (bearer) => ({ Authorization: `Bearer ${bearer}` }),
    body: (fix) => ({ locations: [feature(fix)] }),
    delivered: { result: 'ok' },
    invalid: () => [{ nothing: 1, device_id: 'phone' }, { locations: 7 }, { locations: [7, { type: 'Feature' }] }],
    texts: noObjects,
  },
  traccar: {
    path: '/traccar',
    headers: () => ({}),
    body: ({ ts, latitude, longitude, accuracy, speed }, device_id) => ({
      location: {
        timestamp: new Date(ts * 1000).toISOString(),
        coords: { latitude, longitude, accuracy, speed, heading: -1, altitude: 10 },
        ...{ is_moving: true, odometer: 0, event: '', battery: { level: 0.5, is_charging: false } },
        ...{ activity: { type: 'unknown' }, extras: {} },
        _: `&id=${device_id}&lat=${latitude}&`,
      },
      device_id,
    }),
    delivered: { result: 'ok' },
    invalid: (device_id) =>
      [{ nothing: 1 }, { location: 7 }, { location: { timestamp: 'x' } }].map((one) => ({ ...one, device_id })),
    texts: [],
  },
};
const here: Fix = { ts: 1_710_230_400, latitude: 38.571, longitude: -7.909, accuracy: 12, speed: 5 };

async function send(path: string, body: string, headers: Record<string, string>): Promise<Answered> {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body };
  return answered(await fetch(`http://127.0.0.1:${serving.port}${path}`, init));
}
const push = (app: App, body: JsonValue | string, given = token): Promise<Answered> =>
  send(app.path, typeof body === 'string' ? body : JSON.stringify(body), app.headers(given));

const waiting = (): Promise<Entry[]> => pendingEntries(kit.store, uuid);
const isLocation = ({ metadata }: Entry): boolean => metadata.key === 'background/location';
async function aside(): Promise<{ reason: string; entry: JsonValue }[]> {
  const found = [];
  for await (const { reason, entry } of everyError(kit.store, uuid)) found.push({ reason, entry });
  return found;
}

async function tripsOf(user: string): Promise<TripRecord[]> {
  await pipeline(kit.store, user);
  return (await chainOf(kit.store, user)).filter(({ trip }) => trip !== null);
}

describe.each(Object.entries(apps))('%s', (name, app) => {
  const delivered = { status: 200, text: JSON.stringify(app.delivered) };

  it('a location is stored with the platform other and acknowledged, and a repetition, with a slash at the end of the address, changes nothing', async () => {
    const withSlash = { ...app, path: app.path.replace(/(?=\?|$)/, '/') };
    for (const one of [app, withSlash]) expect(await push(one, app.body(here, token))).toMatchObject(delivered);
    const entries = await waiting();
    expect(entries.filter(isLocation)).toMatchObject([
      { metadata: { platform: 'other', origin: { program: name } }, data: { ts: here.ts, latitude: here.latitude } },
    ]);
    expect(JSON.stringify(entries)).not.toContain(token);
  });

  it('a token that is not valid, a full disk and a failure are answered with the problem, so that the app keeps its data', async () => {
    const expired = `mob_${'b'.repeat(43)}`;
    await addToken(kit.store, uuid, expired, { kind: 'owntracks', expires_ts: 2 });
    for (const [given, problem, error] of [
      [token, '', new MobilityError('MOBILITY_STORE_FULL', 'full')],
      [token, '', new Error('broken')],
      ['mob_wrong', 'this token is not known', null],
      [expired, 'this token has expired; ask the operator for a new one', null],
      ['', `expected a token, ${phoneApps[name as AppId].token.tokenPlace}`, null],
    ] as const) {
      failure = error;
      const { status, json, text } = await push(app, app.body(here, given), given);
      expect([given, status >= 500, json.error]).toEqual([given, true, expect.stringContaining(problem)]);
      expect(text).not.toContain('"result"');
    }
    expect(await waiting()).toEqual([]);
    expect(await push(app, app.body(here, token))).toMatchObject(delivered);
    expect(await waiting()).not.toEqual([]);
  });

  it('another method, a path below and a host that is refused are answered so that the app keeps its data', async () => {
    const path = app.path.replace(/\?.*/, '');
    const dev = await openKit();
    const answers = [
      await kit.request(path),
      await kit.request(`${path}/`, { method: 'PUT' }),
      await dev.post(`http://phones.example.org${path}`, app.body(here, 'ada')),
    ];
    for (const other of ['/', `${path}/ada`, `${path}/ada/phone`, `${path}//ada`])
      answers.push(await kit.post(other, {}));
    const refused = { error: expect.any(String), request_id: expect.any(String) };
    for (const { status, headers, json } of answers) {
      const { code: _, ...others } = json;
      expect([status, headers.get('Retry-After'), others]).toEqual([503, '5', refused]);
    }
  });

  it('invalid data with a valid token are rejected durably, without the token, and acknowledged', async () => {
    const bodies = [...app.invalid(token), ...app.texts];
    for (const body of bodies) expect(await push(app, body)).toMatchObject(delivered);
    const kept = await aside();
    expect(kept.length).toBeGreaterThanOrEqual(bodies.length);
    expect(kept.every(({ reason }) => reason.startsWith('format_'))).toBe(true);
    expect(JSON.stringify(kept)).not.toContain(token);
    for (const text of app.texts) expect(kept.map(({ entry }) => entry)).toContain(`${text.length} characters`);
    expect((await push(app, app.body(here, token))).status).toBe(200);
  });

  it('a token in the header identifies the caller, for any content of the field of the app', async () => {
    const answer = await send(app.path, '{"device_id":{}}', { Authorization: `Bearer ${token}` });
    expect(answer).toMatchObject(delivered);
    expect(await aside()).toHaveLength(1);
  });

  it('a day becomes a diary, and two locations of the same second remain two entries', async () => {
    const day = simulateDay({ day: '2024-03-12', seed: 'other-apps', platform: 'ios' });
    const sensed = day.filter(isLocation).map(({ data }) => data as unknown as Fix & { sensed_speed: number });
    const fixes = sensed.map((fix) => ({ ...fix, speed: Math.max(0, fix.sensed_speed) }));
    const [first, last] = [fixes[0]!, fixes.at(-1)!];
    const nearby = { ...first, latitude: first.latitude + 1e-6 };
    const nextMorning = { ...last, ts: last.ts + 8 * 3600, speed: 0 }; // the last trip has ended
    const queue = [...fixes, nextMorning, nearby];
    const bodies = queue.map((fix) => app.body(fix, token));
    if (name === 'overland') bodies.splice(0, queue.length, { locations: queue.map(feature) });
    // Eight calls at a time.
    for (let at = 0; at < bodies.length; at += 8) {
      const answers = await Promise.all(bodies.slice(at, at + 8).map((body) => push(app, body)));
      for (const answer of answers) expect(answer).toMatchObject(delivered);
    }
    expect((await waiting()).filter(isLocation)).toHaveLength(queue.length);
    const phone = await kit.user('phone');
    await kit.store.usercache.put(phone.uuid, { entries: day, unusable: [] }, last.ts);
    const [trips, expected] = [await tripsOf(uuid), await tripsOf(phone.uuid)];
    expect(expected.length).toBeGreaterThan(2);
    expect(trips.map(({ day: local }) => local)).toEqual(expected.map(({ day: local }) => local));
    for (const [i, { trip }] of trips.entries()) {
      expect(Math.abs(trip!.distance / expected[i]!.trip!.distance - 1)).toBeLessThan(0.15);
    }
  });
});

it('an empty body of OwnTracks is acknowledged, and nothing is stored', async () => {
  const answer = await push(apps.owntracks, '');
  expect([answer.status, answer.text]).toEqual([200, '[]']);
  expect([await waiting(), await aside()]).toEqual([[], []]);
});

it('Overland in its OwnTracks mode, with its own header and times since 2001, is refused with advice and keeps its data', async () => {
  const body = JSON.stringify({ _type: 'location', lat: 1, lon: 2, tst: 1_710_230_400 - 978_307_200 });
  const answer = await send('/pub', body, { Authorization: `Basic ${token}:` });
  expect(answer.status).toBe(503);
  expect(answer.json.error).toMatch(/Overland.*\/overland/);
});

describe("OsmAnd's protocol", () => {
  const query = (time: string, more = '') =>
    `id=${token}&timestamp=${time}&lat=38.571&lon=-7.909&speed=10&bearing=90&altitude=300.5&accuracy=12&batt=50${more}`;
  const iso = '2024-03-12T08:00:00Z';

  it.each([
    ['GET', `/traccar?${query(String(here.ts))}`],
    ['POST', `/traccar?${query(String(here.ts * 1000))}`],
    ['POST', `/traccar/?${query(iso).replace('id=', 'deviceid=')}`],
    ['GET', `/?${query(iso)}`],
    ['POST', `//?${query(iso)}`],
    ['GET', `/?${query(iso).replace('lat=38.571&lon=-7.909', 'location=38.571,-7.909')}`],
  ])('%s %s stores the position, and its repetition is the same', async (method, path) => {
    for (let time = 0; time < 2; time += 1) {
      const answer = await fetch(`http://127.0.0.1:${serving.port}${path}`, { method });
      expect([answer.status, await answer.json()]).toEqual([200, { result: 'ok' }]);
    }
    const [battery, location, ...more] = (await waiting()).sort((a, b) => a.metadata.key.localeCompare(b.metadata.key));
    expect(more).toEqual([]);
    expect(battery!.data).toMatchObject({ battery_level_pct: 50 });
    expect(location).toMatchObject({
      metadata: { key: 'background/location', platform: 'other', origin: { program: 'traccar' } },
      data: { ts: here.ts, latitude: 38.571, longitude: -7.909, altitude: 300.5, accuracy: 12, bearing: 90 },
    });
    expect(location!.data.sensed_speed).toBeCloseTo(5.144, 3); // 10 knots
    expect(JSON.stringify([location, battery])).not.toContain(token);
  });

  it.each([
    ['GET', '/?lat=38.571&lon=-7.909'],
    ['GET', '/?id=nobody&lat=38.571&lon=-7.909&timestamp=1710230400'],
    ['GET', '/traccar?lat=38.571&lon=-7.909&timestamp=1710230400'],
    ['HEAD', `/?${query(iso)}`],
    ['PUT', `/?${query(iso)}`],
    ['HEAD', `/traccar?${query(iso)}`],
    ['DELETE', `/traccar?${query(iso)}`],
  ])('%s %s is not acknowledged and not stored', async (method, path) => {
    expect((await kit.request(path, { method })).status).toBe(503);
    expect(await waiting()).toEqual([]);
  });

  it('a position in the query and one in the body are both stored, and other parameters belong to the query', async () => {
    const path = `/traccar?${query(iso)}`;
    expect((await kit.post(path, apps.traccar.body({ ...here, latitude: 38.6 }, token))).status).toBe(200);
    const later = { device_id: token, batt: 56 };
    expect((await kit.post(`/traccar?${query('2024-03-12T09:00:00Z')}`, later)).status).toBe(200);
    const found = (await waiting()).flatMap(({ data }) => data.latitude ?? []);
    expect([found.sort(), await aside()]).toEqual([[38.571, 38.571, 38.6], []]);
  });

  const noon = { timestamp: 'noon', lat: '1', lon: '2' };
  it.each([
    ['after the year 9999', `lat=1&lon=2&timestamp=${'9'.repeat(20)}`, 0, [{ reason: 'format_bad_time' }]],
    ['that is unreadable', 'lat=1&lon=2&timestamp=noon', 0, [{ reason: 'format_no_time', entry: noon }]],
    ['that is missing, as the time of its arrival', 'lat=1&lon=2', 1, []],
    ['without a position, as battery', 'timestamp=1710230400&batt=56', 1, []],
  ])('reads a time %s', async (_, sent, stored, rejected) => {
    expect((await kit.request(`/traccar?id=${token}&${sent}`)).status).toBe(200);
    expect([(await waiting()).length, await aside()]).toMatchObject([stored, rejected]);
    expect(JSON.stringify(await aside())).not.toContain(token);
  });

  it('a form in the body is read like a query, without names of networks and tokens of push services', async () => {
    const fields = 'timestamp=1710230400&lat=1&lon=2&hdop=1.1&valid=false&wifi=c0-ff-ee&notificationToken=secret';
    const body = `id=${token}&${fields}`;
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded; charset=UTF-8' };
    expect((await kit.request('/traccar', { method: 'POST', headers, body })).status).toBe(200);
    expect(await aside()).toEqual([]);
    const entries = await waiting();
    expect(entries.filter(isLocation)).toMatchObject([{ data: { reported: { hdop: '1.1', valid: 'false' } } }]);
    expect(JSON.stringify(entries)).not.toMatch(/c0-ff-ee|secret/);
  });
});

it.each(['token', 'access_token', 'api_key'])('Overland may have its token in the address, as %s', async (name) => {
  expect((await kit.post(`/overland?${name}=${token}`, apps.overland.body(here, token))).status).toBe(200);
  expect(await waiting()).not.toEqual([]);
});

it('the log contains no query', async () => {
  for (const path of ['/', '/traccar', '/overland', '/nowhere'])
    await kit.request(`${path}?id=my-secret-token&lat=38.571&lon=2`);
  expect(JSON.stringify([kit.log, kit.console, kit.errors])).not.toMatch(/my-secret-token|38\.571/);
});
