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

const location: JsonObject = {
  _type: 'location',
  BSSID: '11:22:33:44:55:66',
  SSID: 'somebody at home',
  acc: 12,
  alt: 301,
  batt: 41,
  bs: 1,
  cog: 270,
  conn: 'w',
  created_at: 1710230405,
  lat: 38.571,
  lon: -7.909,
  m: 2,
  motionactivities: ['cycling'],
  t: 'u',
  tid: 'AD',
  topic: 'owntracks/ada/phone',
  tst: 1710230400,
  vac: 4,
  vel: 18,
};

const feature = (properties: JsonObject, coordinates: JsonValue = [-7.909, 38.571]): JsonObject => ({
  type: 'Feature',
  geometry: { type: 'Point', coordinates },
  properties: { timestamp: '2024-03-12T08:00:00Z', horizontal_accuracy: 8, ...properties },
});

const traccar: JsonObject = {
  timestamp: '2024-03-12T08:00:00.250Z',
  coords: { latitude: 38.571, longitude: -7.909, accuracy: 5.5, speed: 5, heading: 270, altitude: 301.2 },
  is_moving: true,
  odometer: 12.5,
  event: 'motionchange',
  battery: { level: 0.41, is_charging: false },
  activity: { type: 'on_bicycle' },
  extras: {},
  _: '&id=mob_secret&lat=38.571&',
};

const dataOf = (mapped: { entries: { data: JsonObject }[] }, i = 0): JsonObject => mapped.entries[i]!.data;

describe('OwnTracks', () => {
  it('gives a location in m/s, a motion reading and the battery, and no network', () => {
    const { entries, unusable } = fromOwnTracks(location);
    expect(unusable).toEqual([]);
    expect(entries.map((entry) => [entry.metadata.key, entry.metadata.platform, entry.metadata.origin])).toEqual(
      ['background/location', 'background/motion_activity', 'background/battery'].map((key) => [
        key,
        'other',
        { program: 'owntracks' },
      ]),
    );
    expect(entries[0]!.data).toEqual({
      ts: 1710230400,
      latitude: 38.571,
      longitude: -7.909,
      altitude: 301,
      accuracy: 12,
      vaccuracy: 4,
      sensed_speed: 5,
      bearing: 270,
      reported: { conn: 'w', created_at: 1710230405, m: 2, t: 'u', tid: 'AD' },
    });
    expect(entries[1]!.data).toEqual({ ts: 1710230400, type: motionTypes.BICYCLING });
    expect(entries[2]!.data).toEqual({ ts: 1710230400, battery_level_pct: 41, battery_status: 1 });
    expect(JSON.stringify(entries)).not.toContain('somebody at home');
  });

  it('keeps each ping unchanged, and skips messages about the app', () => {
    const ping: JsonObject = { ...location, t: 'p', vel: 0, motionactivities: null };
    const later: JsonObject = { ...ping, created_at: Number(ping.created_at) + 1800 };
    const [first, second] = [ping, later].map((message) => fromOwnTracks(message).entries);
    expect([first, second].map((entries) => entries!.map(({ metadata: { key } }) => key))).toEqual(
      Array(2).fill(['background/location', 'background/battery']),
    );
    expect([first![0]!.data.ts, second![0]!.data.ts]).toEqual([ping.tst, ping.tst]);
    expect(second![0]!.data.reported).toMatchObject({ t: 'p', created_at: later.created_at });
    expect(second![0]!.metadata.write_ts).not.toBe(first![0]!.metadata.write_ts);
    for (const _type of ['waypoints', 'status'])
      expect(fromOwnTracks({ _type, waypoints: [] })).toEqual({ entries: [], unusable: [], skipped: 1 });
  });

  it('leaves unknown what the app leaves out because it is zero', () => {
    const bare = { _type: 'location', lat: 0, lon: 0, tst: 1710230400 };
    expect(dataOf(fromOwnTracks(bare))).toEqual({ ts: 1710230400, latitude: 0, longitude: 0 });
    expect(fromOwnTracks({ ...bare, motionactivities: ['walking', 'cycling'] }).entries).toHaveLength(1);
  });

  it('keeps other messages under their names, and ignores messages that are not about travel', () => {
    const transition = {
      _type: 'transition',
      tst: 1710230400,
      event: 'enter',
      desc: 'work',
      lat: 1,
      lon: 2,
      SSID: 'x',
    };
    const [entry] = fromOwnTracks(transition).entries;
    expect(entry!.metadata.key).toBe('owntracks/transition');
    expect(entry!.data).toEqual({
      _type: 'transition',
      ts: 1710230400,
      tst: 1710230400,
      event: 'enter',
      desc: 'work',
      lat: 1,
      lon: 2,
    });
    for (const _type of ['card', 'lwt', 'configuration']) {
      expect(fromOwnTracks({ _type, tst: 1710230400, password: 'p' })).toEqual({
        entries: [],
        unusable: [],
        skipped: 1,
      });
    }
  });

  it.each([
    ['format_encrypted', { _type: 'encrypted' }],
    ['format_no_time', { _type: 'location', lat: 1, lon: 1 }],
    ['format_bad_time', { ...location, tst: 1710230400 - 978_307_200 }],
    ['format_unknown', { lat: 1, tst: 1710230400 }],
    ['format_not_an_object', [1]],
  ])('rejects with a reason, and without names of networks: %s', (reason, message) => {
    const isObject = !Array.isArray(message);
    const networks = { data: 'AAAA', SSID: 'home of ada', BSSID: 'aa:bb', topic: 'ada' };
    const { unusable, entries } = fromOwnTracks((isObject ? { ...message, ...networks } : message) as JsonValue);
    const { BSSID, SSID, topic, ...kept } = message as JsonObject;
    expect([entries, unusable]).toMatchObject([[], [{ reason }]]);
    expect(unusable[0]!.entry).toEqual(isObject ? kept : message);
  });
});

describe('Overland', () => {
  it('gives locations, motion readings and battery, and reads -1 as unknown', () => {
    const { entries } = fromOverland([
      feature({
        altitude: 301,
        vertical_accuracy: 4,
        speed: 5,
        course: 270,
        motion: ['driving', 'stationary'],
        battery_level: 0.41,
        battery_state: 'unplugged',
        wifi: 'somebody at home',
        device_id: 'a',
      }),
      feature({
        timestamp: '2024-03-12T09:00:01+0100',
        altitude: 7,
        vertical_accuracy: -1,
        speed: -1,
        course: -1,
        horizontal_accuracy: -1,
        motion: [],
        battery_level: 0.41,
        battery_state: 'unplugged',
      }),
    ]);
    expect(entries.map((entry) => entry.data)).toEqual([
      {
        ts: 1710230400,
        latitude: 38.571,
        longitude: -7.909,
        altitude: 301,
        accuracy: 8,
        vaccuracy: 4,
        sensed_speed: 5,
        bearing: 270,
        reported: { device_id: 'a' },
      },
      { ts: 1710230400, type: motionTypes.STOPPED_WHILE_IN_VEHICLE },
      { ts: 1710230400, battery_level_pct: 41, battery_status: 1 },
      { ts: 1710230401, latitude: 38.571, longitude: -7.909 },
    ]);
    expect(JSON.stringify(entries)).not.toContain('somebody at home');
  });

  it('keeps events apart from locations, and rejects each bad feature alone', () => {
    const { entries, unusable } = fromOverland([
      feature({ action: 'visit', arrival_date: '2024-03-12T07:00:00Z', wifi: 'x' }),
      { type: 'Feature', properties: { timestamp: '2024-03-12T08:00:00Z', action: 'will_terminate' } },
      feature({ timestamp: 'yesterday', speed: 2, wifi: 'home of ada' }),
      feature({ timestamp: '1999-01-01T00:00:00Z' }),
      { type: 'Feature', note: 'home of ada' },
      7,
      feature({}),
    ]);
    expect(entries.map(({ metadata }) => metadata.key)).toEqual([
      'overland/visit',
      'overland/will_terminate',
      'background/location',
    ]);
    expect(unusable.map(({ reason }) => reason)).toEqual([
      'format_no_time',
      'format_bad_time',
      'format_unknown',
      'format_not_an_object',
    ]);
    const { geometry } = feature({});
    expect(unusable.map(({ entry }) => entry)).toEqual([
      {
        type: 'Feature',
        geometry: geometry!,
        properties: { timestamp: 'yesterday', horizontal_accuracy: 8, speed: 2 },
      },
      {
        type: 'Feature',
        geometry: geometry!,
        properties: { timestamp: '1999-01-01T00:00:00Z', horizontal_accuracy: 8 },
      },
      { type: 'Feature', geometry: null, properties: null },
      7,
    ]);
  });
});

describe('Traccar Client', () => {
  it('gives a location to the millisecond, a motion reading and the battery, without the token', () => {
    const { entries } = fromTraccar([traccar]);
    expect(entries.map((entry) => entry.data)).toEqual([
      {
        ts: 1710230400.25,
        latitude: 38.571,
        longitude: -7.909,
        altitude: 301.2,
        accuracy: 5.5,
        sensed_speed: 5,
        bearing: 270,
        reported: { is_moving: true, odometer: 12.5, event: 'motionchange' },
      },
      { ts: 1710230400.25, type: motionTypes.BICYCLING },
      { ts: 1710230400.25, battery_level_pct: 41, battery_status: 1 },
    ]);
    const bad = fromTraccar([
      { ...traccar, timestamp: 'x' },
      { ...traccar, coords: null, battery: null },
      null,
      { ...traccar, timestamp: '1970-01-01T00:00:00Z' },
    ]);
    expect(bad.unusable.map(({ reason }) => reason)).toEqual([
      'format_no_time',
      'format_unknown',
      'format_not_an_object',
      'format_bad_time',
    ]);
    expect(JSON.stringify([entries, bad])).not.toContain('mob_secret');
  });
});

describe('two locations of one whole second', () => {
  it('remain two, in any order, repeated, and with any other messages', () => {
    const other = { ...location, lat: 38.5711 };
    const ids = [location, other].map((message) => fromOwnTracks(message).entries[0]!.metadata.write_ts);
    expect(new Set(ids).size).toBe(2);
    expect(ids.map(Math.floor)).toEqual([1710230400, 1710230400]);
    const renamed = Object.fromEntries(Object.entries(location).reverse());
    expect(fromOwnTracks({ ...renamed, topic: 'owntracks/ada/other', _id: 'f00' }).entries[0]!.metadata.write_ts).toBe(
      ids[0],
    );
    const [a, b] = [feature({ speed: 1 }), feature({ speed: 2 })];
    const alone = [a, b].map((one) => fromOverland([one]).entries[0]!.metadata.write_ts);
    expect(new Set(alone).size).toBe(2);
    expect(fromOverland([b, a, b]).entries.map(({ metadata }) => metadata.write_ts)).toEqual([
      alone[1],
      alone[0],
      alone[1],
    ]);
  });

  it('have times within their second that JSON keeps exactly', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_262_304_000, max: 4_102_444_800 }),
        fc.double({ noNaN: true }),
        (ts, latitude) => {
          const writeTs = writeTsOf(ts, { ts, latitude });
          expect(Math.floor(writeTs)).toBe(ts);
          expect(JSON.parse(JSON.stringify(writeTs))).toBe(writeTs);
        },
      ),
    );
  });
});

describe('any message of an app', () => {
  it('is read without an exception as entries, unusable or skipped values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom('location', 'encrypted', 'steps', 'x y', ''), (value, _type) => {
        const json = value as JsonValue;
        for (const mapped of [
          fromOwnTracks(json),
          fromOwnTracks({ _type, tst: 1710230400, lat: json, acc: json, vel: json, motionactivities: json, bs: json }),
          fromOverland([json, feature({ motion: json, action: json, battery_level: json, battery_state: json }, json)]),
          fromTraccar([json, { ...traccar, coords: json }, { ...traccar, battery: json, activity: json }]),
        ]) {
          expect(mapped.entries.length + mapped.unusable.length + mapped.skipped).toBeGreaterThan(0);
          for (const entry of mapped.entries) expect(Number.isFinite(entry.metadata.write_ts)).toBe(true);
        }
      }),
    );
  });

  it('becomes entries that the converters accept', () => {
    const all = [
      fromOwnTracks(location),
      fromOverland([feature({ motion: ['walking'], battery_level: 1 })]),
      fromTraccar([traccar]),
    ];
    for (const entry of all.flatMap(({ entries }) => entries)) expect(convert(entry).data.ts).toBe(entry.data.ts);
  });
});
