// Boosted trees: the parameters as a data file holds them, checked, and the probability of each state that they give a
// cell.
import { featureNames } from './features.ts';

/** How the user moves in a cell, in the order of the model's classes. */
export const stateNames = ['still', 'walk', 'cycle', 'motor'] as const;

/** Index of a state in `stateNames`. */
export const cellStates = { still: 0, walk: 1, cycle: 2, motor: 3 } as const;

/** One tree: nodes with feature, threshold and children; a child below 0 is leaf `-child - 1`. */
export interface TreeFile {
  f: number[];
  t: number[];
  l: number[];
  r: number[];
  v: number[];
}

/**
 * A model's data file. Tree `k` adds to the score of class `k % 4`; a node goes left where the feature is at most the
 * threshold.
 */
export interface ModelFile {
  /** Name of the model; part of the version of an analysis. */
  id: string;
  features: string[];
  classes: string[];
  missing: number;
  trees: TreeFile[];
  /** Where it comes from: data, licence, date, program, seed. Not read by the analysis. */
  origin?: Record<string, unknown>;
}

/** A model ready for use: all trees flat. What a node holds lies side by side, as whole numbers. */
export interface Model {
  id: string;
  /** First node of each tree; a tree that is one leaf has `-leaf - 1`. */
  roots: Int32Array;
  /**
   * Of each node: its feature, left and right child, and its bit in its tree; a child below 0 is leaf `-child - 1`. The
   * nodes of a tree beyond the 31st share a bit.
   */
  nodes: Int32Array;
  /** Of the node whose numbers begin at `i`: at `i / 4`. */
  thresholds: Float64Array;
  leaf: Float64Array;
  /**
   * The nodes by feature, with ascending thresholds, the tree of each and its bit there; those of feature `f` begin at
   * `stepsFrom[f]`.
   */
  steps: Float64Array;
  stepTrees: Int32Array;
  stepBits: Int32Array;
  stepsFrom: Int32Array;
}

/** Reads a model's data file; throws an Error that says what is wrong with it. */
export function readModel(text: string): Model {
  let file: Partial<ModelFile>;
  try {
    file = JSON.parse(text) as Partial<ModelFile>;
  } catch (error) {
    throw new Error(`model: expected JSON, found text that does not parse: ${(error as Error).message}`);
  }
  return modelOf(file);
}

/** A model from its parameters; throws an Error that says what is wrong with them. */
export function modelOf(file: Partial<ModelFile>): Model {
  const { id, features, classes, missing, trees } = file;
  if (typeof id !== 'string' || id === '') throw new Error('model: expected a name in "id"');
  if (JSON.stringify(features) !== JSON.stringify(featureNames))
    throw new Error(
      `model ${id}: its features are not those of this program (${featureNames.length}, in their order); train it again`,
    );
  if (JSON.stringify(classes) !== JSON.stringify(stateNames))
    throw new Error(`model ${id}: expected the classes ${stateNames.join(', ')}`);
  if (missing !== -1) throw new Error(`model ${id}: expected -1 for what is missing, found ${missing}`);
  if (!Array.isArray(trees) || trees.length === 0 || trees.length % stateNames.length !== 0)
    throw new Error(`model ${id}: expected a tree for each class and round`);
  return flat(id, trees);
}

/** Numbers of a node. */
const nodeSize = 4;

const bitOf = (node: number): number => 1 << Math.min(node, 31);

function flat(id: string, trees: readonly TreeFile[]): Model {
  const roots: number[] = [];
  const nodes: number[] = [];
  const thresholds: number[] = [];
  const leaf: number[] = [];
  trees.forEach((tree, k) => {
    const problem = problemOf(tree);
    if (problem) throw new Error(`model ${id}: tree ${k}: ${problem}`);
    const [first, firstLeaf] = [nodes.length, leaf.length];
    const child = (c: number): number => (c < 0 ? c - firstLeaf : nodeSize * c + first);
    roots.push(tree.f.length === 0 ? -1 - firstLeaf : first);
    for (const [i, f] of tree.f.entries()) {
      nodes.push(f, child(tree.l[i]!), child(tree.r[i]!), bitOf(i));
      thresholds.push(tree.t[i]!);
    }
    leaf.push(...tree.v);
  });
  return {
    id,
    roots: Int32Array.from(roots),
    nodes: Int32Array.from(nodes),
    thresholds: Float64Array.from(thresholds),
    leaf: Float64Array.from(leaf),
    ...stepsOf(trees),
  };
}

function stepsOf(trees: readonly TreeFile[]): Pick<Model, 'steps' | 'stepTrees' | 'stepBits' | 'stepsFrom'> {
  const steps = trees
    .flatMap((tree, k) => tree.f.map((feature, i) => ({ feature, threshold: tree.t[i]!, tree: k, bit: bitOf(i) })))
    .sort((a, b) => a.feature - b.feature || a.threshold - b.threshold || a.tree - b.tree);
  const before = (feature: number): number => steps.filter((step) => step.feature < feature).length;
  return {
    steps: Float64Array.from(steps, ({ threshold }) => threshold),
    stepTrees: Int32Array.from(steps, ({ tree }) => tree),
    stepBits: Int32Array.from(steps, ({ bit }) => bit),
    stepsFrom: Int32Array.from({ length: featureNames.length + 1 }, (_, feature) => before(feature)),
  };
}

function problemOf(tree: TreeFile): string | null {
  const lists = [tree?.f, tree?.t, tree?.l, tree?.r, tree?.v];
  if (!lists.every((list) => Array.isArray(list) && list.every(Number.isFinite))) return 'expected lists of numbers';
  const nodes = tree.f.length;
  if ([tree.t, tree.l, tree.r].some((list) => list.length !== nodes)) return 'lists of unequal length';
  if (tree.v.length !== nodes + 1) return `expected ${nodes + 1} leaves, found ${tree.v.length}`;
  if (tree.f.some((f) => !Number.isInteger(f) || f < 0 || f >= featureNames.length)) return 'unknown feature';
  // A child stands behind its parent, so that every walk ends.
  const isChild = (c: number, i: number): boolean =>
    Number.isInteger(c) && (c < 0 ? c >= -nodes - 1 : c > i && c < nodes);
  return tree.l.every(isChild) && tree.r.every(isChild) ? null : 'a child that is none';
}

/** Writes the probabilities of the four states for one cell's features to `into`, from `at` on. */
type CellProbabilities = (features: Float64Array, into: Float64Array, at: number) => void;

/**
 * Probabilities of the states, for cells that are asked for one after the other. Neighbours differ little: a tree is
 * walked again only when a feature crossed the threshold of a node on its last way.
 */
export function probabilities(model: Model): CellProbabilities {
  const { roots, nodes, thresholds, leaf, steps, stepTrees, stepBits, stepsFrom } = model;
  const [features, trees] = [stepsFrom.length - 1, roots.length];
  // Of each feature: its first step that the value does not exceed, the step before it, and where it is in the list.
  const over = new Float64Array(features).fill(Number.NEGATIVE_INFINITY);
  const upTo = Float64Array.from({ length: features }, (_, f) => stepAt(f, stepsFrom[f]!));
  const at = stepsFrom.slice(0, -1);
  // Of each tree: its leaf's value, the nodes on the way there, and whether it has to be walked again.
  const value = new Float64Array(trees);
  const way = new Int32Array(trees);
  const isStale = new Uint8Array(trees).fill(1);
  const stale = Int32Array.from(roots.keys());
  let staleCount = trees;
  const found = new Float64Array(4);

  function stepAt(f: number, i: number): number {
    return i < stepsFrom[f + 1]! ? steps[i]! : Number.POSITIVE_INFINITY;
  }
  /** Moves a feature over the steps to its new value. */
  function move(f: number, x: number): void {
    const [start, end] = [stepsFrom[f]!, stepsFrom[f + 1]!];
    const before = at[f]!;
    let i = before;
    while (i < end && !(x <= steps[i]!)) i += 1;
    while (i > start && x <= steps[i - 1]!) i -= 1;
    at[f] = i;
    over[f] = i > start ? steps[i - 1]! : Number.NEGATIVE_INFINITY;
    upTo[f] = stepAt(f, i);
    for (let step = Math.min(before, i); step < before || step < i; step += 1) {
      const tree = stepTrees[step]!;
      if ((way[tree]! & stepBits[step]!) === 0 || isStale[tree] === 1) continue;
      isStale[tree] = 1;
      stale[staleCount] = tree;
      staleCount += 1;
    }
  }
  function walk(values: Float64Array): void {
    for (let i = 0; i < staleCount; i += 1) {
      const tree = stale[i]!;
      let node = roots[tree]!;
      let passed = 0;
      while (node >= 0) {
        passed |= nodes[node + 3]!;
        node = nodes[values[nodes[node]!]! <= thresholds[node >> 2]! ? node + 1 : node + 2]!;
      }
      way[tree] = passed;
      value[tree] = leaf[-node - 1]!;
      isStale[tree] = 0;
    }
    staleCount = 0;
  }
  function score(): void {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    for (let k = 0; k < trees; k += 4) {
      a += value[k]!;
      b += value[k + 1]!;
      c += value[k + 2]!;
      d += value[k + 3]!;
    }
    found[0] = a;
    found[1] = b;
    found[2] = c;
    found[3] = d;
    softmax(found);
  }

  return (values, into, from) => {
    for (let f = 0; f < features; f += 1) {
      const x = values[f]!;
      if (!(x > over[f]! && x <= upTo[f]!)) move(f, x);
    }
    if (staleCount > 0) {
      walk(values);
      score();
    }
    for (let c = 0; c < 4; c += 1) into[from + c] = found[c]!;
  };
}

/** Scores -> probabilities, in place. */
function softmax(scores: Float64Array): void {
  const most = Math.max(scores[0]!, scores[1]!, scores[2]!, scores[3]!);
  let sum = 0;
  for (let c = 0; c < 4; c += 1) {
    scores[c] = Math.exp(scores[c]! - most);
    sum += scores[c]!;
  }
  for (let c = 0; c < 4; c += 1) scores[c] = scores[c]! / sum;
}
