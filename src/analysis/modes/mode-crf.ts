// Decides the modes of all legs of a group together, with a linear-chain conditional random field (CRF).
//
//   legs          walk ---- motor ---- walk ---- motor ---- walk
//   chain                     o---------------------o               legs by vehicle or bicycle, in order
//   score of a leg            weights of each mode * features       "waited 240 s, few turns": TRAIN
//   evidence of feeds         weight * log likelihood ratio         "along the stops of line 7": BUS
//   score of a pair           weights of pair kinds * features      "parked there and came back": the same car
//   result                    CAR .7, BUS .3        CAR .7, BUS .3
//
// A sequence of modes, one for each leg, has a score: the sum over its legs and pairs. The softmax over all sequences
// gives its probability. Forward-backward sums over the sequences and gives the marginals of each leg and pair.
// `tools/train/joint.mjs` fits the weights on recorded and simulated days; they are in `models/journeys-*.json`.
import { logSum } from '../../model/log-sum.ts';
import { noEvidence, type TransitEvidence } from '../../transit/match-ride.ts';
import { boardingRatios, type LegEvidence, legFeatures, modes } from './leg-evidence.ts';
export interface ModeCrf {
  id: string;
  modes: number[][]; // by mode: one weight per feature of a leg (`legFeatures`)
  pairs: number[]; // one weight per kind of pair (`pairKinds`)
  /** One weight per feature of a stop (`stopFeatures`). With them, `findJourneys` decides whether a stop is a wait. */
  waits: number[];
}

/**
 * Kinds of two consecutive legs by vehicle or bicycle, each a feature of the pair. "near": leg 2 begins where leg 1
 * ended. "left": the user also seems to have been away from there in between.
 */
export const pairKinds = [
  'both public', // a bus to the station, then a train
  'both public, left', // a bus to a shop, and from the same stop a bus back
  'the same, near', // a train, and another train from the same platform
  'car and public', // a car to the station, then a train
  'cars, near', // a car with a stop for fuel
  'the same, left', // a car to a shop and back
  'cars, apart', // a lift, and a taxi from another street
  'bicycle and vehicle', // a bicycle to the station, then a train
  'bicycles', // a bicycle with a stop, or two rented bicycles
] as const;

const [walk, bike, car] = [0, 1, 2];

type Link = Pick<LegEvidence, 'near' | 'parked'>;

/**
 * Features of a leg with mode `a` before a leg with mode `b`. `kind`: index in `pairKinds`; `share`: value of the
 * feature. The three shares sum to 1: the second leg begins at a parked vehicle, where the first ended, or elsewhere.
 */
export function pairFeatures(a: number, b: number, { near, parked }: Link): { kind: number; share: number }[] {
  const features = [
    { kind: pairKind(a, b, { near: 1, parked: 1 }), share: parked },
    { kind: pairKind(a, b, { near: 1, parked: 0 }), share: near - parked },
    { kind: pairKind(a, b, { near: 0, parked: 0 }), share: 1 - near },
  ];
  return features.filter(({ kind, share }) => kind >= 0 && share > 0);
}

/** The index in `pairKinds` for modes `a` and `b`; -1: the pair has no feature. `near` and `parked` are 0 or 1. */
function pairKind(a: number, b: number, { near, parked }: Link): number {
  if (a === walk || b === walk) return -1;
  if (parked && a === b && a <= car) return indexOf('the same, left');
  if (a === bike && b === bike) return indexOf('bicycles');
  if (a === bike || b === bike) return indexOf('bicycle and vehicle');
  if (a === car && b === car) return indexOf(near ? 'cars, near' : 'cars, apart');
  if (a === car || b === car) return indexOf('car and public');
  if (parked) return indexOf('both public, left');
  return indexOf(near && a === b ? 'the same, near' : 'both public');
}

const indexOf = (name: (typeof pairKinds)[number]): number => pairKinds.indexOf(name);

const n = modes.length;

/**
 * Factors of the evidence of feeds. Fitted by `tools/train/transit-weights.mjs`: for a bus, 0.7 to 1 fit equally well.
 */
export const transitWeights = { bus: 1, train: 1.4 };

/** The share of the evidence for a bus that counts if the user neither waited nor walked, as in a car (by hand). */
const unboarded = 0.25;

function transitScore(mode: string, { bus, train }: TransitEvidence, features: readonly number[]): number {
  if (mode !== 'BUS') return mode === 'TRAIN' ? transitWeights.train * train : 0;
  const { wait, walks } = boardingRatios(features);
  const share = bus > 0 ? Math.min(1, unboarded + ((1 - unboarded) * (wait + walks)) / 2) : 1;
  return transitWeights.bus * share * bus;
}

/** The score of each mode. All are 0 for a leg that is too fast for every mode. `only`: excludes all other modes. */
function scoreModes(leg: LegEvidence, weights: number[][], transit: TransitEvidence, only?: number): number[] {
  const { features, possible } = leg;
  if (!possible.includes(true)) return weights.map(() => 0);
  return weights.map((row, m) => {
    if (!possible[m] || (only !== undefined && only !== m)) return Number.NEGATIVE_INFINITY;
    return row.reduce((score, weight, f) => score + weight * features[f]!, transitScore(modes[m]!, transit, features));
  });
}

function softmax(scores: readonly number[]): number[] {
  const all = logSum(scores);
  return scores.map((score) => Math.exp(score - all));
}

/**
 * Computes the marginal probabilities with the forward-backward algorithm, on logarithms. `truth`: for training, the
 * known mode of each leg; `transit`: evidence of feeds by leg. Returns by leg the probability of each mode, and of each
 * pair with the previous leg (at `modes.length * before + mode`; null: there is none).
 */
export function forwardBackward(
  legs: readonly LegEvidence[],
  model: ModeCrf,
  { truth = [], transit = [] }: { truth?: readonly (number | null)[]; transit?: readonly TransitEvidence[] } = {},
) {
  const own = legs.map((leg, i) => scoreModes(leg, model.modes, transit[i] ?? noEvidence, truth[i] ?? undefined));
  const pair = (leg: LegEvidence, a: number, b: number): number =>
    pairFeatures(a, b, leg).reduce((sum, { kind, share }) => sum + share * model.pairs[kind]!, 0);
  const forward = own.map((scores) => [...scores]); // sums of logarithms over the legs before and the leg itself
  const backward = own.map((scores) => scores.map(() => 0)); // sums of logarithms over the legs after it
  legs.forEach((leg, i) => {
    if (leg.before === null) return;
    const from = forward[leg.before]!;
    for (let b = 0; b < n; b += 1) forward[i]![b]! += logSum(from.map((score, a) => score + pair(leg, a, b)));
  });
  for (let i = legs.length - 1; i >= 0; i -= 1) {
    const leg = legs[i]!;
    if (leg.before === null) continue;
    const after = own[i]!.map((score, b) => score + backward[i]![b]!);
    for (let a = 0; a < n; a += 1)
      backward[leg.before]![a]! += logSum(after.map((score, b) => score + pair(leg, a, b)));
  }
  const single = forward.map((scores, i) => softmax(scores.map((score, m) => score + backward[i]![m]!)));
  const pairs = legs.map((leg, i) => {
    if (leg.before === null) return null;
    const scores = forward[leg.before]!;
    return softmax(
      scores.flatMap((score, a) => own[i]!.map((next, b) => score + pair(leg, a, b) + next + backward[i]![b]!)),
    );
  });
  return { single, pairs };
}

/** Reads weights. Throws if the file was fitted for other features or modes. */
export function readModeCrf(text: string): ModeCrf {
  const { id, features, modes: weights, pairs, waits } = JSON.parse(text) as ModeCrf & { features: unknown };
  if (JSON.stringify(features) !== JSON.stringify(legFeatures) || weights.length !== n)
    throw new Error(
      `model ${id}: expected the features and modes of this program, found others: fit it again, see docs/quality.md`,
    );
  return { id, modes: weights, pairs, waits };
}
