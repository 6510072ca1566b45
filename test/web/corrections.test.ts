// The pages of days and of figures over HTTP: what forms change, their undo, and figures beside publishable ones.
import { beforeAll, expect, it, vi } from 'vitest';
import { correctedTrips } from '../../src/diary/corrections/corrected-trips.ts';
import { ridesOf } from '../../src/diary/corrections/stated-mode.ts';
import { putBatch } from '../../src/intake/put-batch.ts';
import type { JsonObject } from '../../src/model/json.ts';
import type { Trip } from '../../src/model/trip.ts';
import type { Store } from '../../src/store/store.ts';
import { correction } from '../support/corrections.ts';
import { countRejected } from '../support/store.ts';
import { hiddenFields, openPages, type Pages } from './kit.ts';

const day = '2024-03-26';
const people = 6;
const person = 'sim-forms-1@example.org';
let clock = Date.parse(`${day}T12:00:00Z`) / 1000 + 3 * 86_400;
let pages: Pages;
let store: Store;
let uuid: string;

beforeAll(async () => {
  const well = { seed: 'forms', from: '2024-03-25' };
  pages = await openPages({ users: people, days: 3, now: () => clock, well });
  store = pages.store;
  uuid = (await store.users.byEmail(person))!.uuid;
});

const run = (...args: string[]) => pages.run(...args);
const post = (path: string, fields: Record<string, string>) => pages.post(path, fields, pages.person);
const page = async (path: string, cookie = pages.person): Promise<string> => (await pages.get(path, cookie)).text();
const studyPage = (path: string) => page(`/study/sunny${path}`, pages.manager);
const dayPage = () => page(`/me/day/${day}`);

const trips = (html: string): string[] => [...html.matchAll(/class="trip" id="trip-(\w+)"/g)].map((m) => m[1]!);
/** The page with the forms of a trip of the day. */
const formsOf = async (i: number): Promise<string> => page(`/me/day/${day}?correct=${trips(await dayPage()).at(i)}`);
const readTrips = async (): Promise<Trip[]> =>
  (await correctedTrips(store).byDay(uuid, { from: day, to: day })).flatMap(({ trip }) => trip ?? []);

/** The hidden fields of the first form of a page behind `from` that has `words`. */
function formWith(html: string, words: string, from = ''): Record<string, string> {
  const forms = html.slice(html.indexOf(from)).match(/<form.*?<\/form>/gs)!;
  const form = forms.find((one) => one.includes(words));
  expect(form, `${words} in ${forms.length} forms`).toBeDefined();
  return hiddenFields(form!);
}

/** Sends a form a minute later; returns the address of the page that reports it. */
async function state(path: string, fields: Record<string, string>): Promise<string> {
  clock += 60;
  const { status, headers } = await post(path, fields);
  const location = headers.get('location')!;
  expect([status, location]).toEqual([303, expect.stringContaining(`/me/day/${day}?done=`)]);
  return location;
}
const correct = (fields: Record<string, string>) => state('/me/correct', fields);
/** Answers the question about the mode on a page with the forms of a trip. */
const label = (html: string, answer: Record<string, string>) =>
  state('/me/label', { ...formWith(html, 'How did you travel?'), ...answer });
const undoIn = (html: string, from = '') => correct(formWith(html, 'Undo', from));
const undoLast = async () => undoIn(await dayPage(), 'id="stated"');
async function undoAll(): Promise<void> {
  while ((await dayPage()).includes('id="stated"')) await undoLast();
}

/** A day without what changes from call to call. */
const shown = (html: string): string => html.replace(/correct=\w+|id="trip-\w+"|#trip-\w+/g, '');
const legend = (html: string): string => html.match(/class="legend".*?<\/ul>/)![0];

it('a person corrects the mode of a trip, sees it on the next page, and undoes it without a run of the pipeline', async () => {
  const before = await dayPage();
  const saved = await page(await label(await formsOf(0), { mode: 'train', purpose: 'work' }));
  expect(saved.indexOf('>Undo<')).toBeLessThan(saved.indexOf('<h1>'));
  expect(saved).toMatch(/role="status">Saved\. [\d:]{5}: Train or tram · Going to work\.</);
  const after = await dayPage();
  expect(after.indexOf('>Undo<')).toBeGreaterThan(after.indexOf('<h1>'));
  expect(after).toMatch(/class="legend".*?train.*"trip".*?Train.*id="stated".*Train or tram · Going to work/s);
  const form = await formsOf(0);
  expect(form).toContain('value="train" checked');
  expect(form).toContain('<option value="work" selected>');
  await run('pipeline', '--all');
  expect(await dayPage()).toBe(after);
  await undoLast();
  expect(shown(await dayPage())).toBe(shown(before));
  await run('pipeline', '--all');
  expect(shown(await dayPage())).toBe(shown(before));
});

it('an answer without a mode changes nothing, and a new answer overrides an earlier correction', async () => {
  const before = await dayPage();
  const html = await formsOf(0);
  await label(html, { mode: 'other' });
  expect(legend(await dayPage())).toBe(legend(before));
  const [ride] = ridesOf((await readTrips())[0]!.sections);
  const { csrf } = formWith(html, 'How did you travel?');
  await correct({ csrf: csrf!, day, kind: 'mode', ts: `${ride!.start_ts + 1}`, mode: 'ferry' });
  expect(legend(await dayPage())).toContain('ferry');
  await label(html, { mode: 'train' });
  expect(legend(await dayPage())).not.toContain('ferry');
  expect(legend(await dayPage())).toContain('train');
  await undoAll();
});

it('each section of a trip in a vehicle has its own question, and one save corrects the changed ones', async () => {
  const modes = async () => (await readTrips())[0]!.sections.map(({ sensed_mode }) => sensed_mode.split('.')[1]);
  const trip = (await readTrips()).find(({ sections }) => sections.length > 2)!;
  const [first, , last] = trip.sections;
  const correctPage = () => page(`/me/day/${day}?correct=${trip.id}`);
  const { csrf } = formWith(await correctPage(), 'How did you travel?');
  const correctMode = (ts: number, mode: string) => correct({ csrf: csrf!, day, kind: 'mode', ts: `${ts}`, mode });
  await correctMode(first!.start_ts + 5, 'bus');
  await correctMode(last!.start_ts + 5, 'car');
  const html = await correctPage();
  const questions = html.match(/<legend>How did you travel from/g);
  expect(questions).toHaveLength(ridesOf((await readTrips())[0]!.sections).length);
  const answers = { mode_0: 'train', mode_1: 'nothing', purpose: 'meal' };
  const saved = await page(await state('/me/label', { ...formWith(html, 'What was this trip for?'), ...answers }));
  expect(await modes()).toEqual(expect.arrayContaining(['TRAIN', 'CAR']));
  expect(saved).toMatch(/role="status">Saved\..*07:49: train.*Meal/);
  await undoIn(saved);
  expect(await modes()).toContain('BUS');
  await undoAll();
});

/** Splits a trip in two in its middle; returns the address of the page that reports it. */
function split(html: string): Promise<string> {
  const fields = formWith(html, 'Split this trip in two');
  return correct({ ...fields, kind: 'split', ts: fields.trip_ts! });
}

it('a split of a labelled trip asks for the mode of both parts again, and an equal answer counts for one part', async () => {
  const before = await dayPage();
  const html = await formsOf(0);
  await label(html, { mode: 'train' });
  await split(html);
  const after = await dayPage();
  expect(trips(after)).toHaveLength(trips(before).length + 1);
  expect(legend(after)).not.toContain('train');
  expect(after).not.toContain('Your label');
  const part = await formsOf(0);
  expect(part).not.toContain('value="train" checked');
  await label(part, { mode: 'train' });
  expect(await dayPage()).toMatch(/<li class="trip".*?Train.*id="stated".*: Train or tram</s);
  await undoAll();
});

it('the undo of a split restores the label of the whole trip, without the labels of its parts', async () => {
  const html = await formsOf(0);
  await label(html, { mode: 'train', purpose: 'work' });
  const labelled = await dayPage();
  const saved = await page(await split(html));
  for (const [i, mode] of ['bus', 'bike'].entries()) await label(await formsOf(i), { mode, purpose: 'shopping' });
  expect(await dayPage()).toMatch(/07:45: .*Bus<.*07:58: Bicycle/s);
  await undoIn(saved);
  expect(shown(await dayPage())).toBe(shown(labelled));
  await run('pipeline', '--all');
  expect(shown(await dayPage())).toBe(shown(labelled));
  await undoAll();
});

it('a label keeps its part of the trip when the trip is joined with another one', async () => {
  // Two walks, the second shorter than the first.
  const [, , second] = trips(await dayPage());
  const html = await formsOf(2);
  await label(html, { mode: 'bus' });
  const modes = async (): Promise<string[]> =>
    [...(await dayPage()).matchAll(/class="ic (?!waiting)(\w+)"/g)].map((m) => m[1]!);
  const before = await modes();
  expect(before).toContain('bus');
  await correct(formWith(html, 'Join with the trip before'));
  expect(trips(await dayPage())).not.toContain(second);
  expect(await modes()).toEqual(before);
  await undoAll();
});

const preview = async (fields: Record<string, string>) => (await post('/me/preview', fields)).text();
const notSaved = 'Nothing is saved yet';

it('a preview shows the corrected day and saves nothing, and a wrong time is shown again as typed', async () => {
  const before = await dayPage();
  const html = await formsOf(0);
  const drop = formWith(html, 'I did not make this trip');
  const dropped = await preview(drop);
  expect(dropped).toContain(notSaved);
  expect(trips(dropped)).toHaveLength(trips(before).length - 1);
  expect(shown(await dayPage())).toBe(shown(before));
  const wrong = await preview({ ...formWith(html, 'Split this trip in two'), clock: '03:33' });
  for (const part of ['The time must lie within the trip', 'value="03:33"']) expect(wrong).toContain(part);
  await correct(formWith(dropped, 'Save', notSaved));
  expect(trips(await dayPage())).toHaveLength(trips(before).length - 1);
  await undoLast();
  expect((await post('/me/preview', { ...drop, ts: 'x' })).status).toBe(400);
});

it('a person adds a trip within a stay, and a wrong time or length is shown again as typed', async () => {
  const before = await dayPage();
  const item = /\?correct=(at-\d+)#/.exec(before)![1]!;
  const html = await page(`/me/day/${day}?correct=${item}`);
  const typed = { from: '02:00', to: '02:30', mode: 'ferry', km: '3,5' };
  const fields = { ...formWith(html, 'When did the trip begin?'), ...typed };
  const expectRefused = async (wrong: object, message: string): Promise<void> => {
    const refused = await preview({ ...fields, ...wrong });
    const { from, to, mode, km } = { ...typed, ...wrong };
    const shownAgain = [`value="${from}"`, `value="${to}"`, `value="${km}"`, `value="${mode}" selected`];
    for (const part of [message, ...shownAgain]) expect(refused).toContain(part);
    expect(refused).not.toContain(notSaved);
  };
  await expectRefused({ to: '01:00' }, 'The trip must begin and end within this time');
  for (const km of ['-3', '0', 'abc', '9999999']) {
    await expectRefused({ km }, 'The length must be a number above 0, and at most 40,000 km');
    const answer = await post('/me/correct', { ...fields, km });
    expect(answer.headers.get('location')).toBe(`/me/day/${day}?done=length`);
  }
  expect(await dayPage()).not.toContain('id="stated"');
  expect(await page(`/me/day/${day}?done=length`)).toContain('The length must be a number above 0');
  const added = await preview(fields);
  expect(added).toMatch(/class="legend".*ferry 3\.5 km.*02:00.*30 min · 3\.5 km/s);
  await correct(formWith(added, 'Save', notSaved));
  expect(trips(await dayPage())).toHaveLength(trips(before).length + 1);
  await undoLast();
});

it('a person names and renames a place, and the undo of the second name lets the first one count again', async () => {
  let saved = '';
  for (const name of ['Gym', 'Café']) {
    saved = await correct({ ...formWith(await dayPage(), 'What do you call this place?'), name });
    expect(await dayPage()).toContain(`<h3>${name}</h3>`);
  }
  const renamed = await dayPage();
  expect(renamed).toContain('value="Café"');
  expect(renamed.match(/this place is [^<]+/g)).toEqual(['this place is Café']);
  const undone = await undoIn(await page(saved));
  expect(await page(undone)).toMatch(/role="status">Undone\..*<h3>Gym<\/h3>/s);
  await undoLast();
  expect(await dayPage()).not.toContain('<h3>Gym</h3>');
});

it('a month that has not begun is still to come', async () => {
  expect(await page('/me/month/2099-01')).toMatch(/January 2099[\s\S]*This is still to come\./);
});

it('the map measures distances from home, wherever the day begins', async () => {
  const html = await dayPage();
  expect(html).toContain('Rings: distance from Place A.');
  await correct({ ...formWith(html, 'What do you call this place?', '<h3>Place B</h3>'), name: 'home' });
  expect(await dayPage()).toContain('Rings: distance from Home.');
  await undoLast();
});

it('excluded time has no trips and is shown as ignored, until the correction is undone', async () => {
  const before = await dayPage();
  const { csrf } = formWith(await formsOf(0), 'I did not make this trip');
  const [from, to] = [`${day}T00:00:00+01:00`, `${day}T23:59:59+01:00`].map((text) => `${Date.parse(text) / 1000}`);
  await correct({ csrf: csrf!, day, kind: 'set_aside', start_ts: from!, end_ts: to! });
  expect(await page(`/me/day/${day}?done=later`)).toContain('the day changes within a few minutes');
  expect(trips(await dayPage())).toEqual(trips(before));
  await run('pipeline', '--all');
  const after = await dayPage();
  expect(trips(after)).toEqual([]);
  expect(after).toContain('This time is ignored at your request.');
  await undoLast();
  await run('pipeline', '--all');
  expect(shown(await dayPage())).toBe(shown(before));
});

it('a form that is sent twice stores one correction, and one for a removed trip saves nothing and reports it', async () => {
  const before = await dayPage();
  const html = await formsOf(0);
  const [drop, answer] = [formWith(html, 'I did not make this trip'), formWith(html, 'How did you travel?')];
  await correct(drop);
  for (const _ of ['pending', 'moved']) {
    await correct(drop);
    await run('pipeline', '--all');
  }
  const stated = (await dayPage()).split('id="stated"')[1]!;
  expect(stated.match(/class="stated"/g)).toHaveLength(1);
  const gone = (await post('/me/label', { ...answer, mode: 'bus' })).headers.get('location')!;
  expect(await page(gone)).toContain('Nothing was saved');
  await undoLast();
  expect(shown(await dayPage())).toBe(shown(before));
});

it('a used link leads to the days in the browser that it signed in', async () => {
  const link = (await run('users', 'link', person, '--server', 'http://127.0.0.1:8080')).stdout.trim();
  const { pathname, search, searchParams } = new URL(link);
  await post('/me/open', { key: searchParams.get('key')! });
  const again = await pages.get(`${pathname}${search}`, pages.person);
  expect([again.status, await again.text()]).toEqual([403, expect.stringContaining('href="/me"')]);
});

it('a flag is shown as a question at its trip, and the answer removes it', async () => {
  expect(await studyPage('/flagged')).not.toContain('Faster than this can be');
  await label(await formsOf(0), { mode: 'walk' });
  const answer = formWith(await dayPage(), 'name="mode"', 'Was this the mode?');
  expect(await studyPage('/flagged')).toContain('Faster than this can be');
  await correct({ ...answer, mode: 'bus' });
  expect(await dayPage()).not.toContain('Was this the mode?');
  await undoAll();
});

it('a long label is shortened, one beyond the limit is rejected, and the label "constructor" is shown as text', async () => {
  const { start_ts, end_ts } = (await readTrips())[0]!;
  const input = (name: string, data: JsonObject, i: number) => ({
    metadata: { key: `manual/${name}`, type: 'message', platform: 'android', write_ts: clock + i, time_zone: 'UTC' },
    data: { start_ts, end_ts, ...data },
  });
  const notes = Array.from({ length: 40 }, (_, i) => ({ label: 'n'.repeat(1000), match_id: `${i}` }));
  const entries = [
    input('purpose_confirm', { label: 'p'.repeat(1024) }, 0),
    input('replaced_mode', { label: 'constructor' }, 1),
    ...notes.map((note, i) => input('trip_addition_input', note, i)),
    input('mode_confirm', { label: 'm'.repeat(2_000_000) }, 0),
    input('trip_user_input', { label: 'answered', xmlResponse: 'x'.repeat(70_000) }, 0),
    input('trip_user_input', { label: 'a survey', xmlResponse: 'x'.repeat(60_000) }, 1),
  ];
  await putBatch(uuid, entries, { store, now: () => clock });
  for (const _ of ['waiting', 'moved']) {
    const html = await dayPage();
    expect(html).toContain(`a survey · ${'n'.repeat(200)}…; n`);
    expect(html).toMatch(/[^p]p{200}… · constructor/);
    expect(html).not.toMatch(/native code|mmmm|answered/);
    expect(html.length).toBeLessThan(60_000);
    await run('pipeline', '--all');
  }
  const rejected = ['manual/mode_confirm', 'manual/trip_user_input'];
  expect(await countRejected(store, uuid)).toEqual(rejected.map((key) => ({ key, reason: 'out_of_range', count: 1 })));
  expect(await page('/me?done=constructor')).not.toContain('native code');
});

it('exact figures of a month are shown beside publishable ones, which appear when the month is settled', async () => {
  pages.acts.length = 0;
  expect(await studyPage('/figures/2024-03')).toContain('a week after it ends');
  const rowsOf = (html: string): string[] => html.match(/<tr role="row"><th scope="row".*?<\/tr>/g)!;
  const cells = (html: string): string[] => {
    const all = rowsOf(html).find((one) => one.includes('>all<'))!;
    return [...all.matchAll(/class="n"><span class="lab">[^<]*<\/span> ([^<]*)</g)].map((m) => m[1]!);
  };
  clock += 20 * 86_400;
  await pages.signIn();
  const html = await studyPage('/figures');
  const [toPublish, exact] = html.split('Do not pass on');
  const report = await run('report', '--from', '2024-03', '--json');
  const [month] = report.json<{ months: { all: { km: number } }[] }>().months;
  expect([2, 3, 7].map((i) => cells(toPublish!)[i])).toEqual([`${month!.all.km}`, '100 %', '5']);
  expect([3, 5, 7].map((i) => cells(exact!)[i])).toEqual(['100 %', '100 %', `${people}`]);
  expect(rowsOf(exact!).filter((row) => !row.includes('>all<') && / \d+ %</.test(row)).length).toBeGreaterThan(1);
  expect(pages.acts.map(({ who, action, people: of }) => [who, action, of.length])).toEqual(
    Array(2).fill(['manager mira', 'figures of 2024-03', people]),
  );
  expect(html).not.toContain('@example.org');
});

it('a page of a study reads only people whose data changed since the last reading', async () => {
  const read = vi.spyOn(store.timeseries, 'find');
  const readAfter = async (path: string): Promise<Set<string>> => {
    read.mockClear();
    await studyPage(path);
    return new Set(read.mock.calls.map(([user]) => user));
  };
  for (const path of ['', '/flagged', '/figures/2024-03']) {
    await readAfter(path);
    expect([path, await readAfter(path)]).toEqual([path, new Set()]);
  }
  await label(await formsOf(-1), { mode: 'ferry' });
  expect(await readAfter('/figures/2024-03')).toEqual(new Set([uuid]));
  expect(await studyPage('/figures/2024-03')).toContain('>ferry<');
  await undoLast();
  expect(await studyPage('/figures/2024-03')).not.toContain('>ferry<');
  await run('pipeline', '--all');
  read.mockRestore();
});

it('the operator sees the version, and the names of people whose phone is refused', async () => {
  const operator = () => page('/operator', pages.manager);
  const fine = await operator();
  expect(fine).toContain('1.2.3');
  expect(fine).not.toContain('Phones whose data is refused');
  await store.profiles.merge(uuid, { last_refusal: 'token x', last_refusal_ts: clock, last_refusal_why: 'revoked' });
  expect(await operator()).toContain(`${person}: refused`);
});

it('dates of My data are in the last zone of the person', async () => {
  const before = clock;
  expect((await correctedTrips(store).previous(uuid, clock))!.trip!.end_zone).toBe('Europe/Lisbon');
  clock = Date.parse('2024-03-31T23:30:00Z') / 1000; // in Lisbon it is April
  await pages.send('/me/data', '/me/erase', { word: 'erase' }, pages.person);
  expect(await page('/me/data')).toContain('You asked on 1 April 2024');
  await pages.send('/me/data', '/me/keep', {}, pages.person);
  clock = before;
});

it('people who stopped the recording or asked to be erased are not on the reminder list', async () => {
  const second = (await store.users.list({ limit: 10 })).find(({ user_email }) => user_email !== person)!;
  clock += 9 * 86_400; // all are silent now
  await pages.signIn();
  const listed = async (): Promise<number> => (await studyPage('/reminders.csv')).trim().split('\n').length - 1;
  expect(await listed()).toBe(people);
  await run('users', 'token', person);
  await pages.send('/me/data', '/me/stop', {}, pages.person);
  await store.profiles.merge(second.uuid, { erasure_asked_ts: clock });
  expect(await listed()).toBe(people - 2);
  expect(await studyPage('')).toContain('Stopped');
  const stopped = (await run('users', 'list', '--state', 'stopped', '--json')).json();
  expect(stopped).toMatchObject({ users: [{ user_email: person }] });
  await store.profiles.merge(second.uuid, { erasure_asked_ts: null });
  clock -= 9 * 86_400;
});

it('simultaneous corrections are all stored, and one beyond the maximum is refused with a message', async () => {
  const waiting = (): Promise<number> => store.usercache.count(uuid);
  await run('pipeline', '--all');
  const { csrf } = formWith(await page('/me/data'), 'name="word"');
  const send = (fields: Record<string, string>) => post('/me/correct', { csrf: csrf!, day, ...fields });
  const drop = async (ts: number) => (await send({ kind: 'drop', ts: `${ts}` })).headers.get('location');
  const all = await Promise.all(Array.from({ length: 60 }, (_, i) => drop(1e9 + i)));
  expect(all).toEqual(all.map(() => expect.stringContaining(`/me/day/${day}?done=stated`)));
  expect(await waiting()).toBe(60);
  const entries = Array.from({ length: 1000 }, (_, i) => ({ ...correction(1e9 + i, { kind: 'drop', ts: 1e9 }) }));
  await putBatch(uuid, entries, { store, now: () => clock });
  const before = await waiting();
  expect(await drop(9e8)).toBe(`/me/day/${day}?done=full`);
  expect(await page(`/me/day/${day}?done=full`)).toContain('maximum number of corrections');
  const command = ['correct', 'drop', '--user', person, '--day', day, '--at', '12:00'];
  await pages.program.refuse(command, 'at most 1000 active corrections', { now: clock });
  expect((await send({ kind: 'undo', of: '1' })).status).toBe(400);
  expect(await waiting()).toBe(before);
});
