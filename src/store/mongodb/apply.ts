// A change of the timeseries, and what it marks in the pipeline state.

import type { Identity } from '../../model/entry.ts';
import { editsByKey, type PutRow, putRows } from '../chunks/change.ts';
import { isTouched, united } from '../marks.ts';
import type { Marked, Timeseries } from '../store.ts';
import { type EditedChunks, editChunks, type KnownChunks } from './chunk-rows.ts';
import type { Connection } from './connection.ts';
import { fold } from './fold.ts';
import { markState } from './pipeline-states.ts';
import { groupsOf } from './rows.ts';
import { type UnderLease, underLeaseOn } from './under-lease.ts';
import type { Tx } from './user-rows.ts';

type Counts = Omit<Awaited<ReturnType<Timeseries['apply']>>, 'marked'>;

/** One entry to put, or one identity to remove. */
type Step = { bytes: number } & ({ put: PutRow } | { remove: Identity });

/** What somebody who holds the lease knows of the chunks of the user. */
export interface ChunkKnowledge {
  known: KnownChunks;
  /** Called when a change is stored. */
  changed(edited: EditedChunks): Promise<void>;
  underLease: UnderLease;
}

/** Applies a change, see the contract. What is removed goes first. */
export function applyOn(connection: Connection, knowledge?: ChunkKnowledge): Timeseries['apply'] {
  return async (userId, { put, remove, alsoChanged = null }, lease) => {
    const steps: Step[] = [
      ...remove.map(({ key, write_ts }) => ({ remove: { key, write_ts }, bytes: 100 })),
      ...putRows(put).map((row) => ({ put: row, bytes: row.text.length })),
    ];
    await fold(connection, userId);
    const underLease = knowledge?.underLease ?? underLeaseOn(connection);
    const total: Counts = { inserted: 0, updated: 0, unchanged: 0, removed: 0 };
    const marked: Marked = { changed: null, documents: false };
    const groups = groupsOf(steps);
    if (groups.length === 0) groups.push([]);
    for (const [i, group] of groups.entries()) {
      const { counts, touched, edited } = await underLease(userId, lease, (tx, tries) =>
        // Another try reads for itself.
        applySteps(tx, group, i === 0 ? alsoChanged : null, tries === 1 ? knowledge?.known : undefined),
      );
      await knowledge?.changed(edited);
      marked.changed = united(marked.changed, touched.changed);
      marked.documents ||= touched.documents;
      for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += counts[name];
    }
    return { ...total, marked };
  };
}

async function applySteps(
  tx: Tx,
  steps: readonly Step[],
  changed: Marked['changed'],
  known: KnownChunks | undefined,
): Promise<{ counts: Counts; touched: Marked; edited: EditedChunks }> {
  const counts: Counts = { inserted: 0, updated: 0, unchanged: 0, removed: 0 };
  const touched: Marked = { changed, documents: false };
  const put = steps.flatMap((step) => ('put' in step ? [step.put] : []));
  const remove = steps.flatMap((step) => ('remove' in step ? [step.remove] : []));
  const edited = await editChunks(tx, editsByKey(put, remove, touched, counts, Date.now() / 1000), known);
  if (isTouched(touched)) await markState(tx, touched);
  return { counts, touched, edited };
}
