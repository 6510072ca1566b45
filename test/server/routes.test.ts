// The routes but put: what each reads and answers.
import { beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json.ts';
import { putDocument } from '../support/store.ts';
import { until } from '../support/until.ts';
import { words } from '../support/words.ts';
import { androidLocation, iosActivity, type Kit, now, openKit } from './kit.ts';
import { madeTrip, storeTrips } from './trips.ts';

const day = 86_400;
const morning = Date.parse('2016-05-17T09:00:00-07:00') / 1000;
let kit: Kit;
let ada: string;
const call = async (path: string, body: JsonObject = {}) => {
  const answer = await kit.post(path, { user: 'ada', ...body });
  expect(answer.text.includes('NaN')).toBe(false);
  return answer;
};

beforeEach(async () => {
  kit = await openKit();
  ada = (await kit.user('ada')).uuid;
});

it('documents are returned oldest first, with only the metadata that an iPhone accepts, and no pushed entries', async () => {
  await kit.put([{ metadata: { key: 'config/consent', write_ts: 1 }, data: {} }]);
  expect((await call('/usercache/get')).json).toEqual({ server_to_phone: [] });
  await putDocument(kit.store, ada, { key: 'diary/trips-2016-05-18', write_ts: 20.5, data: [{ id: 2 }] });
  await putDocument(kit.store, ada, { key: 'config/sensor_config', write_ts: 10.25, data: { a: null } });
  expect((await call('/usercache/get')).json).toEqual({
    server_to_phone: [
      { metadata: { key: 'config/sensor_config', type: 'document', write_ts: 10.25 }, data: { a: null } },
      { metadata: { key: 'diary/trips-2016-05-18', type: 'document', write_ts: 20.5 }, data: [{ id: 2 }] },
    ],
  });
});

it('getTrips has the trips that start on the local day, in the format of the phones', async () => {
  await storeTrips(kit.store, ada, [
    madeTrip(morning - day, [{ mode: 'CAR' }]),
    madeTrip(morning, [{ mode: 'WALKING' }, { mode: 'BUS' }]),
    madeTrip(morning + 15 * 3600 - 60, [{ mode: 'WALKING' }]),
    madeTrip(morning + 15 * 3600 + 60 * 60, [{ mode: 'WALKING' }]),
  ]);
  const answer = await call('/timeline/getTrips/2016-05-17?refresh=true');
  const timeline = answer.json.timeline as JsonObject[];
  expect(timeline.map(({ properties }) => (properties as JsonObject).start_ts)).toEqual([
    morning,
    morning + 15 * 3600 - 60,
  ]);
  expect(timeline[0]).toMatchObject({ type: 'FeatureCollection', properties: { feature_type: 'trip' } });
  expect(kit.log).toContain('INFO:w1-1:Called timeline.getTrips/2016-05-17');
  expect((await call('/timeline/getTrips/2016-05-20')).json).toEqual({ timeline: [] });
});

it('an invalid day is answered with 400, and writes no line of its own into the log', async () => {
  for (const date of words('2016-02-30 2016-5-7 2016-05-17T00:00 %0A%0AINFO 20160517 0000-01-01 ..%2f'))
    expect((await call(`/timeline/getTrips/${date}`)).status, date).toBe(400);
  const known = /^[A-Z]+:w1-\d+:(?:START|END|Called|Found|user_uuid|Answered) /;
  expect(kit.log.filter((line) => !known.test(line))).toEqual([]);
});

it('complete_ts and the range are null before the first trip, then follow the trips', async () => {
  expect((await call('/pipeline/get_complete_ts')).json).toEqual({ complete_ts: null });
  expect((await call('/pipeline/get_range_ts')).json).toEqual({ start_ts: null, end_ts: null });
  await storeTrips(kit.store, ada, [madeTrip(morning, [{ mode: 'CAR' }]), madeTrip(morning + day, [{ mode: 'CAR' }])]);
  expect((await call('/pipeline/get_complete_ts')).json).toEqual({ complete_ts: morning + day + 250 });
  expect((await call('/pipeline/get_range_ts')).json).toEqual({ start_ts: morning, end_ts: morning + day + 250 });
});

it('profile: create answers the UUID, can be repeated, and keeps fields that were set meanwhile', async () => {
  expect((await call('/profile/create')).json).toEqual({ uuid: ada });
  await call('/profile/update', { mpg_array: [40] });
  expect((await call('/profile/create')).json).toEqual({ uuid: ada });
  expect((await call('/profile/get')).json).toMatchObject({ mpg_array: [40], create_ts: now, mode: {}, purpose: {} });
});

it('profile: get writes ids and dates in the format of the phones, also in an empty profile', async () => {
  const profile = (await call('/profile/get')).json;
  expect(profile).toEqual({
    _id: { $oid: expect.stringMatching(/^[0-9a-f]{24}$/) },
    pipeline_range: { start_ts: null, end_ts: null },
    total_trips: 0,
    labeled_trips: 0,
    user_id: { $uuid: ada.replaceAll('-', '') },
    update_ts: { $date: 1463540400250 },
  });
});

it('profile: update merges top-level fields with any names', async () => {
  const first = { phone_lang: 'de', 'a.b': { $c: null }, nested: { x: 1 } };
  expect((await call('/profile/update', { update_doc: first })).json).toEqual({ update: true });
  const second = { nested: { y: 2 }, constructor: 'x', toString: 1 };
  await call('/profile/update', { update_doc: second });
  expect((await call('/profile/get')).json).toMatchObject({ ...first, ...second });
});

it('profile: update does not change fields that only the server writes, and lists them', async () => {
  const text =
    '{"user":"ada","update_doc":{"user_id":"x","_id":1,"uuid":"y","update_ts":0,"__proto__":{"admin":true},"model":"Z","erasure_asked_ts":1e300}}';
  const answer = await kit.post('/profile/update', text);
  expect(answer.json).toEqual({
    update: true,
    ignored: ['user_id', '_id', 'uuid', 'update_ts', '__proto__', 'erasure_asked_ts'],
  });
  const profile = (await call('/profile/get')).json;
  expect(profile).toMatchObject({ user_id: { $uuid: ada.replaceAll('-', '') }, model: 'Z' });
  expect(['admin', 'erasure_asked_ts'].filter((name) => name in profile)).toEqual([]);
});

describe('metrics', () => {
  const range = { freq: 'D', start_time: morning - day, end_time: morning + 10 * day };
  beforeEach(() =>
    storeTrips(kit.store, ada, [
      madeTrip(morning, [
        { mode: 'WALKING', distance: 400 },
        { mode: 'CAR', distance: 9000 },
      ]),
      madeTrip(morning + 2 * day, [{ mode: 'WALKING', distance: 600 }]),
    ]),
  );

  it('one metric by UTC day, with the days between', async () => {
    const answer = await call('/result/metrics/timestamp', { ...range, metric: 'distance' });
    const { user_metrics: list, aggregate_metrics: aggregate } = answer.json as JsonObject;
    expect(aggregate).toEqual([]);
    expect(list).toMatchObject([
      { ts: 1463443200, fmt_time: '2016-05-17T00:00:00+00:00', nUsers: 1, WALKING: 400, CAR: 9000 },
      { nUsers: 0 },
      { nUsers: 1, WALKING: 600 },
    ]);
    expect(Object.keys((list as JsonObject[])[1]!).sort()).toEqual(['fmt_time', 'local_dt', 'nUsers', 'ts']);
  });

  it('a list of metrics has the figures of each, and an aggregate if it is requested', async () => {
    const ask = async (body: JsonObject) => (await call('/result/metrics/timestamp', { ...range, ...body })).json;
    const metric_list = ['count', 'duration', 'joy'];
    const { user_metrics, ...others } = await ask({ metric: '', metric_list, is_return_aggregate: true });
    const [counts, durations, unknown] = user_metrics as JsonObject[][];
    expect([counts![0], durations![0]]).toMatchObject([
      { WALKING: 1, CAR: 1 },
      { WALKING: 250, CAR: 250 },
    ]);
    expect([unknown, others]).toEqual([[], { aggregate_metrics: [] }]);
    expect(Object.keys(await ask({ metric_list, is_return_aggregate: false }))).toEqual(['user_metrics']);
    const [first] = (await ask({ metric: '' })).user_metrics as JsonObject[];
    expect(first).toMatchObject({ WALKING: 400 });
    expect((await ask({ metric: 'joy' })).user_metrics).toEqual([]);
  });

  it('both ends of the range count, and a section counts whose trip began before', async () => {
    const second = morning + 1000;
    const only = { freq: 'D', start_time: second, end_time: second, metric: 'count' };
    expect((await call('/result/metrics/timestamp', only)).json.user_metrics).toMatchObject([{ CAR: 1 }]);
    expect((await call('/result/metrics/timestamp', { ...only, end_time: second - 1 })).json.user_metrics).toEqual([]);
  });

  it('by local date, whole dates are compared and weekday is ignored', async () => {
    const dates = {
      freq: 'DAILY',
      start_time: { year: 2016, month: 5, day: 17, weekday: 3, hour: 12 },
      end_time: { year: 2016, month: 6, day: 2 },
      metric: 'distance',
    };
    const answer = await call('/result/metrics/local_date', dates);
    expect(answer.json.user_metrics).toMatchObject([
      { fmt_time: '2016-05-17', WALKING: 400, CAR: 9000 },
      { fmt_time: '2016-05-19', WALKING: 600 },
    ]);
    const month = { freq: 'MONTHLY', start_time: { year: 2016, month: 5 }, end_time: { year: 2016 }, metric: 'count' };
    expect((await call('/result/metrics/local_date', month)).json.user_metrics).toMatchObject([{ WALKING: 2, CAR: 1 }]);
  });
});

const dates = { freq: 'DAILY', start_time: { year: 2016 }, end_time: { year: 2016 } };
const findEntries = '/datastreams/find_entries/timestamp';
const all = { start_time: 0, end_time: 2e9 };
const timestamps = { freq: 'D', ...all };

it.each<[path: string, good: JsonObject, wrong: (JsonObject | { freq: undefined })[]]>([
  ['/profile/update', {}, [{}, { update_doc: 'x' }, { update_doc: null }, { mpg_array: ['x'] }, { mpg_array: 3 }]],
  ['/result/metrics/timestamp', timestamps, [{ freq: 'H' }, { freq: undefined }, { end_time: null }]],
  ['/result/metrics/timestamp', timestamps, [{ start_time: '2016-05-17' }, { metric: 3 }]],
  ['/result/metrics/timestamp', timestamps, [{ metric_list: { distance: [] } }]],
  ['/result/metrics/local_date', dates, [{ start_time: { year: 2016, month: 2, day: 30 } }]],
  ['/result/metrics/local_date', dates, [{ start_time: { month: 1 } }]],
  [
    findEntries,
    all,
    [{ start_time: null }, { start_time: 'x' }, { key_list: 'background/location' }, { key_list: [1] }],
  ],
  [findEntries, all, [{ key_time: 'data.latitude' }, { key_time: 'toString' }]],
  [findEntries, all, [{ max_entries: 1.5 }, { max_entries: 0 }, { trunc_method: 'middle' }]],
])('%s refuses invalid fields beside %j', async (path, good, wrong) => {
  if (path !== '/profile/update') expect((await call(path, good)).status).toBe(200);
  for (const fields of wrong) {
    const { status } = await call(path, { ...good, ...(fields as JsonObject) });
    expect(status, JSON.stringify(fields)).toBe(400);
  }
});

describe('find_entries', () => {
  const ts = 1463502000.412;
  const find = async (body: JsonObject) => {
    const answer = await call(findEntries, body);
    return answer.json as { phone_data: { metadata: JsonObject; data: JsonObject }[]; truncated: boolean };
  };
  const times = (found: { phone_data: { metadata: JsonObject }[] }) =>
    found.phone_data.map(({ metadata }) => metadata.write_ts);

  beforeEach(async () => {
    const entries = [androidLocation(ts), androidLocation(ts + 10), iosActivity(ts + 5), androidLocation(ts + 20)];
    const label = {
      metadata: { key: 'manual/mode_confirm', write_ts: ts + 99 },
      data: { start_ts: 100, end_ts: 200, label: 'bus' },
    };
    await kit.put([...entries, label]);
  });

  it('entries are returned whole, oldest first, of all keys or of the given keys', async () => {
    expect(times(await find(all))).toEqual([ts, ts + 5, ts + 10, ts + 20, ts + 99]);
    const found = await find({ ...all, key_list: ['background/motion_activity'] });
    expect(found).toEqual({
      phone_data: [
        {
          _id: { $oid: expect.stringMatching(/^[0-9a-f]{24}$/) },
          user_id: { $uuid: ada.replaceAll('-', '') },
          ...iosActivity(ts + 5),
        },
      ],
      truncated: false,
    });
    expect((await find({ ...all, key_list: null })).phone_data).toHaveLength(5);
    expect(await find({ ...all, key_list: [] })).toEqual({ phone_data: [], truncated: false });
    expect(await find({ ...all, key_list: ['analysis/cleaned_trip'] })).toEqual({ phone_data: [], truncated: false });
  });

  it('both bounds are included, for each type of time', async () => {
    expect(times(await find({ start_time: ts + 5, end_time: ts + 10 }))).toEqual([ts + 5, ts + 10]);
    for (const [start_time, end_time, key_time, expected] of [
      [ts + 10 - 0.6, ts + 20 - 0.6, 'data.ts', [ts + 10, ts + 20]],
      [100, 100, 'data.start_ts', [ts + 99]],
      [200, 300, 'data.end_ts', [ts + 99]],
      [101, 199, 'data.end_ts', []],
    ] as const)
      expect(times(await find({ start_time, end_time, key_time }))).toEqual(expected);
  });

  it('of too many entries, the first, the last or a sample is returned, and the answer is marked as limited', async () => {
    const cut = (more: JsonObject) => find({ ...all, ...more });
    expect(await cut({ max_entries: 5 })).toMatchObject({ truncated: false });
    for (const [more, expected] of [
      [{ max_entries: 2, trunc_method: 'first' }, [ts, ts + 5]],
      [{ max_entries: 2, trunc_method: 'last' }, [ts + 20, ts + 99]],
      [{ max_entries: 3 }, [ts, ts + 10, ts + 99]],
    ] as const) {
      const found = await cut(more);
      expect([times(found), found.truncated]).toEqual([expected, true]);
    }
  });

  it('a long answer arrives whole, and its END is logged after its last byte', async () => {
    const many = Array.from({ length: 3000 }, (_, i) => androidLocation(ts + 1000 + i));
    await kit.put(many);
    kit.log.length = 0;
    const found = await find({ start_time: ts + 1000, end_time: 2e9 });
    expect(times(found)).toEqual(many.map((_, i) => ts + 1000 + i));
    await until(() => kit.log.at(-1)!.includes('END POST /datastreams/find_entries/timestamp'));
  });

  it('a long answer ends when its client disconnects', async () => {
    const note = 'x'.repeat(100_000);
    await kit.put(Array.from({ length: 30 }, (_, i) => androidLocation(ts + 1000 + i, { note })));
    kit.log.length = 0;
    const response = await kit.app.request(findEntries, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ user: 'ada', ...all }),
    });
    const reader = response.body!.getReader();
    await reader.read();
    expect(kit.log.filter((line) => line.includes('END POST /datastreams'))).toEqual([]);
    await reader.cancel();
    await until(() => kit.log.at(-1)!.includes('END POST'));
    expect(kit.errors).toEqual([]);
  });
});
