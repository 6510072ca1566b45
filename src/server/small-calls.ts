// Whether anybody makes small calls. While nobody does, a worker reads a large body itself: to pass it on costs a
// fifth more, and there is nobody to protect.
import cluster from 'node:cluster';
import { isMessage, tellPrimary } from './share-figures.ts';

const recent = 5_000; // ms after a small call: somebody who looks at days makes one every few seconds
const tellEvery = 250; // ms

/** The small calls to a server, as one of its workers knows them. */
export interface SmallCalls {
  /** A small call came to this worker. */
  note(): void;
  /** True if one came to any worker within about the last five seconds. */
  areRecent(): boolean;
}

/** The other workers of the server. */
export interface OtherWorkers {
  /** Tells all of them of a small call. */
  tell(): void;
  /** Calls `heard` when one of them tells of a small call. */
  onTold(heard: () => void): void;
}

/** `others`: by default through the primary process. `now`: a steady clock, ms. */
export function smallCalls(
  others: OtherWorkers = throughPrimary,
  now: () => number = () => performance.now(),
): SmallCalls {
  let last = Number.NEGATIVE_INFINITY;
  /** When all workers knew of one. */
  let told = Number.NEGATIVE_INFINITY;
  others.onTold(() => {
    last = now();
    told = last;
  });
  return {
    note: () => {
      last = now();
      if (last - told < tellEvery) return;
      told = last;
      others.tell();
    },
    areRecent: () => now() - last < recent,
  };
}

const throughPrimary: OtherWorkers = {
  tell: () => tellPrimary({ mobility: 'small-calls' }),
  onTold: (heard) => {
    cluster.worker?.on('message', (message) => {
      if (isMessage(message) && message.mobility === 'small-calls') heard();
    });
  },
};
