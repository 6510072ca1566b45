// Days from the store: the place after each trip, for any requested days, and the incidents during trips.
import { expect, it } from 'vitest';
import { readTripsOfDay, readTripsOfDays } from '../../src/diary/build-trip-documents.ts';
import type { TripFeatureCollection } from '../../src/diary/trip-features.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { chainAfter, pipeline, put } from '../support/diary.ts';
import { t0 } from '../support/phone.ts';
import { android, type Phone, pushed, pushedIncident, pushedRide } from '../support/pushes.ts';
import { newUser, useStore } from '../support/store.ts';

const store = useStore();

const hour = 3600;
const day = 24 * hour;

type Properties = Record<string, unknown>;
const placeOf = (trip: TripFeatureCollection, kind: 'start_place' | 'end_place'): Properties => {
  const found = trip.features.find((f) => 'properties' in f && f.properties?.feature_type === kind);
  return { id: (found as { id: string }).id, ...(found as { properties: Properties }).properties };
};
const first = '2023-11-14';

async function userWith(...recorded: Entry[][]) {
  const user = await newUser(store);
  const chain = await chainAfter(store, user, recorded.flat());
  const tripsOf = (on: string) => readTripsOfDay(store, user, on);
  /** Of the first trip, their stress. */
  const incidents = async (): Promise<unknown[]> => {
    const features = (await tripsOf(first))[0]!.features.flatMap((f) => ('properties' in f ? f.properties : []));
    return features.flatMap((own) => (own?.feature_type === 'incident' ? [own.stress] : []));
  };
  return { user, chain, tripsOf, incidents };
}

it('the trips of a day are empty for a day without trips and for an unknown user', async () => {
  const { tripsOf } = await userWith(pushedRide(android, 0, 0));
  expect(await tripsOf('2023-11-13')).toEqual([]);
  expect(await readTripsOfDay(store, await newUser(store), first)).toEqual([]);
});

it('the trips of a day end at a place with the time at which the user left, also on the next day', async () => {
  const { chain, tripsOf } = await userWith(pushedRide(android, 0, 0), pushedRide(android, day, 6000));
  const { start_ts: exit_ts, id } = chain[1]!;
  expect(placeOf((await tripsOf(first))[0]!, 'end_place')).toMatchObject({ exit_ts, starting_trip: { $oid: id } });
});

it('the trips of a day end at a place that has an exit at the begin of untracked time after it', async () => {
  const { chain, tripsOf } = await userWith(pushedRide(android, 0, 0), pushedRide(android, 9 * hour, 15_000));
  const { start_ts, end_ts } = chain[1]!.untracked!;
  const [trip, next] = await tripsOf(first);
  const end = placeOf(trip!, 'end_place');
  expect(end).toMatchObject({ exit_ts: start_ts });
  expect(end.exit_ts).toBeGreaterThan(end.enter_ts as number); // the phone was there until its last location
  expect(end.starting_trip).toBeUndefined();
  expect(placeOf(next!, 'start_place')).toMatchObject({ enter_ts: end_ts });
});

it('over the date line, the next trip is the next in time, not the next of the same day', async () => {
  const apia: Phone = { platform: 'android', zone: 'Pacific/Apia' }; // +13
  const pago: Phone = { platform: 'android', zone: 'Pacific/Pago_Pago' }; // -11
  // 20:00 on the 14th in Apia, an hour later 21:00 on the 13th in Pago Pago, and there and back again.
  const rides = [apia, pago, apia, pago].map((phone, i) => pushedRide(phone, i * hour, i * 6000));
  const { user, chain, tripsOf } = await userWith(...rides);
  expect(new Set(chain.map((link) => link.day)).size).toBe(2);
  for (const [name, trips] of await readTripsOfDays(store, user, { from: '2023-11-01', to: '2023-11-30' })) {
    expect(await tripsOf(name)).toEqual(trips);
    for (const trip of trips) {
      const next = chain[chain.findIndex((link) => link.id === trip.id) + 1];
      expect(placeOf(trip, 'end_place').exit_ts).toBe(next?.start_ts);
    }
  }
});

const stressed = (seconds: number, stress: number, marked: number): Entry =>
  pushedIncident(android, seconds, 3000, stress, marked);
const ride = pushedRide(android, 0, 0);
const marked = (data: JsonObject[]): Entry[] =>
  data.map((one, i) => pushed(android, 'manual/incident', 9000 + i, { ts: t0 + 100, ...one }));

it('incidents within the time of the trip are shown, both ends included', async () => {
  const { user, chain, incidents } = await userWith(ride, [stressed(500, 3, 9000), stressed(100, 2, 9002)]);
  const [start, end] = [chain[0]!.start_ts - t0, chain[0]!.end_ts - t0];
  const atEdges = [stressed(start, 1, 9001), stressed(start - 1, 9, 9003), stressed(end, 4, 9004)];
  await put(store, user, [...atEdges, stressed(end + 1, 9, 9005)]);
  expect(await incidents()).toEqual([1, 2, 3, 4]);
});

it('incidents still in the usercache are shown too, and the newer content of one pushed again', async () => {
  const { user, incidents } = await userWith(ride, [stressed(100, 10, 9000)]);
  await put(store, user, [stressed(100, 80, 9000), stressed(200, 20, 9001)]);
  expect(await incidents()).toEqual([80, 20]);
  await pipeline(store, user);
  expect(await incidents()).toEqual([80, 20]);
});

it('incidents without a valid location are left out, and do not prevent the answer for a day', async () => {
  const wrong = [5, ['1', '2'], [1], [1, Number.POSITIVE_INFINITY]].map((coordinates) => ({ coordinates }));
  const strange = [{}, ...[null, {}, ...wrong].map((loc) => ({ loc })), { loc: 'x', stress: {} }];
  const { user, incidents } = await userWith(ride);
  await put(store, user, [...marked(strange), stressed(200, 20, 9100)]);
  expect(await incidents()).toEqual([20]);
});

it('incidents are all shown, for any number and size', async () => {
  const loc = stressed(100, 1, 9000).data.loc!;
  const many = Array.from({ length: 1200 }, (_, i) => {
    return { ts: t0 + 100 + i / 10, loc, stress: i % 100, note: 'x'.repeat(5000) };
  });
  const { user, incidents } = await userWith(ride);
  await put(store, user, marked(many));
  expect(await incidents()).toHaveLength(1200);
});
