// What other apps push: OwnTracks, Overland, Traccar Client. Each answered so that its app keeps what was not stored.
import type { Mapped } from '../../formats/other-entry.ts';
import { restOf, unusable } from '../../formats/other-entry.ts';
import { fromOverland } from '../../formats/overland.ts';
import { fromOwnTracks } from '../../formats/owntracks.ts';
import { fromTraccar } from '../../formats/traccar.ts';
import { putTaken } from '../../intake/put-batch.ts';
import { takeEntry } from '../../intake/take-entry.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { type Problem, retryAfterSeconds } from '../problem.ts';
import type { Route, RouteCall } from './route.ts';

// Overland has an OwnTracks mode, which sends no token that can be read.
const asPassword =
  'as the password of Basic authentication. If this is Overland: give it the address /overland and leave its OwnTracks mode';

/** The routes of OwnTracks, Overland and Traccar Client. */
export const otherAppRoutes: readonly Route[] = [
  {
    path: '/pub',
    handler: 'pub',
    summary: 'Stores one message of OwnTracks in HTTP mode; the token is the password',
    caller: 'registered',
    large: true,
    answers: { type: 'array', maxItems: 0 },
    dialect: { tokenField: null, tokenPlace: asPassword, takesAnything: true, refuse: refusal },
    answer: async (call) => {
      await store(
        call,
        call.unread !== null ? rubbish(call.unread) : isEmpty(call.body) ? none : fromOwnTracks(call.body),
      );
      return [];
    },
  },
  {
    path: '/overland',
    handler: 'overland',
    summary: 'Stores a batch of GeoJSON features from Overland; the token is sent as Bearer',
    caller: 'registered',
    large: true,
    answers: { type: 'object', required: ['result'], properties: { result: { const: 'ok' } } },
    dialect: {
      tokenField: null,
      tokenPlace: 'as "Authorization: Bearer TOKEN"',
      takesAnything: true,
      refuse: refusal,
    },
    answer: async (call) => {
      const { locations } = call.body;
      if (call.unread !== null) await store(call, rubbish(call.unread));
      else await store(call, Array.isArray(locations) ? fromOverland(locations) : notKnown(call.body, 'locations'));
      return { result: 'ok' };
    },
  },
  {
    path: '/traccar',
    handler: 'traccar',
    summary: 'Stores one location of Traccar Client 9 or later; the token is the device identifier',
    caller: 'registered',
    large: true,
    answers: { type: 'object', required: ['result'], properties: { result: { const: 'ok' } } },
    dialect: {
      tokenField: 'device_id',
      tokenPlace: 'as the device identifier ("device_id" of the body)',
      takesAnything: true,
      refuse: refusal,
    },
    answer: async (call) => {
      const { location, ...others } = call.body;
      const without = restOf(others, new Set(['device_id', 'user']));
      if (call.unread !== null) await store(call, rubbish(call.unread));
      else if (location === undefined || location === null) await store(call, notKnown(without, 'location'));
      else await store(call, fromTraccar(Array.isArray(location) ? location : [location]));
      return { result: 'ok' };
    },
  },
];

const none: Mapped = { entries: [], unusable: [], passedOver: 0 };

const isEmpty = (body: JsonObject): boolean => Object.keys(body).length === 0;

/** A body that is no JSON object: it is kept as text, as sending it again would not mend it. */
function rubbish(text: string): Mapped {
  const why = 'expected a JSON object as body, found something else';
  return { ...none, unusable: [unusable(text, 'format_unknown', why)] };
}

function notKnown(body: JsonValue, field: string): Mapped {
  return { ...none, unusable: [unusable(body, 'format_unknown', `expected a field "${field}", found none`)] };
}

/** Resolves when all of it is durable. */
async function store(call: RouteCall, { entries, unusable: aside, passedOver }: Mapped): Promise<void> {
  if (passedOver > 0) call.log.write('INFO', `Passed over ${passedOver} that tell nothing about travel`);
  if (entries.length + aside.length === 0) return;
  const taken = entries.map((entry) => takeEntry(entry as unknown as JsonValue));
  await putTaken(call.caller.uuid, [...taken, ...aside], call);
}

/**
 * Never a 4xx: OwnTracks on an iPhone deletes its oldest point then, whatever was wrong. Never a 2xx either: Overland
 * can be set to take any of them for "received". All three apps keep what a 5xx refused and send it again. `error` is
 * what Overland shows.
 */
function refusal(problem: Problem, requestId: string): Response {
  const body = {
    error: problem.message,
    ...(problem.options.code && { code: problem.options.code }),
    request_id: requestId,
  };
  const known = problem.options.headers?.['Retry-After'];
  return new Response(JSON.stringify(body), {
    status: problem.status >= 500 ? problem.status : 503,
    headers: {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      'X-Request-Id': requestId,
      'Retry-After': known ?? String(retryAfterSeconds),
    },
  });
}
