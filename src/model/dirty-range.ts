// The dirty range: records in the pipeline state which data changed.
//
//     an entry                                   before -> after     changed      documents
//     new location                                    - -> 09:10     09:10-09:10
//     location with another time                  09:30 -> 11:05     09:10-11:05
//     the run has analysed it                                        null         true, until they are written
import { affectsOf } from './keys.ts';
import type { PipelineState } from './pipeline-state.ts';
import type { TimeRange } from './time.ts';

/** What a change of entries affects. */
export interface Dirty {
  /** The dirty range: data times of the changed entries that affect trips, both ends included; null: none. */
  changed: TimeRange | null;
  /** True if the change may change documents. */
  documents: boolean;
}

/** Adds the change of an entry of `key`. `times`: the data times before and after the change; null: no data time. */
export function addDirty(touched: Dirty, key: string, ...times: readonly (number | null)[]): void {
  const affects = affectsOf(key);
  if (affects === 'documents') touched.documents = true;
  if (affects !== 'trips') return;
  for (const ts of times) if (ts !== null) touched.changed = unionOf(touched.changed, { from: ts, to: ts });
}

/** The smallest range that contains both ranges; null if both are null. */
export function unionOf(a: TimeRange | null, b: TimeRange | null): TimeRange | null {
  if (a === null || b === null) return a ?? b;
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
}

export const isDirty = ({ changed, documents }: Dirty): boolean => changed !== null || documents;

/** The fields of the state that a change sets. */
export function dirtyState(state: PipelineState, { changed, documents }: Dirty): Partial<PipelineState> {
  return { changed: unionOf(state.changed, changed), documents_due: state.documents_due || documents };
}
