// A user on their way from store to store, and what the copying of each collection shares.
import type { Collection, Lease, Store } from '../../store/store.ts';
import type { Mend, Pair } from './pairs.ts';

/** Every collection that is copied: leases belong to a store and its workers. */
export type Copied = Exclude<Collection, 'leases'>;

/** Whom is copied, and how. */
export interface UserCopy {
  userId: string;
  from: Store;
  to: Store;
  /** The present lease at the target; null: compare only. */
  lease: (() => Lease) | null;
  /** Called before each batch of rows is written; what it throws ends the pass. */
  onRows: () => void;
}

/** A mend that reports each batch; none where the copy only looks. */
export function mending<Row>(
  { lease, onRows }: UserCopy,
  mend: (pairs: readonly Pair<Row>[], lease: Lease) => Promise<unknown>,
): Mend<Row> | null {
  if (lease === null) return null;
  return async (pairs) => {
    onRows();
    await mend(pairs, lease());
  };
}

/** Rows of the source that are to be written. */
export function toWrite<Row>(pairs: readonly Pair<Row>[]): Row[] {
  return pairs.flatMap(({ source, same }) => (same || source === null ? [] : [source]));
}

/** Rows of the target that are to go. */
export function toRemove<Row>(pairs: readonly Pair<Row>[]): Row[] {
  return pairs.flatMap(({ source, target }) => (source === null && target !== null ? [target] : []));
}
