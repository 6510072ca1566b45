// Transit feeds in the pipeline: whose days they change, and that only the set of feeds matters.
import { expect, it } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import type { Section } from '../../src/model/trip.ts';
import { runAll } from '../../src/pipeline/run-all.ts';
import type { Store } from '../../src/store/store.ts';
import { previewRebuild } from '../../src/upkeep/rebuild-user.ts';
import { chainOf, memoryLog, pipeline, put, putAndRun } from '../support/diary.ts';
import { newStore, newUser } from '../support/store.ts';
import { addFeed, ride } from '../transit/bus-ride.ts';
import { townFeed } from '../transit/town.ts';

const sections = async (store: Store, user: string) =>
  (await chainOf(store, user)).flatMap(({ trip }) => trip?.sections.filter(isRide) ?? []);
const isRide = ({ sensed_mode }: Section): boolean => !sensed_mode.endsWith('WALKING');
/** The rides without ids, which differ by user. */
const bare = async (store: Store, user: string) =>
  JSON.stringify(await sections(store, user)).replaceAll(/"id":"[^"]*"/g, '');
const lines = async (store: Store, user: string) =>
  (await sections(store, user)).flatMap(({ transit }) => transit?.route_short_name ?? []);

/** The ride, so many degrees further south. */
const southOf = (degrees: number): Entry[] =>
  ride.map(({ metadata, data }) => {
    const isPlace = typeof data.latitude === 'number';
    return { metadata, data: isPlace ? { ...data, latitude: Number(data.latitude) - degrees } : data };
  });
const round = (store: Store) => runAll(store, { log: memoryLog(), now: () => 4_000_000_000 });

it('a feed that is added later changes only the days of people near its stops', async () => {
  const store = await newStore();
  const [near, far] = [await newUser(store), await newUser(store)];
  await put(store, near, ride);
  await put(store, far, southOf(20));
  await round(store);
  const before = await sections(store, near);
  expect(before.map(({ transit }) => transit)).toEqual([undefined]);
  expect(await round(store)).toMatchObject({ done: 0, nothing_new: 2 });

  await addFeed(store, 'a');
  expect(await previewRebuild(store, near, { now: () => 4_000_000_000 })).toMatchObject([{ what: 'changed' }]);
  expect(await round(store)).toMatchObject({ done: 1, nothing_new: 1 });
  expect(await sections(store, near)).toMatchObject([
    {
      sensed_mode: 'PredictedModeTypes.BUS',
      transit: { agency: 'Town Transit', route_short_name: '1', from_stop: 'East 0', to_stop: 'East 10' },
    },
  ]);
  expect(await round(store)).toMatchObject({ done: 0, nothing_new: 2 });

  await store.feeds.remove('a');
  expect(await round(store)).toMatchObject({ done: 1, nothing_new: 1 });
  expect(await sections(store, near)).toEqual(before);
  expect(await round(store)).toMatchObject({ done: 0, nothing_new: 2 });
});

it('a run of one person applies a new feed, and people who join later get the same days', async () => {
  const store = await newStore();
  const first = await newUser(store);
  await putAndRun(store, first, ride);
  await addFeed(store, 'a');
  expect((await pipeline(store, first)).status).toBe('done');
  expect((await pipeline(store, first)).status).toBe('nothing_new');
  const second = await newUser(store);
  await putAndRun(store, second, ride);
  expect(await lines(store, second)).toEqual(['1']);
  expect(await bare(store, first)).toBe(await bare(store, second));
});

it('a feed whose stops are across the border of a cell, or that has the agency of a near one, concerns a person', async () => {
  const store = await newStore();
  const user = await newUser(store);
  await put(store, user, southOf(0.0045)); // the line is 500 m north of the ride, and of latitude 52.5
  await round(store);
  await addFeed(store, 'a');
  expect(await round(store)).toMatchObject({ done: 1 });
  const stops = townFeed().stops!.replaceAll(',52.', ',12.');
  await addFeed(store, 'b', { stops, feed_info: 'feed_start_date,feed_end_date\n20231001,20231231\n' });
  expect(await round(store)).toMatchObject({ done: 1 });
});

it('the days depend on the feeds, not on the order of feeds and data', async () => {
  const [first, last, whole] = [ride.slice(0, 200), ride.slice(200), ride];
  const city = { agency: townFeed().agency!.replace('Town', 'City') };
  const found = new Set<string>();
  for (const order of ['a,c,whole', 'whole,c,a', 'first,a,last,c', 'c,first,b,last,-b,a', 'a,whole,c,-c,c']) {
    const store = await newStore();
    const user = await newUser(store);
    for (const step of order.split(',')) {
      if (step.startsWith('-')) await store.feeds.remove(step.slice(1));
      else if (step.length === 1) await addFeed(store, step, step === 'c' ? city : {});
      else await put(store, user, { first, last, whole }[step]!);
      await round(store);
    }
    found.add(await bare(store, user));
  }
  expect(found.size).toBe(1);
  expect([...found][0]).toContain('"alternatives":["1"]');
});
