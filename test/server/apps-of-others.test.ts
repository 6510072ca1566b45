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

/** A message of an app, how it is sent, and the data that is stored. Calls to /pub name their caller in a header. */
type Sent = [title: string, path: string, init: RequestInit, stored: JsonObject[]];

const call = (title: string, path: string, init: RequestInit, ...stored: JsonObject[]): Sent => [
  ...([title, path] as const),
  { method: 'POST', ...init, headers: { ...init.headers, ...(path.startsWith('/pub') && basic('ada')) } },
  stored,
];
const withBody =
  (type: string) =>
  (title: string, path: string, ...stored: JsonObject[]) =>
  (texts: TemplateStringsArray, ...values: unknown[]): Sent =>
    call(title, path, { headers: { 'Content-Type': type }, body: String.raw(texts, ...values).trim() }, ...stored);
const [json, form, plain] = ['application/json', formType, 'text/plain'].map(withBody) as [Text, Text, Text];
type Text = ReturnType<typeof withBody>;
const get =
  (title: string, ...stored: JsonObject[]) =>
  (texts: TemplateStringsArray, ...values: unknown[]): Sent =>
    call(title, String.raw(texts, ...values).trim(), { method: 'GET' }, ...stored);

const fix = { ts, latitude: 38.57, longitude: -7.9 };
const exact = { ...fix, accuracy: 12 };
const high = { ...exact, altitude: 240 };
const battery = (percent: number, more = {}) => ({ ts, battery_level_pct: percent, ...more });
const inFile = { ...fix, altitude: 240, sensed_speed: 3, reported: { hdop: 1 } };
const file = (title: string, path: string, method: string, type = 'application/gpx+xml', body = gpx): Sent =>
  call(title, path, { method, headers: { 'Content-Type': type }, body }, inFile);

it.each([
  json('Colota, its own form: m/s and bear', '/pub', { ...high, sensed_speed: 3, bearing: 180.5 }, battery(85))`
    {"lat":38.57,"lon":-7.9,"acc":12,"alt":240,"vel":3,"batt":85,"bs":2,"tst":${ts},"bear":180.5}`,
  get(
    'PhoneTrack: acc, alt, bat and m/s',
    { ...high, sensed_speed: 3, bearing: 90, reported: { sat: '9' } },
    battery(85),
  )`/traccar?id=ada&lat=38.57&lon=-7.9&timestamp=${ts}&acc=12&alt=240&bat=85&sat=9&speed=3&bearing=90`,
  form('Home Assistant, the form of docs/phones.md', '/traccar', exact, battery(85))`
    id=ada&lat=38.57&lon=-7.9&accuracy=12&batt=85&timestamp=${ts}.0`,
  json('Home Assistant, the JSON of the guide of GeoPulse', '/traccar', { ...high, sensed_speed: 3 }, battery(85))`
    {"device_id":"ada","timestamp":"2024-03-12T08:00:00.000000+00:00","location":{"latitude":38.57,"longitude":-7.9,"accuracy":12,"altitude":240,"speed":3},"battery":{"level":85}}`,
  file('GPSLogger, a file by POST', '/traccar?id=ada', 'POST'),
  file('GPSLogger, a file by PUT', '/traccar?id=ada', 'PUT'),
  file('a file by PUT below the address, with Basic', '/pub/20240312.gpx', 'PUT'),
  file('a file in a form', '/traccar?id=ada', 'POST', 'multipart/form-data; boundary=xyz', multipart),
  json('a flat position as JSON, with texts and decimal commas', '/traccar', exact)`
    {"id":"ada","lat":"38,57","lon":-7.9,"timestamp":"${ts}000","accuracy":"12"}`,
  plain('a form as plain text', '/traccar', exact)`id=ada&lat=38.57&lon=-7.9&timestamp=${ts}&accuracy=12`,
  json('Traccar Client, its JSON with texts', '/traccar', battery(85), { ...exact, sensed_speed: 3 })`
    {"device_id":"ada","location":{"timestamp":"${ts}","coords":{"latitude":"38.57","longitude":"-7.9","accuracy":"12","speed":"3"},"battery":{"level":"0.85"}}}`,
  json('Traccar Client, its JSON without a position', '/traccar', battery(85))`
    {"device_id":"ada","location":{"timestamp":"${ts}","battery":{"level":0.85}}}`,
  json('OwnTracks, texts and milliseconds', '/pub', fix)`
    {"_type":"location","lat":"38,57","lon":"-7.9","tst":"${ts}000","vel":""}`,
  json(
    'GPSLogger, the body that guides of Dawarich and GeoPulse show: texts, and m/s',
    '/pub',
    { ...high, accuracy: 10, sensed_speed: 3.5 },
    battery(57, { battery_status: 2 }),
  )`{"_type":"location","t":"u","acc":"10.0","alt":"240.0","batt":"57.0","bs":"true","lat":"38.57","lon":"-7.9","tst":"${ts}","vel":"3.5"}`,
  form(
    'PhoneTrack, the parameters that the guide of Dawarich shows: m/s',
    '/pub',
    { ...high, sensed_speed: 3.5, bearing: 90.5 },
    battery(85),
  )`_type=location&acc=12&alt=240&batt=85&bs=0&cog=90.5&lat=38.57&lon=-7.9&tst=${ts}&vel=3.5`,
  get('a longitude near Greenwich, as Java writes it', { ts, latitude: 51.5, longitude: -0.00045 })`
    /traccar?id=ada&lat=51.5&lon=-4.5E-4&timestamp=${ts}`,
  form('Home Assistant, a phone without a position', '/traccar', battery(85, { battery_status: 0 }))`
    id=ada&lat=None&lon=None&accuracy=None&batt=85&charge=2&timestamp=${ts}`,
  json('Home Assistant, as Overland, with percent', '/overland?token=ada', battery(85, { battery_status: 2 }))`
    {"locations":[{"type":"Feature","geometry":null,"properties":{"timestamp":${ts},"battery_level":85,"battery_state":"Charging"}}]}`,
  json('a position with its time under another name', '/pub', exact)`
    {"time":"2024-03-12T08:00:00Z","lat":38.57,"lon":-7.9,"acc":"12"}`,
  json('OwnTracks, without a time', '/pub', { ...fix, ts: now })`{"_type":"location","lat":38.57,"lon":-7.9}`,
  call('OwnTracks, in the query', `/pub?_type=location&lat=38.57&lon=-7.9&tst=${ts}`, {}, fix),
  json('Overland, numbers as texts', '/overland?token=ada', exact, battery(85))`
    {"locations":[{"type":"Feature","geometry":{"type":"Point","coordinates":["-7.9","38.57"]},"properties":{"timestamp":"${ts}","horizontal_accuracy":"12","battery_level":"0.85"}}]}`,
])('%s', async (_, path, init, stored) => {
  const { status } = await kit.request(path, init);
  const data = (await pendingEntries(kit.store, ada)).map((entry) => entry.data);
  expect([status, data]).toMatchObject([200, stored]);
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
