// The pages of days and of figures over HTTP: forms with and without their secret, the changes that they make, their
// undo, and the figures of a study beside what may be published.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { correctedTrips } from '../../src/diary/corrections/corrected-trips.ts';
import { ridesOf } from '../../src/diary/corrections/stated-mode.ts';
import { putBatch } from '../../src/intake/put-batch.ts';
import type { Act } from '../../src/log/audit-log.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { createApp } from '../../src/server/app.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { csrfOf } from '../../src/web/sessions.ts';
import { freshProgram, type Program } from '../cli/kit.ts';
import { appParts } from '../server/kit.ts';

const day = '2024-03-26';
const people = 6;
const person = 'sim-forms-1@example.org';
let clock = Date.parse(`${day}T12:00:00Z`) / 1000 + 3 * 86_400;
let program: Program;
let store: Store;
let app: ReturnType<typeof createApp>;
let cookie: string;
let manager: string;
let password: string;
const acts: Act[] = [];

const run = (...args: string[]) => program.succeed(args, { now: clock });

beforeAll(async () => {
  program = await freshProgram();
  await run('study', 'create', 'sunny');
  await program.withStore(async ({ users }) => {
    for (let i = 1; i <= people; i++)
      await users.register(`sim-forms-${i}@example.org`, { now: clock - 9 * 86_400, study: 'sunny' });
  });
  await run('simulate', '--users', `${people}`, '--days', '3', '--from', '2024-03-25', '--seed', 'forms');
  await run('pipeline', '--all');
  store = await openStore(program.address);
  app = createApp(
    appParts({
      store,
      now: () => clock,
      version: '1.2.3',
      audit: async (act) => void acts.push(act),
    }),
  );
  const link = (await run('users', 'link', person, '--server', 'http://127.0.0.1:8080')).stdout.trim();
  cookie = await cookieAfter('/me/open', { key: new URL(link).searchParams.get('key') ?? link.split('/').at(-1)! });
  password = (await run('managers', 'add', 'mira', '--study', 'sunny', '--operator')).stdout.trim();
  manager = await signedIn();
});
afterAll(() => store?.close());

const post = (path: string, fields: Record<string, string>): Promise<Response> =>
  Promise.resolve(
    app.request(path, {
      method: 'POST',
      headers: { Cookie: cookie ?? '', 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    }),
  );

async function cookieAfter(path: string, fields: Record<string, string>): Promise<string> {
  const set = (await post(path, fields)).headers.get('set-cookie');
  return set!.split(';')[0]!;
}

const signedIn = (): Promise<string> => cookieAfter('/sign-in/study', { name: 'mira', password });

const page = async (path: string, who = cookie): Promise<string> =>
  (await app.request(path, { headers: { Cookie: who } })).text();

/** The hidden fields of the first form of a page behind `from` that holds `words`. */
function formWith(html: string, words: string, from = ''): Record<string, string> {
  const forms = html.slice(html.indexOf(from)).match(/<form.*?<\/form>/gs)!;
  const form = forms.find((one) => one.includes(words));
  expect(form, `${words} in ${forms.length} forms`).toBeDefined();
  return Object.fromEntries(
    [...form!.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map((m) => [m[1]!, m[2]!]),
  );
}

/** Sends a form without its secret and with a wrong one, which changes nothing; then as it is. */
async function state(path: string, fields: Record<string, string>): Promise<{ location: string }> {
  const before = await correctedTrips(store).corrections((await store.users.byEmail(person))!.uuid);
  const { csrf, ...others } = fields;
  expect(csrf).toBe(csrfOf(cookie.slice(cookie.indexOf('=') + 1)));
  for (const wrong of [others, { ...others, csrf: csrfOf('x') }]) expect((await post(path, wrong)).status).toBe(403);
  expect(await correctedTrips(store).corrections((await store.users.byEmail(person))!.uuid)).toEqual(before);
  clock += 60;
  const done = await post(path, fields);
  const location = done.headers.get('location')!;
  expect([done.status, location]).toEqual([303, expect.stringContaining(`/me/day/${day}?done=`)]);
  return { location };
}

const undoLast = async (): Promise<unknown> =>
  state('/me/correct', formWith(await page(`/me/day/${day}`), 'Undo', 'id="stated"'));

const trips = (html: string): string[] => [...html.matchAll(/class="trip" id="trip-(\w+)"/g)].map((m) => m[1]!);

/** A day without what changes from call to call. */
const shown = (html: string): string => html.replace(/correct=\w+|id="trip-\w+"|#trip-\w+/g, '');

it('a person corrects the mode of a trip, sees it on the next page, and undoes it without a run of the pipeline', async () => {
  const before = await page(`/me/day/${day}`);
  const html = await page(`/me/day/${day}?correct=${trips(before)[0]}`);
  const fields = formWith(html, 'How did you travel?');
  const { location } = await state('/me/label', { ...fields, mode: 'train', purpose: 'work' });
  const saved = await page(location);
  expect(saved.indexOf('>Undo<')).toBeLessThan(saved.indexOf('<h1>'));
  expect(saved).toMatch(/role="status">Saved\. [\d:]{5}: Train or tram · Going to work\.</);
  const after = await page(`/me/day/${day}`);
  expect(after.indexOf('>Undo<')).toBeGreaterThan(after.indexOf('<h1>'));
  expect(after).toMatch(/id="stated".*Train or tram · Going to work/s);
  expect(after).toMatch(/<li class="trip".*?Train/s);
  expect(after).toMatch(/class="legend".*?train/);
  const form = await page(`/me/day/${day}?correct=${trips(before)[0]}`);
  expect(form).toContain('value="train" checked');
  expect(form).toContain('<option value="work" selected>');
  await run('pipeline', '--all');
  expect(await page(`/me/day/${day}`)).toBe(after);
  await undoLast();
  expect(shown(await page(`/me/day/${day}`))).toBe(shown(before));
  await run('pipeline', '--all');
  expect(shown(await page(`/me/day/${day}`))).toBe(shown(before));
});

it('the undo of a saved answer lets the answer before it count again', async () => {
  const html = await page(`/me/day/${day}?correct=${trips(await page(`/me/day/${day}`))[0]}`);
  const fields = formWith(html, 'How did you travel?');
  await state('/me/label', { ...fields, mode: 'bus' });
  const { location } = await state('/me/label', { ...fields, mode: 'air' });
  expect(await page(`/me/day/${day}`)).toMatch(/<li class="trip".*?Plane/s);
  await state('/me/correct', formWith(await page(location), 'Undo'));
  expect(await page(`/me/day/${day}`)).toMatch(/<li class="trip".*?Bus/s);
  await undoLast();
  expect(await page(`/me/day/${day}`)).not.toContain('id="stated"');
});

it('an answer without a mode changes nothing, and a new answer overrides an earlier correction', async () => {
  const before = await page(`/me/day/${day}`);
  const html = await page(`/me/day/${day}?correct=${trips(before)[0]}`);
  const fields = formWith(html, 'How did you travel?');
  const modes = (text: string): string => text.match(/class="legend".*?<\/ul>/)![0];
  await state('/me/label', { ...fields, mode: 'other' });
  expect(modes(await page(`/me/day/${day}`))).toBe(modes(before));
  const { uuid } = (await store.users.byEmail(person))!;
  const [first] = (await correctedTrips(store).byDay(uuid, { from: day, to: day })).flatMap(({ trip }) => trip ?? []);
  const [ride] = ridesOf(first!.sections);
  await state('/me/correct', { csrf: fields.csrf!, day, kind: 'mode', ts: `${ride!.start_ts + 1}`, mode: 'ferry' });
  expect(modes(await page(`/me/day/${day}`))).toContain('ferry');
  await state('/me/label', { ...fields, mode: 'train' });
  expect(modes(await page(`/me/day/${day}`))).not.toContain('ferry');
  expect(modes(await page(`/me/day/${day}`))).toContain('train');
  while ((await page(`/me/day/${day}`)).includes('id="stated"')) await undoLast();
});

it('each section of a trip in a vehicle has its own question, and one save corrects the changed ones', async () => {
  const { uuid } = (await store.users.byEmail(person))!;
  const found = async () =>
    (await correctedTrips(store).byDay(uuid, { from: day, to: day })).flatMap(({ trip }) => trip ?? []);
  const trip = (await found()).find(({ sections }) => sections.length > 2)!;
  const [first, , last] = trip.sections;
  const { csrf } = formWith(await page(`/me/day/${day}?correct=${trip.id}`), 'How did you travel?');
  for (const [{ start_ts }, mode] of [
    [first!, 'bus'],
    [last!, 'car'],
  ] as const)
    await state('/me/correct', { csrf: csrf!, day, kind: 'mode', ts: `${start_ts + 5}`, mode });
  const html = await page(`/me/day/${day}?correct=${trip.id}`);
  expect(html.match(/<legend>How did you travel from/g)).toHaveLength(ridesOf((await found())[0]!.sections).length);
  const fields = formWith(html, 'What was this trip for?');
  const { location } = await state('/me/label', { ...fields, mode_0: 'train', mode_1: 'nothing', purpose: 'meal' });
  const after = (await found())[0]!.sections.map(({ sensed_mode }) => sensed_mode);
  expect(after).toContain('PredictedModeTypes.TRAIN');
  expect(after).toContain('PredictedModeTypes.CAR');
  const saved = await page(location);
  expect(saved).toMatch(/role="status">Saved\..*07:49: train.*Meal/);
  await state('/me/correct', formWith(saved, 'Undo'));
  expect((await found())[0]!.sections.map(({ sensed_mode }) => sensed_mode)).toContain('PredictedModeTypes.BUS');
  while ((await page(`/me/day/${day}`)).includes('id="stated"')) await undoLast();
});

it('a split of a labelled trip asks for the mode of both parts again, and an equal answer counts for one part', async () => {
  const before = await page(`/me/day/${day}`);
  const html = await page(`/me/day/${day}?correct=${trips(before)[0]}`);
  await state('/me/label', { ...formWith(html, 'How did you travel?'), mode: 'train' });
  const split = formWith(html, 'Split it in two');
  await state('/me/correct', { ...split, kind: 'split', ts: split.trip_ts! });
  const after = await page(`/me/day/${day}`);
  expect(trips(after)).toHaveLength(trips(before).length + 1);
  expect(after.match(/class="legend".*?<\/ul>/)![0]).not.toContain('train');
  expect(after).not.toContain('Your label');
  const part = await page(`/me/day/${day}?correct=${trips(after)[0]}`);
  expect(part).not.toContain('value="train" checked');
  await state('/me/label', { ...formWith(part, 'How did you travel?'), mode: 'train' });
  expect(await page(`/me/day/${day}`)).toMatch(/<li class="trip".*?Train.*id="stated".*: Train or tram</s);
  while ((await page(`/me/day/${day}`)).includes('id="stated"')) await undoLast();
});

it('the undo of a split restores the label of the whole trip, without the labels of its parts', async () => {
  const whole = trips(await page(`/me/day/${day}`))[0]!;
  const html = await page(`/me/day/${day}?correct=${whole}`);
  await state('/me/label', { ...formWith(html, 'How did you travel?'), mode: 'train', purpose: 'work' });
  const labelled = await page(`/me/day/${day}`);
  const split = formWith(html, 'Split it in two');
  const { location } = await state('/me/correct', { ...split, kind: 'split', ts: split.trip_ts! });
  const saved = await page(location);
  for (const [i, mode] of ['bus', 'bike'].entries()) {
    const part = await page(`/me/day/${day}?correct=${trips(saved)[i]}`);
    await state('/me/label', { ...formWith(part, 'How did you travel?'), mode, purpose: 'shopping' });
  }
  expect(await page(`/me/day/${day}`)).toMatch(/07:45: .*Bus<.*07:58: Bicycle/s);
  await state('/me/correct', formWith(saved, 'Undo'));
  expect(shown(await page(`/me/day/${day}`))).toBe(shown(labelled));
  await run('pipeline', '--all');
  expect(shown(await page(`/me/day/${day}`))).toBe(shown(labelled));
  while ((await page(`/me/day/${day}`)).includes('id="stated"')) await undoLast();
});

it('a label keeps its part of the trip when the trip is joined with another one', async () => {
  // Two walks, the second shorter than the first.
  const [, , second] = trips(await page(`/me/day/${day}`));
  const html = await page(`/me/day/${day}?correct=${second}`);
  await state('/me/label', { ...formWith(html, 'How did you travel?'), mode: 'bus' });
  const modes = async (): Promise<string[]> =>
    [...(await page(`/me/day/${day}`)).matchAll(/class="ic (\w+)"/g)]
      .map((m) => m[1]!)
      .filter((one) => one !== 'waiting');
  const before = await modes();
  expect(before).toContain('bus');
  await state('/me/correct', formWith(html, 'Join with the one before'));
  expect(trips(await page(`/me/day/${day}`))).not.toContain(second);
  expect(await modes()).toEqual(before);
  while ((await page(`/me/day/${day}`)).includes('id="stated"')) await undoLast();
});

it('a preview shows the corrected day and saves nothing, and a wrong time is shown again as typed', async () => {
  const before = await page(`/me/day/${day}`);
  const html = await page(`/me/day/${day}?correct=${trips(before)[0]}`);
  const drop = formWith(html, 'I did not make this trip');
  const preview = await (await post('/me/preview', drop)).text();
  expect(preview).toContain('Nothing is saved yet');
  expect(trips(preview)).toHaveLength(trips(before).length - 1);
  expect(shown(await page(`/me/day/${day}`))).toBe(shown(before));
  const split = await (await post('/me/preview', { ...formWith(html, 'Split it in two'), clock: '03:33' })).text();
  expect(split).toContain('The time must lie within the trip');
  expect(split).toContain('value="03:33"');
  await state('/me/correct', formWith(preview, 'Save', 'Nothing is saved yet'));
  expect(trips(await page(`/me/day/${day}`))).toHaveLength(trips(before).length - 1);
  await undoLast();
  expect((await post('/me/preview', { ...drop, ts: 'x' })).status).toBe(400);
});

it('a person adds a trip within a stay, and names and renames a place', async () => {
  const before = await page(`/me/day/${day}`);
  const item = /\?correct=(at-\d+)#/.exec(before)![1]!;
  const html = await page(`/me/day/${day}?correct=${item}`);
  const fields = {
    ...formWith(html, 'When did the trip begin?'),
    from: '02:00',
    to: '01:00',
    mode: 'ferry',
    km: '3,5',
  };
  const wrong = await (await post('/me/preview', fields)).text();
  expect(wrong).toContain('The trip must begin and end within this time');
  for (const typed of ['value="02:00"', 'value="01:00"', 'value="3,5"', 'value="ferry" selected'])
    expect(wrong).toContain(typed);
  for (const km of ['-3', '0', 'abc', '9999999']) {
    const refused = await (await post('/me/preview', { ...fields, to: '02:30', km })).text();
    expect(refused).toContain('The length must be a number above 0, and at most 40,000 km');
    expect(refused).not.toContain('Nothing is saved yet');
    for (const typed of ['value="02:30"', `value="${km}"`, 'value="ferry" selected']) expect(refused).toContain(typed);
    const answer = await post('/me/correct', { ...fields, to: '02:30', km });
    expect(answer.headers.get('location')).toBe(`/me/day/${day}?done=length`);
  }
  expect(await page(`/me/day/${day}`)).not.toContain('id="stated"');
  expect(await page(`/me/day/${day}?done=length`)).toContain('The length must be a number above 0');
  const preview = await (await post('/me/preview', { ...fields, to: '02:30' })).text();
  expect(preview).toMatch(/class="legend".*ferry 3\.5 km.*02:00.*30 min · 3\.5 km/s);
  await state('/me/correct', formWith(preview, 'Save', 'Nothing is saved yet'));
  expect(trips(await page(`/me/day/${day}`))).toHaveLength(trips(before).length + 1);
  await undoLast();
  let saved = '';
  for (const name of ['Gym', 'Café']) {
    const form = formWith(await page(`/me/day/${day}`), 'What do you call this place?');
    saved = (await state('/me/correct', { ...form, name })).location;
    expect(await page(`/me/day/${day}`)).toContain(`<h3>${name}</h3>`);
  }
  expect(await page(`/me/day/${day}`)).toContain('value="Café"');
  expect((await page(`/me/day/${day}`)).match(/this place is [^<]+/g)).toEqual(['this place is Café']);
  // The undo of the second name lets the first one count again.
  const { location } = await state('/me/correct', formWith(await page(saved), 'Undo'));
  expect(await page(location)).toMatch(/role="status">Undone\..*<h3>Gym<\/h3>/s);
  await undoLast();
  expect(await page(`/me/day/${day}`)).not.toContain('<h3>Gym</h3>');
});

it('a month that has not begun is still to come', async () => {
  expect(await page('/me/month/2099-01')).toMatch(/January 2099[\s\S]*This is still to come\./);
});

it('the map measures distances from home, wherever the day begins', async () => {
  const html = await page(`/me/day/${day}`);
  expect(html).toContain('Rings: distance from Place A.');
  const form = formWith(html, 'What do you call this place?', '<h3>Place B</h3>');
  await state('/me/correct', { ...form, name: 'home' });
  expect(await page(`/me/day/${day}`)).toContain('Rings: distance from Home.');
  await undoLast();
});

it('the latest correction counts, also one that repeats an earlier one', async () => {
  const html = await page(`/me/day/${day}?correct=${trips(await page(`/me/day/${day}`))[0]}`);
  const { csrf, ts } = formWith(html, 'I did not make this trip');
  for (const mode of ['train', 'ferry', 'train'])
    await state('/me/correct', { csrf: csrf!, day, kind: 'mode', ts: ts!, mode });
  expect(await page(`/me/day/${day}`)).toMatch(/<li class="trip".*?Train/s);
  for (let n = 0; n < 3; n += 1) await undoLast();
});

it('excluded time has no trips and is shown as ignored, until the correction is undone', async () => {
  const before = await page(`/me/day/${day}`);
  const { csrf } = formWith(await page(`/me/day/${day}?correct=${trips(before)[0]}`), 'I did not make this trip');
  const [from, to] = [`${day}T00:00:00+01:00`, `${day}T23:59:59+01:00`].map((text) => `${Date.parse(text) / 1000}`);
  await state('/me/correct', { csrf: csrf!, day, kind: 'set_aside', start_ts: from!, end_ts: to! });
  expect(await page(`/me/day/${day}?done=later`)).toContain('the day changes within a few minutes');
  expect(trips(await page(`/me/day/${day}`))).toEqual(trips(before));
  await run('pipeline', '--all');
  const after = await page(`/me/day/${day}`);
  expect(trips(after)).toEqual([]);
  expect(after).toContain('This time is ignored at your request.');
  await undoLast();
  await run('pipeline', '--all');
  expect(shown(await page(`/me/day/${day}`))).toBe(shown(before));
});

it('a form that is sent twice stores one correction, and one for a removed trip saves nothing and reports it', async () => {
  const before = await page(`/me/day/${day}`);
  const html = await page(`/me/day/${day}?correct=${trips(before)[0]}`);
  const [drop, label] = [formWith(html, 'I did not make this trip'), formWith(html, 'How did you travel?')];
  for (let n = 0; n < 3; n += 1) {
    clock += 60;
    expect((await post('/me/correct', drop)).status).toBe(303);
    if (n > 0) await run('pipeline', '--all');
  }
  const stated = (await page(`/me/day/${day}`)).split('id="stated"')[1]!;
  expect(stated.match(/class="stated"/g)).toHaveLength(1);
  const gone = (await post('/me/label', { ...label, mode: 'bus' })).headers.get('location')!;
  expect(await page(gone)).toContain('Nothing was saved');
  await undoLast();
  expect(shown(await page(`/me/day/${day}`))).toBe(shown(before));
});

it('a used link leads to the days in the browser that it signed in', async () => {
  const link = (await run('users', 'link', person, '--server', 'http://127.0.0.1:8080')).stdout.trim();
  const { pathname, search, searchParams } = new URL(link);
  await cookieAfter('/me/open', { key: searchParams.get('key')! });
  const again = await app.request(`${pathname}${search}`, { headers: { Cookie: cookie } });
  expect([again.status, await again.text()]).toEqual([403, expect.stringContaining('href="/me"')]);
});

it('a flag is shown as a question at its trip, and the answer removes it', async () => {
  const html = await page(`/me/day/${day}?correct=${trips(await page(`/me/day/${day}`))[0]}`);
  expect(await page('/study/sunny/flagged', manager)).not.toContain('Faster than this can be');
  await state('/me/label', { ...formWith(html, 'How did you travel?'), mode: 'walk' });
  const asked = await page(`/me/day/${day}`);
  const answer = formWith(asked, 'name="mode"', 'Was this the mode?');
  expect(await page('/study/sunny/flagged', manager)).toContain('Faster than this can be');
  await state('/me/correct', { ...answer, mode: 'bus' });
  expect(await page(`/me/day/${day}`)).not.toContain('Was this the mode?');
  while ((await page(`/me/day/${day}`)).includes('id="stated"')) await undoLast();
});

it('a long label is shortened, one beyond the limit is rejected, and the label "constructor" is shown as text', async () => {
  const { uuid } = (await store.users.byEmail(person))!;
  const [first] = (await correctedTrips(store).byDay(uuid, { from: day, to: day })).flatMap(({ trip }) => trip ?? []);
  const { start_ts, end_ts } = first!;
  const input = (name: string, data: JsonObject, i: number) => ({
    metadata: { key: `manual/${name}`, type: 'message', platform: 'android', write_ts: clock + i, time_zone: 'UTC' },
    data: { start_ts, end_ts, ...data },
  });
  const entries = [
    input('purpose_confirm', { label: 'p'.repeat(1024) }, 0),
    input('replaced_mode', { label: 'constructor' }, 1),
    ...Array.from({ length: 40 }, (_, i) =>
      input('trip_addition_input', { label: 'n'.repeat(1000), match_id: `${i}` }, i),
    ),
    input('mode_confirm', { label: 'm'.repeat(2_000_000) }, 0),
    input('trip_user_input', { label: 'answered', xmlResponse: 'x'.repeat(70_000) }, 0),
    input('trip_user_input', { label: 'a survey', xmlResponse: 'x'.repeat(60_000) }, 1),
  ];
  await putBatch(uuid, entries, { store, now: () => clock });
  for (const _ of ['waiting', 'moved']) {
    const html = await page(`/me/day/${day}`);
    expect(html).toContain(`a survey · ${'n'.repeat(200)}…; n`);
    expect(html).toMatch(/[^p]p{200}… · constructor/);
    expect(html).not.toMatch(/native code|mmmm|answered/);
    expect(html.length).toBeLessThan(60_000);
    await run('pipeline', '--all');
  }
  expect(await store.errors.summary(uuid)).toEqual([
    { key: 'manual/mode_confirm', reason: 'out_of_range', count: 1 },
    { key: 'manual/trip_user_input', reason: 'out_of_range', count: 1 },
  ]);
  expect(await page('/me?done=constructor')).not.toContain('native code');
});

it('exact figures of a month are shown beside publishable ones, which appear when the month is settled', async () => {
  acts.length = 0;
  expect(await page('/study/sunny/figures/2024-03', manager)).toContain('a week after it ends');
  const cells = (html: string, row: string): string[] => {
    const found = html.match(/<tr role="row"><th scope="row".*?<\/tr>/g)!.find((one) => one.includes(`>${row}<`))!;
    return [...found.matchAll(/class="n"><span class="lab">[^<]*<\/span> ([^<]*)</g)].map((m) => m[1]!);
  };
  clock += 20 * 86_400;
  manager = await signedIn();
  const html = await page('/study/sunny/figures', manager);
  const internal = html.indexOf('Do not pass on');
  const published = cells(html.slice(0, internal), 'all');
  const exact = cells(html.slice(internal), 'all');
  const [month] = (await run('report', '--from', '2024-03', '--json')).json<{ months: { all: { km: number } }[] }>()
    .months;
  expect([...published.slice(2, 4), published[7]]).toEqual([`${month!.all.km}`, '100 %', '5']);
  expect([exact[3], exact[5], exact[7]]).toEqual(['100 %', '100 %', `${people}`]);
  const shares = html
    .slice(internal)
    .match(/<tr role="row"><th scope="row" role="rowheader">(?!all).*?<\/tr>/g)!
    .map((one) => [...one.matchAll(/ (\d+) %</g)]);
  expect(shares.length).toBeGreaterThan(1);
  expect(acts.map(({ who, action, people: of }) => [who, action, of.length])).toEqual([
    ['manager mira', 'figures of 2024-03', people],
    ['manager mira', 'figures of 2024-03', people],
  ]);
  expect(html).not.toContain('@example.org');
});

it('a page of a study reads only people whose data changed since the last reading', async () => {
  const { uuid } = (await store.users.byEmail(person))!;
  const read = vi.spyOn(store.timeseries, 'find');
  const readAfter = async (path: string): Promise<Set<string>> => {
    read.mockClear();
    await page(path, manager);
    return new Set(read.mock.calls.map(([user]) => user));
  };
  for (const path of ['', '/flagged', '/figures/2024-03']) {
    await readAfter(`/study/sunny${path}`);
    expect([path, await readAfter(`/study/sunny${path}`)]).toEqual([path, new Set()]);
  }
  const html = await page(`/me/day/${day}?correct=${trips(await page(`/me/day/${day}`)).at(-1)}`);
  await state('/me/label', { ...formWith(html, 'How did you travel?'), mode: 'ferry' });
  expect(await readAfter('/study/sunny/figures/2024-03')).toEqual(new Set([uuid]));
  expect(await page('/study/sunny/figures/2024-03', manager)).toContain('>ferry<');
  await undoLast();
  expect(await page('/study/sunny/figures/2024-03', manager)).not.toContain('>ferry<');
  await run('pipeline', '--all');
  read.mockRestore();
});

it('the operator sees the version, and the names of people whose phone is refused', async () => {
  const fine = await page('/operator', manager);
  expect(fine).toContain('1.2.3');
  expect(fine).not.toContain('Phones whose data is refused');
  const { uuid } = (await store.users.byEmail(person))!;
  await store.profiles.merge(uuid, {
    last_refusal: 'token x, revoked',
    last_refusal_ts: clock,
    last_refusal_why: 'revoked',
  });
  expect(await page('/operator', manager)).toContain(`${person}: refused`);
});

it('dates of My data are in the last zone of the person', async () => {
  const before = clock;
  const { uuid } = (await store.users.byEmail(person))!;
  expect((await correctedTrips(store).previous(uuid, clock))!.trip!.end_zone).toBe('Europe/Lisbon');
  clock = Date.parse('2024-03-31T23:30:00Z') / 1000; // in Lisbon it is April
  const html = await page('/me/data');
  await post('/me/erase', { ...formWith(html, 'name="word"'), word: 'erase' });
  expect(await page('/me/data')).toContain('You asked on 1 April 2024');
  await post('/me/keep', formWith(await page('/me/data'), '/me/keep'));
  clock = before;
});

it('people who stopped the recording or asked to be erased are not on the reminder list', async () => {
  const [, second] = (await store.users.list({ limit: 10 })).filter(({ user_email }) => user_email !== person);
  clock += 9 * 86_400; // all are silent now
  const listed = async (): Promise<number> =>
    (await page('/study/sunny/reminders.csv', await signedIn())).trim().split('\n').length - 1;
  expect(await listed()).toBe(people);
  const html = await page('/me/data');
  await run('users', 'token', person);
  await post('/me/stop', formWith(html, '/me/stop'));
  await store.profiles.merge(second!.uuid, { erasure_asked_ts: clock });
  expect(await listed()).toBe(people - 2);
  expect(await page('/study/sunny', await signedIn())).toContain('Stopped');
  expect((await run('users', 'list', '--state', 'stopped', '--json')).json()).toMatchObject({
    users: [{ user_email: person }],
  });
  await store.profiles.merge(second!.uuid, { erasure_asked_ts: null });
  clock -= 9 * 86_400;
});

it('simultaneous corrections are all stored, and one beyond the maximum is refused with a message', async () => {
  const { uuid } = (await store.users.byEmail(person))!;
  const waiting = async (): Promise<number> => store.usercache.count(uuid);
  await run('pipeline', '--all');
  const { csrf } = formWith(await page('/me/data'), 'name="word"');
  const drop = (ts: number) => post('/me/correct', { csrf: csrf!, day, kind: 'drop', ts: `${ts}` });
  const all = await Promise.all(Array.from({ length: 60 }, (_, i) => drop(1e9 + i)));
  expect(all.map((one) => one.headers.get('location'))).toEqual(
    all.map(() => expect.stringContaining(`/me/day/${day}?done=stated`)),
  );
  expect(await waiting()).toBe(60);
  const entries = Array.from({ length: 1000 }, (_, i) => ({
    metadata: { key: 'manual/correction', type: 'message', platform: 'other', write_ts: 1e9 + i },
    data: { kind: 'drop', ts: 1e9 },
  }));
  await putBatch(uuid, entries, { store, now: () => clock });
  const before = await waiting();
  expect((await drop(9e8)).headers.get('location')).toBe(`/me/day/${day}?done=full`);
  expect(await page(`/me/day/${day}?done=full`)).toContain('maximum number of corrections');
  await program.refuse(
    ['correct', 'drop', '--user', person, '--day', day, '--at', '12:00'],
    'at most 1000 active corrections',
    { now: clock },
  );
  expect(await waiting()).toBe(before);
  expect((await post('/me/correct', { csrf: csrf!, day, kind: 'undo', of: '1' })).status).toBe(400);
  expect(await waiting()).toBe(before);
});
