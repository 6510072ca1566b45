// Calls and files as guides of other apps describe them, through the routes: every value arrives in its unit.
import { beforeEach, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json.ts';
import { pendingEntries } from '../support/store.ts';
import { basic, formType, type Kit, now, openKit } from './kit.ts';

let kit: Kit;
let ada: string;
beforeEach(async () => {
  kit = await openKit();
  ada = (await kit.user('ada')).uuid;
});

const ts = 1710230400; // 2024-03-12T08:00:00Z
const gpx =
  `<?xml version="1.0"?><gpx version="1.1" creator="GPSLogger 136"><trk><trkseg><trkpt lat="38.57" lon="-7.9">` +
  `<ele>240</ele><time>2024-03-12T08:00:00Z</time><speed>3</speed><hdop>1</hdop></trkpt></trkseg></trk></gpx>`;
const multipart = [
  '--xyz\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n',
  '--xyz\r\nContent-Disposition: form-data; name="file"; filename="20240312.gpx"\r\nContent-Type: application/gpx+xml',
  `\r\n\r\n${gpx}\r\n--xyz--\r\n`,
].join('');

type Sent = [path: string, init: RequestInit];
/** A call with a body; calls to /pub name their caller in a header. */
const post = (path: string, type: string, body: string, method = 'POST'): Sent => [
  path,
  { method, headers: { 'Content-Type': type, ...(path.startsWith('/pub') && basic('ada')) }, body },
];
const json = (path: string, body: string): Sent => post(path, 'application/json', body);
const form = (path: string, body: string): Sent => post(path, formType, body);
const file = (path: string, method: string): Sent => post(path, 'application/gpx+xml', gpx, method);
const get = (path: string): Sent => [path, { method: 'GET' }];

const fix = { ts, latitude: 38.57, longitude: -7.9 };
const battery = (percent: number, more = {}) => ({ ts, battery_level_pct: percent, ...more });
const inFile = { ...fix, altitude: 240, sensed_speed: 3, reported: { hdop: 1 } };

it.each<[string, Sent, JsonObject[]]>([
  [
    'Colota, its own form: m/s and bear',
    json('/pub', `{"lat":38.57,"lon":-7.9,"acc":12,"alt":240,"vel":3,"batt":85,"bs":2,"tst":${ts},"bear":180.5}`),
    [{ ...fix, altitude: 240, accuracy: 12, sensed_speed: 3, bearing: 180.5 }, battery(85)],
  ],
  [
    'PhoneTrack: acc, alt, bat and m/s',
    get(`/traccar?id=ada&lat=38.57&lon=-7.9&timestamp=${ts}&acc=12&alt=240&bat=85&sat=9&speed=3&bearing=90`),
    [{ ...fix, altitude: 240, accuracy: 12, sensed_speed: 3, bearing: 90, reported: { sat: '9' } }, battery(85)],
  ],
  [
    'Home Assistant, the form of docs/phones.md',
    form('/traccar', `id=ada&lat=38.57&lon=-7.9&accuracy=12&batt=85&timestamp=${ts}.0`),
    [{ ...fix, accuracy: 12 }, battery(85)],
  ],
  [
    'Home Assistant, the JSON of the guide of GeoPulse',
    json(
      '/traccar',
      '{"device_id":"ada","timestamp":"2024-03-12T08:00:00.000000+00:00","location":{"latitude":38.57,"longitude":-7.9,"accuracy":12,"altitude":240,"speed":3},"battery":{"level":85}}',
    ),
    [{ ...fix, altitude: 240, accuracy: 12, sensed_speed: 3 }, battery(85)],
  ],
  ['GPSLogger, a file by POST', file('/traccar?id=ada', 'POST'), [inFile]],
  ['GPSLogger, a file by PUT', file('/traccar?id=ada', 'PUT'), [inFile]],
  ['a file by PUT below the address, with Basic', file('/pub/20240312.gpx', 'PUT'), [inFile]],
  ['a file in a form', post('/traccar?id=ada', 'multipart/form-data; boundary=xyz', multipart), [inFile]],
  [
    'a flat position as JSON, with texts and decimal commas',
    json('/traccar', `{"id":"ada","lat":"38,57","lon":-7.9,"timestamp":"${ts}000","accuracy":"12"}`),
    [{ ...fix, accuracy: 12 }],
  ],
  [
    'a form as plain text',
    post('/traccar', 'text/plain', `id=ada&lat=38.57&lon=-7.9&timestamp=${ts}&accuracy=12`),
    [{ ...fix, accuracy: 12 }],
  ],
  [
    'Traccar Client, its JSON with texts',
    json(
      '/traccar',
      `{"device_id":"ada","location":{"timestamp":"${ts}","coords":{"latitude":"38.57","longitude":"-7.9","accuracy":"12","speed":"3"},"battery":{"level":"0.85"}}}`,
    ),
    [battery(85), { ...fix, accuracy: 12, sensed_speed: 3 }],
  ],
  [
    'Traccar Client, its JSON without a position',
    json('/traccar', `{"device_id":"ada","location":{"timestamp":"${ts}","battery":{"level":0.85}}}`),
    [battery(85)],
  ],
  [
    'OwnTracks, texts and milliseconds',
    json('/pub', `{"_type":"location","lat":"38,57","lon":"-7.9","tst":"${ts}000","vel":""}`),
    [fix],
  ],
  [
    'GPSLogger, the body that guides of Dawarich and GeoPulse show: texts, and m/s',
    json(
      '/pub',
      `{"_type":"location","t":"u","acc":"10.0","alt":"240.0","batt":"57.0","bs":"true","lat":"38.57","lon":"-7.9","tst":"${ts}","vel":"3.5"}`,
    ),
    [{ ...fix, altitude: 240, accuracy: 10, sensed_speed: 3.5 }, battery(57, { battery_status: 2 })],
  ],
  [
    'PhoneTrack, the parameters that the guide of Dawarich shows: m/s',
    form('/pub', `_type=location&acc=12&alt=240&batt=85&bs=0&cog=90.5&lat=38.57&lon=-7.9&tst=${ts}&vel=3.5`),
    [{ ...fix, altitude: 240, accuracy: 12, sensed_speed: 3.5, bearing: 90.5 }, battery(85)],
  ],
  [
    'a longitude near Greenwich, as Java writes it',
    get(`/traccar?id=ada&lat=51.5&lon=-4.5E-4&timestamp=${ts}`),
    [{ ts, latitude: 51.5, longitude: -0.00045 }],
  ],
  [
    'Home Assistant, a phone without a position',
    form('/traccar', `id=ada&lat=None&lon=None&accuracy=None&batt=85&charge=2&timestamp=${ts}`),
    [battery(85, { battery_status: 0 })],
  ],
  [
    'Home Assistant, as Overland, with percent',
    json(
      '/overland?token=ada',
      `{"locations":[{"type":"Feature","geometry":null,"properties":{"timestamp":${ts},"battery_level":85,"battery_state":"Charging"}}]}`,
    ),
    [battery(85, { battery_status: 2 })],
  ],
  [
    'a position with its time under another name',
    json('/pub', '{"time":"2024-03-12T08:00:00Z","lat":38.57,"lon":-7.9,"acc":"12"}'),
    [{ ...fix, accuracy: 12 }],
  ],
  ['OwnTracks, without a time', json('/pub', '{"_type":"location","lat":38.57,"lon":-7.9}'), [{ ...fix, ts: now }]],
  [
    'OwnTracks, in the query',
    [`/pub?_type=location&lat=38.57&lon=-7.9&tst=${ts}`, { method: 'POST', headers: basic('ada') }],
    [fix],
  ],
  [
    'Overland, numbers as texts',
    json(
      '/overland?token=ada',
      `{"locations":[{"type":"Feature","geometry":{"type":"Point","coordinates":["-7.9","38.57"]},"properties":{"timestamp":"${ts}","horizontal_accuracy":"12","battery_level":"0.85"}}]}`,
    ),
    [{ ...fix, accuracy: 12 }, battery(85)],
  ],
])('%s', async (_, sent, expected) => {
  const { status } = await kit.request(...sent);
  const data = (await pendingEntries(kit.store, ada)).map((entry) => entry.data);
  expect([status, data]).toMatchObject([200, expected]);
});

it('rejects a text in an unknown format without keeping it, and reads a truncated file up to its end', async () => {
  const send = (body: string) => kit.request('/traccar?id=ada', { method: 'POST', body });
  expect((await send('hello, server')).status).toBe(200);
  expect(await kit.store.errors.list(ada, { limit: 9 })).toMatchObject([
    { reason: 'format_unknown', entry: '13 characters' },
  ]);
  expect((await send(gpx.slice(0, -20))).status).toBe(200);
  expect(await pendingEntries(kit.store, ada)).toHaveLength(1);
});
