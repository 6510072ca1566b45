// Steps of the segmenter against slow and certain ways to the same: the decoder, the smoother, the features, the trees.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Track, trackLimits } from '../../../src/analysis/clean/track.ts';
import { shippedModels } from '../../../src/analysis/models.ts';
import { type LegEvidence, legFeatures, modes } from '../../../src/analysis/modes/leg-evidence.ts';
import { forwardBackward, pairFeatures } from '../../../src/analysis/modes/mode-crf.ts';
import { cellStates, stateNames } from '../../../src/analysis/motion-states.ts';
import { readModel, type TreeFile, writeProbabilities } from '../../../src/analysis/states/boosted-trees.ts';
import { cellSeconds, cellWidth, featureNames, forEachBlock } from '../../../src/analysis/states/features.ts';
import { decodeWeights, viterbi } from '../../../src/analysis/states/viterbi.ts';
import { runs } from '../../support/lives.ts';
import { at, t0 } from '../../support/phone.ts';

const between = (min: number, max: number) => fc.integer({ min, max });
const probability = between(0, 1000).map((n) => n / 1000);

const { evidence, floor, change } = decodeWeights;

/** What a course of states is worth: before its first cell the user rests. */
const worth = (course: readonly number[], p: Float64Array): number =>
  course.reduce(
    (sum, s, i) => sum + change[course[i - 1] ?? 0]![s]! + evidence * Math.log(Math.max(p[4 * i + s]!, floor)),
    0,
  );

it('the decoder finds the most likely sequence of states', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(probability, probability, probability, probability), { maxLength: 6 }), (cells) => {
      const p = Float64Array.from(cells.flat());
      const found = new Uint8Array(cells.length);
      viterbi(p, 0, cells.length, found);
      let best = Number.NEGATIVE_INFINITY;
      for (let n = 0; n < 4 ** cells.length; n += 1) {
        const course = cells.map((_, i) => Math.floor(n / 4 ** i) % 4);
        best = Math.max(best, worth(course, p));
      }
      expect(worth([...found], p)).toBeCloseTo(best, 9);
    }),
    runs(40),
  );
});

it('the decoder decodes a part of a list as it decodes the part alone', () => {
  fc.assert(
    fc.property(fc.array(probability, { minLength: 40, maxLength: 80 }), fc.nat(8), (flat, from) => {
      const cells = Math.floor(flat.length / 4);
      const whole = new Uint8Array(cells);
      viterbi(Float64Array.from(flat), from, cells, whole);
      const part = new Uint8Array(cells - from);
      viterbi(Float64Array.from(flat.slice(4 * from)), 0, cells - from, part);
      expect([...whole.slice(from)]).toEqual([...part]);
    }),
    runs(40),
  );
});

/** A leg of ten minutes by a mode, with figures that are typical of it. */
function legBy(mode: (typeof modes)[number], waited: number): LegEvidence {
  const share = Math.log(0.02);
  const logs = { 'ln share walk': share, 'ln share cycle': share, 'ln wait': Math.log(1 + waited / 30) };
  const others = { 'ln walk before': Math.log(6), 'ln turning': mode === 'TRAIN' ? -1.5 : 0.5 };
  const typical: Record<string, number> = { one: 1, 'boarded on foot': 1, covered: 1, ...logs, ...others };
  const features = legFeatures.map((name) => typical[name] ?? 0);
  const known = { features, possible: modes.map(() => true), fastest: 14, before: null, near: 0, parked: 0, waited };
  return { state: cellStates.motor, start: 0, end: 600, ...known };
}

const { crf } = shippedModels;

it('the conditional random field equals the sum over every choice', () => {
  const legs = [
    legBy('CAR', 0),
    { ...legBy('BUS', 240), before: 0, near: 0.7, parked: 0.4 },
    { ...legBy('TRAIN', 60), before: 1 },
  ];
  const weight = ([a, b, c]: [number, number, number]): number => {
    const own = [a, b, c].map((m, i) => crf.modes[m]!.reduce((sum, w, f) => sum + w * legs[i]!.features[f]!, 0));
    const pair = (x: number, y: number, how: LegEvidence): number =>
      pairFeatures(x, y, how).reduce((sum, { kind, share }) => sum + share * crf.pairs[kind]!, 0);
    return Math.exp(own[0]! + own[1]! + own[2]! + pair(a, b, legs[1]!) + pair(b, c, legs[2]!));
  };
  const sums = legs.map(() => modes.map(() => 0));
  let total = 0;
  for (const a of modes.keys())
    for (const b of modes.keys())
      for (const c of modes.keys()) {
        const w = weight([a, b, c]);
        total += w;
        for (const [i, m] of [a, b, c].entries()) sums[i]![m]! += w;
      }
  const marginals = forwardBackward(legs, crf);
  marginals.single.forEach((row, i) => {
    for (const [m, p] of row.entries()) expect(p).toBeCloseTo(sums[i]![m]! / total, 9);
  });
});

it('the conditional random field reads a wait at a stop as a sign of a bus or train', () => {
  const chance = (leg: LegEvidence): number[] => forwardBackward([leg], crf).single[0]!;
  const [, , car, ...others] = chance(legBy('BUS', 300));
  expect(others[0]! + others[1]!).toBeGreaterThan(car!);
  expect(chance(legBy('BUS', 0))[3]!).toBeLessThan(others[0]!);
});

it('the conditional random field does not read a drive along a bus line without a wait as a bus', () => {
  const transit = [{ bus: 3, train: 0, lines: [] }];
  const chance = (wait: number): number => forwardBackward([legBy('CAR', wait)], crf, { transit }).single[0]![3]!;
  expect(chance(0)).toBeLessThan(0.5);
  expect(chance(180)).toBeGreaterThan(0.9);
});

it('the conditional random field gives no mode that is too slow for the leg', () => {
  const fast = { ...legBy('CAR', 0), possible: [false, false, true, true, true] };
  expect(forwardBackward([fast], crf).single[0]!.slice(0, 2)).toEqual([0, 0]);
});

/** Solves a x = b by elimination with pivots. */
function solve(a: number[][], b: number[]): number[] {
  const rows = a.map((row, i) => [...row, b[i]!]);
  const n = b.length;
  for (let c = 0; c < n; c += 1) {
    let pivot = c;
    for (let r = c + 1; r < n; r += 1) if (Math.abs(rows[r]![c]!) > Math.abs(rows[pivot]![c]!)) pivot = r;
    [rows[c], rows[pivot]] = [rows[pivot]!, rows[c]!];
    for (let r = 0; r < n; r += 1) {
      if (r === c) continue;
      const factor = rows[r]![c]! / rows[c]![c]!;
      for (let k = c; k <= n; k += 1) rows[r]![k]! -= factor * rows[c]![k]!;
    }
  }
  return rows.map((row, i) => row[n]! / row[i]!);
}

/**
 * Positions of the way that is likeliest at once: constant speed with noise of the acceleration between locations, the
 * first speed near zero. The normal equations of that, solved directly.
 */
function directly(times: readonly number[], measured: readonly number[], accuracy: number): number[] {
  const { acceleration: q, variance, leastAccuracy, firstSpeed } = trackLimits;
  const r = variance * Math.max(accuracy, leastAccuracy) ** 2;
  const n = times.length;
  const a = Array.from({ length: 2 * n }, () => new Array<number>(2 * n).fill(0));
  const b = new Array<number>(2 * n).fill(0);
  for (let i = 0; i < n; i += 1) {
    a[2 * i]![2 * i]! += 1 / r;
    b[2 * i]! += measured[i]! / r;
  }
  a[1]![1]! += 1 / firstSpeed;
  for (let i = 1; i < n; i += 1) {
    const dt = times[i]! - times[i - 1]!;
    // Residuals of position and speed, weighed by the inverse of the covariance of their noise.
    const e = [
      [-1, -dt, 1, 0],
      [0, -1, 0, 1],
    ];
    const weight = [
      [12 / (q * dt ** 3), -6 / (q * dt ** 2)],
      [-6 / (q * dt ** 2), 4 / (q * dt)],
    ];
    for (let k = 0; k < 4; k += 1)
      for (let l = 0; l < 4; l += 1)
        for (let u = 0; u < 2; u += 1)
          for (let v = 0; v < 2; v += 1) a[2 * i - 2 + k]![2 * i - 2 + l]! += e[u]![k]! * weight[u]![v]! * e[v]![l]!;
  }
  return solve(a, b).filter((_, i) => i % 2 === 0);
}

it('the smoother gives the same most likely path as a direct solution', () => {
  const steps = fc.array(fc.tuple(between(1, 60), between(-8, 8)), { minLength: 2, maxLength: 12 });
  fc.assert(
    fc.property(steps, between(15, 40), (steps, accuracy) => {
      // Small errors about a steady walk, so that no location surprises or is a spike.
      const times = [0];
      const metres = [0];
      for (const [seconds, error] of steps) {
        times.push(times.at(-1)! + seconds);
        metres.push(1.3 * times.at(-1)! + error);
      }
      const track = new Track(times.map((ts, i) => at(ts, metres[i]!, 0, { accuracy })));
      expect(track.leftOut).toEqual({ repeats: 0, spikes: 0 });
      const expected = directly(times, metres, accuracy);
      for (const [i, x] of track.x.entries())
        expect(Math.abs(x - track.x[0]! - (expected[i]! - expected[0]!))).toBeLessThan(0.05);
    }),
    runs(60),
  );
});

const fix = fc.tuple(between(5, 200), between(-400, 400), between(-1, 30));
const reading = fc.tuple(between(1, 150), fc.constantFrom(0, 1, 2, 3, 7, 9), between(0, 100));

it('the features of a cell are the same for any other requested cells', () => {
  const fixesOf = fc.array(fix, { minLength: 30, maxLength: 80 });
  const samplings = fc.constantFrom('time' as const, 'distance' as const);
  fc.assert(
    fc.property(fixesOf, fc.array(reading, { maxLength: 80 }), samplings, (fixes, readings, sampling) => {
      const upTo = (steps: readonly number[], i: number): number => steps.slice(0, i + 1).reduce((a, b) => a + b);
      const [seconds, east] = [fixes.map(([step]) => step), fixes.map(([, step]) => step)];
      const locations = fixes.map(([, , speed], i) => at(upTo(seconds, i), upTo(east, i), 0, { speed }));
      const steps = readings.map(([step]) => step);
      const motions = readings.map(([, type, confidence], i) => ({ ts: t0 + upTo(steps, i), type, confidence }));
      const track = new Track(locations);
      const cellsOf = (from: number, to: number): number[][] => {
        const cells: number[][] = [];
        forEachBlock({ track, motions, sampling, from, to }, ({ ts, count, rows }) => {
          for (let i = 0; i < count; i += 1)
            cells.push([ts + i * cellSeconds, ...rows.subarray(i * cellWidth, (i + 1) * cellWidth)]);
        });
        return cells;
      };
      const all = cellsOf(t0 - 600, locations.at(-1)!.ts + 600);
      expect(all.length).toBeGreaterThan(128);
      for (let i = 0; i < all.length; i += 31) {
        const [alone] = cellsOf(all[i]![0]!, all[i]![0]!);
        // Turning is a difference of sums, which begin elsewhere.
        expect(alone).toEqual(all[i]!.map((value, f) => (f === 28 ? expect.closeTo(value, 9) : value)));
      }
    }),
    runs(20),
  );
});

it('a gap has no turn and no change of speed, at any position on earth', () => {
  const ways = fc.record({ east: fc.double({ min: 1, max: 30_000, noNaN: true }), latitude: fc.nat(60) });
  fc.assert(
    fc.property(ways, ({ east, latitude }) => {
      const [first, last] = [at(0, 0), at(1600, east, east / 2)].map((one) => ({
        ...one,
        latitude: one.latitude + latitude - 30,
      }));
      const cells = { motions: [], sampling: 'time', from: t0 + 700, to: t0 + 900 } as const;
      forEachBlock({ track: new Track([first!, last!]), ...cells }, ({ count, rows }) => {
        expect(count).toBeGreaterThan(10);
        for (const name of ['turn3m', 'acc5m'])
          for (let i = 0; i < count; i += 1) expect(rows[i * cellWidth + featureNames.indexOf(name)]).toBe(0);
      });
    }),
    runs(100),
  );
});

const tree = (f: number[], t: number[], l: number[], r: number[], v: number[]): TreeFile => ({ f, t, l, r, v });
/** A model of trees with these, four for each round. */
const modelOf = (trees: Partial<TreeFile>[]): string =>
  JSON.stringify({ id: 'made up', features: featureNames, classes: stateNames, trees });

it('the trees go left up to a threshold and right above it, and give the softmax of the sums of their leaves', () => {
  const leaf = (v: number): TreeFile => tree([], [], [], [], [v]);
  const deep = tree([3, 45], [1.5, -1], [1, -1], [-3, -2], [0.25, 0.5, 2]);
  const model = readModel(modelOf([leaf(0), deep, leaf(1), leaf(-1), leaf(0.5), deep, leaf(0), leaf(0)]));
  const probabilities = (gapv: number, last: number): number[] => {
    const features = new Float64Array(2 * featureNames.length); // two cells, of which the second is asked about
    features[featureNames.length + 3] = gapv;
    features[featureNames.length + 45] = last;
    const into = new Float64Array(4);
    writeProbabilities(model, features, Int32Array.of(featureNames.length), into);
    return [...into];
  };
  const softmax = (scores: number[]): number[] => {
    const sum = scores.reduce((all, s) => all + Math.exp(s), 0);
    return scores.map((s) => Math.exp(s) / sum);
  };
  const close = (scores: number[]) => softmax(scores).map((p) => expect.closeTo(p, 12));
  expect(probabilities(1.5, -1)).toEqual(close([0.5, 0.5, 1, -1]));
  expect(probabilities(1.5, 0)).toEqual(close([0.5, 1, 1, -1]));
  expect(probabilities(1.6, -1)).toEqual(close([0.5, 4, 1, -1]));
  expect(probabilities(1.5, -1)).toEqual(close([0.5, 0.5, 1, -1]));
});

it('the trees of a damaged file are refused', () => {
  const textOf = (one: Partial<TreeFile>) => modelOf([one, one, one, one]);
  expect(readModel(textOf(tree([0], [1], [-1], [-2], [0, 1]))).id).toBe('made up');
  for (const damaged of [tree([0], [1], [0], [-2], [0, 1]), tree([99], [1], [-1], [-2], [0, 1]), { f: [], t: [] }])
    expect(() => readModel(textOf(damaged))).toThrow(/expected a complete tree for each class and round/);
});
