// Calls and files as guides of other apps describe them, through the routes: every value arrives in its unit.
import { beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json.ts';
import { pendingEntries } from '../support/store.ts';
import { type Kit, openKit } from './kit.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
});

const basic = { Authorization: `Basic ${btoa('ada:ada')}` };
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const ts = 1710230400; // 2024-03-12T08:00:00Z
const gpx =
  `<?xml version="1.0"?><gpx version="1.1" creator="GPSLogger 136"><trk><trkseg><trkpt lat="38.57" lon="-7.9">` +
  `<ele>240</ele><time>2024-03-12T08:00:00Z</time><speed>3</speed><hdop>1</hdop></trkpt></trkseg></trk></gpx>`;
const multipart = [
  '--xyz\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n',
  '--xyz\r\nContent-Disposition: form-data; name="file"; filename="20240312.gpx"\r\nContent-Type: application/gpx+xml',
  `\r\n\r\n${gpx}\r\n--xyz--\r\n`,
].join('');

/** A person who sends something, and what is then stored of them. */
async function stored(name: string, path: string, init: RequestInit): Promise<{ status: number; data: JsonObject[] }> {
  const { uuid } = await kit.user(name);
  const headers = JSON.parse(JSON.stringify(init.headers ?? {}).replaceAll(btoa('ada:ada'), btoa(`${name}:${name}`)));
  const { status } = await kit.request(path.replace('TOKEN', name), {
    method: 'POST',
    ...init,
    headers,
    ...(typeof init.body === 'string' && { body: init.body.replace('TOKEN', name) }),
  });
  return { status, data: (await pendingEntries(kit.store, uuid)).map(({ data }) => data as JsonObject) };
}

const fix = { ts, latitude: 38.57, longitude: -7.9 };
const json = { 'Content-Type': 'application/json' };

it.each<[string, string, RequestInit, JsonObject[]]>([
  [
    'Colota, its own form: m/s and bear',
    '/pub',
    {
      headers: { ...json, ...basic },
      body: `{"lat":38.57,"lon":-7.9,"acc":12,"alt":240,"vel":3,"batt":85,"bs":2,"tst":${ts},"bear":180.5}`,
    },
    [
      { ...fix, altitude: 240, accuracy: 12, sensed_speed: 3, bearing: 180.5 },
      { ts, battery_level_pct: 85 },
    ],
  ],
  [
    'PhoneTrack: acc, alt, bat and m/s',
    `/traccar?id=TOKEN&lat=38.57&lon=-7.9&timestamp=${ts}&acc=12&alt=240&bat=85&sat=9&speed=3&bearing=90&useragent=x`,
    { method: 'GET' },
    [
      { ...fix, altitude: 240, accuracy: 12, sensed_speed: 3, bearing: 90, reported: { sat: '9' } },
      { ts, battery_level_pct: 85 },
    ],
  ],
  [
    'Home Assistant, the form of docs/phones.md',
    '/traccar',
    { headers: form, body: `id=TOKEN&lat=38.57&lon=-7.9&accuracy=12&batt=85&timestamp=${ts}.0` },
    [
      { ...fix, accuracy: 12 },
      { ts, battery_level_pct: 85 },
    ],
  ],
  [
    'Home Assistant, the JSON of the guide of GeoPulse',
    '/traccar',
    {
      headers: { ...json, Authorization: 'Bearer TOKEN' },
      body: '{"device_id":"TOKEN","timestamp":"2024-03-12T08:00:00.000000+00:00","location":{"latitude":38.57,"longitude":-7.9,"accuracy":12,"altitude":240,"speed":3},"battery":{"level":85}}',
    },
    [
      { ...fix, altitude: 240, accuracy: 12, sensed_speed: 3 },
      { ts, battery_level_pct: 85 },
    ],
  ],
  ...(['POST', 'PUT'] as const).map((method): [string, string, RequestInit, JsonObject[]] => [
    `GPSLogger, a file by ${method}`,
    '/traccar?id=TOKEN',
    { method, headers: { 'Content-Type': 'application/gpx+xml' }, body: gpx },
    [{ ...fix, altitude: 240, sensed_speed: 3, reported: { hdop: 1 } }],
  ]),
  [
    'a file by PUT below the address, with Basic',
    '/pub/20240312.gpx',
    { method: 'PUT', headers: basic, body: gpx },
    [{ ...fix, altitude: 240, sensed_speed: 3, reported: { hdop: 1 } }],
  ],
  [
    'a file in a form',
    '/traccar?id=TOKEN',
    { headers: { 'Content-Type': 'multipart/form-data; boundary=xyz' }, body: multipart },
    [{ ...fix, altitude: 240, sensed_speed: 3, reported: { hdop: 1 } }],
  ],
  [
    'a flat position as JSON, with texts and decimal commas',
    '/traccar',
    { headers: json, body: `{"id":"TOKEN","lat":"38,57","lon":-7.9,"timestamp":"${ts}000","accuracy":"12"}` },
    [{ ...fix, accuracy: 12 }],
  ],
  [
    'a form as plain text',
    '/traccar',
    { headers: { 'Content-Type': 'text/plain' }, body: `id=TOKEN&lat=38.57&lon=-7.9&timestamp=${ts}&accuracy=12` },
    [{ ...fix, accuracy: 12 }],
  ],
  [
    'Traccar Client, its JSON with texts',
    '/traccar',
    {
      headers: json,
      body: `{"device_id":"TOKEN","location":{"timestamp":"${ts}","coords":{"latitude":"38.57","longitude":"-7.9","accuracy":"12","speed":"3"},"battery":{"level":"0.85"}}}`,
    },
    [
      { ts, battery_level_pct: 85 },
      { ...fix, accuracy: 12, sensed_speed: 3 },
    ],
  ],
  [
    'Traccar Client, its JSON without a position',
    '/traccar',
    { headers: json, body: `{"device_id":"TOKEN","location":{"timestamp":"${ts}","battery":{"level":0.85}}}` },
    [{ ts, battery_level_pct: 85 }],
  ],
  [
    'OwnTracks, texts and milliseconds',
    '/pub',
    {
      headers: { ...json, ...basic },
      body: `{"_type":"location","lat":"38,57","lon":"-7.9","tst":"${ts}000","vel":""}`,
    },
    [fix],
  ],
  [
    'GPSLogger, the body that guides of Dawarich and GeoPulse show: texts, and m/s',
    '/pub',
    {
      headers: { ...json, ...basic },
      body: `{"_type":"location","t":"u","acc":"10.0","alt":"240.0","batt":"57.0","bs":"true","lat":"38.57","lon":"-7.9","tst":"${ts}","vel":"3.5"}`,
    },
    [
      { ...fix, altitude: 240, accuracy: 10, sensed_speed: 3.5 },
      { ts, battery_level_pct: 57, battery_status: 2 },
    ],
  ],
  [
    'PhoneTrack, the parameters that the guide of Dawarich shows: m/s',
    '/pub',
    {
      headers: { ...form, ...basic },
      body: `_type=location&acc=12&alt=240&batt=85&bs=0&cog=90.5&lat=38.57&lon=-7.9&tst=${ts}&vel=3.5`,
    },
    [
      { ...fix, altitude: 240, accuracy: 12, sensed_speed: 3.5, bearing: 90.5 },
      { ts, battery_level_pct: 85 },
    ],
  ],
  [
    'a longitude near Greenwich, as Java writes it',
    `/traccar?id=TOKEN&lat=51.5&lon=-4.5E-4&timestamp=${ts}`,
    { method: 'GET' },
    [{ ts, latitude: 51.5, longitude: -0.00045 }],
  ],
  [
    'Home Assistant, a phone without a position',
    '/traccar',
    { headers: form, body: `id=TOKEN&lat=None&lon=None&accuracy=None&batt=85&charge=2&timestamp=${ts}` },
    [{ ts, battery_level_pct: 85, battery_status: 0 }],
  ],
  [
    'Home Assistant, as Overland, with percent',
    '/overland?token=TOKEN',
    {
      headers: json,
      body: `{"locations":[{"type":"Feature","geometry":null,"properties":{"timestamp":${ts},"battery_level":85,"battery_state":"Charging"}}]}`,
    },
    [{ ts, battery_level_pct: 85, battery_status: 2 }],
  ],
  [
    'a position with its time under another name',
    '/pub',
    { headers: { ...json, ...basic }, body: '{"time":"2024-03-12T08:00:00Z","lat":38.57,"lon":-7.9,"acc":"12"}' },
    [{ ...fix, accuracy: 12 }],
  ],
  [
    'OwnTracks, without a time',
    '/pub',
    { headers: { ...json, ...basic }, body: '{"_type":"location","lat":38.57,"lon":-7.9}' },
    [{ ...fix, ts: 1463540400.25 }],
  ],
  ['OwnTracks, in the query', `/pub?_type=location&lat=38.57&lon=-7.9&tst=${ts}`, { headers: basic }, [fix]],
  [
    'Overland, numbers as texts',
    '/overland?token=TOKEN',
    {
      headers: json,
      body: `{"locations":[{"type":"Feature","geometry":{"type":"Point","coordinates":["-7.9","38.57"]},"properties":{"timestamp":"${ts}","horizontal_accuracy":"12","battery_level":"0.85"}}]}`,
    },
    [
      { ...fix, accuracy: 12 },
      { ts, battery_level_pct: 85 },
    ],
  ],
])('%s', async (title, path, init, expected) => {
  const name = `p${title.replace(/\W/g, '')}`.slice(0, 40).toLowerCase();
  const headers = JSON.stringify(init.headers ?? {}).replace('Bearer TOKEN', `Bearer ${name}`);
  const { status, data } = await stored(name, path, { ...init, headers: JSON.parse(headers) });
  expect([status, data]).toMatchObject([200, expected]);
});

it('rejects a text in an unknown format without keeping it, and reads a truncated file up to its end', async () => {
  const { uuid } = await kit.user('eve');
  const send = (body: string) => kit.request('/traccar?id=eve', { method: 'POST', body });
  expect((await send('hello, server')).status).toBe(200);
  expect(await kit.store.errors.list(uuid, { limit: 9 })).toMatchObject([
    { reason: 'format_unknown', entry: '13 characters' },
  ]);
  expect((await send(gpx.slice(0, -20))).status).toBe(200);
  expect(await pendingEntries(kit.store, uuid)).toHaveLength(1);
});
