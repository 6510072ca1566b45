// Routes for other apps. After the answer to a failed call, an app keeps its data and sends them again.
import { omitFields } from '../../intake/apps/message-fields.ts';
import { type Mapped, newMapped, rejectTogether, unusable } from '../../intake/apps/other-entry.ts';
import { fromOverland } from '../../intake/apps/overland.ts';
import { fromOwnTracks } from '../../intake/apps/owntracks.ts';
import { fromOsmAnd, fromTraccar } from '../../intake/apps/traccar.ts';
import { checkEntry } from '../../intake/check-entry.ts';
import { type AppId, appIds, phoneApps } from '../../model/apps.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { headersOf, type Problem, retryAfterSeconds } from '../problem.ts';
import { objectOf } from '../schemas.ts';
import type { Route, RouteCall } from './route.ts';

const formats: Readonly<Record<AppId, (call: RouteCall) => Mapped>> = {
  owntracks: ({ body, query, now }) => {
    const message = isPosition(query) ? query : body;
    return Object.keys(message).length === 0 ? newMapped() : fromOwnTracks(message, now());
  },
  overland: ({ body }) => (Array.isArray(body.locations) ? fromOverland(body.locations) : lacks(body, 'locations')),
  traccar: ({ query, body: { location: sent = null, ...others }, now }) => {
    // If Home Assistant is set up as in the guides of GeoPulse, `location` has only the coordinates.
    const isPlace = isJsonObject(sent) && sent.coords === undefined && sent.latitude !== undefined;
    const location = isPlace ? { ...others, coords: sent } : sent;
    const rest = omitFields(others, new Set(['device_id', 'user', 'id', 'deviceid']));
    const isText = typeof location === 'string';
    const parameters = { ...texts(rest), ...(isText && { location }), ...query };
    if ((isText || location === null) && isOsmAnd(parameters)) return fromOsmAnd(parameters, now());
    if (location === null) return lacks(rest, 'location');
    const inBody = fromTraccar(Array.isArray(location) ? location : [location], now());
    if (!isOsmAnd(query)) return inBody;
    const { entries, unusable: bad, skipped } = fromOsmAnd(query, now());
    return {
      entries: [...entries, ...inBody.entries],
      unusable: [...bad, ...inBody.unusable],
      skipped: skipped + inBody.skipped,
    };
  },
};

/** True for a position, or the state of a phone without a position, in the protocol of OsmAnd. */
const isOsmAnd = (parameters: Readonly<Record<string, string>>): boolean =>
  isPosition(parameters) || (['timestamp', 'batt', 'alarm'] as const).some((name) => parameters[name] !== undefined);

const texts = (body: JsonObject): Record<string, string> =>
  Object.fromEntries(
    Object.entries(body)
      .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
      .map(([name, value]) => [name, String(value)]),
  );

const queries: Partial<Record<AppId, Route['inQuery']>> = {
  traccar: {
    id: 'the token',
    lat: 'latitude in degrees',
    lon: 'longitude in degrees',
    timestamp: 'seconds or milliseconds since the epoch, or ISO 8601',
    speed: 'knots',
    bearing: 'degrees',
    altitude: 'm',
    accuracy: 'm',
    batt: 'battery level in percent',
  },
};

export const otherAppRoutes: readonly Route[] = appIds.map((id) => {
  const { path, summary, token, answer } = phoneApps[id];
  return {
    path,
    summary,
    answers: Array.isArray(answer) ? { type: 'array', items: {}, maxItems: 0 } : objectOf({ result: { const: 'ok' } }),
    large: true,
    ...(queries[id] !== undefined && { inQuery: queries[id] }),
    dialect: { ...token, refuse: refusal },
    answer: async (call) => {
      const { unread, query } = call;
      if (unread === null || isOsmAnd(query)) await putMapped(call, formats[id](call));
      // The app would repeat a refused body, so an unusable body is stored as rejected.
      else if (!(await putFile(call, unread))) {
        // Stores only the length, since the body may contain the token or names of networks.
        const text = `${unread.length} characters`;
        await putMapped(call, notMapped(text, 'a JSON object or a file such as GPX as body'));
      }
      return answer;
    },
  };
});

export const isPosition = ({ lat, lon, location }: Readonly<Record<string, string>>): boolean =>
  (lat !== undefined && lon !== undefined) || location !== undefined;

/** Stores the entries of a file that an app sent. False if the file is in no known format. */
async function putFile({ put, log }: RouteCall, text: string): Promise<boolean> {
  const { readUpload } = await import('../../import/import-formats.ts');
  const upload = await readUpload(text);
  if (upload === null) return false;
  for await (const { entries, unread } of upload) {
    if (unread > 0) log.write('WARNING', `Skipped ${unread} points without a time or a place`);
    await put(entries.map((entry) => checkEntry(entry as JsonValue)));
  }
  return true;
}

const notMapped = (body: JsonValue, expected: string, found = 'something else'): Mapped =>
  newMapped({ unusable: [unusable(body, 'format_unknown', `expected ${expected}, found ${found}`)] });

/** Rejects `body` with only the names of its fields, since values may name networks or people. */
const lacks = (body: JsonObject, field: string): Mapped => notMapped(Object.keys(body), `a field "${field}"`, 'none');

async function putMapped({ put, log }: RouteCall, { entries, unusable: others, skipped }: Mapped): Promise<void> {
  if (skipped > 0) log.write('INFO', `Skipped ${skipped} messages without data about travel`);
  if (entries.length + others.length === 0) return;
  const checked = entries.map((entry) => checkEntry(entry as unknown as JsonValue));
  await put([...checked, ...rejectTogether(others)]);
}

/**
 * Answers a failure with a 5xx: the apps then keep their data and send them again. After a 4xx,
 * OwnTracks on an iPhone deletes its oldest point. Overland shows the text in `error`, and can be
 * set to treat any 2xx as received.
 */
export function refusal(problem: Problem, requestId: string): Response {
  const { code, headers } = problem.options;
  return new Response(JSON.stringify({ error: problem.message, code, request_id: requestId }), {
    status: problem.status >= 500 ? problem.status : 503,
    headers: {
      ...headersOf(requestId, 'application/json'),
      'Retry-After': headers?.['Retry-After'] ?? String(retryAfterSeconds),
    },
  });
}
