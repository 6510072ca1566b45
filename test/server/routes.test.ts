// The routes but put: what each reads and answers.
import { beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../src/log/log.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import { putDocument } from '../support/store.ts';
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

describe('get', () => {
  it('documents are returned oldest first, with only the metadata that an iPhone accepts', async () => {
    await putDocument(kit.store, ada, { key: 'diary/trips-2016-05-18', write_ts: 20.5, data: [{ id: 2 }] });
    await putDocument(kit.store, ada, { key: 'config/sensor_config', write_ts: 10.25, data: { a: null } });
    expect((await call('/usercache/get')).json).toEqual({
      server_to_phone: [
        { metadata: { key: 'config/sensor_config', type: 'document', write_ts: 10.25 }, data: { a: null } },
        { metadata: { key: 'diary/trips-2016-05-18', type: 'document', write_ts: 20.5 }, data: [{ id: 2 }] },
      ],
    });
  });

  it('a user without documents gets an empty list, and pushed entries are not documents', async () => {
    await call('/usercache/put', { phone_to_server: [{ metadata: { key: 'config/consent', write_ts: 1 }, data: {} }] });
    expect((await call('/usercache/get')).json).toEqual({ server_to_phone: [] });
  });
});

describe('timeline and pipeline state', () => {
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

  it('an invalid day is answered with 400', async () => {
    for (const date of words('2016-02-30 2016-5-7 2016-05-17T00:00 %0A%0AINFO 20160517 0000-01-01 ..%2f')) {
      expect((await call(`/timeline/getTrips/${date}`)).status, date).toBe(400);
    }
    const known = /^[A-Z]+:w1-\d+:(?:START|END|Called|Found|user_uuid|Answered) /;
    expect(kit.log.filter((line) => !known.test(line))).toEqual([]);
  });

  it('complete_ts and the range are null before the first trip, then follow the trips', async () => {
    expect((await call('/pipeline/get_complete_ts')).json).toEqual({ complete_ts: null });
    expect((await call('/pipeline/get_range_ts')).json).toEqual({ start_ts: null, end_ts: null });
    await storeTrips(kit.store, ada, [
      madeTrip(morning, [{ mode: 'CAR' }]),
      madeTrip(morning + day, [{ mode: 'CAR' }]),
    ]);
    expect((await call('/pipeline/get_complete_ts')).json).toEqual({ complete_ts: morning + day + 250 });
    expect((await call('/pipeline/get_range_ts')).json).toEqual({ start_ts: morning, end_ts: morning + day + 250 });
  });
});

describe('profile', () => {
  it('create answers the UUID, can be repeated, and keeps fields that were set meanwhile', async () => {
    expect((await call('/profile/create')).json).toEqual({ uuid: ada });
    await call('/profile/update', { mpg_array: [40] });
    expect((await call('/profile/create')).json).toEqual({ uuid: ada });
    expect((await call('/profile/get')).json).toMatchObject({ mpg_array: [40], create_ts: now, mode: {}, purpose: {} });
  });

  it('get writes ids and dates in the format of the phones, also in an empty profile', async () => {
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

  it('update merges top-level fields with any names', async () => {
    const first = await call('/profile/update', {
      update_doc: { phone_lang: 'de', 'a.b': { $c: null }, nested: { x: 1 } },
    });
    expect(first.json).toEqual({ update: true });
    await kit.post('/profile/update', '{"user":"ada","update_doc":{"nested":{"y":2},"constructor":"x","toString":1}}');
    expect((await call('/profile/get')).json).toMatchObject({
      phone_lang: 'de',
      'a.b': { $c: null },
      nested: { y: 2 },
      constructor: 'x',
      toString: 1,
    });
  });

  it('update does not change fields that only the server writes, and lists them', async () => {
    const text =
      '{"user":"ada","update_doc":{"user_id":"x","_id":1,"uuid":"y","update_ts":0,"__proto__":{"admin":true},"model":"Z","erasure_asked_ts":1e300}}';
    const answer = await kit.post('/profile/update', text);
    expect(answer.json).toEqual({
      update: true,
      ignored: ['user_id', '_id', 'uuid', 'update_ts', '__proto__', 'erasure_asked_ts'],
    });
    const profile = (await call('/profile/get')).json;
    expect(profile).toMatchObject({ user_id: { $uuid: ada.replaceAll('-', '') }, model: 'Z' });
    expect('admin' in profile).toBe(false);
    expect('erasure_asked_ts' in profile).toBe(false);
  });

  it('update refuses an invalid update, and a profile that grows beyond its limit', async () => {
    for (const body of [{}, { update_doc: 'x' }, { update_doc: null }, { mpg_array: ['x'] }, { mpg_array: 3 }]) {
      expect((await call('/profile/update', body)).status).toBe(400);
    }
    const half = 'x'.repeat(600_000);
    expect((await call('/profile/update', { update_doc: { a: half } })).status).toBe(200);
    expect((await call('/profile/update', { update_doc: { b: half } })).status).toBe(413);
    expect((await call('/profile/update', { update_doc: { a: half } })).status).toBe(200);
  });
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
  });

  it('an empty metric is answered by the list, or by distance without a list', async () => {
    const spec = await call('/result/metrics/timestamp', { ...range, metric: '' });
    expect((spec.json.user_metrics as JsonObject[])[0]).toMatchObject({ WALKING: 400 });
    const list = { ...range, metric: '', metric_list: ['count', 'duration'], is_return_aggregate: true };
    const answer = await call('/result/metrics/timestamp', list);
    const lists = answer.json.user_metrics as JsonObject[][];
    expect(lists).toHaveLength(2);
    expect(lists[0]![0]).toMatchObject({ WALKING: 1, CAR: 1 });
    expect(lists[1]![0]).toMatchObject({ WALKING: 250, CAR: 250 });
    expect(answer.json.aggregate_metrics).toEqual([]);
  });

  it('a call of the app of 2017 gets a list without aggregate', async () => {
    const names = ['duration', 'median_speed', 'count', 'distance'];
    const answer = await call('/result/metrics/timestamp', {
      ...range,
      metric_list: names,
      is_return_aggregate: false,
    });
    expect(answer.json.user_metrics).toHaveLength(4);
    expect('aggregate_metrics' in answer.json).toBe(false);
  });

  it('an unknown metric has no figures, in the requested format', async () => {
    expect((await call('/result/metrics/timestamp', { ...range, metric: 'joy' })).json.user_metrics).toEqual([]);
    const list = { ...range, metric_list: ['joy', 'count'], is_return_aggregate: true };
    const lists = (await call('/result/metrics/timestamp', list)).json.user_metrics as unknown as unknown[][];
    expect(lists.map((one) => one.length)).toEqual([0, 3]);
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
    expect(answer.json.user_metrics).toEqual([
      {
        ts: Date.parse('2016-05-17T00:00:00-07:00') / 1000,
        local_dt: { year: 2016, month: 5, day: 17, timezone: 'America/Los_Angeles' },
        fmt_time: '2016-05-17',
        nUsers: 1,
        WALKING: 400,
        CAR: 9000,
      },
      expect.objectContaining({ fmt_time: '2016-05-19', WALKING: 600 }),
    ]);
    const month = { freq: 'MONTHLY', start_time: { year: 2016, month: 5 }, end_time: { year: 2016 }, metric: 'count' };
    expect((await call('/result/metrics/local_date', month)).json.user_metrics).toMatchObject([{ WALKING: 2, CAR: 1 }]);
  });

  it('invalid requests are refused, and other types of time are unknown routes', async () => {
    const times = [{ freq: 'H' }, { freq: undefined }, { start_time: '2016-05-17' }, { end_time: null }];
    for (const wrong of [...times, { metric: 3 }, { metric_list: { distance: [] } }]) {
      expect((await call('/result/metrics/timestamp', { ...range, ...wrong })).status, JSON.stringify(wrong)).toBe(400);
    }
    const dates = { freq: 'DAILY', start_time: { year: 2016, month: 2, day: 30 }, end_time: { year: 2016 } };
    expect((await call('/result/metrics/local_date', dates)).status).toBe(400);
    expect((await call('/result/metrics/local_date', { ...dates, start_time: { month: 1 } })).status).toBe(400);
    expect((await call('/result/metrics/weekly', range)).status).toBe(404);
  });
});

describe('find_entries', () => {
  const ts = 1463502000.412;
  const find = async (body: JsonObject, type = 'timestamp') => {
    const answer = await call(`/datastreams/find_entries/${type}`, body);
    return answer.json as { phone_data: { metadata: JsonObject; data: JsonObject }[]; truncated: boolean };
  };
  const times = (found: { phone_data: { metadata: JsonObject }[] }) =>
    found.phone_data.map(({ metadata }) => metadata.write_ts);
  const all = { start_time: 0, end_time: 2e9 };

  beforeEach(async () => {
    const entries = [androidLocation(ts), androidLocation(ts + 10), iosActivity(ts + 5), androidLocation(ts + 20)];
    const label = {
      metadata: { key: 'manual/mode_confirm', write_ts: ts + 99 },
      data: { start_ts: 100, end_ts: 200, label: 'bus' },
    };
    await call('/usercache/put', { phone_to_server: [...entries, label] });
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

  it('moved and pending entries are one stream, and a repeated entry occurs once', async () => {
    await runPipeline(kit.store, ada, { log: silentLog, now: () => ts + day });
    await call('/usercache/put', { phone_to_server: [androidLocation(ts + 1), androidLocation(ts + 10)] });
    const found = await find({ ...all, key_list: ['background/location'] });
    expect(times(found)).toEqual([ts, ts + 1, ts + 10, ts + 20]);
  });

  it('both bounds are included, for each type of time', async () => {
    expect(times(await find({ start_time: ts + 5, end_time: ts + 10 }))).toEqual([ts + 5, ts + 10]);
    const byData = { start_time: ts + 10 - 0.6, end_time: ts + 20 - 0.6, key_time: 'data.ts' };
    expect(times(await find(byData))).toEqual([ts + 10, ts + 20]);
    expect(times(await find({ start_time: 100, end_time: 100, key_time: 'data.start_ts' }))).toEqual([ts + 99]);
    expect(times(await find({ start_time: 200, end_time: 300, key_time: 'data.end_ts' }))).toEqual([ts + 99]);
    expect(times(await find({ start_time: 101, end_time: 199, key_time: 'data.end_ts' }))).toEqual([]);
  });

  it('of too many entries, the first, the last or a sample is returned, and the answer is marked as limited', async () => {
    const cut = (more: JsonObject) => find({ ...all, ...more });
    expect(await cut({ max_entries: 5 })).toMatchObject({ truncated: false });
    const first = await cut({ max_entries: 2, trunc_method: 'first' });
    expect([times(first), first.truncated]).toEqual([[ts, ts + 5], true]);
    const last = await cut({ max_entries: 2, trunc_method: 'last' });
    expect([times(last), last.truncated]).toEqual([[ts + 20, ts + 99], true]);
    const sample = await cut({ max_entries: 3 });
    expect([times(sample), sample.truncated]).toEqual([[ts, ts + 10, ts + 99], true]);
  });

  it('a long answer arrives whole, and its END is logged after its last byte', async () => {
    const many = Array.from({ length: 3000 }, (_, i) => androidLocation(ts + 1000 + i));
    await call('/usercache/put', { phone_to_server: many });
    kit.log.length = 0;
    const found = await find({ start_time: ts + 1000, end_time: 2e9 });
    expect(times(found)).toEqual(many.map((_, i) => ts + 1000 + i));
    await new Promise((resolve) => setImmediate(resolve));
    expect(kit.log.at(-1)).toMatch(/END POST \/datastreams\/find_entries\/timestamp/);
  });

  it('a long answer ends when its client disconnects', async () => {
    const note = 'x'.repeat(100_000);
    await call('/usercache/put', {
      phone_to_server: Array.from({ length: 30 }, (_, i) => androidLocation(ts + 1000 + i, { note })),
    });
    kit.log.length = 0;
    const response = await kit.app.request('/datastreams/find_entries/timestamp', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ user: 'ada', ...all }),
    });
    const reader = response.body!.getReader();
    await reader.read();
    expect(kit.log.some((line) => line.includes('END'))).toBe(false);
    await reader.cancel();
    await new Promise((resolve) => setImmediate(resolve));
    expect(kit.log.at(-1)).toMatch(/END POST/);
    expect(kit.errors).toEqual([]);
  });

  it('invalid requests are refused', async () => {
    const keys = [{ key_list: 'background/location' }, { key_list: [1] }];
    const times = [{ start_time: 'x' }, { key_time: 'data.latitude' }, { key_time: 'toString' }];
    const counts = [{ max_entries: 1.5 }, { max_entries: 0 }, { trunc_method: 'middle' }];
    for (const wrong of [{ start_time: null }, ...keys, ...times, ...counts]) {
      const answer = await call('/datastreams/find_entries/timestamp', { ...all, ...wrong });
      expect(answer.status, JSON.stringify(wrong)).toBe(400);
    }
  });

  it('local dates of the last year of the calendar are valid', async () => {
    const freq = { freq: 'DAILY', start_time: { year: 9999 }, end_time: { year: 9999, month: 12 } };
    expect((await call('/result/metrics/local_date', freq)).status).toBe(200);
  });
});
