// Step "joint": the modes of all legs of an outing, decided together, and which stops between them are waits, by
// weights fitted on recorded and made-up days.
import { legFeatures, modes, type Ride } from './leg-evidence.ts';
/** Weights of the decision. Read from a data file in `models`. */
export interface JointModel {
  id: string;
  /** By mode, one for each figure of a leg. */
  modes: number[][];
  /** One for each kind of pair of rides that follow each other. */
  pairs: number[];
  /** One for each figure of a stop. */
  waits: number[];
}

/** Kinds of pairs of rides: what the fit weighs. */
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

type Link = Pick<Ride, 'near' | 'left'>;

/** Kinds of a pair of modes, each with its share, by how the second ride follows the first. */
export function pairShares(a: number, b: number, { near, left }: Link): [kind: number, share: number][] {
  const shares: [number, number][] = [
    [pairKind(a, b, { near: 1, left: 1 }), left],
    [pairKind(a, b, { near: 1, left: 0 }), near - left],
    [pairKind(a, b, { near: 0, left: 0 }), 1 - near],
  ];
  return shares.filter(([found, share]) => found >= 0 && share > 0);
}

/** Kind of a pair of modes of rides that follow each other for sure as is said; -1: none. */
function pairKind(a: number, b: number, { near, left }: Link): number {
  if (a === walk || b === walk) return -1;
  if (left && a === b && a <= car) return kind('the same, left');
  if (a === bike && b === bike) return kind('bicycles');
  if (a === bike || b === bike) return kind('bicycle and vehicle');
  if (a === car && b === car) return kind(near ? 'cars, near' : 'cars, apart');
  if (a === car || b === car) return kind('car and public');
  if (left) return kind('both public, left');
  return kind(near && a === b ? 'the same, near' : 'both public');
}

const kind = (name: (typeof pairKinds)[number]): number => pairKinds.indexOf(name);

/**
 * What is said of the rides: by ride the probability of each mode, and of each pair of modes with the ride before it.
 */
export interface JointOdds {
  single: number[][];
  /** At `modes.length * mode before + mode`; null: no ride before it. */
  pairs: (number[] | null)[];
}

const n = modes.length;

/** Scores of the modes of a ride; `only`: no other mode is asked about. */
function scoresOf({ features, possible }: Ride, weights: readonly (readonly number[])[], only?: number): number[] {
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
function shares(scores: readonly number[]): number[] {
  const all = logSum(scores);
  return scores.map((score) => Math.exp(score - all));
}

/**
 * Probabilities by sums over all choices (forward and backward along the chain of rides). `truth`: modes that are known
 * by ride, for the fit.
 */
export function jointOdds(
  rides: readonly Ride[],
  model: JointModel,
  truth: readonly (number | null)[] = [],
): JointOdds {
  const own = rides.map((ride, i) => scoresOf(ride, model.modes, truth[i] ?? undefined));
  const pair = (ride: Ride, a: number, b: number): number =>
    pairShares(a, b, ride).reduce((sum, [found, share]) => sum + share * model.pairs[found]!, 0);
  const ahead = own.map((scores) => [...scores]); // with all before
  const behind = own.map((scores) => scores.map(() => 0)); // with all after
  rides.forEach((ride, i) => {
    if (ride.before === null) return;
    const from = ahead[ride.before]!;
    for (let b = 0; b < n; b += 1) ahead[i]![b]! += logSum(from.map((score, a) => score + pair(ride, a, b)));
  });
  for (let i = rides.length - 1; i >= 0; i -= 1) {
    const ride = rides[i]!;
    if (ride.before === null) continue;
    const after = own[i]!.map((score, b) => score + behind[i]![b]!);
    for (let a = 0; a < n; a += 1)
      behind[ride.before]![a]! += logSum(after.map((score, b) => score + pair(ride, a, b)));
  }
  const single = ahead.map((scores, i) => shares(scores.map((score, m) => score + behind[i]![m]!)));
  const pairs = rides.map((ride, i) => {
    if (ride.before === null) return null;
    const scores = ahead[ride.before]!;
    return shares(
      scores.flatMap((score, a) => own[i]!.map((next, b) => score + pair(ride, a, b) + next + behind[i]![b]!)),
    );
  });
  return { single, pairs };
}

/** Reads weights; throws an Error that says what is wrong with them. */
export function readJointModel(text: string): JointModel {
  const { id, features, modes: weights, pairs, waits } = JSON.parse(text) as JointModel & { features: unknown };
  if (JSON.stringify(features) !== JSON.stringify(legFeatures) || weights.length !== n)
    throw new Error(`model ${id}: its figures are not those of this program; fit it again`);
  return { id, modes: weights, pairs, waits };
}
