// Malformed requests over all routes: each is answered, none with a 5xx. `npm run bench -- malformed` sends 100,000 of
// them.
import { expect, it } from 'vitest';
import { malformedRequests } from '../../bench/malformed-requests.js';
import { routes } from '../../src/server/routes/index.ts';
import { openKit } from './kit.ts';

const count = 1_500;

it(`${count} malformed requests are answered, none of them with a 5xx but where an app must keep its data`, async () => {
  const kit = await openKit({ level: 'info' });
  await kit.user('ada');
  // Routes of other apps answer 503 where these would delete on a 4xx.
  const paths = routes.filter(({ dialect }) => dialect === undefined).map(({ path }) => path);
  const requests = malformedRequests(20161117, paths);
  const statuses = new Set<number>();
  for (let i = 0; i < count; i += 1) {
    const { method, path, headers, body } = requests.next().value;
    const answer = await kit.request(path, { method, headers, body: body as Uint8Array<ArrayBuffer> | null });
    statuses.add(answer.status);
    expect(answer.status, `request ${i}: ${method} ${path} ${body?.toString()}`).toBeLessThan(500);
  }
  expect(kit.errors).toEqual([]);
  for (const status of [200, 400, 403, 404, 405, 415]) expect(statuses).toContain(status);
  await kit.close();
});
