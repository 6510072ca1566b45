// What other apps push: OwnTracks, Overland, Traccar Client. Each answered so that its app keeps what was not stored.
import type { Mapped } from '../../intake/apps/other-entry.ts';
import { restOf, unusable } from '../../intake/apps/other-entry.ts';
import { fromOverland } from '../../intake/apps/overland.ts';
import { fromOwnTracks } from '../../intake/apps/owntracks.ts';
import { fromOsmAnd, fromTraccar } from '../../intake/apps/traccar.ts';
import { takeEntry } from '../../intake/check-entry.ts';
import { putTaken } from '../../intake/put-batch.ts';
import type { JsonValue } from '../../model/json.ts';
import { type Problem, retryAfterSeconds } from '../problem.ts';
import { objectOf } from '../schemas.ts';
import type { Dialect, Route, RouteCall } from './route.ts';

// Overland has an OwnTracks mode, which sends no token that can be read.
const asPassword =
  'as the password of Basic authentication. If this is Overland: give it the address /overland and leave its OwnTracks mode';

const done = objectOf({ result: { const: 'ok' } });

/** The routes of OwnTracks, Overland and Traccar Client. */
export const otherAppRoutes: readonly Route[] = [
  appRoute('pub', {
    summary: 'Stores one message of OwnTracks in HTTP mode; the token is the password',
    answers: { type: 'array', items: {}, maxItems: 0 },
    token: { tokenField: null, tokenPlace: asPassword },
    answer: [],
    map: ({ body }) => (Object.keys(body).length === 0 ? none : fromOwnTracks(body)),
  }),
  appRoute('overland', {
    summary: 'Stores a batch of GeoJSON features from Overland; the token is sent as Bearer',
    answers: done,
    token: {
      tokenField: null,
      tokenPlace: 'as "Authorization: Bearer TOKEN", or in the address as ?token=TOKEN',
      tokenParameters: ['token', 'access_token', 'api_key'],
    },
    answer: { result: 'ok' },
    map: ({ body }) => (Array.isArray(body.locations) ? fromOverland(body.locations) : lacks(body, 'locations')),
  }),
  appRoute('traccar', {
    summary: "Stores a position of Traccar Client, OsmAnd or a tracker that speaks OsmAnd's protocol",
    answers: done,
    token: {
      tokenField: 'device_id',
      tokenPlace: 'as the device identifier ("device_id" of the body, "id" of the query)',
      tokenParameters: ['id', 'deviceid'],
    },
    inQuery: {
      id: 'the token',
      lat: 'latitude in degrees',
      lon: 'longitude in degrees',
      timestamp: 'seconds or milliseconds since the epoch, or ISO 8601',
      ...{ speed: 'knots', bearing: 'degrees', altitude: 'm', accuracy: 'm', batt: 'battery level in percent' },
    },
    answer: { result: 'ok' },
    map: ({ query, body: { location = null, ...others } }) => {
      const rest = restOf(others, new Set(['device_id', 'user']));
      const isInQuery = isPosition(query);
      const parts = isInQuery ? [fromOsmAnd(query)] : [];
      if (location !== null) parts.push(fromTraccar(Array.isArray(location) ? location : [location]));
      else if (!isInQuery || Object.keys(rest).length > 0) parts.push(lacks(rest, 'location'));
      return {
        ...none,
        entries: parts.flatMap(({ entries }) => entries),
        unusable: parts.flatMap(({ unusable: some }) => some),
      };
    },
  }),
];

/** True for a query that says where a phone is. */
export const isPosition = ({ lat, lon, location }: Readonly<Record<string, string>>): boolean =>
  (lat !== undefined && lon !== undefined) || location !== undefined;

interface OtherApp extends Pick<Route, 'summary' | 'answers' | 'inQuery'> {
  token: Pick<Dialect, 'tokenField' | 'tokenPlace' | 'tokenParameters'>;
  /** The answer that the app takes for "received". */
  answer: object;
  map(call: RouteCall): Mapped;
}

function appRoute(name: string, { answer, map, token, ...route }: OtherApp): Route {
  return {
    path: `/${name}`,
    ...{ ...route, large: true },
    dialect: { ...token, takesAnything: true, refuse: refusal },
    answer: async (call) => {
      // A body that is no JSON object is set aside as text: sending it again would not correct it.
      await putMapped(
        call,
        call.unread === null || isPosition(call.query) ? map(call) : notMapped(call.unread, 'a JSON object as body'),
      );
      return answer;
    },
  };
}

const none: Mapped = { entries: [], unusable: [], passedOver: 0 };

const notMapped = (body: JsonValue, expected: string, found = 'something else'): Mapped => ({
  ...none,
  unusable: [unusable(body, 'format_unknown', `expected ${expected}, found ${found}`)],
});

const lacks = (body: JsonValue, field: string): Mapped => notMapped(body, `a field "${field}"`, 'none');

/** Resolves when all of it is durable. */
async function putMapped(
  { caller, store, now, log, sentWith }: RouteCall,
  { entries, unusable: others, passedOver }: Mapped,
): Promise<void> {
  if (passedOver > 0) log.write('INFO', `Skipped ${passedOver} messages that say nothing about travel`);
  if (entries.length + others.length === 0) return;
  const taken = entries.map((entry) => takeEntry(entry as unknown as JsonValue));
  await putTaken(caller.uuid, [...taken, ...others], { store, now, log, sentWith });
}

/**
 * Never a 4xx: OwnTracks on an iPhone deletes its oldest point then, whatever was wrong. Never a 2xx either: Overland
 * can be set to take any of them for "received". All three apps keep what a 5xx refused and send it again. `error` is
 * what Overland shows.
 */
export function refusal(problem: Problem, requestId: string): Response {
  const body = { error: problem.message, code: problem.options.code, request_id: requestId };
  return new Response(JSON.stringify(body), {
    status: problem.status >= 500 ? problem.status : 503,
    headers: {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      'X-Request-Id': requestId,
      'Retry-After': problem.options.headers?.['Retry-After'] ?? String(retryAfterSeconds),
    },
  });
}
