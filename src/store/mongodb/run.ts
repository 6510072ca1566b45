// The store as a run of the pipeline sees it: the run holds the user's lease, so what it has read of entries, trips and
// documents stays true until the run changes it. Each transaction checks the lease, and another try of it reads anew.
import { identityOf, identityText } from '../../model/entry.ts';
import type { Store, Usercache } from '../store.ts';
import type { Connection } from './connection.ts';
import { timeseriesOfRun } from './run-chunks.ts';
import { documentsOfRun } from './run-documents.ts';
import { tripsOfRun } from './run-trips.ts';
import { leavingOf, settledAtOnce, settleSome, settleUnread } from './settle.ts';
import { doneAfter, type RunTransactions, statesOfRun, transactionsOfRun } from './under-lease.ts';
import { readWaiting } from './usercache.ts';

/** The parts of a store that a run reads and changes. */
export type RunParts = Pick<Store, 'usercache' | 'timeseries' | 'trips' | 'documents' | 'pipeline'>;

/** These parts for one run, see `Store.forRun`. */
export function partsOfRun(connection: Connection, base: RunParts, userId: string): RunParts {
  const run = transactionsOfRun(connection);
  return {
    usercache: usercacheOfRun(connection, base.usercache, run, userId),
    timeseries: timeseriesOfRun(connection, base.timeseries, run, userId),
    trips: tripsOfRun(connection, base.trips, run, userId),
    documents: documentsOfRun(connection, base.documents, run, userId),
    pipeline: statesOfRun(base.pipeline, run, userId),
  };
}

/**
 * Knows when it has read all that waits: what is pushed after that is for the next run. What was moved leaves with the
 * run's next transaction.
 */
function usercacheOfRun(connection: Connection, stored: Usercache, run: RunTransactions, userId: string): Usercache {
  let end: string | null = null;
  let hasParts = false;
  return {
    put: doneAfter(run.flush, async (...args: Parameters<Usercache['put']>) => {
      end = null;
      return stored.put(...args);
    }),
    async read(user, page) {
      const { after, limit, at = Number.POSITIVE_INFINITY } = page;
      if (user !== userId || after === undefined) await run.flush();
      if (user !== userId) return stored.read(user, page);
      if (after !== undefined && end === identityText(after)) return [];
      const read = await connection.reading(userId, (from) => readWaiting(from, after, limit, at));
      hasParts ||= read.hasParts;
      const last = read.entries.at(-1);
      end = read.isLast && last !== undefined ? identityText(identityOf(last.entry)) : null;
      return read.entries;
    },
    async settle(user, outcome, now) {
      const lease = run.lastLease();
      const leaving = leavingOf(outcome);
      if (user !== userId || lease === null || leaving.length > settledAtOnce) {
        await run.flush();
        return stored.settle(user, outcome, now);
      }
      const isPlain = !hasParts;
      run.wait(lease, (tx, tries) => (isPlain && tries === 1 ? settleUnread : settleSome)(tx, leaving, now));
      return leaving.length;
    },
    find: doneAfter(run.flush, stored.find),
    summary: doneAfter(run.flush, stored.summary),
    keys: doneAfter(run.flush, stored.keys),
    ahead: doneAfter(run.flush, stored.ahead),
  };
}
