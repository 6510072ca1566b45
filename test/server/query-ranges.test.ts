// Ranges of times and days in queries: any is answered with what lies within it, none is refused.
import { beforeAll, expect, it } from 'vitest';
import { silentLog } from '../../src/log/log.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import { androidLocation, type Kit, noLimits, openKit, signedIn } from './kit.ts';

const [day, first, days] = [86_400, 1_463_540_400, 70];
let kit: Kit;
let ada: string;

beforeAll(async () => {
  kit = await openKit({ limits: noLimits, now: () => first + days * day });
  ada = (await kit.user('ada')).uuid;
  // A phone that rests and reports it each hour of 70 days.
  const list = Array.from({ length: days * 24 }, (_, i) => androidLocation(first + i * 3600));
  await kit.store.usercache.put(ada, { entries: list as never, unusable: [] }, first + days * day);
  await runPipeline(kit.store, ada, { log: silentLog, now: () => first + days * day });
});

const times = [
  [-1e308, 1e308],
  [-62_135_596_800, 253_402_300_799],
  [1e308, 1e308],
  [first, first - day],
];
const dates = [
  ['0001-01-01', '9999-12-31'],
  ['0001-01-01', '0001-01-01'],
  ['9999-12-31', '9999-12-31'],
  ['2016-07-01', '2016-05-01'],
];
const years = [
  [1, 9999],
  [-1e9, 1e9],
  [0, 10_000],
  [2017, 2015],
];

/** Bodies of each route that takes a range. */
const asked: Record<string, JsonObject[]> = {
  '/result/metrics/timestamp': ['D', 'W', '2W', 'M', 'A', 'Y'].flatMap((freq) =>
    times.map(([start_time, end_time]) => ({ freq, start_time: start_time!, end_time: end_time! })),
  ),
  '/result/metrics/local_date': ['DAILY', 'MONTHLY', 'YEARLY'].flatMap((freq) =>
    years.map(([from, to]) => ({ freq, start_time: { year: from! }, end_time: { year: to! } })),
  ),
  '/result/metrics/yyyy_mm_dd': dates.map(([start_time, end_time]) => ({
    start_time: start_time!,
    end_time: end_time!,
    metric_list: { observed: [], count: [] },
  })),
  '/datastreams/find_entries/timestamp': ['metadata.write_ts', 'data.ts', 'data.start_ts'].flatMap((key_time) =>
    times.map(([start_time, end_time]) => ({ key_time, start_time: start_time!, end_time: end_time!, key_list: null })),
  ),
};

it.each(Object.keys(asked))('%s answers ranges of any length and any time', async (path) => {
  for (const body of asked[path]!)
    expect([body, (await kit.post(path, { user: 'ada', ...body })).status]).toEqual([body, 200]);
});

it('observed time of a long range covers its first 62 days with data, and the next call gets the others', async () => {
  const observed = async (start_time: string): Promise<string[]> => {
    const body = { user: 'ada', start_time, end_time: '9999-12-31', metric_list: { observed: [] } };
    const { json } = await kit.post('/result/metrics/yyyy_mm_dd', body);
    return (json.observed as { date: string; observed_s: number }[]).map(({ date }) => date);
  };
  const some = await observed('0001-01-01');
  expect([some.length, some[0], some.at(-1)]).toEqual([62, '2016-05-17', '2016-07-17']);
  const others = await observed('2016-07-18');
  expect([others[0], others.at(-1)]).toEqual(['2016-07-18', '2016-07-26']);
});

it.each(['0002-01-01', '2016-05-17', '9998-12-31'])('pages answer the day and the month of %s', async (date) => {
  const headers = await signedIn(kit.store, ada);
  for (const path of [`/me/day/${date}`, `/me/month/${date.slice(0, 7)}`])
    expect([path, (await kit.request(path, { headers })).status]).toEqual([path, 200]);
});
