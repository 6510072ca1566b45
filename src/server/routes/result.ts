// The caller's own figures: distance, duration, speed and number of sections, by period and mode.
import { defaultMetric, isMetric, type SectionFigures } from '../../metrics/metrics.ts';
import {
  type LocalFrequency,
  localPeriods,
  type MetricSummary,
  type Period,
  summarize,
  type UtcFrequency,
  utcPeriods,
} from '../../metrics/periods.ts';
import { readSections, readSectionsOfDays } from '../../metrics/read-sections.ts';
import type { JsonObject } from '../../model/json.ts';
import { justAfter } from '../../model/time.ts';
import { daysBetween } from '../local-dates.ts';
import { schemas } from '../schemas.ts';
import type { Route, RouteCall } from './route.ts';

export const resultRoutes: readonly Route[] = [
  {
    path: '/result/metrics/timestamp',
    handler: 'result.metrics/timestamp',
    caller: 'registered',
    body: schemas.metricsByTimestamp,
    answer: byTimestamp,
  },
  {
    path: '/result/metrics/local_date',
    handler: 'result.metrics/local_date',
    caller: 'registered',
    body: schemas.metricsByLocalDate,
    answer: byLocalDate,
  },
];

async function byTimestamp({ caller, body, store }: RouteCall): Promise<object> {
  const range = { from: body.start_time as number, to: justAfter(body.end_time as number) };
  const sections = await readSections(store.trips, caller.uuid, range);
  return answer(body, utcPeriods(sections, body.freq as UtcFrequency));
}

async function byLocalDate({ caller, body, store }: RouteCall): Promise<object> {
  const days = daysBetween(body.start_time, body.end_time, ['start_time', 'end_time']);
  const sections: SectionFigures[] = await readSectionsOfDays(store.trips, caller.uuid, days);
  return answer(body, localPeriods(sections, body.freq as LocalFrequency));
}

/** One list for the one metric that was asked for, or a list of such lists; figures over all users are never given. */
function answer(body: JsonObject, periods: readonly Period[]): object {
  const { names, single } = metricsAsked(body);
  const lists = names.map((name): MetricSummary[] => (isMetric(name) ? summarize(name, periods) : []));
  return {
    user_metrics: single ? lists[0] : lists,
    ...(body.is_return_aggregate !== false && { aggregate_metrics: [] }),
  };
}

/** A `metric` that is empty counts as none: then `metric_list` does, and if that is empty too, the default. */
function metricsAsked(body: JsonObject): { names: string[]; single: boolean } {
  const oldStyle = (body.is_return_aggregate ?? null) === null;
  if (typeof body.metric === 'string' && body.metric !== '') return { names: [body.metric], single: true };
  const list = (body.metric_list ?? []) as string[];
  if (list.length === 0) return { names: [defaultMetric], single: oldStyle };
  return { names: list, single: oldStyle && list.length === 1 };
}
