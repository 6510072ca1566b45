// The forms below a trip and a flag: which time each of them states, and what the server takes of them.
import { beforeEach, describe, expect, it } from 'vitest';
import { correctedTrips } from '../../src/diary/corrections/corrected-trips.ts';
import type { Flagged } from '../../src/diary/flags.ts';
import type { CorrectionStanding } from '../../src/model/correction.ts';
import type { Trip } from '../../src/model/trip.ts';
import { statedList, statedOn } from '../../src/web/me-corrections.ts';
import { type Choices, flagAnswers, gapForms, stayForms, tripForms } from '../../src/web/me-forms.ts';
import { type DayItem, dayItems, type ShownDay, type ShownPlace } from '../../src/web/pages/day-items.ts';
import { type MarkupValue, markup } from '../../src/web/pages/markup.ts';
import { textsFor } from '../../src/web/pages/texts/texts.ts';
import { shownDays } from '../../src/web/shown-days.ts';
import type { PersonCall } from '../../src/web/web.ts';
import { type Kit, now, openKit, signedIn } from '../server/kit.ts';
import { madeTrip, storeTrips } from '../server/trips.ts';
import { chainAfter } from '../support/diary.ts';
import { t0 } from '../support/phone.ts';
import { android, pushed, pushedMove, pushedRide, pushedTransition } from '../support/pushes.ts';
import { words } from '../support/words.ts';

const t = textsFor(['en']);
const call = { t, csrf: 'secret', query: {} } as PersonCall;
const day = '2016-05-17';
const zone = 'America/Los_Angeles';
const midnight = Date.parse(`${day}T07:00:00Z`) / 1000;
const observed = { day, from: midnight, to: midnight + 86_400 };

/** The hidden fields of each form, without its secret, and the clock that it proposes. */
function forms(value: MarkupValue): Record<string, string>[] {
  return [...markup`${value}`.text.matchAll(/<form.*?<\/form>/gs)].map(([form]) =>
    Object.fromEntries(
      [...form.matchAll(/type="(?:hidden|time)" name="(\w+)"(?: required)? value="([^"]*)"/g)]
        .filter(([, name]) => name !== 'csrf')
        .map(([, name, content]) => [name!, content!]),
    ),
  );
}

/** The answers that forms offer; `*` marks what is chosen. */
function answers(value: MarkupValue): string[] {
  const offered = /<(?:option|input type="radio" name="\w+") value="([^"]*)"( checked| selected)?/g;
  return [...markup`${value}`.text.matchAll(offered)].map(([, answer, mark]) => `${mark ? '*' : ''}${answer}`);
}

function tripAt(ts: number, lengths: number[] = [600]): Trip {
  const modes = ['CAR', 'WALKING', 'CAR'];
  const sections = lengths.map((duration, i) => ({ mode: modes[i]!, duration, distance: 100 * (i + 1) }));
  return madeTrip(ts, sections, zone).trip!;
}
const stop = (enter_ts: number, duration: number) =>
  ({ enter_ts, exit_ts: enter_ts + duration, duration }) as Trip['stops'][number];

describe('the forms of a trip', () => {
  const labels = { ofTrip: () => ({ user_input: {} }) };
  const shown = { observed: { day }, labels } as unknown as ShownDay;
  const choices = { modes: [], purposes: [], modeOf: () => null } as unknown as Choices;

  it('state the middle of the trip, and of the time between two trips', () => {
    const trip = tripAt(midnight + 36_000, [600, 401]);
    const before = tripAt(midnight + 30_000);
    const middle = String(Math.round(midnight + 36_700.5));
    expect(forms(tripForms(call, trip, before, shown, choices))).toEqual([
      { day, trip: trip.id },
      { day, kind: 'drop', ts: middle },
      { day, kind: 'join', ts: String(midnight + 33_300) },
      { day, kind: 'split', trip_ts: middle, correct: trip.id, clock: '10:11' },
    ]);
    const asked = (query: object) => tripForms({ ...call, query } as PersonCall, trip, null, shown, choices);
    expect(forms(asked({})).map(({ kind }) => kind)).not.toContain('join');
    expect(forms(asked({ clock: '10:05' })).at(-1)).toMatchObject({ clock: '10:05' });
    const opened = [{}, { clock: '10:05' }].map((query) => asked(query).text.split('<details open>').length - 1);
    expect(opened).toEqual([1, 2]);
  });

  it('propose a split of a trip in the middle of its longest stop', () => {
    const from = midnight + 36_000;
    const stops = [stop(from + 600, 60), stop(from + 3600, 1200), stop(from + 5400, 90)];
    const trip = { ...tripAt(from, [7200]), stops };
    expect(forms(tripForms(call, trip, null, shown, choices)).at(-1)).toMatchObject({ clock: '11:10' });
  });
});

it('the forms of a trip mark the present answers, and list an answer that is not in the lists of the study', () => {
  const modeOf = (label: string) => ({ walk: 'walking', drove: 'car', fell: null })[label] ?? null;
  const listed = (...values: string[]) => values.map((value) => ({ value, words: value }));
  const choices = { modes: listed('walk', 'drove', 'fell'), purposes: listed('job'), modeOf } as unknown as Choices;
  const cases: [lengths: number[], given: object, expected: string][] = [
    [[600], {}, 'walk *drove fell  job'],
    [[600], { mode_confirm: 'walk', purpose_confirm: 'job' }, '*walk drove fell  *job'],
    [[600], { mode_confirm: 'ski', purpose_confirm: 'fun' }, '*ski walk drove fell  *fun job'],
    // A correction cannot state a fall.
    [[600, 60, 600], { mode_confirm: 'walk' }, 'walk *drove walk *drove  job'],
  ];
  for (const [lengths, user_input, expected] of cases) {
    const shown = { observed: { day }, labels: { ofTrip: () => ({ user_input }) } } as unknown as ShownDay;
    const found = tripForms(call, tripAt(midnight + 36_000, lengths), null, shown, choices);
    expect(answers(found).join(' ')).toBe(expected);
    const icons = [...found.text.matchAll(/value="walk"[^>]*><svg class="ic (\w+)"/g)].map(([, name]) => name);
    expect(new Set(icons)).toEqual(new Set(['walking']));
    const fields = new Set([...found.text.matchAll(/type="radio" name="(\w+)"/g)].map(([, name]) => name));
    expect([...fields]).toEqual(lengths.length === 1 ? ['mode'] : ['mode_0', 'mode_1']);
    expect(found.text.includes('<span>ski</span>')).toBe(expected.includes('ski'));
  }
});

describe('the forms of a stay and of a gap', () => {
  const place = (more: object = {}) => ({ name: 'A', mark: 'A', isNamed: false, look: 'place', ...more }) as ShownPlace;
  const [from, to] = [midnight + 3600, midnight + 7201];
  const item = (more: object) => ({ from, to, ...more });
  const stayAt = (more: object = {}) => item({ kind: 'stay', since: null, place: place(more) }) as Stretch<'stay'>;
  const gapAt = (more: object = {}) =>
    item({ kind: 'gap', reason: 'phone off', here: place(), there: place(), ...more }) as Stretch<'gap'>;
  type Stretch<Kind> = Extract<DayItem, { kind: Kind }>;
  const dayOf = (placeAt: ShownDay['placeAt'], ...trips: Trip[]) => {
    const spans = [0, 30_000, 50_000].map((ts) => ({ kind: 'staying', from: midnight + ts, to: midnight + ts + 9000 }));
    const around = { before: null, after: tripAt(midnight + 90_000), now };
    return { observed: { ...observed, spans }, trips, ...around, placeAt } as unknown as ShownDay;
  };
  const shown = dayOf(() => place());

  it('name the place in the middle of the stay, and ask once a day whether a guess is home', () => {
    const name = { day, kind: 'place_name', ts: String(midnight + 5401) };
    expect(forms(stayForms(call, stayAt(), shown))).toEqual([name]);
    const given = (more: object) => markup`${stayForms(call, stayAt(more), shown)}`.text.includes('"off" value="A"');
    expect([given({}), given({ isNamed: true })]).toEqual([false, true]);
    const guessed = dayOf(() => place({ isGuess: true }));
    const stays = dayItems(guessed).filter((one) => one.kind === 'stay');
    const asked = stays.map((one) => forms(stayForms(call, one, guessed)).map(({ name }) => name));
    expect(asked).toEqual([['home', undefined], [undefined], [undefined]]);
  });

  it('of a gap state a stay at the place before or after, and nothing if the phone cannot have recorded', () => {
    const stay = { day, kind: 'at_place', start_ts: String(from), end_ts: String(to), at: 'before' };
    const cases: [object, object[]][] = [
      [{}, [stay]],
      [{ there: place({ name: 'B' }) }, [stay, { ...stay, at: 'next' }]],
      [{ here: null, there: null }, []],
      [{ reason: 'nothing received' }, []],
      [{ reason: 'before joining' }, []],
    ];
    for (const [more, expected] of cases) expect(forms(gapForms(call, gapAt(more), shown))).toEqual(expected);
    const links = (more: object) => markup`${gapForms(call, gapAt(more), shown)}`.text.match(/correct=/g)?.length ?? 0;
    expect(cases.map(([more]) => links(more))).toEqual([1, 1, 1, 0, 0]);
  });

  it('of a trip propose the whole time, or the values that were sent before', () => {
    const correct = `at-${from}`;
    const bounds = { day, kind: 'add', start_ts: String(from), end_ts: String(to), correct };
    const zoned = dayOf(() => place(), tripAt(midnight + 60));
    const sent: Record<string, string> = { from: '01:10', to: '01:20', mode: 'bus', km: '2,5' };
    for (const query of [{ correct }, { correct, ...sent }] as Record<string, string>[]) {
      const { from = '01:00', to = '02:00', mode, km = '' } = query;
      const asked = { ...call, query } as PersonCall;
      for (const one of [stayForms(asked, stayAt(), zoned), gapForms(asked, gapAt(), zoned)]) {
        expect(forms(one)).toEqual([{ ...bounds, from, to }]);
        expect(answers(one).filter((answer) => answer.startsWith('*'))).toEqual(mode === undefined ? [] : ['*bus']);
        expect(answers(one)).not.toContain('');
        expect(/name="km" [^>]* value="([^"]*)"/.exec(markup`${one}`.text)?.[1]).toBe(km);
      }
    }
  });
});

const trip = tripAt(midnight + 36_000, [600, 400, 500]);
const other = tripAt(midnight + 50_000);
const shown = { observed, trips: [other, trip] } as unknown as ShownDay;
const flagged = (flag: Partial<Flagged>): Flagged =>
  ({ flag: 'x', of: 'trip', id: '', from: 0, to: 0, ...flag }) as Flagged;
const ofSection = (i: number) => {
  const { start_ts, end_ts } = trip.sections[i]!;
  return { day, kind: 'mode', ts: String((start_ts + end_ts) / 2) };
};
const drop = { day, kind: 'drop', ts: String(Math.round((trip.start_ts + trip.end_ts) / 2)) };

it('answers to a flag are about the section that it names, else about the longest of its trip', () => {
  const asked = (flag: Partial<Flagged>, trips = shown.trips) => flagAnswers(call, flagged(flag), { ...shown, trips });
  const chosen = (value: MarkupValue) => answers(value).filter((one) => !/^[a-z]/.test(one));
  expect(forms(asked({ of: 'section', id: trip.sections[0]!.id }))).toEqual([ofSection(0), drop]);
  expect(forms(asked({ id: trip.id }))).toEqual([ofSection(2), drop]);
  expect(chosen(asked({ id: trip.id }))).toEqual(['*car']);
  const strange = { ...trip.sections[0]!, sensed_mode: 'PredictedModeTypes.HOVERCRAFT' };
  expect(chosen(asked({ id: trip.id }, [{ ...trip, sections: [strange] }]))).toEqual(['']);
});

it('the answers to a flag exclude the flagged time of the day if the flag names no trip, or a place', () => {
  const aside = (flag: Partial<Flagged>) => forms(flagAnswers(call, flagged(flag), shown));
  const of = ({ from, to }: { from: number; to: number }) => [
    { day, kind: 'set_aside', start_ts: String(from), end_ts: String(to) },
  ];
  const around = { from: midnight - 500, to: midnight + 90_000 };
  expect(aside({ of: 'day', id: 'none', ...around })).toEqual(of(observed));
  const inside = { from: midnight + 60, to: midnight + 3600 };
  expect(aside({ of: 'place', id: trip.id, ...inside })).toEqual(of(inside));
  expect(flagAnswers(call, flagged({ of: 'day', from: midnight - 9, to: midnight }), shown)).toBe(false);
});

it('the answers to a flag lead to the list of corrections if later data contradict a correction', () => {
  const html = markup`${flagAnswers(call, flagged({ flag: 'correction_contradicted' }), shown)}`.text;
  expect(html).toContain('<a href="#stated">');
});

it('the list of a day has the active corrections that overlap it, each with its undo', () => {
  const shown = { observed: { ...observed, spans: [] }, trips: [], before: null, after: null, now };
  const standing = (correction: object, effect = 'applied') =>
    ({ effect, correction }) as unknown as CorrectionStanding;
  const standings = [
    standing({ kind: 'drop', ts: midnight - 1, write_ts: 1 }),
    standing({ kind: 'drop', ts: midnight, write_ts: 2 }),
    standing({ kind: 'drop', ts: midnight + 9, write_ts: 3 }, 'undone'),
    standing({ kind: 'undo', of: 1, ts: midnight + 9, write_ts: 4 }),
    standing({ kind: 'mode', mode: 'train', ts: midnight + 86_399, write_ts: 5 }),
    standing({ kind: 'drop', ts: midnight + 86_400, write_ts: 6 }),
    standing({ kind: 'set_aside', start_ts: midnight - 99, end_ts: midnight + 99, write_ts: 7 }),
    standing({ kind: 'place_name', ts: midnight + 99, name: 'Work <b>', write_ts: 8 }),
  ];
  const listOf = (all: typeof standings) => statedList(call, statedOn(shown as unknown as ShownDay, all, t), day);
  const list = listOf(standings);
  expect(forms(list).map(({ kind, of }) => [kind, of])).toEqual(['2', '5', '7', '8'].map((of) => ['undo', of]));
  const html = markup`${list}`.text;
  expect(html).toContain('train');
  expect(html).toContain('this place is Work &#60;b&#62;');
  expect(listOf(standings.slice(2, 4))).toBe(null);
});

describe('on a server', () => {
  let kit: Kit;
  let ada: string;
  let browser: Awaited<ReturnType<typeof signedIn>>;
  beforeEach(async () => {
    kit = await openKit();
    ada = (await kit.user('ada')).uuid;
    browser = await signedIn(kit.store, ada);
  });
  const correct = async (fields: object) => {
    const { csrf, Cookie } = browser;
    const { status, headers } = await kit.form('/me/correct', { csrf, day, ...fields }, { Cookie });
    return [status, headers.get('location')];
  };
  const stated = async () =>
    (await correctedTrips(kit.store).corrections(ada)).map(({ correction: { write_ts, ...one } }) => one);

  it('a form stores a correction with the values of its fields', async () => {
    const fields = { kind: 'place_name', ts: now - 5000.5, name: `  ${'x'.repeat(70)} ` };
    expect(await correct(fields)).toEqual([303, expect.stringContaining('&saved=')]);
    expect(await stated()).toMatchObject([{ ...fields, name: 'x'.repeat(60) }]);
  });

  it('an invalid form stores no correction', async () => {
    const ts = now - 5000;
    const sent = words(`
      kind=mode&mode=rocket&ts=${ts} kind=mode&mode=train&ts=noon kind=teleport&ts=${ts}
      kind=drop&ts= kind=drop&ts=253402300801 kind=drop&ts=-1 kind=drop&ts=1e308 kind=drop&ts=0x10
      kind=drop&ts=${ts}&day=2016-05-32 kind=set_aside&start_ts=${ts}&end_ts=${ts} kind=set_aside&start_ts=${ts}
      kind=set_aside&end_ts=${ts} kind=place_name&ts=${ts}&name=+++ kind=undo&of=x kind=undo&of=5
    `);
    for (const fields of sent)
      expect([fields, (await correct(Object.fromEntries(new URLSearchParams(fields))))[0]]).toEqual([fields, 400]);
    expect(await correct({ kind: 'split', trip_ts: ts, clock: '10:00' })).toEqual([303, `/me/day/${day}?done=outside`]);
    expect(await stated()).toEqual([]);
  });

  it('a day contains a trip that ends after its first midnight, and one that ends at midnight only precedes it', async () => {
    const own = tripAt(midnight + 36_000);
    for (const [end, trips, before] of [
      [midnight + 1, 2, 1],
      [midnight, 1, 0],
    ] as const) {
      const first = madeTrip(midnight - 40_000, [{ mode: 'CAR' }], zone);
      const late = madeTrip(midnight - 600, [{ mode: 'CAR', after: 0, duration: end - midnight + 600 }], zone);
      await storeTrips(kit.store, ada, [first, late, madeTrip(own.start_ts, [{ mode: 'CAR' }], zone)]);
      const user = await kit.user('ada');
      const { value } = await shownDays(kit.store, user, { from: day, to: day }, { t, now }).next();
      expect(value!.trips).toHaveLength(trips);
      expect(value!.began).toHaveLength(1);
      expect(value!.before?.start_ts).toBe([late, first][before]!.start_ts);
    }
  });
});

it('a stay in a gap moves the arrival at the next place, and the recorded stays around the gap remain', async () => {
  const now = t0 + 100 * 3600;
  const [off, on, departure] = [3000, 10_800, 18_000];
  const kit = await openKit({ now: () => now });
  const user = await kit.user('ada');
  await chainAfter(kit.store, user.uuid, [
    ...pushedRide(android, 0, 0),
    ...pushedMove(android, { from: 1230, to: off, east: 6000 }),
    pushedTransition(android, off, 'STOP_TRACKING', 'WAITING_FOR_TRIP_START'),
    pushedTransition(android, on, 'START_TRACKING', 'TRACKING_STOPPED'),
    ...pushedMove(android, { from: on + 10, to: departure - 30, east: 12_000 }),
    ...pushedRide(android, departure, 12_000, -10),
  ]);
  const day = new Date(t0 * 1000).toISOString().slice(0, 10);
  const read = async () => (await shownDays(kit.store, user, { from: day, to: day }, { t, now }).next()).value!;
  const gap = dayItems(await read()).find((item) => item.kind === 'gap' && item.reason === 'tracking off');
  const { from: start_ts, to: end_ts, here, there } = gap as Extract<DayItem, { kind: 'gap' }>;
  for (const [i, at, moved, place] of [
    [0, 'next', start_ts, there],
    [1, 'before', end_ts, here],
  ] as const) {
    const data = { kind: 'at_place', start_ts, end_ts, at };
    await chainAfter(kit.store, user.uuid, [pushed(android, 'manual/correction', 80 * 3600 + i, data)]);
    const shown = await read();
    const [first, second] = shown.trips as [Trip, Trip];
    const isBetween = ({ from, to }: DayItem): boolean => from >= first.end_ts && to <= second.start_ts;
    expect(dayItems(shown).filter(isBetween)).toEqual([
      { kind: 'stay', from: first.end_ts, to: moved, place: here, since: null },
      { kind: 'stay', from: moved, to: second.start_ts, place: there, since: null },
    ]);
    const stated = statedOn(shown, await correctedTrips(kit.store).corrections(user.uuid), t);
    expect(stated.at(-1)!.words).toContain(`at ${place!.name}`);
  }
});
