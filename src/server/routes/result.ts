// The caller's own metrics by period and mode.
import { correctedTrips } from '../../diary/corrections/corrected-trips.ts';
import { everyDay, observedFigures } from '../../diary/read-days.ts';
import { figuresByDay, readDayTrips } from '../../figures/by-day.ts';
import { defaultMetric, isMetric } from '../../figures/metrics.ts';
import type { LocalFrequency, MetricSummary, Period, UtcFrequency } from '../../figures/periods.ts';
import { localFrequencies, localPeriods, summarize, utcFrequencies, utcPeriods } from '../../figures/periods.ts';
import { readSections, readSectionsOfDays } from '../../figures/read-sections.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { isDay, justAfter } from '../../model/time.ts';
import { badRequest } from '../problem.ts';
import { objectOf, values } from '../schemas.ts';
import type { Route, RouteCall } from './route.ts';

const lists = {
  type: 'array',
  items: {},
  description: 'one list of summaries for each metric; for a single metric, its list of summaries',
};
const answers = objectOf({ user_metrics: lists }, { aggregate_metrics: { type: 'array', items: {} } });

const { number, names, textOrNull, flagOrNull } = values;
const asked = {
  metric: textOrNull,
  metric_list: { ...names, type: ['array', 'null'], maxItems: 100 },
  is_return_aggregate: flagOrNull,
};
const date = { type: 'object' };
const day = { type: 'string' };

export const resultRoutes: readonly Route[] = [
  {
    path: '/result/metrics/timestamp',
    summary: 'Returns figures of the caller by UTC period',
    answers,
    body: objectOf({ freq: { enum: utcFrequencies }, start_time: number, end_time: number }, asked),
    answer: async ({ caller, body, store }) => {
      const range = { from: body.start_time as number, to: justAfter(body.end_time as number) };
      const sections = await readSections(correctedTrips(store), caller.uuid, range);
      return answer(body, utcPeriods(sections, body.freq as UtcFrequency));
    },
    // The e-mission app of 2017 also asks for the metrics of all users, without a token.
    answerWithoutToken: (body) => ({ aggregate_metrics: metricsAsked(body).names.map(() => []) }),
  },
  {
    path: '/result/metrics/local_date',
    summary: 'Returns figures of the caller by period of the local calendar',
    answers,
    body: objectOf({ freq: { enum: localFrequencies }, start_time: date, end_time: date }, asked),
    answer: async ({ caller, body, store }) => {
      const sections = await readSectionsOfDays(correctedTrips(store), caller.uuid, daysOf(body));
      return answer(body, localPeriods(sections, body.freq as LocalFrequency));
    },
  },
  {
    path: '/result/metrics/yyyy_mm_dd',
    summary: 'Returns figures by day',
    answers: objectOf({}),
    body: objectOf(
      {
        start_time: day,
        end_time: day,
        metric_list: { type: 'object', additionalProperties: { ...names, maxItems: 20 } },
      },
      { aggregate: flagOrNull },
    ),
    answer: byDay,
  },
];

// Returns the days between two dates such as `{year, month, day}`. A date without a day means the
// whole month, a date without a month the whole year. Years below 1 or above 9999 become 1 or 9999.
function daysOf({ start_time: start, end_time: end }: JsonObject): { from: string; to: string } {
  return { from: dayOf(start, 'start_time', 1, [1]), to: dayOf(end, 'end_time', 12, [31, 30, 29, 28]) };
}

/** A missing month becomes `month`. A missing day becomes the first of `days` that the month has. */
function dayOf(date: JsonValue | undefined, name: string, month: number, days: readonly number[]): string {
  const parts = isJsonObject(date) ? date : {};
  const year = typeof parts.year === 'number' ? Math.max(1, Math.min(parts.year, 9999)) : parts.year;
  const texts = (parts.day == null ? days : [parts.day]).map((day) => {
    const numbers = [year, parts.month ?? month, day];
    return numbers.every(Number.isInteger) ? numbers.map((part) => String(part).padStart(2, '0')).join('-') : '';
  });
  const found = texts.map((text) => text.padStart('YYYY-MM-DD'.length, '0')).find(isDay);
  if (found !== undefined) return found;
  throw badRequest(
    `expected a date of the calendar in "${name}", such as {"year": 2016, "month": 5, "day": 17}, found another object`,
  );
}

/** Never returns metrics of all users: if there are few, such metrics would reveal each person. */
async function byDay(call: RouteCall): Promise<object> {
  const { caller, body, store } = call;
  const { start_time: from, end_time: to } = body as { start_time: string; end_time: string };
  if (!isDay(from) || !isDay(to))
    throw badRequest('expected "start_time" and "end_time" as days, YYYY-MM-DD, found another text');
  const asked = body.metric_list as Record<string, string[]>;
  if (body.aggregate === true) return {};
  const trips = await readDayTrips(store, caller.uuid, { from, to });
  const observed = Object.hasOwn(asked, 'observed') && { observed: await observedByDay(call, from, to) };
  return { ...figuresByDay(trips, asked), ...observed };
}

const mostDays = 62; // days in an answer with observed time, which is computed from all entries of the days

/** Returns the observed time, in s, of the first `mostDays` days of a range, also without trips. */
async function observedByDay({ caller, store, now }: RouteCall, from: string, to: string): Promise<object[]> {
  const found: object[] = [];
  for await (const { day: date, observed } of everyDay(store, caller, { from, to }, now())) {
    found.push({ date, nUsers: 1, ...observedFigures(observed) });
    if (found.length === mostDays) break;
  }
  return found;
}

/** Answers with a single list if one metric was requested. Metrics of all users are always empty. */
function answer(body: JsonObject, periods: readonly Period[]): object {
  const { names, single } = metricsAsked(body);
  const lists = names.map((name): MetricSummary[] => (isMetric(name) ? summarize(name, periods) : []));
  return {
    user_metrics: single ? lists[0] : lists,
    ...(body.is_return_aggregate !== false && { aggregate_metrics: [] }),
  };
}

/** Returns `metric`, else `metric_list`, else the default. Empty values count as missing. */
function metricsAsked(body: JsonObject): { names: string[]; single: boolean } {
  const oldStyle = (body.is_return_aggregate ?? null) === null;
  if (typeof body.metric === 'string' && body.metric !== '') return { names: [body.metric], single: true };
  const list = (body.metric_list ?? []) as string[];
  if (list.length === 0) return { names: [defaultMetric], single: oldStyle };
  return { names: list, single: oldStyle && list.length === 1 };
}
