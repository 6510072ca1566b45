// Random and malformed calls over all routes: each is answered, none with a failure of the server.
// `MOBILITY_MALFORMED_REQUESTS` sets the number of malformed ones.
import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { routes } from '../../src/server/routes/all-routes.ts';
import { isRefusal, malformedRequests } from '../faults/malformed-requests.js';
import { share } from '../support/sample.ts';
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

it.each(routes.filter(({ dialect }) => dialect === undefined).map(({ path }) => path.replace(':date', '2016-05-17')))(
  'a random call to %s is answered with 200, or with 400 and the reason',
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

it('a put of random bytes is refused, packed or not', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.boolean(), async (bytes, isGzip) => {
      const answer = await kit.post('/usercache/put', bytes, isGzip ? { 'Content-Encoding': 'gzip' } : {});
      expect([400, 403]).toContain(answer.status);
      expect(kit.errors).toEqual([]);
    }),
  );
});

const count = Number(process.env.MOBILITY_MALFORMED_REQUESTS ?? share(1_500));

it(`${count} malformed requests are answered, with a 5xx only where the app must keep its data`, async () => {
  kit = await openKit({ level: 'info' });
  await kit.user('ada');
  const requests = malformedRequests(
    20161117,
    routes.map(({ path }) => path),
  );
  const ofOtherApps = ['/', ...routes.filter(({ dialect }) => dialect !== undefined).map(({ path }) => path)];
  const statuses = new Set<number>();
  for (let i = 0; i < count; i += 1) {
    const { method, path, headers, body } = requests.next().value;
    const answer = await kit.request(path, { method, headers, body: body as Uint8Array<ArrayBuffer> | null });
    statuses.add(answer.status);
    const isOtherApp = ofOtherApps.includes(path.split('?')[0]!) && !(path === '/' && method !== 'POST');
    expect(isRefusal(answer, isOtherApp), `request ${i}: ${method} ${path} ${body?.toString()} ${answer.text}`).toBe(
      true,
    );
  }
  expect(kit.errors).toEqual([]);
  for (const status of [200, 400, 403, 404, 405, 415, 503]) expect(statuses).toContain(status);
});
