// Whether anybody makes small calls. While nobody does, workers read large bodies themselves: to pass them on costs a
// third more, and would protect nobody.
import cluster from 'node:cluster';
import { isMessage, type ServerMessage } from './share-figures.ts';

const recent = 1_000; // ms after a small call in which the next one is expected
const tellEvery = 250; // ms

/** The small calls to a server, as one of its workers knows them. */
export interface SmallCalls {
  /** A small call came to this worker. */
  note(): void;
  /** True if one came to any worker within the last second. */
  areRecent(): boolean;
}

/** How workers tell each other; of a worker by default: through the primary. */
export interface Telling {
  tell(): void;
  listen(hear: () => void): void;
}

/** `now`: a steady clock, ms. */
export function smallCalls(telling: Telling = otherWorkers, now: () => number = () => performance.now()): SmallCalls {
  let last = Number.NEGATIVE_INFINITY;
  let told = Number.NEGATIVE_INFINITY;
  telling.listen(() => {
    last = now();
  });
  return {
    note: () => {
      last = now();
      if (last - told < tellEvery) return;
      told = last;
      telling.tell();
    },
    areRecent: () => now() - last < recent,
  };
}

const otherWorkers: Telling = {
  tell: () => {
    const { worker } = cluster;
    if (worker?.isConnected()) worker.send({ mobility: 'small-calls' } satisfies ServerMessage);
  },
  listen: (hear) => {
    cluster.worker?.on('message', (message) => {
      if (isMessage(message) && message.mobility === 'small-calls') hear();
    });
  },
};
