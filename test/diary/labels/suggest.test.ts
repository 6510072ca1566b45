// Labels suggested from the user's own labelled trips: their probabilities are correct on random histories.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { suggestionFields } from '../../../src/diary/labels/label-fields.ts';
import {
  type LabelledTraits,
  type LabelSet,
  type Suggestion,
  suggest,
  suggestedLabels,
} from '../../../src/diary/labels/suggest.ts';
import { inventedLife } from '../../support/habits.ts';

const textOf = (labels: LabelSet): string => JSON.stringify(suggestedLabels.map((name) => labels[name] ?? null));
const habits = fc.integer({ min: 0, max: 10_000 }).map((seed) => inventedLife(`property ${seed}`, 40));

/** A trip of a commute on the i-th day. */
const commute = (i: number, labels: LabelSet, fields: Partial<LabelledTraits> = {}): LabelledTraits => ({
  ...{ start_ts: 1_700_000_000 + i * 86_400, minute: 480, weekend: false },
  ...{ start: [9.05, 48.5], end: [9.1, 48.52], mode: 'PredictedModeTypes.BICYCLING', labels },
  ...fields,
});
const bike = { mode_confirm: 'bike', purpose_confirm: 'work' };

it('suggested labels are right as often as their probability states, for people with any habits', () => {
  const bins = Array.from({ length: 10 }, () => ({ count: 0, p: 0, came: 0 }));
  const sure = { count: 0, came: 0 };
  const judge = (way: LabelledTraits, known: readonly LabelledTraits[]): void => {
    for (const [i, { p, labels }] of suggest(way, {}, known).entries()) {
      const came = textOf(labels) === textOf(way.labels) ? 1 : 0;
      const bin = bins[Math.min(9, Math.floor(p * 10))]!;
      bin.count += 1;
      bin.p += p;
      bin.came += came;
      if (i > 0 || p < 0.95) continue;
      sure.count += 1;
      sure.came += came;
    }
  };
  for (let i = 0; i < 150; i += 1) {
    const ways = inventedLife(`calibration ${i}`);
    for (const [at, way] of ways.entries()) {
      if (at % 3 === 0) judge(way, ways.slice(0, at));
      if (at % 9 === 1) judge(way, ways);
    }
  }
  for (const { count, p, came } of bins) {
    expect(count).toBeGreaterThan(200);
    const [stated, found] = [p / count, came / count];
    expect(Math.abs(found - stated), `${stated.toFixed(3)} came true ${found.toFixed(3)}`).toBeLessThan(0.06);
  }
  // Who is spared the question because the answer is sure is seldom taken wrong.
  expect(sure.count).toBeGreaterThan(200);
  expect(sure.came / sure.count).toBeGreaterThan(0.95);
});

it('suggested labels are those of similar trips, the most probable first, in any order of the trips', () => {
  fc.assert(
    fc.property(habits, fc.nat(), fc.integer(), (ways, at, seed) => {
      fc.pre(ways.length > 1);
      const way = ways[at % ways.length]!;
      const found = suggest(way, {}, ways);
      expect(found.reduce((sum, { p }) => sum + p, 0)).toBeLessThanOrEqual(1);
      expect(found.map(({ p }) => p)).toEqual(found.map(({ p }) => p).sort((a, b) => b - a));
      const stated = new Set(ways.filter((other) => other !== way).map(({ labels }) => textOf(labels)));
      for (const { labels } of found) expect(stated.has(textOf(labels))).toBe(true);
      const shuffled = [...ways].sort((a, b) => Math.sin(seed + a.start_ts) - Math.sin(seed + b.start_ts));
      const rounded = (all: Suggestion[]) => all.map(({ p, labels }) => [p.toFixed(2), textOf(labels)]).sort();
      expect(rounded(suggest(way, {}, shuffled))).toEqual(rounded(found));
    }),
    { numRuns: 100 },
  );
});

it('suggested labels never contradict labels of the user, and end when mode and purpose are labelled', () => {
  fc.assert(
    fc.property(habits, fc.nat(), (ways, at) => {
      fc.pre(ways.length > 0);
      const way = ways[at % ways.length]!;
      const { mode_confirm } = way.labels;
      for (const { labels } of suggest(way, { mode_confirm: mode_confirm! }, ways))
        expect(labels.mode_confirm ?? mode_confirm).toBe(mode_confirm);
      expect(suggest(way, { mode_confirm: mode_confirm!, purpose_confirm: 'work' }, ways)).toEqual([]);
    }),
    { numRuns: 100 },
  );
});

it.each([
  ['another end', { end: [9.1, 48.53] }],
  ['another start', { start: [9.06, 48.5] }],
  ['the way back', { start: [9.1, 48.52], end: [9.05, 48.5] }],
] satisfies [string, Partial<LabelledTraits>][])('do not come from a trip with %s', (_, fields) => {
  expect(suggest(commute(9, {}), {}, [commute(1, bike, fields)])).toEqual([]);
});

it('suggested labels prefer labels of trips at the same time of day and in the same sensed mode', () => {
  const evening = { mode_confirm: 'bus', purpose_confirm: 'meal' };
  const known = [1, 2, 3].flatMap((i) => [commute(i, bike), commute(i + 0.5, evening, { minute: 1200 })]);
  const first = (fields: Partial<LabelledTraits>) => suggest(commute(9, {}, fields), {}, known)[0]!.labels;
  expect(first({})).toEqual(bike);
  expect(first({ minute: 1230 })).toEqual(evening);
  const bus = { mode: 'PredictedModeTypes.BUS' };
  const byMode = [1, 2, 3].flatMap((i) => [commute(i, bike), commute(i + 0.5, { mode_confirm: 'bus' }, bus)]);
  expect(suggest(commute(9, {}, bus), {}, byMode)[0]!.labels.mode_confirm).toBe('bus');
});

it('a trip needs no confirmation if the first suggestion has a probability of 95 %', () => {
  const asked = (p: number) => suggestionFields([{ p, labels: bike }]).expectation;
  expect([0.96, 0.95, 0.94].map(asked)).toEqual([false, false, true].map((to_label) => ({ to_label })));
  expect(suggestionFields([]).expectation).toEqual({ to_label: true });
});
