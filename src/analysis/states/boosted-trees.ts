// Gradient-boosted trees: give the probability of each state from the features of a cell. `tools/train/train.py` trains
// them with LightGBM; this program reads them as JSON.
//
//   tree 0 (still)   d60 <= 0.4 ? (astill30 <= 0.5 ? 0.2 : 1.1) : -0.9      each tree adds one leaf
//   tree 1 (walk)    d60 <= 2.3 ? ...                                      to the score of class k % 4
//   scores           still 4.1, walk 1.0, cycle -2.2, motor -1.3
//   softmax          still .95, walk .04, ...
import { stateNames } from '../motion-states.ts';
import { featureNames } from './features.ts';
/**
 * One tree. `f`, `t`, `l`, `r`: feature, threshold, left and right child of each node; `v`: values of the leaves. A
 * child below 0 is leaf `-child - 1`.
 */
export interface TreeFile {
  f: number[];
  t: number[];
  l: number[];
  r: number[];
  v: number[];
}

/** A model file. Tree `k` adds to the score of class `k % 4`. Feature <= threshold leads to the left child. */
export interface ModelFile {
  id: string; // name of the model; part of the version of an analysis
  features: string[];
  classes: string[];
  missing: number; // value of a feature that is not known
  trees: TreeFile[];
  /** Data, licence, date, program and seed of the training. The analysis does not read them. */
  origin?: Record<string, unknown>;
}

/** A model ready for use: the nodes and leaves of all trees in three flat arrays. */
export interface Model {
  id: string;
  /** Index in `nodes` of the first node of each tree; `-leaf - 1` for a tree that is one leaf. */
  roots: Int32Array;
  /** `nodeSize` numbers per node: feature, left child, right child; a child below 0 is leaf `-child - 1`. */
  nodes: Int32Array;
  /** The threshold of the node at `i` of `nodes` is at `i / nodeSize`. */
  thresholds: Float64Array;
  leaf: Float64Array;
}

/** Throws if the text is not a model for the features and classes of this program. */
export function readModel(text: string): Model {
  let file: Partial<ModelFile>;
  try {
    file = JSON.parse(text) as Partial<ModelFile>;
  } catch (error) {
    throw new Error(`model: expected JSON, found text that does not parse: ${(error as Error).message}`);
  }
  return toModel(file);
}

export function toModel(file: Partial<ModelFile>): Model {
  const { id, features, classes, missing, trees } = file;
  if (typeof id !== 'string' || id === '') throw wrong('', 'a name in "id"', id);
  if (JSON.stringify(features) !== JSON.stringify(featureNames))
    throw wrong(id, `the ${featureNames.length} features of this program in their order`, features);
  if (JSON.stringify(classes) !== JSON.stringify(stateNames)) throw wrong(id, `the classes ${stateNames}`, classes);
  if (missing !== -1) throw wrong(id, '-1 in "missing"', missing);
  if (!Array.isArray(trees) || trees.length === 0 || trees.length % stateNames.length !== 0)
    throw wrong(id, 'one tree for each class and round', `${Array.isArray(trees) ? trees.length : 'no'} trees`);
  return flat(id, trees);
}

const wrong = (id: string, expected: string, found: unknown): Error =>
  new Error(`model ${id}: expected ${expected}, found ${found}: train it again, see docs/quality.md`);

/** Numbers per node. The fourth is unused: with a power of two, a shift divides an index. */
const nodeSize = 4;

function flat(id: string, trees: readonly TreeFile[]): Model {
  const roots: number[] = [];
  const nodes: number[] = [];
  const thresholds: number[] = [];
  const leaf: number[] = [];
  trees.forEach((tree, k) => {
    const problem = problemOf(tree);
    if (problem !== null) throw wrong(id, 'a complete tree', `tree ${k} with ${problem}`);
    const [first, firstLeaf] = [nodes.length, leaf.length];
    const child = (c: number): number => (c < 0 ? c - firstLeaf : nodeSize * c + first);
    roots.push(tree.f.length === 0 ? -1 - firstLeaf : first);
    for (const [i, f] of tree.f.entries()) {
      nodes.push(f, child(tree.l[i]!), child(tree.r[i]!), 0);
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
  };
}

function problemOf(tree: TreeFile): string | null {
  const lists = [tree?.f, tree?.t, tree?.l, tree?.r, tree?.v];
  if (!lists.every((list) => Array.isArray(list) && list.every(Number.isFinite)))
    return 'a list that is missing or has other values than numbers';
  const nodes = tree.f.length;
  if ([tree.t, tree.l, tree.r].some((list) => list.length !== nodes)) return 'lists of unequal length';
  if (tree.v.length !== nodes + 1) return `${tree.v.length} leaves in place of ${nodes + 1}`;
  if (tree.f.some((f) => !Number.isInteger(f) || f < 0 || f >= featureNames.length)) return 'an unknown feature';
  // Each child must follow its parent, so that every path through a tree ends.
  const isChild = (c: number, i: number): boolean =>
    Number.isInteger(c) && (c < 0 ? c >= -nodes - 1 : c > i && c < nodes);
  return tree.l.every(isChild) && tree.r.every(isChild) ? null : 'a reference to a node or leaf that does not exist';
}

/**
 * Writes the four state probabilities of each cell. The features of cell `i` begin at `rows[at[i]]`; its probabilities
 * begin at `into[4 * i]`. Each tree adds one leaf to the score of its class; the softmax of the scores gives the
 * probabilities. The outer loop is over trees, because one tree fits into the cache of the processor.
 */
export function writeProbabilities(
  { roots, nodes, thresholds, leaf }: Model,
  rows: Float64Array,
  at: Int32Array,
  into: Float64Array,
): void {
  into.fill(0, 0, 4 * at.length);
  for (let k = 0; k < roots.length; k += 1) {
    const root = roots[k]!;
    for (let i = 0; i < at.length; i += 1) {
      const row = at[i]!;
      let node = root;
      while (node >= 0) node = nodes[rows[row + nodes[node]!]! <= thresholds[node >> 2]! ? node + 1 : node + 2]!;
      into[4 * i + (k & 3)]! += leaf[-node - 1]!;
    }
  }
  for (let to = 0; to < 4 * at.length; to += 4) softmax(into, to);
}

function softmax(scores: Float64Array, at: number): void {
  const most = Math.max(scores[at]!, scores[at + 1]!, scores[at + 2]!, scores[at + 3]!);
  let sum = 0;
  for (let s = 0; s < 4; s += 1) sum += scores[at + s] = Math.exp(scores[at + s]! - most);
  for (let s = 0; s < 4; s += 1) scores[at + s]! /= sum;
}
