import { expect, it } from 'vitest';
import { readSections, readSectionsOfDays } from '../../src/figures/read-sections.ts';
import { madeTrip, storeTrips } from '../server/trips.ts';
import { newUser, useStore } from '../support/store.ts';

const start = Date.parse('2016-05-01T12:00:00Z') / 1000;
const hour = 3600;
const store = useStore();
const userWith = async (...trips: Parameters<typeof madeTrip>[]): Promise<string> => {
  const user = await newUser(store);
  await storeTrips(
    store,
    user,
    trips.map((trip) => madeTrip(...trip)),
  );
  return user;
};
const starts = (sections: { start_ts: number }[]) => sections.map(({ start_ts }) => start_ts);

it('sections of a range: all are found, for any number of reads of trips', async () => {
  const times = Array.from({ length: 450 }, (_, i) => start + i * hour);
  const user = await userWith(...times.map((ts): Parameters<typeof madeTrip> => [ts, [{ mode: 'CAR' }]]));
  expect(starts(await readSections(store.trips, user, { from: start, to: times.at(-1)! + 1 }))).toEqual(times);
  const part = await readSections(store.trips, user, { from: times[100]!, to: times[350]! });
  expect(starts(part)).toEqual(times.slice(100, 350));
});

it('sections of a range: a section counts by its own start, even if its trip began days before', async () => {
  const user = await userWith(
    [start - 100 * hour, [{ mode: 'WALKING' }]],
    [start - 60 * hour, [{ mode: 'TRAIN' }, { mode: 'WALKING', after: 70 * hour }]],
    [start + 20 * hour, [{ mode: 'BUS' }]],
  );
  expect(starts(await readSections(store.trips, user, { from: start, to: start + 20 * hour }))).toEqual([
    start + 10 * hour,
  ]);
  expect(await readSections(store.trips, user, { from: start, to: start })).toEqual([]);
  expect(await readSections(store.trips, user, { from: start + 1000 * hour, to: start + 2000 * hour })).toEqual([]);
});

it('sections of a range: local days are in the zone where the user was', async () => {
  const user = await userWith(
    [Date.parse('2016-05-17T10:59:00Z') / 1000, [{ mode: 'BUS' }], 'Pacific/Auckland'],
    [Date.parse('2016-05-17T12:01:00Z') / 1000, [{ mode: 'CAR' }], 'Pacific/Auckland'],
    [Date.parse('2016-05-19T06:30:00Z') / 1000, [{ mode: 'TRAM' }], 'America/Los_Angeles'],
  );
  const on = async (from: string, to: string) =>
    (await readSectionsOfDays(store.trips, user, { from, to })).map(({ mode }) => mode);
  expect(await on('2016-05-17', '2016-05-17')).toEqual(['BUS']);
  expect(await on('2016-05-18', '2016-05-18')).toEqual(['CAR', 'TRAM']);
  expect(await on('2016-05-01', '2016-05-31')).toEqual(['BUS', 'CAR', 'TRAM']);
  expect(await on('2016-05-31', '2016-05-01')).toEqual([]);
});
