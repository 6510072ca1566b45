// The dirty range states which data changed.
//
//     an entry                                   before -> after     changed      documents
//     new location                                    - -> 09:10     09:10-09:10
//     location with another time                  09:30 -> 11:05     09:10-11:05
//     the run has analysed it                                        null         true, until they are written
import { affectsOf } from './keys.ts';
import type { PipelineState } from './pipeline-state.ts';
import type { TimeRange } from './time.ts';

export interface Dirty {
  /** Data times of the changed entries that affect trips, both ends included; null: none. */
  changed: TimeRange | null;
  documents: boolean;
}

/** `times`: the data times before and after the change of an entry; null: no data time. */
export function addDirty(touched: Dirty, key: string, ...times: readonly (number | null)[]): void {
  const affects = affectsOf(key);
  if (affects === 'documents') touched.documents = true;
  if (affects !== 'trips') return;
  for (const ts of times) if (ts !== null) touched.changed = unionOf(touched.changed, { from: ts, to: ts });
}

export function unionOf(a: TimeRange | null, b: TimeRange | null): TimeRange | null {
  if (a === null || b === null) return a ?? b;
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
}

export const isDirty = ({ changed, documents }: Dirty): boolean => changed !== null || documents;

export function dirtyState(state: PipelineState, { changed, documents }: Dirty): Partial<PipelineState> {
  return { changed: unionOf(state.changed, changed), documents_due: state.documents_due || documents };
}
