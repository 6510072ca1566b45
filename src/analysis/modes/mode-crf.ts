// Step "crf": the modes of all legs of an group, decided together, and which stops between them are waits, by
// weights fitted on recorded and made-up days.
import { type LegEvidence, legFeatures, modes } from './leg-evidence.ts';
/** Weights of the decision. Read from a data file in `models`. */
export interface ModeCrf {
  id: string;
  /** By mode, one for each figure of a leg. */
  modes: number[][];
  /** One for each kind of pair of legs that follow each other. */
  pairs: number[];
  /** One for each figure of a stop. */
  waits: number[];
}

/** Kinds of pairs of legs: what the fit weighs. */
export const pairKinds = [
  'both public',
  'both public, left',
  'the same, near',
  'car and public',
  'cars, near',
  'the same, left',
  'cars, apart',
  'bicycle and vehicle',
  'bicycles',
] as const;

const [walk, bike, car] = [0, 1, 2];

type Link = Pick<LegEvidence, 'near' | 'parked'>;

/** Kinds of a pair of modes, each with its share, by how the second leg follows the first. */
export function pairFeatures(a: number, b: number, { near, parked }: Link): [kind: number, share: number][] {
  const shares: [number, number][] = [
    [pairKind(a, b, { near: 1, parked: 1 }), parked],
    [pairKind(a, b, { near: 1, parked: 0 }), near - parked],
    [pairKind(a, b, { near: 0, parked: 0 }), 1 - near],
  ];
  return shares.filter(([found, share]) => found >= 0 && share > 0);
}

/** Kind of a pair of modes of legs that follow each other for sure as is said; -1: none. */
function pairKind(a: number, b: number, { near, parked }: Link): number {
  if (a === walk || b === walk) return -1;
  if (parked && a === b && a <= car) return kind('the same, left');
  if (a === bike && b === bike) return kind('bicycles');
  if (a === bike || b === bike) return kind('bicycle and vehicle');
  if (a === car && b === car) return kind(near ? 'cars, near' : 'cars, apart');
  if (a === car || b === car) return kind('car and public');
  if (parked) return kind('both public, left');
  return kind(near && a === b ? 'the same, near' : 'both public');
}

const kind = (name: (typeof pairKinds)[number]): number => pairKinds.indexOf(name);

/**
 * What is said of the legs: by leg the probability of each mode, and of each pair of modes with the leg before it.
 */
export interface ModeProbabilities {
  single: number[][];
  /** At `modes.length * mode before + mode`; null: no leg before it. */
  pairs: (number[] | null)[];
}

const n = modes.length;

/** Scores of the modes of a leg; `only`: no other mode is asked about. */
function scoreModes(
  { features, possible }: LegEvidence,
  weights: readonly (readonly number[])[],
  only?: number,
): number[] {
  return weights.map((row, m) => {
    if (!possible[m] || (only !== undefined && only !== m)) return Number.NEGATIVE_INFINITY;
    return row.reduce((score, weight, f) => score + weight * features[f]!, 0);
  });
}

function logSum(values: readonly number[]): number {
  const most = Math.max(...values);
  if (most === Number.NEGATIVE_INFINITY) return most;
  let sum = 0;
  for (const value of values) sum += Math.exp(value - most);
  return most + Math.log(sum);
}

/** The probabilities that scores stand for. */
function softmax(scores: readonly number[]): number[] {
  const all = logSum(scores);
  return scores.map((score) => Math.exp(score - all));
}

/**
 * Probabilities by sums over all choices (forward and backward along the chain of legs). `truth`: modes that are known
 * by leg, for the fit.
 */
export function forwardBackward(
  legs: readonly LegEvidence[],
  model: ModeCrf,
  truth: readonly (number | null)[] = [],
): ModeProbabilities {
  const own = legs.map((leg, i) => scoreModes(leg, model.modes, truth[i] ?? undefined));
  const pair = (leg: LegEvidence, a: number, b: number): number =>
    pairFeatures(a, b, leg).reduce((sum, [found, share]) => sum + share * model.pairs[found]!, 0);
  const forward = own.map((scores) => [...scores]); // with all before
  const backward = own.map((scores) => scores.map(() => 0)); // with all after
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

/** Reads weights; throws an Error that says what is wrong with them. */
export function readModeCrf(text: string): ModeCrf {
  const { id, features, modes: weights, pairs, waits } = JSON.parse(text) as ModeCrf & { features: unknown };
  if (JSON.stringify(features) !== JSON.stringify(legFeatures) || weights.length !== n)
    throw new Error(`model ${id}: its figures are not those of this program; fit it again`);
  return { id, modes: weights, pairs, waits };
}
