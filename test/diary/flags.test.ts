// Flags: what of a day is not right though nothing failed.
import { expect, it } from 'vitest';
import { type FlagInputs, flagDay, flagNames, flagStay, flagTrip } from '../../src/diary/flags.ts';
import type { Labels } from '../../src/diary/labels/load-labels.ts';
import { noLabels } from '../../src/diary/labels/load-labels.ts';
import { dayFigures, everyDay } from '../../src/diary/read-days.ts';
import { readFlagInputs } from '../../src/diary/read-flag-inputs.ts';
import type { Section, Trip } from '../../src/model/trip.ts';
import { allOf } from '../support/all-of.ts';
import { pipeline, put } from '../support/diary.ts';
import { t0 } from '../support/phone.ts';
import { android, iphone, pushed, pushedFix, pushedMove, pushedTransition } from '../support/pushes.ts';
import { newUser, useStore } from '../support/store.ts';

const store = useStore();
const known: FlagInputs = { locations: [0, 300, 600], marks: [] };

function trip(metres: number, more: Partial<Section> = {}, evidence: Partial<Trip> = {}): Trip {
  const section = { id: 's', start_ts: 0, end_ts: 600, duration: 600, distance: metres, ...more };
  const walk = { sensed_mode: 'PredictedModeTypes.WALKING', ...section };
  return { id: 't', start_ts: 0, end_ts: 600, sections: [walk], ...evidence } as unknown as Trip;
}

const flagsIn = (of: Trip, clues = known, labels?: Labels) =>
  flagTrip(of, clues, labels).map(({ flag, id }) => `${id} ${flag}`);

it('a section is flagged if it is too fast for its mode, mostly estimated, or has one location only', () => {
  expect(flagsIn(trip(800))).toEqual([]);
  expect(flagsIn(trip(2401))).toEqual(['s too_fast']);
  expect(flagsIn(trip(2401, { sensed_mode: 'PredictedModeTypes.BICYCLING' }))).toEqual([]);
  expect(flagsIn(trip(60_000, { sensed_mode: 'PredictedModeTypes.UNKNOWN' }))).toEqual(['s too_fast']);
  expect(flagsIn(trip(60_000, { sensed_mode: 'PredictedModeTypes.AIR_OR_HSR' }))).toEqual([]);
  expect(flagsIn(trip(800, { estimated: 401 }))).toEqual(['s mostly_estimated']);
  expect(flagsIn(trip(499, { estimated: 499 }))).toEqual([]);
  expect(flagsIn(trip(800), { ...known, locations: [300, 900] })).toEqual(['s one_location']);
});

it('a trip is flagged if locations were left out, or if the person named another mode', () => {
  const evidence = { evidence: { left_out: { spikes: 1 } } as unknown as NonNullable<Trip['evidence']> };
  expect(flagsIn(trip(800, {}, evidence))).toEqual(['t jump_left_out']);
  const say = (label: string, mode: string): string[] => {
    const inputs = { user_input: { mode_confirm: label }, additions: [] };
    const labels = { ...noLabels, ofTrip: () => inputs, ofStay: () => inputs, labelledTrips: 1 };
    return flagsIn(trip(1000, { sensed_mode: mode }), known, labels);
  };
  expect(say('drove_alone', 'PredictedModeTypes.WALKING')).toEqual(['t label_contradicts']);
  expect(say('drove_alone', 'PredictedModeTypes.CAR')).toEqual([]);
  expect(say('drove_alone', 'MotionTypes.IN_VEHICLE')).toEqual([]);
  expect(say('e_scooter', 'PredictedModeTypes.BICYCLING')).toEqual([]);
  expect(say('with the dog', 'PredictedModeTypes.CAR')).toEqual([]);
});

it('a day without trips and a stay are flagged if only one location shows them', () => {
  const one = { locations: [5000], marks: [] };
  expect(flagNames(flagDay({ from: 0, to: 86_400 }, 0, one))).toEqual(['one_location']);
  expect(flagNames(flagDay({ from: 0, to: 86_400 }, 2, one))).toEqual([]);
  expect(flagNames(flagStay({ id: 'p', from: 4000, to: 6000 }, one))).toEqual(['one_location']);
  expect(flagNames(flagStay({ id: 'p', from: 4000, to: 4800 }, one))).toEqual([]);
});

it('a flag of a time applies to every day, stay and section that overlaps it', () => {
  const clues: FlagInputs = { locations: [0, 300, 600], marks: [{ flag: 'clock_moved', from: 590, to: 700 }] };
  expect(flagsIn(trip(800), clues)).toEqual(['s clock_moved']);
  expect(flagNames(flagDay({ from: 700, to: 1000 }, 0, { ...clues, locations: [] }))).toEqual(['clock_moved']);
  expect(flagNames(flagDay({ from: 701, to: 1000 }, 0, { ...clues, locations: [] }))).toEqual([]);
});

it('two sources disagree if they report different places within a minute, except in a fast train', async () => {
  const userId = await newUser(store);
  const far = [60, 120].map((s) => pushedFix(iphone, s, 5000));
  await put(store, userId, [...pushedMove(android, { from: 0, to: 120 }), ...far, pushedFix(iphone, 3000, 2500)]);
  await put(store, userId, [pushedFix(android, 2970, 0)]);
  await pipeline(store, userId);
  const { marks } = await readFlagInputs(store, userId, { from: t0 - 1000, to: t0 + 5000 });
  expect(marks).toEqual([{ flag: 'sources_disagree', from: t0 + 30, to: t0 + 120 }]);
});

it('entries with a write time after their receipt show when the clock was wrong, pending or moved', async () => {
  const userId = await newUser(store);
  const ahead = 7200;
  const waits = pushedTransition(android, 0, 'STOPPED_MOVING');
  await put(store, userId, [...pushedMove(android, { from: -600, to: 0 }), waits], t0);
  // An hour of a clock that is two hours ahead.
  const wrong = [1, 2, 3].map((n) => pushedTransition(android, ahead + n * 1200, 'EXITED_GEOFENCE'));
  await put(store, userId, [...wrong, pushed(android, 'background/battery', ahead + 3600, { ts: 1 })], t0 + 3600);
  await put(store, userId, pushedMove(android, { from: 20_000, to: 20_300, east: 4000 }), t0 + 20_300);
  await pipeline(store, userId, { now: () => t0 + 21_000 });
  const days = await allOf(everyDay(store, { uuid: userId }, {}, t0 + 21_000));
  const spans = days.flatMap(({ observed }) => observed.spans).filter(({ reason }) => reason === 'clock wrong');
  expect(spans.map(({ from, to }) => [from - t0, to - t0])).toEqual([[1200, 3600]]);
  expect(days.map(({ flagged }) => flagNames(flagged))).toEqual([['clock_moved']]);
});

it('days reach from the first to the last with data, and have further reasons for a gap', async () => {
  const userId = await newUser(store);
  const day = 86_400;
  for (const from of [0, 3 * day]) await put(store, userId, pushedMove(android, { from, to: from + 600 }));
  await pipeline(store, userId);
  await store.tokens.add({ hash: 'a'.repeat(64), user_id: userId, created_ts: 0, expires_ts: t0 + 3 * day + 3600 });
  const shown = await allOf(everyDay(store, { uuid: userId, joined_ts: t0 - 3600 }, {}, t0 + 3 * day + 7200));
  expect(shown.map((one) => dayFigures(one).trips)).toEqual([0, 0, 0, 0]);
  const reasons = shown.map(({ observed }) => [...new Set(observed.spans.map(({ reason }) => reason))]);
  expect(reasons[0]).toEqual(['before joining', 'before the first location', null, 'silent']);
  expect(reasons[3]!.slice(-3)).toEqual(['nothing received', 'after leaving', 'not yet']);
  for (const { observed } of shown) {
    const { moving_s, staying_s, unobserved_s, off_s } = observed;
    expect(moving_s + staying_s + unobserved_s).toBe(observed.to - observed.from);
    expect(off_s).toBe(0);
  }
});
