// Entries of an export: each identity once, despite moves and puts meanwhile.
import { expect, it } from 'vitest';
import { entryRows } from '../../src/export/entry-rows.ts';
import { putBatch } from '../../src/intake/put-batch.ts';
import { silentLog } from '../../src/log/log.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import type { Store } from '../../src/store/store.ts';
import { beforeCall } from '../faults/interposed-store.ts';
import { newStore } from '../support/store.ts';

const now = () => 1_710_200_000;
const location = (i: number, accuracy: number) => ({
  metadata: { key: 'background/location', platform: 'android', type: 'sensor-data', write_ts: 1_710_150_000 + i },
  data: { ts: 1_710_150_000 + i, latitude: 48.5, longitude: 9.05, accuracy },
});
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const push = (store: Store, user: string, from: number, to: number, accuracy: number) =>
  putBatch(
    user,
    numbers(from, to).map((i) => location(i, accuracy)),
    { store, now },
  );
const run = (store: Store, user: string) => runPipeline(store, user, { log: silentLog, now });

const exported = async (store: Store, user: string) => {
  const rows: [number, unknown][] = [];
  for await (const { metadata, data } of entryRows(store, user, {})) rows.push([metadata.write_ts, data.accuracy]);
  return rows.sort(([a], [b]) => a - b);
};
const expected = (...parts: [from: number, to: number, accuracy: number][]) =>
  parts.flatMap(([from, to, accuracy]) => numbers(from, to).map((i) => [1_710_150_000 + i, accuracy]));

it.each([
  ['usercache', 1],
  ['usercache', 2],
  ['usercache', 3],
  ['timeseries', 1],
  ['timeseries', 2],
] as const)('each entry is exported once if a run moves entries before %s is read (read %i)', async (place, nth) => {
  const store = await newStore();
  const { user } = await store.users.register('ada', { now: 1 });
  await push(store, user.uuid, 0, 3000, 5);
  await run(store, user.uuid);
  await push(store, user.uuid, 2500, 5500, 7);
  const meanwhile = beforeCall(store, `${place}.find`, nth, () => run(store, user.uuid));
  expect(await exported(meanwhile, user.uuid)).toEqual(expected([0, 2500, 5], [2500, 5500, 7]));
});
