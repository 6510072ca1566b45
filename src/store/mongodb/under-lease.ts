// Changes under the lease of a user: one transaction that checks it. Those of a run of the pipeline may wait for the
// run's next transaction, so that it has fewer.
import { isMobilityError } from '../../model/errors.ts';
import type { Lease, PipelineState, PipelineStates } from '../store.ts';
import type { Connection } from './connection.ts';
import { requireLease } from './leases.ts';
import { mergeState } from './pipeline-states.ts';
import type { Tx } from './user-rows.ts';

/** What is done in a transaction. `tries`: how often, from 1 on. */
export type Work<T> = (tx: Tx, tries: number) => Promise<T>;

/** What a transaction does with the state and the lease at its end. */
interface End {
  state?: Partial<PipelineState>;
  release?: boolean;
}

/** Does `work` in a transaction that checks the lease on the user. */
export type UnderLease = <T>(userId: string, lease: Lease, work: Work<T>, end?: End) => Promise<T>;

/** Each change in a transaction of its own. */
export function underLeaseOn(connection: Connection): UnderLease {
  return (userId, lease, work, { state, release } = {}) =>
    connection.atomically(userId, async (tx, tries) => {
      await requireLease(tx, lease, release);
      const done = await work(tx, tries);
      if (state !== undefined) await mergeState(tx, state);
      return done;
    });
}

/** The transactions of a run on one user. */
export interface RunTransactions {
  /** With what waits, which is done first. */
  underLease: UnderLease;
  /** The lease of the last transaction; null before the first. */
  lastLease(): Lease | null;
  /** Lets a change wait for the next transaction. */
  wait(lease: Lease, work: Work<unknown>, state?: Partial<PipelineState>): void;
  /** Does what waits, now. */
  flush(): Promise<void>;
  /** Does what waits if it changes the state: for who goes on from the stored one. */
  flushState(): Promise<void>;
}

/** The transactions of a run. What waits when the run is killed is done again by the next run. */
export function transactionsOfRun(connection: Connection): RunTransactions {
  const alone = underLeaseOn(connection);
  let waiting: Work<unknown>[] = [];
  let state: Partial<PipelineState> = {};
  let last: Lease | null = null;
  const forget = (): void => {
    waiting = [];
    state = {};
  };
  const underLease: UnderLease = async (userId, lease, work, end = {}) => {
    last = lease;
    if (waiting.length === 0) return alone(userId, lease, work, end);
    const before = waiting;
    const all = async (tx: Tx, tries: number) => {
      for (const one of before) await one(tx, tries);
      return work(tx, tries);
    };
    const merged = { ...state, ...end.state };
    try {
      const done = await alone(userId, lease, all, {
        ...end,
        ...(Object.keys(merged).length > 0 && { state: merged }),
      });
      forget();
      return done;
    } catch (error) {
      if (isMobilityError(error, 'MOBILITY_LEASE_LOST')) forget(); // another run does it
      throw error;
    }
  };
  const flush = async (): Promise<void> => {
    if (waiting.length > 0) await underLease(last!.user_id, last!, async () => {});
  };
  return {
    underLease,
    lastLease: () => last,
    wait(lease, work, merged = {}) {
      last = lease;
      waiting.push(work);
      state = { ...state, ...merged };
    },
    flush,
    flushState: async () => {
      if (Object.keys(state).length > 0) await flush();
    },
  };
}

/** The same method, called when `before` is done. */
export function doneAfter<Args extends unknown[], T>(
  before: () => Promise<void>,
  method: (...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  return async (...args) => {
    await before();
    return method(...args);
  };
}

/** The states for a run. A failure is noted also where what waits is what fails. */
export function statesOfRun(base: PipelineStates, run: RunTransactions, userId: string): PipelineStates {
  return {
    ...base,
    async get(user) {
      if (user === userId) await run.flush();
      return base.get(user);
    },
    async merge(user, fields, lease) {
      if (user !== userId) return base.merge(user, fields, lease);
      try {
        await run.flush();
      } catch (error) {
        if (isMobilityError(error, 'MOBILITY_LEASE_LOST')) throw error;
      }
      return base.merge(user, fields, lease);
    },
  };
}
