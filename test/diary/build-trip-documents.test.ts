// Days from the store: the place after each trip, for any requested days, and the incidents during trips.
import { describe, expect, it } from 'vitest';
import { readTripsOfDay, readTripsOfDays } from '../../src/diary/build-trip-documents.ts';
import type { TripFeatureCollection } from '../../src/diary/trip-features.ts';
import type { Entry } from '../../src/model/entry.ts';
import { chainAfter, pipeline, put } from '../support/diary.ts';
import { spot, t0 } from '../support/phone.ts';
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
const incidentsIn = (trip: TripFeatureCollection | undefined): unknown[] =>
  trip!.features.flatMap((f) =>
    'properties' in f && f.properties?.feature_type === 'incident' ? [f.properties.stress] : [],
  );

describe('the trips of a day', () => {
  it('are empty for a day without trips and for an unknown user', async () => {
    const user = await newUser(store);
    await chainAfter(store, user, pushedRide(android, 0, 0));
    expect(await readTripsOfDay(store, user, '2023-11-13')).toEqual([]);
    expect(await readTripsOfDay(store, await newUser(store), '2023-11-14')).toEqual([]);
  });

  it('are the same whether the day is requested alone or with others', async () => {
    const user = await newUser(store);
    await chainAfter(
      store,
      user,
      [0, 1, 2].flatMap((d) => [
        ...pushedRide(android, d * day, 0),
        ...pushedRide(android, d * day + 6 * hour, 6000, -10),
      ]),
    );
    const days = await readTripsOfDays(store, user, { from: '2023-11-01', to: '2023-11-30' });
    expect([...days.keys()]).toEqual(['2023-11-14', '2023-11-15', '2023-11-16']);
    for (const [name, trips] of days) expect(await readTripsOfDay(store, user, name)).toEqual(trips);
  });

  it('end at a place with the time at which the user left, also for a trip of the next day', async () => {
    const user = await newUser(store);
    const chain = await chainAfter(store, user, [...pushedRide(android, 0, 0), ...pushedRide(android, day, 6000)]);
    const [trip] = await readTripsOfDay(store, user, '2023-11-14');
    expect(placeOf(trip!, 'end_place')).toMatchObject({
      exit_ts: chain[1]!.start_ts,
      starting_trip: { $oid: chain[1]!.id },
    });
  });

  it('end at a place that has an exit at the begin of untracked time after it', async () => {
    const user = await newUser(store);
    const chain = await chainAfter(store, user, [
      ...pushedRide(android, 0, 0),
      ...pushedRide(android, 9 * hour, 15_000),
    ]);
    expect(chain[1]!.untracked).not.toBeNull();
    const [trip, next] = await readTripsOfDay(store, user, '2023-11-14');
    const end = placeOf(trip!, 'end_place');
    expect(end).toMatchObject({ exit_ts: chain[1]!.untracked!.start_ts });
    expect(end.exit_ts).toBeGreaterThan(end.enter_ts as number); // the phone was there until its last location
    expect(end.starting_trip).toBeUndefined();
    expect(placeOf(next!, 'start_place')).toMatchObject({ enter_ts: chain[1]!.untracked!.end_ts });
  });

  it('over the date line: the next trip is the next in time, not the next of the same day', async () => {
    const user = await newUser(store);
    const apia: Phone = { platform: 'android', zone: 'Pacific/Apia' }; // +13
    const pago: Phone = { platform: 'android', zone: 'Pacific/Pago_Pago' }; // -11
    // 20:00 on the 14th in Apia, an hour later 21:00 on the 13th in Pago Pago, and there and back again.
    const chain = await chainAfter(store, user, [
      ...pushedRide(apia, 0, 0),
      ...pushedRide(pago, hour, 6000),
      ...pushedRide(apia, 2 * hour, 12_000),
      ...pushedRide(pago, 3 * hour, 18_000),
    ]);
    expect(new Set(chain.map((link) => link.day)).size).toBe(2);
    const days = await readTripsOfDays(store, user, { from: '2023-11-01', to: '2023-11-30' });
    for (const [name, trips] of days) {
      expect(await readTripsOfDay(store, user, name)).toEqual(trips);
      for (const trip of trips) {
        const next = chain[chain.findIndex((link) => link.id === trip.id) + 1];
        expect(placeOf(trip, 'end_place').exit_ts).toBe(next?.start_ts);
      }
    }
  });
});

describe('incidents', () => {
  const stressed = (seconds: number, stress: number, marked: number): Entry =>
    pushedIncident(android, seconds, 3000, stress, marked);

  it('within the time of the trip are shown, both ends included', async () => {
    const user = await newUser(store);
    const [link] = await chainAfter(store, user, [
      ...pushedRide(android, 0, 0),
      stressed(500, 3, 9000),
      stressed(100, 2, 9002),
    ]);
    const start = link!.start_ts - t0;
    await put(store, user, [stressed(start, 1, 9001), stressed(start - 1, 9, 9003)]);
    await put(store, user, [stressed(link!.end_ts - t0, 4, 9004), stressed(link!.end_ts - t0 + 1, 9, 9005)]);
    expect(incidentsIn((await readTripsOfDay(store, user, '2023-11-14'))[0])).toEqual([1, 2, 3, 4]);
  });

  it('still in the usercache are shown too, and the newer content of one pushed again', async () => {
    const user = await newUser(store);
    await chainAfter(store, user, [...pushedRide(android, 0, 0), stressed(100, 10, 9000)]);
    await put(store, user, [stressed(100, 80, 9000), stressed(200, 20, 9001)]);
    const shown = async () => incidentsIn((await readTripsOfDay(store, user, '2023-11-14'))[0]);
    expect(await shown()).toEqual([80, 20]);
    await pipeline(store, user);
    expect(await shown()).toEqual([80, 20]);
  });

  it('with unchecked data do not prevent the answer for a day', async () => {
    const user = await newUser(store);
    await chainAfter(store, user, pushedRide(android, 0, 0));
    const strange = [
      { loc: null },
      {},
      { loc: { coordinates: [Number.POSITIVE_INFINITY, 0] } },
      { loc: 'x', stress: {} },
    ].map((data, i) => pushed(android, 'manual/incident', 9000 + i, { ts: t0 + 100, ...data }));
    await put(store, user, [...strange, stressed(200, 20, 9100)]);
    expect(incidentsIn((await readTripsOfDay(store, user, '2023-11-14'))[0])).toEqual([20]);
  });

  it('are all shown, for any number and size', async () => {
    const user = await newUser(store);
    await chainAfter(store, user, pushedRide(android, 0, 0));
    const { latitude, longitude } = spot(3000);
    const many = Array.from({ length: 1200 }, (_, i) =>
      pushed(android, 'manual/incident', 9000 + i, {
        ts: t0 + 100 + i / 10,
        loc: { type: 'Point', coordinates: [longitude, latitude] },
        stress: i % 100,
        note: 'x'.repeat(5000),
      }),
    );
    await put(store, user, many);
    expect(incidentsIn((await readTripsOfDay(store, user, '2023-11-14'))[0])).toHaveLength(1200);
  });
});
