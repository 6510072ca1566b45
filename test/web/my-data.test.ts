// My data and My days over HTTP: downloads, phones that are lost, reasons of trips, gaps.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { languages } from '../../src/web/pages/texts/texts.ts';
import { hiddenFields, openPages, type Pages } from './kit.ts';

const now = 1_720_000_000;
const name = 'sim-demo-1@example.org';
let pages: Pages;
let user: string;
beforeAll(async () => {
  pages = await openPages({ users: 1, days: 12, now: () => now });
  user = (await pages.store.users.byEmail(name))!.uuid;
});

const gapDay = '2024-06-30';
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

it('a revoked phone is refused, and the other phones and the browser stay signed in', async () => {
  for (const app of ['owntracks', 'overland'])
    await pages.run('users', 'token', name, '--app', app, '--server', 'http://127.0.0.1:8080');
  expect(await text('/me/data')).toMatch(/OwnTracks, since[^<]*No contact yet/);
  const before = await pages.store.tokens.list(user);
  const lost = before.find(({ kind }) => kind === 'owntracks')!;
  const answer = await pages.send('/me/data', '/me/lost', { token: lost.hash.slice(0, 8) }, pages.person);
  expect(answer.headers.get('location')).toBe('/me/data?done=lost');
  const reasons = before.map(({ hash, revoked_why }) => [hash, hash === lost.hash ? 'revoked' : revoked_why]);
  const after = await pages.store.tokens.list(user);
  expect(after.map(({ hash, revoked_why }) => [hash, revoked_why])).toEqual(reasons);
  const html = await text('/me/data?done=lost');
  expect(html).toContain('This phone can no longer send data');
  expect(html).not.toContain('OwnTracks, since');
  expect(html).toContain('Overland, since');
});

it.each(Object.values(languages))('explains a trip in complete sentences of $ownName', async (t) => {
  const path = `/me/day/${gapDay}`;
  const id = /\?why=(\w+)#/.exec(await text(path))![1]!;
  const html = await text(`${path}?why=${id}&lang=${t.language}`);
  const [, list] = /<ul class="small why">(.*?)<\/ul>/s.exec(html)!;
  const reasons = list!.match(/<li>[^<]*\./g)!;
  expect(reasons.length).toBeGreaterThan(3);
  expect(reasons[1]).toBe(`<li>${t.me.why.end.movement}`);
  for (const format of Object.keys(t.mine.formats))
    expect(html).toContain(`/me/data/download?from=${gapDay}&#38;to=${gapDay}&#38;format=${format}`);
});

it('a gap becomes a stay at the place before it, and its undo restores the gap with a message', async () => {
  const path = `/me/day/${gapDay}`;
  const before = await text(path);
  expect(before).toContain('Location was switched off on the phone.');
  const gap = /<div class="row gap">.*?<\/form>/s.exec(before)![0];
  const fields = hiddenFields(gap);
  expect(fields.kind).toBe('at_place');
  const answer = await pages.post('/me/correct', fields, pages.person);
  const saved = answer.headers.get('location')!;
  expect(await text(saved)).not.toContain('Location was switched off');
  const undone = await pages.send(saved, '/me/correct', {}, pages.person);
  expect(await text(undone.headers.get('location')!)).toMatch(/role="status">Undone\..*Location was switched off/s);
});

it('says where a place without a name is', async () => {
  expect(await text('/me')).toMatch(/<p class="soft small">[^<]*Place [A-Z] is [\d.]+ k?m [\w-]+ of (Home|Work)\./);
});

it('shows the last 30 days, and leads to the months before', async () => {
  const html = await text('/me/month');
  expect(html).toContain('<h1>The last 30 days</h1>');
  expect(html.match(/<li><a href="\/me\/day\//g)).toHaveLength(30);
  const [, earlier] = /rel="prev" href="(\/me\/month\/[\d-]+)"/.exec(html) ?? [];
  expect(await text(earlier!)).toContain('June 2024');
});

it('a day without data leads to the nearest day of the person, and a day that does not exist to My data', async () => {
  const steps = async (day: string) => (await text(`/me/day/${day}`)).match(/rel="(prev|next)" href="[^"]*"/g);
  expect(await steps('2030-01-01')).toEqual(['rel="prev" href="/me/day/2024-07-02"']);
  expect(await steps('1990-01-01')).toEqual(['rel="next" href="/me/day/2024-06-21"']);
  for (const path of ['/me/day/foo', '/me/month/foo']) {
    const answer = await pages.get(path, pages.person);
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('<a href="/me/data">')]);
  }
});

it('names the same last contact for the phone and for its token', async () => {
  const [first, ...others] = [...(await text('/me/data')).matchAll(/Last contact: ([^.<]+)/g)].map((one) => one[1]);
  expect(others).toEqual([first]);
});

it('counts the recorded share of a month from the first location on, and shows when the person joined', async () => {
  expect(await text('/me/month/2024-06')).toMatch(/Recorded: [^(]*\(9\d %\)/);
  expect(await text('/me/data')).toMatch(/<dt>Joined<\/dt><dd>\d+ June 2024/);
});

it('explains a trip at the beginning of a recording without a trip or stay before it, and an added trip', async () => {
  const day = '2024-03-12';
  const begin = Date.parse(`${day}T08:00:00Z`) / 1000;
  const rows = Array.from({ length: 90 }, (_, i) => `${begin + 20 * i},${38.5 + 0.0015 * Math.min(i, 45)},-8`);
  const file = join(pages.program.folder, 'ride.csv');
  writeFileSync(file, `time,lat,lon\n${rows.join('\n')}\n`);
  await pages.run('import', file, '--user', name);
  await pages.run('pipeline', '--all');
  const reasonsOf = async (trip: number): Promise<string> => {
    const ids = [...(await text(`/me/day/${day}`)).matchAll(/\?why=(\w+)#/g)];
    const html = await text(`/me/day/${day}?why=${ids[trip]![1]}`);
    return /<ul class="small why">(.*?)<\/ul>/s.exec(html)![1]!;
  };
  expect(await reasonsOf(0)).toContain('until then you were on another trip, or nothing was recorded.');
  const added = ['--from', '20:00', '--to', '20:30', '--mode', 'train', '--distance', '9000'];
  await pages.run('correct', 'add', '--user', name, '--day', day, ...added);
  const reasons = await reasonsOf(1);
  expect(reasons).toContain('train, as you stated. On average 18 km/h');
  expect(reasons).not.toContain('before your change');
});
