// What managers and operators see over HTTP: people found and reminded, figures as a file, what needs the operator.
import { beforeAll, expect, it } from 'vitest';
import { openPages, type Pages } from './kit.ts';

let now = Date.UTC(2024, 6, 20) / 1000;
let pages: Pages;
beforeAll(async () => {
  const create = ['--subgroup', 'west', '--subgroup', 'east', '--show-names'];
  pages = await openPages({ users: 7, days: 14, now: () => now, create });
});

async function at(ts: number): Promise<void> {
  now = ts;
  await pages.signIn();
}
const text = async (path: string): Promise<string> => (await pages.get(path, pages.manager)).text();
const people = (html: string): string[] => [...html.matchAll(/rowheader"><a[^>]*>(sim-demo-\d)/g)].map((m) => m[1]!);

it('finds people by name and by subgroup, and keeps both while it sorts and filters', async () => {
  const all = await text('/study/sunny');
  expect(people(all)).toHaveLength(7);
  const [joined, ...others] = [...all.matchAll(/show=\w+[^>]*><b>(\d+)/g)].map(([, count]) => Number(count));
  expect([joined, others.reduce((sum, count) => sum + count)]).toEqual([7, 7]);
  expect(people(await text('/study/sunny?find=DEMO-3'))).toEqual(['sim-demo-3']);
  const west = await text('/study/sunny?group=west&sort=person');
  expect(people(west)).toEqual(['sim-demo-2', 'sim-demo-4', 'sim-demo-6']);
  expect(west).toContain('show=never&#38;group=west');
  expect(await text('/study/sunny?find=nobody')).toContain('No people match.');
  expect(await text('/study/sunny')).toContain('<tr role="row" data-words="Sort by">');
});

it('lists a person who never began for a reminder only after the days that a phone may be silent', async () => {
  const reminded = async (): Promise<boolean> => (await text('/study/sunny/reminders.csv')).includes('me@example.org');
  await pages.store.users.register('me@example.org', { now, study: 'sunny', subgroup: 'west' });
  expect(await reminded()).toBe(false);
  expect(await text('/study/sunny')).toMatch(/me@example[\s\S]*?New/);
  const needed = async (path: string) => /\d+ (?:person needs|people need) a reminder/.exec(await text(path))?.[0];
  expect(await needed('/operator')).toBe(await needed('/study/sunny'));
  const before = now;
  await at(now + 4 * 86_400);
  expect(await reminded()).toBe(true);
  await at(before);
});

it('has a text for a person who can repair the phone, with the last calls of the phone', async () => {
  const html = await text('/study/sunny');
  const [, path] = /href="(\/study\/sunny\/p\/\w+)">sim-demo-6/.exec(html)!;
  const person = await text(path!);
  expect(person).toMatch(/Text to send[\s\S]*Open the app once/);
  expect(person).toMatch(/Battery<\/dt><dd>\d+ %/);
  const csv = await text('/study/sunny/reminders.csv');
  expect(csv.split('\n')[0]).toMatch(/what_to_do,text_to_send$/);
  expect(csv).toMatch(/sim-demo-6.*Hello, this is about your phone/);
  await pages.run('study', 'create', 'sunny', '--show-names', '--language', 'de');
  expect(await text('/study/sunny/reminders.csv')).toMatch(/sim-demo-6.*es geht um Ihr Telefon/);
});

it('has the modal split of a month as a file, sorted by kilometres, with ranges', async () => {
  const html = await text('/study/sunny/figures');
  expect(html).toContain('July 2024 by mode');
  expect(html).toMatch(/ people, \d\d % of their time recorded\./);
  const km = [...html.matchAll(/role="rowheader">([\w ]+)<\/th>.*?<span class="lab">km<\/span> ([\d.,]+)/g)];
  const values = km.slice(0, -1).map(([, , value]) => Number(value!.replaceAll(',', '')));
  expect(values.length).toBeGreaterThan(2);
  expect(values).toEqual([...values].sort((a, b) => b - a));
  expect(html).toMatch(/\d–\d/);
  expect(html).not.toContain('To publish');
  // The bars have a scale, and each a line for its range.
  expect(html).toMatch(/text-anchor="end">[125][0,]* km<\/text>/);
  expect(html.match(/<path class="scale" d="M[\d.]+ 1v10M/g)).toHaveLength(values.length);
  const file = await pages.get('/study/sunny/figures/2024-07?csv=internal', pages.manager);
  expect(file.headers.get('content-disposition')).toContain('sunny-2024-07-internal.csv');
  const [head, ...rows] = (await file.text()).trim().split('\n');
  expect(head).toMatch(/^month,cell,people,trips,km,share_of_km,hours,trips_per_day,km_per_day/);
  expect(rows.at(-1)).toMatch(/^2024-07,all,/);
  expect(rows.join()).not.toMatch(/\.\d{12}/); // the binary rest of sums
  const rest = rows.slice(0, -1).reduce((sum, row) => sum + Number(row.split(',')[5]), 0);
  expect(rest).toBeCloseTo(1, 6);
});

it('publishes figures of a settled month as the command does', async () => {
  const before = now;
  await at(Date.UTC(2024, 7, 20) / 1000);
  const file = await text('/study/sunny/figures/2024-07?csv=published');
  const { stdout } = await pages.run('report', '--study', 'sunny', '--from', '2024-07', '--csv', '-');
  await at(before);
  expect(file).toBe(stdout);
  expect(stdout.split('\n').length).toBeGreaterThan(2);
});

it('shows the operator the findings of the doctor, with a command as remedy', async () => {
  const html = await text('/operator');
  const german = await text('/operator?lang=de');
  expect(german).toContain('<h2>Aus den letzten 7 Tagen gibt es keine Sicherung.</h2>');
  expect(html).toMatch(
    /2 things need your attention[\s\S]*<code>mobility backup FOLDER[\s\S]*<code>mobility status<\/code>/,
  );
  expect(german).toContain('Sichern Sie täglich: <code>mobility backup FOLDER</code>');
  for (const page of [html, german]) expect(page).not.toContain('no backup is in the audit log');
});
