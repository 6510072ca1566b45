// The trip or stay that user input belongs to, on made-up days.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Input, inputOf } from '../../../src/diary/labels/input-keys.ts';
import { matchInputs, spansAround } from '../../../src/diary/labels/load-labels.ts';
import { findSpan } from '../../../src/diary/labels/match-inputs.ts';
import { combineInputs } from '../../../src/diary/labels/user-labels.ts';
import type { JsonObject } from '../../../src/model/json.ts';

let writeTs = 1_000_000;
/** Each input is written a second later than the one before. */
const input = (name: string, data: JsonObject, at = ++writeTs): Input =>
  inputOf({ metadata: { key: `manual/${name}`, write_ts: at, platform: 'android' }, data })!;
const mode = (start_ts: number, end_ts: number, label: string) => input('mode_confirm', { start_ts, end_ts, label });
const trip = (start: number, end: number) => ({ chain_ts: start, start_ts: start, end_ts: end, written_ts: 0 });

/** Three trips of 1000 s, at 10,000, 20,000 and 21,500. */
const trips = [trip(10_000, 11_000), trip(20_000, 21_000), trip(21_500, 22_500)];
const spans = trips.map(({ start_ts, end_ts }) => ({ start: start_ts, end: end_ts }));
const home = (start: number, end: number): number | null => findSpan({ start, end }, spans)?.start ?? null;

it.each([
  ['the trip that has its times', 10_000, 11_000, 10_000],
  ['the trip in which its draft began and near whose end it ended', 10_120, 11_850, 10_000],
  ['the trip that it covers, however late it ends', 10_100, 14_000, 10_000],
  ['the trip that begins less than 15 minutes after it', 9_300, 10_400, 10_000],
  ['the trip with which it shares the most when it begins at the end of another', 20_990, 22_500, 21_500],
  ['the one that it covers, though it begins in the one before', 20_780, 22_600, 21_500],
  ['the one that it shares the most with, though it ends soon after the one it begins in', 20_800, 21_750, 21_500],
  ['the first of two that were one for the app', 20_050, 22_500, 20_000],
  ['the one it lies in', 21_600, 21_700, 21_500],
  ['the one that it shares the most with, if it covers just half of the one it begins in', 20_500, 22_400, 21_500],
  ['the trip that begins exactly 15 minutes after it', 19_100, 20_050, 20_000],
  ['none when a trip begins a second later than that', 19_099, 20_050, null],
  ['none when it covers just half of a trip that began long after it', 19_000, 20_500, null],
  ['none when no trip came of its draft', 14_000, 15_000, null],
  ['none when it only touches a trip that began long after it', 8_000, 10_050, null],
])('an input belongs to %s', (_, start, end, expected) => {
  expect(home(start, end)).toBe(expected);
});

it('an input belongs to no trip with exactly half of its time, nor to one that begins at its end', () => {
  expect(findSpan({ start: 18_000, end: 22_000 }, [{ start: 20_000, end: 30_000 }])).toBeNull();
  expect(findSpan({ start: null, end: 20_000 }, spans)?.start).toBe(10_000);
  expect(findSpan({ start: null, end: 21_900 }, spans)?.start).toBe(20_000);
});

it('an input belongs to at most one trip, which overlaps it or contains its start', () => {
  const time = fc.integer({ min: 0, max: 40_000 });
  fc.assert(
    fc.property(time, time, (a, b) => {
      const [start, end] = [Math.min(a, b), Math.max(a, b)];
      const span = findSpan({ start, end }, spans);
      if (span === null) return;
      expect(start < span.end && end >= span.start).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

it('input about a trip does not depend on the order of arrival', () => {
  const note = (more: JsonObject) => input('trip_addition_input', { start_ts: 10_100, end_ts: 10_900, ...more });
  const all = [
    mode(10_000, 11_000, 'bike'),
    mode(10_000, 11_000, 'walk'),
    input('replaced_mode', { start_ts: 10_000, end_ts: 11_000, label: 'bus' }),
    mode(20_000, 21_000, 'bus'),
    note({ label: 'a', match_id: '1' }),
    note({ label: 'b', match_id: '2' }),
    note({ label: 'a', match_id: '1', status: 'DELETED' }),
  ];
  const labelsBy = (inputs: readonly Input[]) =>
    trips.map(({ start_ts }) => matchInputs(inputs, trips).ofTrip(start_ts));
  const expected = labelsBy(all);
  expect(expected[0]!.user_input).toEqual({ mode_confirm: 'walk', replaced_mode: 'bus' });
  expect(expected[0]!.additions.map(({ data }) => data.label)).toEqual(['b']);
  expect(expected[1]!.user_input).toEqual({ mode_confirm: 'bus' });
  fc.assert(
    fc.property(fc.shuffledSubarray(all, { minLength: all.length }), (shuffled) => {
      expect(labelsBy(shuffled)).toEqual(expected);
    }),
  );
});

it('input about a trip counts trips with a label or survey, none with a note alone', () => {
  const inputs = [
    mode(10_000, 11_000, 'bike'),
    input('trip_user_input', { start_ts: 20_000, end_ts: 21_000 }),
    input('trip_addition_input', { start_ts: 21_500, end_ts: 22_500, label: 'a' }),
  ];
  expect(matchInputs(inputs, trips).labelledTrips).toBe(2);
});

const stated = (name: string, label: string, at: number) => input(name, { start_ts: 1, end_ts: 2, label }, at);

it('input about a trip has the replaced mode of the same label as the mode', () => {
  const modes = [stated('mode_confirm', 'walk', 1), stated('mode_confirm', 'bike', 2)];
  const { user_input } = combineInputs([...modes, stated('replaced_mode', 'bus', 2)]);
  expect(user_input).toEqual({ mode_confirm: 'bike', replaced_mode: 'bus' });
});

it('input about a trip has no replaced mode after the mode was corrected to one that replaces none', () => {
  const both = [stated('mode_confirm', 'e_bike', 1), stated('replaced_mode', 'drove_alone', 2)];
  const inputs = [...both, stated('mode_confirm', 'walk', 3)];
  expect(combineInputs(inputs).user_input).toEqual({ mode_confirm: 'walk' });
  const again = [...inputs, stated('mode_confirm', 'e_bike', 4)];
  expect(combineInputs(again).user_input).toEqual({ mode_confirm: 'e_bike', replaced_mode: 'drove_alone' });
});

it('input about a stay belongs to the stay that it overlaps, also the first and the last, never to a trip', () => {
  const stays: [enter: number | null, exit: number | null, label: string][] = [
    [null, 10_000, 'first'],
    [11_000, 13_000, 'before untracked time'],
    [18_000, 20_000, 'after it'],
    [22_500, null, 'last'],
  ];
  const notes = stays.map(([start_ts, end_ts, label]) =>
    input('place_addition_input', { ...(start_ts && { start_ts }), ...(end_ts && { end_ts }), label }),
  );
  const found = matchInputs(notes, trips);
  for (const [enter, exit, label] of stays)
    expect(found.ofStay(enter, exit).additions.map(({ data }) => data.label)).toEqual([label]);
  expect(found.ofStay(21_000, 21_500).additions).toEqual([]);
  for (const { start_ts } of trips) expect(found.ofTrip(start_ts).additions).toEqual([]);
});

it('each input gets the same trip or stay from the trips near inputs as from all trips', async () => {
  const gapAndTrip = fc.tuple(fc.integer({ min: 1, max: 200_000 }), fc.integer({ min: 60, max: 20_000 }));
  const chain = fc.array(gapAndTrip, { maxLength: 12 });
  const time = fc.integer({ min: -100_000, max: 1_000_000 });
  const range = fc.tuple(fc.option(time, { freq: 3 }), fc.option(fc.integer({ min: 0, max: 300_000 }), { freq: 3 }));
  await fc.assert(
    fc.asyncProperty(chain, fc.array(range, { minLength: 1, maxLength: 3 }), async (gaps, ranges) => {
      let end = 0;
      const all = gaps.map(([gap, length]) => {
        const start = end + gap;
        end = start + length;
        return trip(start, end);
      });
      const store = {
        timeseries: { find: async () => ({ entries: [], received_ts: [], next: null }) },
        trips: {
          previous: async (_: string, ts: number) => all.findLast(({ chain_ts }) => chain_ts < ts) ?? null,
          next: async (_: string, ts: number) => all.find(({ chain_ts }) => chain_ts > ts) ?? null,
          spans: async (_: string, { from, to }: { from: number; to: number }) =>
            all.filter(({ chain_ts }) => chain_ts >= from && chain_ts < to),
        },
      };
      const inputs = ranges.flatMap(([start, length], i) => {
        const end = length === null ? {} : { end_ts: (start ?? 0) + length };
        const times = { ...(start !== null && { start_ts: start }), ...end };
        if (start === null && length === null) return [];
        const keys = ['trip_addition_input', 'place_addition_input'];
        return keys.map((key) => input(key, { ...times, label: `${key} ${i}` }));
      });
      fc.pre(inputs.length > 0);
      const found = matchInputs(inputs, await spansAround(store as never, 'ada', inputs));
      const expected = matchInputs(inputs, all);
      const saidOf = (labels: typeof found) => [
        ...all.map(({ start_ts }) => labels.ofTrip(start_ts)),
        ...[null, ...all].map((before, i) => labels.ofStay(before?.end_ts ?? null, all[i]?.start_ts ?? null)),
      ];
      expect(saidOf(found)).toEqual(saidOf(expected));
    }),
    { numRuns: 500 },
  );
});
