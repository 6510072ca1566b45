// Routes that store what phones push, and return the documents they pull.
import { withLabels } from '../../diary/labels/add-labels.ts';
import type { TripFeatureCollection } from '../../diary/trip-features.ts';
import { checkEntry } from '../../intake/check-entry.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { isNewerConfig } from '../../model/study-config.ts';
import type { Document } from '../../store/store.ts';
import { arrayOf, objectOf, values } from '../schemas.ts';
import type { Route, RouteCall } from './route.ts';

const count = { type: 'integer', minimum: 0 };
const counts = { inserted: count, updated: count, rejected: count };
const document = objectOf({
  metadata: objectOf({ key: { type: 'string' }, type: { const: 'document' }, write_ts: values.time }),
  data: { type: ['object', 'array'], items: {} },
});

export const usercacheRoutes: readonly Route[] = [
  {
    path: '/usercache/put',
    summary: 'Stores a batch of entries; 200 means that every entry is on disk',
    answers: objectOf(counts),
    body: objectOf({ phone_to_server: { type: 'array', items: {} } }),
    list: 'phone_to_server',
    answer: async (call) => ({ ...(await call.put(call.list)), ...(await newerConfig(call)) }),
  },
  {
    path: '/usercache/putone',
    summary: 'Stores one entry',
    answers: objectOf({ putone: { const: true }, ...counts }),
    body: objectOf({ the_entry: {} }),
    large: true,
    answer: async ({ body, put }) => ({ putone: true, ...(await put([checkEntry(body.the_entry!)])) }),
  },
  {
    path: '/usercache/get',
    summary: 'Returns the documents for the phone: the diary of the last days, and configuration',
    answers: objectOf({ server_to_phone: arrayOf(document) }),
    fetches: true,
    answer: get,
  },
];

/** Returns the configuration of the caller's study if their phone has an older version. */
async function newerConfig({ caller, body, store }: RouteCall): Promise<{ deployment_config?: JsonObject }> {
  const { deployment_config_version: version, app_version: app } = body;
  if (caller.study === undefined || version === undefined) return {};
  const config = (await store.studies.byName(caller.study))?.config ?? null;
  return config !== null && isNewerConfig(config, version, app) ? { deployment_config: config } : {};
}

async function get({ caller, store }: RouteCall): Promise<object> {
  const documents = await store.documents.list(caller.uuid);
  const trips = await withLabels(store, caller.uuid, documents.flatMap(tripsIn), { isBounded: true });
  let next = 0;
  const labelled = documents.map((document): Document => {
    const { length } = tripsIn(document);
    if (length === 0) return document;
    next += length;
    return { ...document, data: trips.slice(next - length, next) as unknown as JsonValue };
  });
  return { server_to_phone: labelled.map(forPhone) };
}

function tripsIn({ key, data }: Document): TripFeatureCollection[] {
  const isDay = key.startsWith('diary/trips-') && Array.isArray(data);
  return isDay &&
    data.every((trip) => isJsonObject(trip) && Array.isArray(trip.features) && isJsonObject(trip.properties))
    ? (data as unknown as TripFeatureCollection[])
    : [];
}

/** iOS apps crash if `metadata` has another field than the seven that they know. */
function forPhone({ key, write_ts, data }: Document): object {
  return { metadata: { key, type: 'document', write_ts }, data };
}
