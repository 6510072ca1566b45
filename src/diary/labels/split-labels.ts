// Leaves out labels that a later split of the trip, or the undo of a split, made doubtful.
//
//   written at 1   |------- bus -------|
//              2   split                    the label of 1 does not count: either part may be the bus
//              3   |-- walk --|-- car --|
//              4   undo of 2                the label of 1 counts, the labels of 3 do not
import type { Stated } from '../../model/correction.ts';
import { activeCorrections, readCorrections, undoneTimes } from '../corrections/read-corrections.ts';
import type { Input } from './input-keys.ts';
import type { LabelStore } from './read-inputs.ts';

type Split = Extract<Stated, { kind: 'split' }>;

const isSplit = (one: Stated): one is Split => one.kind === 'split';

const modeNames = ['mode_confirm', 'replaced_mode'];

const slack = 60; // s; the second part of a trip may begin this much before the split

export async function withoutSplit(store: LabelStore, userId: string, inputs: readonly Input[]): Promise<Input[]> {
  const all = await readCorrections(store, userId);
  const splits = activeCorrections(all).filter(isSplit);
  const undone = undoneTimes(all);
  const undoneSplits = all.filter(isSplit).filter(({ write_ts }) => undone.has(write_ts));
  const undoOf = (split: Split): number =>
    all.findLast((one) => one.kind === 'undo' && one.of === split.write_ts)!.write_ts;
  return inputs.filter((input) => {
    const written = input.entry.metadata.write_ts;
    const isParted = splits.some((split) => split.write_ts > written && isAround(input, split.ts));
    if (isParted && modeNames.includes(input.of.name)) return false;
    const between = undoneSplits.filter((split) => split.write_ts < written && written < undoOf(split));
    return input.of.kind !== 'label' || !between.some((split) => isOfPart(input, split));
  });
}

const isAround = ({ start, end }: Input, ts: number): boolean => (start ?? ts) < ts && ts < (end ?? ts);

function isOfPart({ of, start, end }: Input, { ts, seen = [] }: Split): boolean {
  if (of.about !== 'trip' || start === null || end === null) return false;
  const isBeside = end <= ts + slack || start >= ts - slack;
  return isBeside && seen.some(([from, to]) => start < to - slack && end > from + slack);
}
