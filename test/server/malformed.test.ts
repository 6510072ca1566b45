// Malformed requests over all routes: each is answered, none with a 5xx. `MOBILITY_MALFORMED_REQUESTS` sets their
// number.
import { expect, it } from 'vitest';
import { routes } from '../../src/server/routes/all-routes.ts';
import { isRefusal, malformedRequests } from '../faults/malformed-requests.js';
import { share } from '../support/sample.ts';
import { openKit } from './kit.ts';

const count = Number(process.env.MOBILITY_MALFORMED_REQUESTS ?? share(1_500));

it(`${count} malformed requests are answered, with a 5xx only where the app must keep its data`, async () => {
  const kit = await openKit({ level: 'info' });
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
