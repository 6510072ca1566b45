// Messages of other apps, as they send them, and what they become.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeTsOf } from '../../../src/intake/apps/other-entry.ts';
import { fromOverland } from '../../../src/intake/apps/overland.ts';
import { fromOwnTracks } from '../../../src/intake/apps/owntracks.ts';
import { fromTraccar } from '../../../src/intake/apps/traccar.ts';
import { convert } from '../../../src/intake/converters/convert.ts';
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';
import { motionTypes } from '../../../src/model/payloads.ts';

type Mapped = ReturnType<typeof fromOwnTracks>;

/** 2024-03-12T08:00:00Z */
const ts = 1_710_230_400;

const networks = { BSSID: '11:22:33:44:55:66', SSID: 'somebody at home', topic: 'owntracks/ada/phone' };
const location: JsonObject = {
  ...{ _type: 'location', ...networks, lat: 38.571, lon: -7.909, acc: 12, alt: 301, vac: 4, cog: 270, vel: 18 },
  ...{ tst: ts, created_at: 1710230405, motionactivities: ['cycling'], batt: 41, bs: 1, conn: 'w', m: 2 },
  ...{ t: 'u', tid: 'AD' },
};

const feature = (properties: JsonObject, coordinates: JsonValue = [-7.909, 38.571]): JsonObject => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates },
  properties: { timestamp: '2024-03-12T08:00:00Z', horizontal_accuracy: 8, ...properties },
});

const traccar: JsonObject = {
  timestamp: '2024-03-12T08:00:00.250Z',
  coords: { latitude: 38.571, longitude: -7.909, accuracy: 5.5, speed: 5, heading: 270, altitude: 301.2 },
  ...{ is_moving: true, odometer: 12.5, event: 'motionchange', extras: {}, _: '&id=mob_secret&lat=38.571&' },
  ...{ battery: { level: 0.41, is_charging: false }, activity: { type: 'on_bicycle' } },
};

const place = { latitude: 38.571, longitude: -7.909 };
const keysOf = ({ entries }: Mapped): string[] => entries.map(({ metadata }) => metadata.key);
const dataOf = ({ entries }: Mapped): JsonObject[] => entries.map(({ data }) => data);
const reasonsOf = ({ unusable }: Mapped): string[] => unusable.map(({ reason }) => reason);
const writeTimesOf = ({ entries }: Mapped): number[] => entries.map(({ metadata }) => metadata.write_ts);

describe('OwnTracks', () => {
  it('gives a location in m/s, a motion reading and the battery, and no network', () => {
    const mapped = fromOwnTracks(location);
    expect(mapped.unusable).toEqual([]);
    expect(keysOf(mapped)).toEqual(['background/location', 'background/motion_activity', 'background/battery']);
    for (const { metadata } of mapped.entries)
      expect(metadata).toMatchObject({ platform: 'other', origin: { program: 'owntracks' } });
    const reported = { conn: 'w', created_at: 1710230405, m: 2, t: 'u', tid: 'AD' };
    expect(dataOf(mapped)).toEqual([
      { ts, ...place, altitude: 301, accuracy: 12, vaccuracy: 4, sensed_speed: 5, bearing: 270, reported },
      { ts, type: motionTypes.BICYCLING },
      { ts, battery_level_pct: 41, battery_status: 1 },
    ]);
    expect(JSON.stringify(mapped)).not.toContain('somebody at home');
  });

  it('keeps each ping unchanged', () => {
    const ping: JsonObject = { ...location, t: 'p', vel: 0, motionactivities: null };
    const later: JsonObject = { ...ping, created_at: Number(ping.created_at) + 1800 };
    const [first, second] = [fromOwnTracks(ping), fromOwnTracks(later)];
    for (const mapped of [first, second]) {
      expect(keysOf(mapped)).toEqual(['background/location', 'background/battery']);
      expect(dataOf(mapped)[0]!.ts).toBe(ping.tst);
    }
    expect(dataOf(second)[0]!.reported).toMatchObject({ t: 'p', created_at: later.created_at });
    expect(writeTimesOf(second)[0]).not.toBe(writeTimesOf(first)[0]);
  });

  it('leaves unknown what the app leaves out because it is zero', () => {
    const bare = { _type: 'location', lat: 0, lon: 0, tst: ts };
    expect(dataOf(fromOwnTracks(bare))).toEqual([{ ts, latitude: 0, longitude: 0 }]);
    expect(fromOwnTracks({ ...bare, motionactivities: ['walking', 'cycling'] }).entries).toHaveLength(1);
  });

  it('keeps other messages under their names, and skips messages that are not about travel', () => {
    const transition = { _type: 'transition', tst: ts, event: 'enter', desc: 'work', lat: 1, lon: 2 };
    const mapped = fromOwnTracks({ ...transition, SSID: 'x' });
    expect([keysOf(mapped), dataOf(mapped)]).toEqual([['owntracks/transition'], [{ ...transition, ts }]]);
    for (const _type of ['card', 'lwt', 'configuration', 'waypoints', 'status'])
      expect(fromOwnTracks({ _type, tst: ts, password: 'p' })).toEqual({ entries: [], unusable: [], skipped: 1 });
  });

  it.each([
    ['format_encrypted', { _type: 'encrypted' }],
    ['format_no_time', { _type: 'location', lat: 1, lon: 1 }],
    ['format_bad_time', { ...location, tst: ts - 978_307_200 }],
    ['format_unknown', { lat: 1, tst: ts }],
    ['format_not_an_object', [1]],
  ])('rejects with a reason, and without names of networks: %s', (reason, message) => {
    const isObject = !Array.isArray(message);
    const sent = isObject ? { ...message, ...networks, data: 'AAAA' } : message;
    const { unusable, entries } = fromOwnTracks(sent as JsonValue);
    const { BSSID, SSID, topic, ...kept } = message as JsonObject;
    expect([entries, unusable]).toMatchObject([[], [{ reason }]]);
    expect(unusable[0]!.entry).toEqual(isObject ? kept : message);
  });
});

describe('Overland', () => {
  it('gives locations, motion readings and battery, and reads -1 as unknown', () => {
    const battery = { battery_level: 0.41, battery_state: 'unplugged' };
    const unknown = { vertical_accuracy: -1, speed: -1, course: -1, horizontal_accuracy: -1 };
    const known = { altitude: 301, vertical_accuracy: 4, speed: 5, course: 270, motion: ['driving', 'stationary'] };
    const named = { wifi: 'somebody at home', device_id: 'a' };
    const mapped = fromOverland([
      feature({ ...known, ...battery, ...named }),
      feature({ timestamp: '2024-03-12T09:00:01+0100', altitude: 7, ...unknown, motion: [], ...battery }),
    ]);
    const reported = { device_id: 'a' };
    expect(dataOf(mapped)).toEqual([
      { ts, ...place, altitude: 301, accuracy: 8, vaccuracy: 4, sensed_speed: 5, bearing: 270, reported },
      { ts, type: motionTypes.STOPPED_WHILE_IN_VEHICLE },
      { ts, battery_level_pct: 41, battery_status: 1 },
      { ts: ts + 1, ...place },
    ]);
    expect(JSON.stringify(mapped)).not.toContain('somebody at home');
  });

  it('keeps events apart from locations, and rejects each bad feature alone', () => {
    const mapped = fromOverland([
      feature({ action: 'visit', arrival_date: '2024-03-12T07:00:00Z', wifi: 'x' }),
      { type: 'Feature', properties: { timestamp: '2024-03-12T08:00:00Z', action: 'will_terminate' } },
      feature({ timestamp: 'yesterday', speed: 2, wifi: 'home of ada' }),
      feature({ timestamp: '1999-01-01T00:00:00Z' }),
      { type: 'Feature', note: 'home of ada' },
      7,
      feature({}),
    ]);
    expect(keysOf(mapped)).toEqual(['overland/visit', 'overland/will_terminate', 'background/location']);
    expect(reasonsOf(mapped)).toEqual(['format_no_time', 'format_bad_time', 'format_unknown', 'format_not_an_object']);
    expect(mapped.unusable.map(({ entry }) => entry)).toEqual([
      feature({ timestamp: 'yesterday', speed: 2 }),
      feature({ timestamp: '1999-01-01T00:00:00Z' }),
      { type: 'Feature', geometry: null, properties: null },
      7,
    ]);
  });
});

it('Traccar Client gives a location to the millisecond, a motion reading and the battery, without the token', () => {
  const mapped = fromTraccar([traccar]);
  const reported = { is_moving: true, odometer: 12.5, event: 'motionchange' };
  const at = { ts: ts + 0.25 };
  expect(dataOf(mapped)).toEqual([
    { ...at, ...place, altitude: 301.2, accuracy: 5.5, sensed_speed: 5, bearing: 270, reported },
    { ...at, type: motionTypes.BICYCLING },
    { ...at, battery_level_pct: 41, battery_status: 1 },
  ]);
  const bad = fromTraccar([
    { ...traccar, timestamp: 'x' },
    { ...traccar, coords: null, battery: null },
    null,
    { ...traccar, timestamp: '1970-01-01T00:00:00Z' },
  ]);
  expect(reasonsOf(bad)).toEqual(['format_no_time', 'format_unknown', 'format_not_an_object', 'format_bad_time']);
  expect(JSON.stringify([mapped, bad])).not.toContain('mob_secret');
});

describe('two locations of one whole second', () => {
  it('remain two, in any order, repeated, and with any other messages', () => {
    const ids = [location, { ...location, lat: 38.5711 }].flatMap(
      (message) => writeTimesOf(fromOwnTracks(message))[0]!,
    );
    expect(new Set(ids).size).toBe(2);
    expect(ids.map(Math.floor)).toEqual([ts, ts]);
    const renamed = Object.fromEntries(Object.entries(location).reverse());
    expect(writeTimesOf(fromOwnTracks({ ...renamed, topic: 'owntracks/ada/other', _id: 'f00' }))[0]).toBe(ids[0]);
    const features = [feature({ speed: 1 }), feature({ speed: 2 })] as const;
    const [a, b] = features.flatMap((one) => writeTimesOf(fromOverland([one])));
    expect(a).not.toBe(b);
    expect(writeTimesOf(fromOverland([features[1], features[0], features[1]]))).toEqual([b, a, b]);
  });

  it('have times within their second that JSON keeps exactly', () => {
    const seconds = fc.integer({ min: 1_262_304_000, max: 4_102_444_800 });
    fc.assert(
      fc.property(seconds, fc.double({ noNaN: true }), (ts, latitude) => {
        const writeTs = writeTsOf(ts, { ts, latitude });
        expect(Math.floor(writeTs)).toBe(ts);
        expect(JSON.parse(JSON.stringify(writeTs))).toBe(writeTs);
      }),
    );
  });
});

it('any message of an app is read without an exception as entries, unusable or skipped values', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom('location', 'encrypted', 'steps', 'x y', ''), (value, _type) => {
      const json = value as JsonValue;
      for (const mapped of [
        fromOwnTracks(json),
        fromOwnTracks({ _type, tst: ts, lat: json, acc: json, vel: json, motionactivities: json, bs: json }),
        fromOverland([json, feature({ motion: json, action: json, battery_level: json, battery_state: json }, json)]),
        fromTraccar([json, { ...traccar, coords: json }, { ...traccar, battery: json, activity: json }]),
      ]) {
        expect(mapped.entries.length + mapped.unusable.length + mapped.skipped).toBeGreaterThan(0);
        expect(writeTimesOf(mapped).every(Number.isFinite)).toBe(true);
      }
    }),
  );
});

it('messages of every app become entries that the converters accept', () => {
  const walk = feature({ motion: ['walking'], battery_level: 1 });
  const all = [fromOwnTracks(location), fromOverland([walk]), fromTraccar([traccar])];
  for (const entry of all.flatMap(({ entries }) => entries)) expect(convert(entry).data.ts).toBe(entry.data.ts);
});
