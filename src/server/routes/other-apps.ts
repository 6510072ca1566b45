// What other apps push: OwnTracks, Overland, Traccar Client. Each answered so that its app keeps what was not stored.
import type { Mapped } from '../../formats/other-entry.ts';
import { restOf, unusable } from '../../formats/other-entry.ts';
import { fromOverland } from '../../formats/overland.ts';
import { fromOwnTracks } from '../../formats/owntracks.ts';
import { fromTraccar } from '../../formats/traccar.ts';
import { putTaken } from '../../intake/put-batch.ts';
import { takeEntry } from '../../intake/take-entry.ts';
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
    answers: { type: 'array', maxItems: 0 },
    token: { tokenField: null, tokenPlace: asPassword },
    answer: [],
    map: ({ body }) => (Object.keys(body).length === 0 ? none : fromOwnTracks(body)),
  }),
  appRoute('overland', {
    summary: 'Stores a batch of GeoJSON features from Overland; the token is sent as Bearer',
    answers: done,
    token: { tokenField: null, tokenPlace: 'as "Authorization: Bearer TOKEN"' },
    answer: { result: 'ok' },
    map: ({ body }) => (Array.isArray(body.locations) ? fromOverland(body.locations) : lacks(body, 'locations')),
  }),
  appRoute('traccar', {
    summary: 'Stores one location of Traccar Client 9 or later; the token is the device identifier',
    answers: done,
    token: { tokenField: 'device_id', tokenPlace: 'as the device identifier ("device_id" of the body)' },
    answer: { result: 'ok' },
    map: ({ body: { location, ...others } }) => {
      if (location == null) return lacks(restOf(others, new Set(['device_id', 'user'])), 'location');
      return fromTraccar(Array.isArray(location) ? location : [location]);
    },
  }),
];

interface OtherApp extends Pick<Route, 'summary' | 'answers'> {
  token: Pick<Dialect, 'tokenField' | 'tokenPlace'>;
  /** The answer that the app takes for "received". */
  answer: object;
  map(call: RouteCall): Mapped;
}

function appRoute(name: string, { summary, answers, token, answer, map }: OtherApp): Route {
  return {
    path: `/${name}`,
    ...{ summary, answers, large: true },
    dialect: { ...token, takesAnything: true, refuse: refusal },
    answer: async (call) => {
      // A body that is no JSON object is set aside as text: sending it again would not correct it.
      await putMapped(call, call.unread === null ? map(call) : notMapped(call.unread, 'a JSON object as body'));
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
  { caller, store, now, log }: RouteCall,
  { entries, unusable: others, passedOver }: Mapped,
): Promise<void> {
  if (passedOver > 0) log.write('INFO', `Skipped ${passedOver} messages that say nothing about travel`);
  if (entries.length + others.length === 0) return;
  const taken = entries.map((entry) => takeEntry(entry as unknown as JsonValue));
  await putTaken(caller.uuid, [...taken, ...others], { store, now, log });
}

/**
 * Never a 4xx: OwnTracks on an iPhone deletes its oldest point then, whatever was wrong. Never a 2xx either: Overland
 * can be set to take any of them for "received". All three apps keep what a 5xx refused and send it again. `error` is
 * what Overland shows.
 */
function refusal(problem: Problem, requestId: string): Response {
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
