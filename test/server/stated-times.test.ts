// Times in corrections have bounds: no call of a person makes the server work over centuries.
import { beforeEach, expect, it } from 'vitest';
import { correctedTrips } from '../../src/diary/corrections/corrected-trips.ts';
import { silentLog } from '../../src/log/log.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { day, maxTime } from '../../src/model/time.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import { countBeyondBounds } from '../../src/upkeep/check-installation.ts';
import { recoverErrors } from '../../src/upkeep/recover-user.ts';
import { correction } from '../support/corrections.ts';
import { countRejected } from '../support/store.ts';
import { androidLocation, type Kit, noLimits, now, openKit } from './kit.ts';

let kit: Kit;
let ada: string;
beforeEach(async () => {
  kit = await openKit({ limits: noLimits, now: () => now });
  ada = (await kit.user('ada')).uuid;
});

const put = (data: readonly JsonObject[]) =>
  kit.post('/usercache/put', { user: 'ada', phone_to_server: data.map((one, i) => correction(now - 1000 + i, one)) });
const earliest = 631_152_000;
const run = { log: silentLog, now: () => now };

it('rejects corrections with times before 1990 or later than a day after their receipt, or of more than a week', async () => {
  const week = 7 * day;
  const good: JsonObject[] = [
    { kind: 'split', ts: earliest },
    { kind: 'drop', ts: now + day },
    { kind: 'add', mode: 'car', start_ts: now - week, end_ts: now },
    { kind: 'at_home', start_ts: earliest, end_ts: earliest + week },
    { kind: 'set_aside', start_ts: earliest, end_ts: maxTime },
  ];
  const bad: JsonObject[] = [
    { kind: 'split', ts: earliest - 1 },
    { kind: 'drop', ts: now + day + 1 },
    { kind: 'place_name', ts: -62_000_000_000, name: 'x' },
    { kind: 'add', mode: 'car', start_ts: -62_000_000_000, end_ts: now },
    { kind: 'add', mode: 'car', start_ts: now - week - 1, end_ts: now },
    { kind: 'at_home', start_ts: earliest, end_ts: earliest + week + 1 },
    { kind: 'set_aside', start_ts: earliest - 1, end_ts: now },
    { kind: 'set_aside', start_ts: now + day + 1, end_ts: maxTime },
  ];
  expect((await put(good)).json).toMatchObject({ inserted: good.length, rejected: 0 });
  expect((await put([...good, ...bad])).json).toMatchObject({ rejected: bad.length });
  expect(await countRejected(kit.store, ada)).toMatchObject([{ reason: 'out_of_range', count: bad.length }]);
  expect(await recoverErrors(kit.store, ada, run)).toMatchObject({ tried: bad.length, recovered: 0 });
});

it('stores all entries of a put with corrections whose kind is not a text', async () => {
  const odd: JsonObject[] = [
    { kind: { toString: 1, valueOf: null }, ts: now },
    { kind: ['split'], ts: 1 },
    { kind: '__proto__', ts: 1 },
  ];
  expect((await put([...odd, { kind: 'split', ts: now }])).json).toEqual({ inserted: 4, updated: 0, rejected: 0 });
});

it('limits times of corrections that were stored before the bounds existed, and counts these corrections', async () => {
  const list = Array.from({ length: 40 }, (_, i) => androidLocation(i));
  await kit.store.usercache.put(ada, { entries: list as never, unusable: [] }, now);
  const stored = [
    { kind: 'add', mode: 'car', start_ts: -62_000_000_000, end_ts: now - 5 * day, end_loc: [-9, 38] },
    { kind: 'add', mode: 'car', start_ts: -62_000_000_000, end_ts: -61_999_996_400, end_loc: [-9, 38] },
  ].map((one, i) => correction(now - 10 + i, one));
  await kit.store.usercache.put(ada, { entries: stored, unusable: [] }, now);
  await runPipeline(kit.store, ada, run);
  const standings = await correctedTrips(kit.store).corrections(ada);
  expect(standings.map(({ effect }) => effect)).toEqual(['applied', 'without effect']);
  const first = await correctedTrips(kit.store).next(ada, Number.NEGATIVE_INFINITY);
  expect([first?.start_ts, first?.end_ts]).toEqual([now - 12 * day, now - 5 * day]);
  expect(await countBeyondBounds(kit.store, ada)).toBe(2);
});
