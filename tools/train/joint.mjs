// Fits the weights of modes and waits (src/analysis/modes/mode-crf.ts) by maximum likelihood, with a penalty for each step
// away from the expectations in `plain`. It uses no random numbers. The state models must not have been trained on the
// cases. Without the penalty the weights learn routes: with an itinerary left out, .67 of the time of legs was right
// instead of .90. With a strong penalty the probabilities are too low: so one factor of all weights may be fitted freely.

import { legFeatures, modes } from '../../dist/analysis/modes/leg-evidence.js';
import { forwardBackward, pairFeatures, pairKinds } from '../../dist/analysis/modes/mode-crf.js';
import { trainingGroups } from '../../dist/analysis/segment.js';
import { stopFeatures } from '../../dist/analysis/trips/journeys.js';

const modeOf = {
  WALKING: 0,
  BICYCLING: 1,
  E_BIKE: 1,
  ESCOOTER: 1,
  CAR: 2,
  BUS: 3,
  TRAIN: 4,
  SUBWAY: 4,
  LIGHT_RAIL: 4,
};
const n = modes.length;
const waitPenalty = 10; // for a squared step of a weight of waits away from `plain`
const steps = 200;

/** Expectations without data, as log odds: a person who waits boards a bus or train; rails have few bends, and tunnels. */
const plain = {
  modes: {
    WALKING: { 'ln share walk': 1 },
    BICYCLING: { 'ln share cycle': 1 },
    CAR: { 'ln share motor': 1 },
    BUS: { one: -2, 'ln share motor': 1, 'ln wait': 1.5, 'ln walk before': 0.4, 'ln walk after': 0.4 },
    TRAIN: {
      ...{ one: -2, 'ln share motor': 1, 'ln wait': 1.5, 'ln walk before': 0.4, 'ln walk after': 0.4 },
      ...{ 'ln turning': -1.5, silent: 2, fast: 0.8 },
    },
  },
  pairs: {
    ...{ 'both public': 1, 'both public, left': 0, 'the same, near': 1, 'car and public': -1.5 },
    ...{ 'cars, near': 2, 'the same, left': 2.5 },
  },
  waits: { one: -0.5, 'ln stop': -1, 'turned back': -4, 'public next': 2, 'public before': 0.5, parked: -2 },
};

const listOf = (names, weights) => names.map((name) => weights[name] ?? 0);

/** Weights before the fit. `more`: further expectations by mode. */
const plainWeights = (id, more = {}) => ({
  id,
  modes: modes.map((mode) => listOf(legFeatures, { ...plain.modes[mode], ...more[mode] })),
  pairs: listOf(pairKinds, plain.pairs),
  waits: listOf(stopFeatures, plain.waits),
});

/** The true mode in more than half of a leg's time, as an index of `modes`; null: none, or another mode. */
export function trueMode({ start, end }, truth) {
  const seconds = modes.map(() => 0);
  for (const section of truth.trips.flatMap(({ sections }) => sections)) {
    const both = Math.min(end, section.end_ts) - Math.max(start, section.start_ts);
    if (both > 0 && section.mode in modeOf) seconds[modeOf[section.mode]] += both;
  }
  const most = Math.max(...seconds);
  return most > 0.5 * (end - start) ? seconds.indexOf(most) : null;
}

const stretchOf = ({ locations, motions, events }) => ({ locations, motions, events, loadedUntil: Infinity });

/**
 * Fits the weights. `cases`: `[{ one, models, weight }]`, with the state models (`full`, `sparse`) that decode the case.
 * `penalty`: for a squared step of a mode's weight; `isScaled`: a factor of all weights is fitted freely; `more`: see
 * `plainWeights`.
 */
export function fitJoint(cases, id, { penalty, isScaled, more }) {
  const groups = (crf) =>
    cases.flatMap(({ one, models, weight }) =>
      trainingGroups(stretchOf(one), { ...models, crf, crfSparse: crf }).map((group) => ({
        ...group,
        weight,
        truth: one.truth,
        labels: group.legs.map((leg) => {
          const mode = trueMode(leg, one.truth);
          return mode !== null && leg.possible[mode] ? mode : null;
        }),
      })),
    );
  const model = plainWeights(id, more);
  fitModes(groups(model), model, penalty, isScaled);
  fitWaits(groups(model), model);
  return model;
}

/** Gradient descent by Adam (Kingma and Ba 2015), with a rate that falls to 0. */
function descend(weights, gradientOf) {
  const [mean, square] = [weights.map(() => 0), weights.map(() => 0)];
  for (let step = 1; step <= steps; step += 1) {
    const gradient = gradientOf();
    const rate = 0.12 * (1 - step / (steps + 1));
    for (let i = 0; i < weights.length; i += 1) {
      mean[i] = 0.9 * mean[i] + 0.1 * gradient[i];
      square[i] = 0.97 * square[i] + 0.03 * gradient[i] ** 2;
      const seen = [mean[i] / (1 - 0.9 ** step), square[i] / (1 - 0.97 ** step)];
      weights[i] -= (rate * seen[0]) / (Math.sqrt(seen[1]) + 1e-8);
    }
  }
}

function fitModes(groups, model, penalty, isScaled) {
  const f = legFeatures.length;
  const start = [...model.modes.flat(), ...model.pairs];
  const flat = [...start, 1]; // the last value is the factor of all others
  const known = groups.filter(({ labels }) => labels.some((label) => label !== null));
  const spread = () => {
    const scaled = start.map((_, i) => flat.at(-1) * flat[i]);
    for (let m = 0; m < n; m += 1) model.modes[m] = scaled.slice(m * f, (m + 1) * f);
    model.pairs = scaled.slice(n * f);
  };
  descend(flat, () => {
    spread();
    const gradient = start.map(() => 0);
    for (const { legs, labels, weight } of known)
      for (const [sign, probabilities] of [
        [1, forwardBackward(legs, model)],
        [-1, forwardBackward(legs, model, { truth: labels })],
      ])
        for (const [k, leg] of legs.entries()) {
          for (let m = 0; m < n; m += 1) {
            const p = sign * weight * probabilities.single[k][m];
            for (let i = 0; i < f; i += 1) gradient[m * f + i] += p * leg.features[i];
          }
          probabilities.pairs[k]?.forEach((p, both) => {
            for (const { kind, share } of pairFeatures(Math.floor(both / n), both % n, leg))
              gradient[n * f + kind] += sign * weight * p * share;
          });
        }
    const ofFactor = gradient.reduce((sum, g, i) => sum + g * flat[i], 0);
    const ofWeights = gradient.map((g, i) => flat.at(-1) * g + penalty * (flat[i] - start[i]));
    return [...ofWeights, isScaled ? ofFactor : 0];
  });
  spread();
}

function fitWaits(groups, model) {
  const rows = groups.flatMap(({ stops, truth }) =>
    stops
      .filter(({ never }) => never === null)
      .map(({ start_ts, end_ts, features }) => {
        const middle = (start_ts + end_ts) / 2;
        return { features, isWait: truth.trips.some((t) => t.start_ts < middle && t.end_ts > middle) };
      }),
  );
  const start = [...model.waits];
  descend(model.waits, () => {
    const gradient = model.waits.map((w, i) => waitPenalty * (w - start[i]));
    for (const { features, isWait } of rows) {
      const score = features.reduce((sum, x, i) => sum + x * model.waits[i], 0);
      const off = 1 / (1 + Math.exp(-score)) - (isWait ? 1 : 0);
      features.forEach((x, i) => {
        gradient[i] += off * x;
      });
    }
    return gradient;
  });
}

/** The text of a file in `models`, as `readModeCrf` reads it. */
export function jointFile(model, origin) {
  const rounded = (list) => list.map((w) => Math.round(w * 1000) / 1000);
  const { id, pairs, waits } = model;
  return `${JSON.stringify(
    {
      id,
      origin,
      features: legFeatures,
      modes: model.modes.map(rounded),
      pair_kinds: pairKinds,
      pairs: rounded(pairs),
      stop_features: stopFeatures,
      waits: rounded(waits),
    },
    null,
    1,
  )}\n`;
}
