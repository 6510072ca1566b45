// What the calls of phones are for and what they answer, by path: for docs and OpenAPI. Other routes say it themselves.
import type { AnswerSchema } from './schemas.ts';

/** What a route is for, in one sentence, and the JSON Schema of a good answer. */
export interface RouteDescription {
  summary: string;
  answers: AnswerSchema;
}

const object = (properties: Record<string, unknown>, required = Object.keys(properties)): AnswerSchema => ({
  type: 'object',
  required,
  properties,
});
const list = (items: AnswerSchema): AnswerSchema => ({ type: 'array', items });
const count = { type: 'integer', minimum: 0 };
const time = { type: 'number', description: 'seconds since the epoch' };
const timeOrNull = { type: ['number', 'null'], description: 'seconds since the epoch' };
const uuid = object({ $uuid: { type: 'string', pattern: '^[0-9a-f]{32}$' } });
const oid = object({ $oid: { type: 'string', pattern: '^[0-9a-f]{24}$' } });
const counts = { inserted: count, updated: count, rejected: count };
const trip = object({
  type: { const: 'FeatureCollection' },
  features: { type: 'array', description: 'places, stops and sections; see docs/phones.md' },
  properties: { type: 'object' },
});
const metrics = object(
  {
    user_metrics: { type: 'array', description: 'one list of summaries for each metric, or one such list' },
    aggregate_metrics: { type: 'array' },
  },
  ['user_metrics'],
);
const found = object({
  phone_data: list(
    object({
      _id: oid,
      user_id: uuid,
      metadata: object({ key: { type: 'string' }, write_ts: time }),
      data: { type: 'object' },
    }),
  ),
  truncated: { type: 'boolean', description: 'true when there were more entries than asked for' },
});

const descriptions: Readonly<Record<string, RouteDescription>> = {
  '/usercache/put': {
    summary: 'Stores a batch of entries; 200 means that every entry is on disk',
    answers: object(counts, ['inserted', 'updated', 'rejected']),
  },
  '/usercache/putone': {
    summary: 'Stores one entry',
    answers: object({ putone: { const: true }, ...counts }),
  },
  '/usercache/get': {
    summary: 'Returns the documents for the phone: the diary of the last days, and configuration',
    answers: object({
      server_to_phone: list(
        object({
          metadata: object({ key: { type: 'string' }, type: { const: 'document' }, write_ts: time }),
          data: { type: ['object', 'array'] },
        }),
      ),
    }),
  },
  '/timeline/getTrips/:date': {
    summary: 'Returns the diary of one local day',
    answers: object({ timeline: list(trip) }),
  },
  '/profile/create': {
    summary: 'Returns the UUID of the account; creates the account if that is allowed',
    answers: object({ uuid: { type: 'string', format: 'uuid' } }),
  },
  '/profile/get': {
    summary: 'Returns the profile: what the app reported, and what the server recorded',
    answers: object({ _id: oid, user_id: uuid, update_ts: object({ $date: { type: 'integer' } }) }),
  },
  '/profile/update': {
    summary: 'Sets fields of the profile',
    answers: object({ update: { const: true }, ignored: list({ type: 'string' }) }, ['update']),
  },
  '/result/metrics/timestamp': { summary: 'Returns figures of the caller by UTC period', answers: metrics },
  '/result/metrics/local_date': {
    summary: 'Returns figures of the caller by period of the local calendar',
    answers: metrics,
  },
  '/result/metrics/yyyy_mm_dd': { summary: 'Returns figures by day', answers: { type: 'object' } },
  '/customlabel/get': { summary: 'Returns custom labels by kind', answers: { type: 'object' } },
  '/customlabel/insert': { summary: 'Adds a custom label', answers: { type: 'object' } },
  '/customlabel/update': { summary: 'Replaces a custom label by another', answers: { type: 'object' } },
  '/customlabel/delete': { summary: 'Removes a custom label', answers: { type: 'object' } },
  '/datastreams/find_entries/timestamp': { summary: 'Returns entries of the caller by key and time', answers: found },
  '/datastreams/find_entries/local_date': {
    summary: 'Returns entries of the caller by key and local date',
    answers: found,
  },
  '/pipeline/get_complete_ts': {
    summary: 'Returns the time up to which the diary is final',
    answers: object({ complete_ts: timeOrNull }),
  },
  '/pipeline/get_range_ts': {
    summary: 'Returns the start of the first trip and the end of the last trip',
    answers: object({ start_ts: timeOrNull, end_ts: timeOrNull }),
  },
  '/': {
    summary: 'Names the service',
    answers: object({ service: { const: 'mobility' }, documentation: { type: 'string' } }),
  },
  '/healthz': { summary: 'Answers 200 if the process runs', answers: object({ status: { const: 'ok' } }) },
  '/readyz': {
    summary: 'Answers 200 if the store can be written and read',
    answers: object({ status: { const: 'ready' } }),
  },
};

/**
 * The description of a route: its own, else that of the phone contract; an object that nobody described has any
 * members.
 */
export function describe(route: { path: string; summary?: string; answers?: AnswerSchema }): RouteDescription {
  const known = descriptions[route.path];
  return {
    summary: route.summary ?? known?.summary ?? '',
    answers: route.answers ?? known?.answers ?? { type: 'object' },
  };
}
