// Metrics of the calls of one process, for Prometheus; a server adds up the metrics of its processes. They name no
// person.
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Store } from '../store/store.ts';
import type { Call } from './call.ts';
import { routes } from './routes/all-routes.ts';
import { handlerOf } from './routes/route.ts';

/** What the calls of one process add up to. Without `/metrics` nothing is counted. */
export interface CallFigures {
  /** Counts an ended call by the handler of its route, empty without a route, and the cause of its failure. */
  ended(call: Pick<Call, 'handler' | 'cause'>, status: number, seconds: number): void;
  /** Entries by what became of them. */
  entries(counts: { inserted: number; updated: number; rejected: number }): void;
  /** A caller met a limit. */
  limitMet(limit: string): void;
}

/** Limits of callers, as answers with 429 name them. */
const limitNames = [
  'calls_per_minute',
  'calls_per_day',
  'bytes_per_minute',
  'bytes_per_day',
  'refused_per_minute',
  'waiting_entries',
  'waiting_bytes',
  'unsent_bytes',
  'open_calls',
  'open_streams',
];

/** Status and cause of the calls of each route that are counted from 0 on. */
const firstSeries = [
  ['200', 'none'],
  ['500', 'server'],
  ['503', 'server'],
  ['503', 'limit'],
] as const;

/** Gauges of prom-client that are named like counters. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/**
 * Counts calls, and measures the process, in a registry of its own. Each series that an alert may ask for is there from
 * the start: Prometheus sees no increase in the first sample of a series.
 */
export function countCalls(): { figures: CallFigures; registry: Registry } {
  const registry = new Registry();
  const registers = [registry];
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
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  for (const handler of ['', ...routes.map(({ path }) => handlerOf(path))])
    for (const [status, cause] of firstSeries) calls.inc({ handler, status, cause }, 0);
  for (const verdict of ['inserted', 'updated', 'rejected']) entries.inc({ verdict }, 0);
  for (const limit of limitNames) limits.inc({ limit }, 0);
  return {
    registry,
    figures: {
      ended: ({ handler, cause }, status, took) => {
        calls.inc({ handler, status: String(status), cause: cause ?? 'none' });
        seconds.observe({ handler }, took);
      },
      entries: (counts) => {
        for (const [verdict, count] of Object.entries(counts)) entries.inc({ verdict }, count);
      },
      limitMet: (limit) => limits.inc({ limit }),
    },
  };
}

/** A store that counts what becomes of entries. */
export function countingStore(store: Store, figures: CallFigures): Store {
  const usercache: Store['usercache'] = {
    ...store.usercache,
    put: async (userId, batch, now) => {
      const put = await store.usercache.put(userId, batch, now);
      const { results } = put;
      const inserted = results.filter((result) => result === 'inserted').length;
      figures.entries({ inserted, updated: results.length - inserted, rejected: batch.unusable.length });
      return put;
    },
  };
  return { ...store, usercache };
}
