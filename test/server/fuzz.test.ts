// Random calls: no failure of the server, and an answer to each.
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../src/server/routes/all-routes.ts';
import { androidLocation, type Kit, openKit } from './kit.ts';
import { madeTrip, storeTrips } from './trips.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
  const { uuid } = await kit.user('ada');
  await storeTrips(kit.store, uuid, [madeTrip(1463502000, [{ mode: 'CAR' }]), madeTrip(1463702000, [{ mode: 'BUS' }])]);
  await kit.put([androidLocation(1463502000.5)]);
});

const names = [...new Set(routes.flatMap(({ body }) => Object.keys(body?.properties ?? {})))];
const dateNames = ['start_time', 'end_time'];

const weighted = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const texts = ['D', '2W', 'DAILY', 'YEARLY', '', 'distance', 'data.ts', 'data.end_ts', 'last'];
const numbers = [0, -1, 5, 1463502000.5, 1e12, 1e300, -1e300, 253_402_300_800, -62_135_596_801];
const within = (min: number, max: number) => fc.integer({ min, max });
const dates = { year: within(-2, 10_001), month: within(0, 13), day: within(0, 32) };

/** Values that are nearly right. */
const value = fc.oneof(
  weighted(3, fc.constantFrom(...texts, true, null)),
  weighted(2, fc.constantFrom(...numbers)),
  weighted(2, fc.record(dates, { requiredKeys: [] })),
  weighted(1, fc.array(fc.constantFrom('count', 'background/location', 'joy', ''))),
  weighted(1, fc.jsonValue({ maxDepth: 3 })),
);
const body = fc.dictionary(fc.oneof(fc.constantFrom(...names, ...dateNames), fc.string()), value, { maxKeys: 12 });

describe('a random call', () => {
  it.each(routes.filter(({ dialect }) => dialect === undefined).map(({ path }) => path.replace(':date', '2016-05-17')))(
    'to %s is answered with 200, or with 400 and the reason',
    async (path) => {
      await fc.assert(
        fc.asyncProperty(body, async (fields) => {
          const answer = await kit.post(path, JSON.stringify({ ...fields, user: 'ada' }));
          expect([200, 400], answer.text).toContain(answer.status);
          expect(typeof answer.json).toBe('object');
          expect(kit.errors).toEqual([]);
        }),
        { numRuns: 50 },
      );
    },
  );
});
