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
  kit = await openKit({ level: 'info' });
  const { uuid } = await kit.user('ada');
  await storeTrips(kit.store, uuid, [madeTrip(1463502000, [{ mode: 'CAR' }]), madeTrip(1463702000, [{ mode: 'BUS' }])]);
  await kit.put([androidLocation(1463502000.5)]);
});

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
