// The store as a run of the pipeline sees it: the run holds the user's lease, so what it has read of entries, trips and
// documents stays true until the run changes it. Each transaction checks the lease, and another try of it reads anew.
import { identityOf, identityText } from '../../model/entry.ts';
import type { Store, Usercache } from '../store.ts';
import type { Connection } from './connection.ts';
import { timeseriesOfRun } from './run-chunks.ts';
import { documentsOfRun } from './run-documents.ts';
import { tripsOfRun } from './run-trips.ts';
import { readWaiting } from './usercache.ts';

/** The parts of a store that a run reads and changes. */
export type RunParts = Pick<Store, 'usercache' | 'timeseries' | 'trips' | 'documents'>;

/** These parts for one run, see `Store.forRun`. */
export function partsOfRun(connection: Connection, base: RunParts, userId: string): RunParts {
  return {
    usercache: usercacheOfRun(connection, base.usercache, userId),
    timeseries: timeseriesOfRun(connection, base.timeseries, userId),
    trips: tripsOfRun(connection, base.trips, userId),
    documents: documentsOfRun(connection, base.documents, userId),
  };
}

/** Knows when it has read all that waits. What is pushed after that is for the next run. */
function usercacheOfRun(connection: Connection, base: Usercache, userId: string): Usercache {
  let end: string | null = null;
  return {
    ...base,
    async put(user, batch, now) {
      end = null;
      return base.put(user, batch, now);
    },
    async read(user, page) {
      if (user !== userId) return base.read(user, page);
      const { after, limit, at = Number.POSITIVE_INFINITY } = page;
      if (after !== undefined && end === identityText(after)) return [];
      const { entries, isLast } = await connection.reading(userId, (from) => readWaiting(from, after, limit, at));
      const last = entries.at(-1);
      end = isLast && last !== undefined ? identityText(identityOf(last.entry)) : null;
      return entries;
    },
  };
}
