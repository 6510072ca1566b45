// My data over HTTP: downloads of a day or of everything, and phones that are lost.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openPages, type Pages } from './kit.ts';

const now = 1_720_000_000;
const name = 'sim-demo-1@example.org';
let pages: Pages;
let user: string;
beforeAll(async () => {
  pages = await openPages({ users: 1, days: 3, now: () => now });
  user = (await pages.store.users.byEmail(name))!.uuid;
});
afterAll(() => pages?.close());

const text = async (path: string): Promise<string> => (await pages.get(path, pages.person)).text();

it('gives a day, some days or everything as CSV, GPX and GeoJSON', async () => {
  const day = '2024-07-01';
  const rows = (csv: string): string[] => csv.trim().split('\n').slice(1);
  const all = rows(await text('/me/data/download?format=csv&from=&to='));
  const some = rows(await text(`/me/data/download?format=csv&from=${day}&to=${day}`));
  expect([all.length > some.length, some.length > 0]).toEqual([true, true]);
  expect(all).toEqual(expect.arrayContaining(some));
  expect(some.every((row) => row.includes(day))).toBe(true);
  const gpx = await pages.get(`/me/data/download?format=gpx&from=${day}&to=${day}`, pages.person);
  expect(gpx.headers.get('content-disposition')).toBe(`attachment; filename="points-${day}.gpx"`);
  expect(await gpx.text()).toMatch(/<trkpt/);
  const map = JSON.parse(await text(`/me/data/download?format=geojson&from=${day}&to=${day}`));
  expect(map.features.length).toBeGreaterThan(some.length);
  expect((await pages.get('/me/data/download?format=xls', pages.person)).status).toBe(400);
});

it('a phone that is lost is refused, and the others and the browser stay', async () => {
  for (const app of ['owntracks', 'overland'])
    await pages.run('users', 'token', name, '--app', app, '--server', 'http://127.0.0.1:8080');
  expect(await text('/me/data')).toMatch(/OwnTracks, since[^<]*No contact yet/);
  const before = await pages.store.tokens.list(user);
  const lost = before.find(({ kind }) => kind === 'owntracks')!;
  const answer = await pages.send('/me/data', '/me/lost', { token: lost.hash.slice(0, 8) }, pages.person);
  expect(answer.headers.get('location')).toBe('/me/data?done=lost');
  const after = await pages.store.tokens.list(user);
  const revoked = after.filter(
    ({ hash, revoked_ts }) => revoked_ts !== before.find((one) => one.hash === hash)?.revoked_ts,
  );
  expect(revoked.map(({ hash, revoked_why }) => [hash, revoked_why])).toEqual([[lost.hash, 'revoked']]);
  const html = await text('/me/data?done=lost');
  expect(html).toContain('This phone can no longer send data');
  expect(html).not.toContain('OwnTracks, since');
  expect(html).toContain('Overland, since');
});
