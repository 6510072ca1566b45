// Boosted trees: the parameters as a data file holds them, checked, and the probability of each state that they give a
// cell.
import { featureNames } from './features.ts';
import { stateNames } from './states.ts';

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
  /** The nodes by feature, with ascending thresholds; those of feature `f` begin at `stepsFrom[f]`. */
  steps: Float64Array;
  stepsFrom: Int32Array;
  /** Of the step at `i`: its tree at `2 * i`, and behind it its bit there. */
  stepNodes: Int32Array;
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

function stepsOf(trees: readonly TreeFile[]): Pick<Model, 'steps' | 'stepsFrom' | 'stepNodes'> {
  const steps = trees
    .flatMap((tree, k) => tree.f.map((feature, i) => ({ feature, threshold: tree.t[i]!, tree: k, bit: bitOf(i) })))
    .sort((a, b) => a.feature - b.feature || a.threshold - b.threshold || a.tree - b.tree);
  const before = (feature: number): number => steps.filter((step) => step.feature < feature).length;
  return {
    steps: Float64Array.from(steps, ({ threshold }) => threshold),
    stepsFrom: Int32Array.from({ length: featureNames.length + 1 }, (_, feature) => before(feature)),
    stepNodes: Int32Array.from(steps.flatMap(({ tree, bit }) => [tree, bit])),
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

/**
 * Probabilities of the states, for cells that are asked for one after the other. Neighbours differ little: a tree is
 * walked again only when a feature crossed the threshold of a node on its last way. The answers do not depend on what
 * was asked before.
 */
export class StateOdds {
  private readonly model: Model;
  /** Of each feature: where its first step is that the value does not exceed. */
  private readonly place: Int32Array;
  // Of each tree: its leaf's value, and the nodes on the way there; none if it has to be walked again.
  private readonly value: Float64Array;
  private readonly way: Int32Array;
  private readonly stale: Int32Array;
  private staleCount: number;
  private readonly found = new Float64Array(stateNames.length);

  constructor(model: Model) {
    const { roots, stepsFrom } = model;
    this.model = model;
    this.place = stepsFrom.slice(0, -1);
    this.value = new Float64Array(roots.length);
    this.way = new Int32Array(roots.length);
    this.stale = Int32Array.from(roots.keys());
    this.staleCount = roots.length;
  }

  /** Writes the four probabilities of the cell whose features begin at `row` in `rows` to `into`, from `at` on. */
  write(rows: Float64Array, row: number, into: Float64Array, at: number): void {
    const { place, found } = this;
    for (let f = 0; f < place.length; f += 1) this.move(f, rows[row + f]!);
    if (this.staleCount > 0) {
      this.walk(rows, row);
      this.score();
    }
    for (let s = 0; s < 4; s += 1) into[at + s] = found[s]!;
  }

  /** Moves a feature over the steps to its new value. */
  private move(f: number, x: number): void {
    const { steps, stepsFrom } = this.model;
    const start = stepsFrom[f]!;
    const end = stepsFrom[f + 1]!;
    let i = this.place[f]!;
    for (; i < end && !(x <= steps[i]!); i += 1) this.cross(i);
    for (; i > start && x <= steps[i - 1]!; i -= 1) this.cross(i - 1);
    this.place[f] = i;
  }

  /** The tree of a step has to be walked again if the step is on its way. */
  private cross(step: number): void {
    const { stepNodes } = this.model;
    const tree = stepNodes[2 * step]!;
    if ((this.way[tree]! & stepNodes[2 * step + 1]!) === 0) return;
    this.way[tree] = 0;
    this.stale[this.staleCount] = tree;
    this.staleCount += 1;
  }

  private walk(rows: Float64Array, row: number): void {
    const { roots, nodes, thresholds, leaf } = this.model;
    const { stale, staleCount, way, value } = this;
    for (let i = 0; i < staleCount; i += 1) {
      const tree = stale[i]!;
      let node = roots[tree]!;
      let passed = 0;
      while (node >= 0) {
        passed |= nodes[node + 3]!;
        node = nodes[rows[row + nodes[node]!]! <= thresholds[node >> 2]! ? node + 1 : node + 2]!;
      }
      way[tree] = passed;
      value[tree] = leaf[-node - 1]!;
    }
    this.staleCount = 0;
  }

  private score(): void {
    const { value, found } = this;
    found.fill(0);
    for (let k = 0; k < value.length; k += 1) found[k & 3]! += value[k]!;
    const most = Math.max(found[0]!, found[1]!, found[2]!, found[3]!);
    let sum = 0;
    for (let s = 0; s < 4; s += 1) sum += found[s] = Math.exp(found[s]! - most);
    for (let s = 0; s < 4; s += 1) found[s]! /= sum;
  }
}
