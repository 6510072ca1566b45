// Metrics of the calls of one process, for Prometheus; those of all processes of a server are added up. Nobody's name
// is in them.
import { AggregatorRegistry, Counter, Histogram, Registry } from 'prom-client';
import type { Store } from '../store/store.ts';
import type { Call } from './call.ts';

/** What the calls of one process add up to. Without `/metrics` nothing is counted. */
export interface CallFigures {
  /** Counts an ended call by the handler of its route, empty without a route, and the cause of its failure. */
  ended(call: Pick<Call, 'handler' | 'cause'>, status: number, seconds: number): void;
  /** Entries by what became of them. */
  entries(counts: { inserted: number; updated: number; rejected: number }): void;
  /** Somebody met a limit. */
  limitMet(limit: string): void;
}

/** Counts calls in a registry of its own, which other processes of the server add up with theirs. */
export function countCalls(): { figures: CallFigures; text: () => Promise<string> } {
  const registers = [new Registry()];
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name: `mobility_${name}_total`, help, labelNames, registers });
  const calls = counter('calls', 'Calls by route, status and the cause of failures', 'handler', 'status', 'cause');
  const entries = counter('entries', 'Pushed entries by what became of them', 'verdict');
  const limits = counter('limits_met', 'Calls refused because of a limit', 'limit');
  const seconds = new Histogram({
    name: 'mobility_call_seconds',
    help: 'Time from the start of a call to the end of its answer',
    labelNames: ['handler'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers,
  });
  AggregatorRegistry.setRegistries(registers);
  new AggregatorRegistry(); // makes a worker answer when the primary collects
  return {
    figures: {
      ended: ({ handler, cause }, status, took) => {
        calls.inc({ handler, status: String(status), cause: cause ?? 'none' });
        seconds.observe({ handler }, took);
      },
      entries: (counts) => {
        for (const [verdict, count] of Object.entries(counts)) if (count > 0) entries.inc({ verdict }, count);
      },
      limitMet: (limit) => limits.inc({ limit }),
    },
    text: () => registers[0]!.metrics(),
  };
}

/** A store that counts what becomes of entries. */
export function countingStore(store: Store, figures: CallFigures): Store {
  const usercache: Store['usercache'] = {
    ...store.usercache,
    put: async (userId, batch, now) => {
      const results = await store.usercache.put(userId, batch, now);
      const inserted = results.filter((result) => result === 'inserted').length;
      figures.entries({ inserted, updated: results.length - inserted, rejected: batch.unusable.length });
      return results;
    },
  };
  return { ...store, usercache };
}
