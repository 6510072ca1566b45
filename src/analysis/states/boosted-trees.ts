// Gradient-boosted trees: give the probability of each state from the features of a cell. `tools/train/train.py` trains
// them with LightGBM; this program reads them as JSON.
//
//   tree 0 (still)   d60 <= 0.4 ? (astill30 <= 0.5 ? 0.2 : 1.1) : -0.9      each tree adds one leaf
//   tree 1 (walk)    d60 <= 2.3 ? ...                                      to the score of class k % 4
//   scores           still 4.1, walk 1.0, cycle -2.2, motor -1.3
//   softmax          still .95, walk .04, ...
import { stateNames } from '../motion-states.ts';
import { featureNames } from './features.ts';

/** One tree. A child below 0 is leaf `-child - 1`. */
export interface TreeFile {
  f: number[]; // feature of each node
  t: number[]; // threshold of each node; a feature up to the threshold leads to the left child
  l: number[]; // left child of each node
  r: number[]; // right child of each node
  v: number[]; // values of the leaves
}

interface ModelFile {
  id: string; // name of the model; part of the version of an analysis
  features: string[];
  classes: string[];
  trees: TreeFile[]; // tree `k` adds to the score of class `k % 4`
}

/** The model: the nodes and leaves of all trees in flat arrays. */
export interface Model {
  id: string;
  /** Index in `nodes` of the first node of each tree; `-leaf - 1` for a tree that is one leaf. */
  roots: Int32Array;
  /** `nodeSize` numbers per node: feature, left child, right child; a child below 0 is leaf `-child - 1`. */
  nodes: Int32Array;
  thresholds: Float64Array; // the threshold of the node at `i` of `nodes` is at `i / nodeSize`
  leaf: Float64Array;
}

/** Numbers per node. The fourth is unused: with a power of two, a shift divides an index. */
const nodeSize = 4;

/** Reads a model file. Throws if it was trained for other features or states, or is damaged. */
export function readModel(text: string): Model {
  const { id, trees, features, classes }: ModelFile = JSON.parse(text);
  const wrong = (expected: string): Error =>
    new Error(`model ${id}: expected ${expected}, found others: train it again, see docs/quality.md`);
  if (`${features}` !== `${featureNames}`) throw wrong('the features of this program in their order');
  if (`${classes}` !== `${stateNames}`) throw wrong(`the classes ${stateNames}`);
  if (!trees?.length || trees.length % stateNames.length !== 0 || !trees.every(isComplete))
    throw wrong('a complete tree for each class and round');
  const roots: number[] = [];
  const nodes: number[] = [];
  const thresholds: number[] = [];
  const leaf: number[] = [];
  for (const tree of trees) {
    const [first, firstLeaf] = [nodes.length, leaf.length];
    const child = (c: number): number => (c < 0 ? c - firstLeaf : nodeSize * c + first);
    roots.push(tree.f.length === 0 ? -1 - firstLeaf : first);
    for (const [i, f] of tree.f.entries()) {
      nodes.push(f, child(tree.l[i]!), child(tree.r[i]!), 0);
      thresholds.push(tree.t[i]!);
    }
    leaf.push(...tree.v);
  }
  return {
    id,
    roots: Int32Array.from(roots),
    nodes: Int32Array.from(nodes),
    thresholds: Float64Array.from(thresholds),
    leaf: Float64Array.from(leaf),
  };
}

/** True if each child follows its parent, so that every path through the tree ends at a leaf. */
function isComplete({ f, t, l, r, v }: TreeFile): boolean {
  if (![f, t, l, r, v].every(Array.isArray)) return false;
  const isChild = (c: number, i: number): boolean => (c < 0 ? c >= -f.length - 1 : c > i && c < f.length);
  const areAligned = [t, l, r].every((list) => list.length === f.length) && v.length === f.length + 1;
  return areAligned && l.every(isChild) && r.every(isChild) && f.every((one) => one >= 0 && one < featureNames.length);
}

/**
 * Writes the four state probabilities of each cell. The features of cell `i` begin at `rows[at[i]]`; its probabilities
 * begin at `into[4 * i]`. The outer loop is over trees, because one tree fits into the cache of the processor.
 */
export function writeProbabilities(model: Model, rows: Float64Array, at: Int32Array, into: Float64Array): void {
  const { roots, nodes, thresholds, leaf } = model;
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
