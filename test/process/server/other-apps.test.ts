// OwnTracks, Overland and Traccar Client over sockets: what they send is kept, and what cannot be stored stays with the
// app.
import { beforeEach, describe, expect, it } from 'vitest';
import { type AppId, phoneApps } from '../../../src/model/apps.ts';
import type { Entry } from '../../../src/model/entry.ts';
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';
import { MobilityError } from '../../../src/model/mobility-error.ts';
import { tokenHash } from '../../../src/model/user.ts';
import type { Serving } from '../../../src/server/listen.ts';
import { simulateDay } from '../../../src/simulate/simulate-day.ts';
import { everyError } from '../../../src/store/paging.ts';
import type { Store } from '../../../src/store/store.ts';
import { type Answered, answered, config, type Kit, listen, openKit } from '../../server/kit.ts';
import { allEntries, chainOf, pipeline } from '../../support/diary.ts';
import { pendingEntries } from '../../support/store.ts';

let kit: Kit;
let serving: Serving;
let uuid: string;
/** Set by a test: what every put fails with. */
let failure: Error | null;
const token = `mob_${'a'.repeat(43)}`;

beforeEach(async () => {
  failure = null;
  kit = await openKit({ config: { ...config, auth: 'token' }, wrap: failing });
  uuid = (await kit.user('ada')).uuid;
  await kit.store.tokens.add({
    hash: tokenHash(token),
    user_id: uuid,
    created_ts: 1,
    expires_ts: null,
    kind: 'owntracks',
  });
  serving = await listen(kit.app);
});

function failing(store: Store): Store {
  const put: Store['usercache']['put'] = (...args) =>
    failure === null ? store.usercache.put(...args) : Promise.reject(failure);
  return { ...store, usercache: { ...store.usercache, put } };
}

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
interface Fix {
  ts: number;
  latitude: number;
  longitude: number;
  accuracy: number;
  speed: number;
}

const isoOf = (ts: number): string => `${new Date(Math.floor(ts) * 1000).toISOString().slice(0, 19)}Z`;
const feature = ({ ts, latitude, longitude, accuracy, speed }: Fix): JsonObject => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates: [longitude, latitude] },
  properties: {
    timestamp: isoOf(ts),
    horizontal_accuracy: Math.round(accuracy),
    speed,
    altitude: 10,
    vertical_accuracy: 3,
    motion: [],
    battery_level: 0.5,
    battery_state: 'unplugged',
    device_id: 'phone',
    wifi: '',
  },
});

const noObjects = ['{"_type": "loc', '[1, 2]', '"a text"', '\u0000'];
const apps: Record<AppId, App> = {
  owntracks: {
    path: '/pub?u=ada&d=phone',
    headers: (password) => ({
      Authorization: `Basic ${Buffer.from(`ada:${password}`).toString('base64')}`,
      'X-Limit-U': 'ada',
      'X-Limit-D': 'phone',
    }),
    body: ({ ts, latitude, longitude, accuracy, speed }) => ({
      _type: 'location',
      lat: latitude,
      lon: longitude,
      tst: Math.floor(ts),
      acc: Math.round(accuracy),
      tid: 'AD',
      vel: Math.round(speed * 3.6),
      t: 'u',
      conn: 'm',
      batt: 50,
      bs: 1,
      topic: 'owntracks/ada/phone',
    }),
    delivered: [],
    invalid: () => [
      { nothing: 1, device_id: 'phone' },
      { _type: 'encrypted', data: 'AAAA' },
      { _type: 'location', tst: 'x', lat: 1, lon: 2 },
    ],
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
        is_moving: true,
        odometer: 0,
        event: '',
        battery: { level: 0.5, is_charging: false },
        activity: { type: 'unknown' },
        extras: {},
        _: `&id=${device_id}&lat=${latitude}&`,
      },
      device_id,
    }),
    delivered: { result: 'ok' },
    invalid: (device_id) => [
      { nothing: 1, device_id },
      { location: 7, device_id },
      { location: { timestamp: 'x' }, device_id },
    ],
    texts: [],
  },
};
const all = Object.entries(apps);
const here: Fix = { ts: 1_710_230_400, latitude: 38.571, longitude: -7.909, accuracy: 12, speed: 5 };

async function send(path: string, body: string, headers: Record<string, string>): Promise<Answered> {
  return answered(
    await fetch(`http://127.0.0.1:${serving.port}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body,
    }),
  );
}
const push = (app: App, body: JsonValue | string, given = token): Promise<Answered> =>
  send(app.path, typeof body === 'string' ? body : JSON.stringify(body), app.headers(given));

/** The code of an answer, where it has one. */
const codeIn = ({ code }: JsonObject): JsonObject => (code === undefined ? {} : { code });

async function waiting(): Promise<Entry[]> {
  return pendingEntries(kit.store, uuid);
}
async function aside(): Promise<{ reason: string; entry: JsonValue }[]> {
  const found = [];
  for await (const { reason, entry } of everyError(kit.store, uuid)) found.push({ reason, entry });
  return found;
}

describe.each(all)('%s', (name, app) => {
  it('a location is stored with the platform other and acknowledged, and a repetition changes nothing', async () => {
    for (let time = 0; time < 2; time += 1) {
      const answer = await push(app, app.body(here, token));
      expect([answer.status, JSON.parse(answer.text)]).toEqual([200, app.delivered]);
    }
    const entries = await waiting();
    const locations = entries.filter(({ metadata }) => metadata.key === 'background/location');
    expect(locations).toHaveLength(1);
    expect(locations[0]!.metadata).toMatchObject({ platform: 'other', origin: { program: name } });
    expect(locations[0]!.data).toMatchObject({ ts: here.ts, latitude: here.latitude, accuracy: 12 });
    expect(JSON.stringify(entries)).not.toContain(token);
  });

  it('a wrong token, a full disk and a failure are answered so that the app keeps its data', async () => {
    const refused = async (given: string): Promise<void> => {
      const { status, json, text } = await push(app, app.body(here, given), given);
      expect(status).toBeGreaterThanOrEqual(500);
      expect(json).toMatchObject({ error: expect.stringMatching(/./) });
      expect(text).not.toContain('"result"');
    };
    await refused('mob_wrong');
    await refused('');
    for (const error of [new MobilityError('MOBILITY_STORE_FULL', 'full'), new Error('broken')]) {
      failure = error;
      await refused(token);
    }
    expect(await waiting()).toEqual([]);
    failure = null;
    expect((await push(app, app.body(here, token))).status).toBe(200);
    expect((await waiting()).length).toBeGreaterThan(0);
  });

  it('a slash at the end of the address changes nothing', async () => {
    const answer = await push({ ...app, path: app.path.replace(/(?=\?|$)/, '/') }, app.body(here, token));
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, app.delivered]);
    expect(await waiting()).not.toEqual([]);
  });

  it('another method, a path below and a host that is refused are answered so that the app keeps its data', async () => {
    const path = app.path.replace(/\?.*/, '');
    const answers = [
      await kit.request(path),
      await kit.request(`${path}/`, { method: 'PUT' }),
      await kit.post('/', {}),
    ];
    for (const below of ['/ada', '/ada/phone', '//ada']) answers.push(await kit.post(path + below, {}));
    const dev = await openKit();
    answers.push(await dev.post(`http://phones.example.org${path}`, app.body(here, 'ada')));
    for (const { status, headers, json } of answers) {
      expect([status, json]).toEqual([
        503,
        { error: expect.any(String), request_id: expect.any(String), ...codeIn(json) },
      ]);
      expect(headers.get('Retry-After')).toBe('5');
    }
  });

  it('a missing, unknown or expired token gets an error that names the problem and where this app puts the token', async () => {
    const expired = `mob_${'b'.repeat(43)}`;
    const record = {
      hash: tokenHash(expired),
      user_id: uuid,
      created_ts: 1,
      expires_ts: 2,
      kind: 'owntracks' as const,
    };
    await kit.store.tokens.add(record);
    const errorFor = async (given: string): Promise<unknown> =>
      (await push(app, app.body(here, given), given)).json.error;
    expect(await errorFor('mob_wrong')).toContain('this token is not known');
    expect(await errorFor(expired)).toBe('this token has expired; ask the operator for a new one');
    expect(await errorFor('')).toMatch(`expected a token, ${phoneApps[name as AppId].token.tokenPlace}`);
  });

  it('invalid data with a valid token are rejected durably, without the token, and acknowledged', async () => {
    const bodies = [...app.invalid(token), ...app.texts];
    for (const body of bodies) {
      const answer = await push(app, body);
      expect([answer.status, JSON.parse(answer.text)]).toEqual([200, app.delivered]);
    }
    const kept = await aside();
    expect(kept.length).toBeGreaterThanOrEqual(bodies.length);
    expect(kept.every(({ reason }) => reason.startsWith('format_'))).toBe(true);
    expect(JSON.stringify(kept)).not.toContain(token);
    for (const text of app.texts) expect(kept.map(({ entry }) => entry)).toContain(`${text.length} characters`);
    expect((await push(app, app.body(here, token))).status).toBe(200);
  });

  it('a token in the header identifies the caller, for any content of the field of the app', async () => {
    const answer = await answered(
      await fetch(`http://127.0.0.1:${serving.port}${app.path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
        body: '{"device_id":{}}',
      }),
    );
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, app.delivered]);
    expect(await aside()).toHaveLength(1);
  });

  it('a day becomes a diary, and two locations of the same second remain two entries', async () => {
    const day = simulateDay({ day: '2024-03-12', seed: 'other-apps', platform: 'ios' });
    const fixes = day
      .filter(({ metadata }) => metadata.key === 'background/location')
      .map(({ data }) => ({ ...(data as unknown as Fix), speed: Math.max(0, Number(data.sensed_speed)) }));
    const last = fixes.at(-1)!;
    fixes.push({ ...last, ts: last.ts + 8 * 3600, speed: 0 }); // the next morning: the last trip has ended
    const nearby = { ...fixes[0]!, latitude: fixes[0]!.latitude + 1e-6 };
    if (name === 'overland') {
      const answer = await push(app, { locations: [...fixes, nearby].map(feature) });
      expect(answer.json).toEqual({ result: 'ok' });
    } else {
      const queue = [...fixes, nearby];
      const lane = async (): Promise<void> => {
        for (let fix = queue.shift(); fix !== undefined; fix = queue.shift()) {
          expect((await push(app, app.body(fix, token))).status).toBe(200);
        }
      };
      await Promise.all(Array.from({ length: 8 }, lane));
    }
    const locations = (await waiting()).filter(({ metadata }) => metadata.key === 'background/location');
    expect(locations).toHaveLength(fixes.length + 1);
    await pipeline(kit.store, uuid);
    const trips = (await chainOf(kit.store, uuid)).filter(({ trip }) => trip !== null);
    const phone = await kit.user('phone');
    await kit.store.usercache.put(phone.uuid, { entries: day, unusable: [] }, last.ts);
    await pipeline(kit.store, phone.uuid);
    const expected = (await chainOf(kit.store, phone.uuid)).filter(({ trip }) => trip !== null);
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
    ['/', '?lat=38.571&lon=-7.909'],
    ['/', '?id=nobody&lat=38.571&lon=-7.909&timestamp=1710230400'],
    ['/traccar', '?lat=38.571&lon=-7.909&timestamp=1710230400'],
  ])('GET %s%s is never acknowledged as stored', async (path, sent) => {
    const { status, json } = await kit.request(path + sent);
    expect([status, json.error]).toEqual([503, expect.stringMatching(/./)]);
  });

  it.each([
    ['/', 'HEAD'],
    ['/', 'PUT'],
    ['/traccar', 'HEAD'],
    ['/traccar', 'DELETE'],
  ])('stores no position sent to %s by %s', async (path, method) => {
    expect((await kit.request(`${path}?${query(iso)}`, { method })).status).toBe(503);
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

  it('a position of a time after the year 9999 is rejected', async () => {
    expect((await kit.request(`/traccar?${query('9'.repeat(20))}`)).status).toBe(200);
    expect((await aside()).map(({ reason }) => reason)).toEqual(['format_bad_time']);
  });

  it('a position with an unreadable time is rejected, without the token', async () => {
    expect((await kit.request(`/traccar?id=${token}&lat=1&lon=2&timestamp=noon`)).status).toBe(200);
    expect(await aside()).toEqual([{ reason: 'format_no_time', entry: { timestamp: 'noon', lat: '1', lon: '2' } }]);
  });

  it('a position without a time is stored with the time of its arrival, and a state without a position as battery', async () => {
    expect((await kit.request(`/traccar?id=${token}&lat=1&lon=2`)).status).toBe(200);
    expect((await kit.request(`/traccar?id=${token}&timestamp=1710230400&batt=56`)).status).toBe(200);
    expect(await aside()).toEqual([]);
    expect(await waiting()).toHaveLength(2);
  });

  it('a form in the body is read like a query, without names of networks and tokens of push services', async () => {
    const body = `id=${token}&timestamp=1710230400&lat=1&lon=2&speed=10&hdop=1.1&wifi=c0-ff-ee&notificationToken=secret`;
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded; charset=UTF-8' };
    expect((await kit.request('/traccar', { method: 'POST', headers, body })).status).toBe(200);
    expect(await aside()).toEqual([]);
    const text = JSON.stringify(await waiting());
    expect(text).toMatch(/background\/location/);
    expect(text).not.toMatch(/c0-ff-ee|secret/);
  });

  it('stores positions that the receiver marks as invalid, and derives no trip from them', async () => {
    const ride = Array.from({ length: 120 }, (_, i) => ({ ts: here.ts + 30 * i, east: 0.0025 * Math.min(i, 60) }));
    for (const [i, { ts, east }] of ride.entries()) {
      const isValid = i < 20 || i > 45;
      const at = `timestamp=${ts}&lat=${isValid ? 38.571 : 38.611}&lon=${-7.909 + east}&hdop=1&valid=${isValid}`;
      expect((await kit.request(`/traccar?id=${token}&${at}`, { method: 'POST' })).status).toBe(200);
    }
    await pipeline(kit.store, uuid);
    const stored = (await allEntries(kit.store.timeseries, uuid)).filter(
      ({ metadata }) => metadata.key === 'background/location',
    );
    expect(stored.filter(({ data }) => (data.reported as JsonObject).valid === 'false')).toHaveLength(26);
    const trips = (await chainOf(kit.store, uuid)).flatMap(({ trip }) => trip ?? []);
    const latitudes = trips.flatMap(({ sections }) =>
      sections.flatMap(({ coordinates }) => coordinates.map(([, y]) => y)),
    );
    expect(latitudes.length).toBeGreaterThan(10);
    expect(Math.max(...latitudes)).toBeLessThan(38.58);
  });
});

it('Overland may have its token in the address', async () => {
  for (const name of ['token', 'access_token', 'api_key']) {
    const body = apps.overland.body(here, token);
    expect((await kit.post(`/overland?${name}=${token}`, body)).status).toBe(200);
  }
  expect(await waiting()).not.toEqual([]);
});

it('the log contains no query', async () => {
  const secret = 'my-secret-token';
  for (const path of ['/', '/traccar', '/overland', '/nowhere'])
    await kit.request(`${path}?id=${secret}&lat=38.571&lon=2`);
  expect(JSON.stringify([kit.log, kit.console, kit.errors])).not.toMatch(/my-secret-token|38\.571/);
});
