// Metrics of the calls of one process, for Prometheus, without names of users.
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { PutCounts } from '../log/messages.ts';
import type { Call } from './call.ts';
import { rateLimits } from './caller-limits.ts';
import { routes } from './routes/all-routes.ts';
import { handlerOf } from './routes/route.ts';

export type CallFigures = ReturnType<typeof countCalls>['figures'];

const limitNames = [
  ...Object.values(rateLimits).map(([name]) => name),
  ...['waiting_entries', 'waiting_bytes', 'unsent_bytes', 'open_calls'],
];

const firstSeries = [
  ['200', 'none'],
  ['500', 'server'],
  ['503', 'server'],
  ['503', 'limit'],
] as const;

// Gauges of prom-client with a wrong name: only counters should end in `_total`.
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Sets series to 0 if alerts use them: Prometheus sees no increase in the first sample of a series. */
export function countCalls() {
  const registry = new Registry();
  const registers = [registry];
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name: `mobility_${name}_total`, help, labelNames, registers });
  const calls = counter('calls', 'Calls by route, status and the cause of failures', 'handler', 'status', 'cause');
  const entries = counter('entries', 'Pushed entries by result', 'verdict');
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
      countCall: ({ handler, cause }: Pick<Call, 'handler' | 'cause'>, status: number, took: number): void => {
        calls.inc({ handler, status: String(status), cause: cause ?? 'none' });
        seconds.observe({ handler }, took);
      },
      countEntries: (counts: PutCounts): void => {
        for (const [verdict, count] of Object.entries(counts)) entries.inc({ verdict }, count);
      },
      countLimit: (limit: string): void => limits.inc({ limit }),
    },
  };
}
