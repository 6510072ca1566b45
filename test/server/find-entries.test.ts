// What a caller reads while a run of the pipeline moves their entries: each entry once, and none missing.
import { describe, expect, it } from 'vitest';
import { putBatch } from '../../src/intake/put-batch.ts';
import { silentLog } from '../../src/log/log.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import { beforeCall } from '../faults/interposed-store.ts';
import { androidLocation, type Kit, now, openKit } from './kit.ts';
import { madeTrip, storeTrips } from './trips.ts';

let kit: Kit;
let ada: string;

const ts = 1463502000.5;
const push = (entries: JsonObject[]) => putBatch(ada, entries, { store: kit.store, now: () => now });
const run = () => runPipeline(kit.store, ada, { log: silentLog, now: () => now });

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const locations = (from: number, to: number, fields: (i: number) => JsonObject) =>
  numbers(from, to).map((i) => androidLocation(ts + i, fields(i)));
const find = async (body: JsonObject) => {
  const all = { user: 'ada', start_time: 0, end_time: 2e9, key_list: ['background/location'] };
  const { json } = await kit.post('/datastreams/find_entries/timestamp', { ...all, ...body });
  const found = json.phone_data as { metadata: { write_ts: number }; data: { accuracy: number } }[];
  return { found, isCut: json.truncated };
};

/** An app whose store moves pending entries before the nth read of `place`. */
async function moveBefore(place: 'usercache' | 'timeseries', nth: number): Promise<void> {
  kit = await openKit({ wrap: (store) => beforeCall(store, `${place}.find`, nth, run) });
  ada = (await kit.user('ada')).uuid;
}

describe.each([
  ['usercache', 1],
  ['usercache', 2],
  ['usercache', 3],
  ['timeseries', 1],
  ['timeseries', 2],
  ['timeseries', 4],
] as const)('while a run moves pending entries before %s is read for the %ith time', (place, nth) => {
  it.each(['metadata.write_ts', 'data.ts'])('find_entries has each entry once, by %s', async (key_time) => {
    await moveBefore(place, nth);
    await push(locations(0, 1500, () => ({ accuracy: 5 })));
    await run();
    await push(locations(1200, 2800, () => ({ accuracy: 7 })));
    const { found } = await find({ key_time });
    expect(found.map(({ metadata, data }) => [metadata.write_ts - ts, data.accuracy])).toEqual([
      ...numbers(0, 1200).map((i) => [i, 5]),
      ...numbers(1200, 2800).map((i) => [i, 7]),
    ]);
  });

  it('find_entries has each entry once, also if more have the same time than one read returns', async () => {
    await moveBefore(place, nth);
    await push(locations(0, 700, () => ({ ts })));
    await run();
    await push(locations(600, 1900, () => ({ ts })));
    const { found } = await find({ key_time: 'data.ts' });
    expect(found.map(({ metadata }) => metadata.write_ts - ts)).toEqual(numbers(0, 1900));
  });
});

it.each(['metadata.write_ts', 'data.ts'])(
  'the last entries are the end of all by %s, moved or pending',
  async (key_time) => {
    kit = await openKit();
    ada = (await kit.user('ada')).uuid;
    // Data times repeat and run backwards; some moved entries are pushed again with other data times.
    await push(locations(0, 1300, (i) => ({ ts: ts + 1300 - Math.floor(i / 3), accuracy: 5 })));
    await run();
    await push(locations(1290, 1310, (i) => ({ ts: ts + i, accuracy: 7 })));
    const all = (await find({ key_time })).found;
    for (const max_entries of [1, 2, 9, 25, 700, all.length - 1, all.length, all.length + 1])
      expect(await find({ key_time, max_entries, trunc_method: 'last' }), String(max_entries)).toEqual({
        found: all.slice(-max_entries),
        isCut: max_entries < all.length,
      });
  },
);

it('the last entries are found without the rest of the history', async () => {
  let read = 0;
  kit = await openKit({
    wrap: (store) => {
      const find: typeof store.timeseries.find = async (...query) => {
        const page = await store.timeseries.find(...query);
        read += page.entries.length;
        return page;
      };
      return { ...store, timeseries: { ...store.timeseries, find } };
    },
  });
  ada = (await kit.user('ada')).uuid;
  await push(locations(0, 3000, () => ({})));
  await run();
  read = 0;
  expect((await find({ max_entries: 2, trunc_method: 'last' })).found).toHaveLength(2);
  expect(read).toBeLessThan(30);
});

describe.each([
  ['usercache', 1],
  ['usercache', 2],
  ['timeseries', 1],
  ['timeseries', 2],
] as const)('while a run moves labels before %s is read for the %ith time', (place, nth) => {
  it('getTrips has the labels and the incidents of the trip', async () => {
    await moveBefore(place, nth);
    const start = Date.parse('2016-05-17T09:00:00-07:00') / 1000;
    await storeTrips(kit.store, ada, [madeTrip(start, [{ mode: 'WALKING' }])]);
    const stated = (key: string, write_ts: number, data: JsonObject): JsonObject => ({
      metadata: { key, type: 'message', platform: 'android', write_ts, time_zone: 'America/Los_Angeles' },
      data,
    });
    const incident = { ts: start + 60, loc: { type: 'Point', coordinates: [-122.27, 37.87] }, stress: 30 };
    await push([
      stated('manual/mode_confirm', start + 900, { start_ts: start, end_ts: start + 250, label: 'walk' }),
      stated('manual/incident', start + 950, incident),
    ]);
    const { json } = await kit.post('/timeline/getTrips/2016-05-17', { user: 'ada' });
    expect(JSON.stringify(json)).toContain('"walk"');
    expect(JSON.stringify(json)).toContain('"stress":30');
  });
});
