// The caller's entries by key and time, as pushed or as converted.
import { suggestionSettings } from '../../diary/labels/suggest.ts';
import { type FoundEntry, findEntries, type Selection } from '../../emission/find-entries.ts';
import { daysBetween } from '../../emission/local-dates.ts';
import type { DerivedTime } from '../../emission/read-derived.ts';
import type { Entry } from '../../model/entry.ts';
import { oid, uuidValue } from '../../model/extended-json.ts';
import { entryId } from '../../model/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { isTimeZone, justAfter, localDay, maxTime, minTime, startOfDay, type TimeRange } from '../../model/time.ts';
import { badRequest } from '../problem.ts';
import { arrayOf, objectOf, schemas, values } from '../schemas.ts';
import type { Route, RouteCall } from './route.ts';

const maxFoundEntries = 250_000; // entries in one answer

const foundEntry = objectOf({
  _id: values.oid,
  user_id: values.uuid,
  data: { type: 'object' },
  metadata: objectOf({ key: { type: 'string' }, write_ts: values.time }),
});
const found = objectOf({
  phone_data: arrayOf(foundEntry),
  truncated: { type: 'boolean', description: 'true when there were more entries than asked for' },
});

export const datastreamRoutes: readonly Route[] = [
  findRoute('timestamp', 'time', byTimestamp),
  findRoute('local_date', 'local date', byLocalDate),
];

function findRoute(name: string, time: string, selected: (body: JsonObject) => TimeSelection): Route {
  return {
    path: `/datastreams/find_entries/${name}`,
    summary: `Returns entries of the caller by key and ${time}`,
    answers: found,
    fetches: true,
    body: schemas.findEntries,
    answer: async (call) => answer(call, selected(call.body)),
  };
}

/** The fields of a selection that concern time. */
type TimeSelection = Pick<Selection, 'time' | 'from' | 'to' | 'derived' | 'matches'>;

/** The fields by which entries can be selected: times, and their local dates. */
const timeNames: readonly string[] = [
  'metadata.write_ts',
  'data.ts',
  ...['start_ts', 'end_ts', 'enter_ts', 'exit_ts'].map((name) => `data.${name}`),
];
const dateNames = timeNames.map((name) => name.replace(/ts$/, 'local_dt'));

/** Returns a function that reads a field such as `data.start_ts`. */
function reader(field: string): (entry: Entry) => JsonValue | undefined {
  const [part, name] = partsOf(field);
  return part === 'metadata' ? ({ metadata }) => metadata[name] : ({ data }) => data[name];
}

const partsOf = (field: string) => field.split('.') as ['metadata' | 'data', string];

/**
 * The range of a time field in which the store searches. The store cannot search by times other than `write_ts` and
 * `ts`: then all entries of the keys are read.
 */
function searched(field: string, range: TimeRange): Pick<Selection, 'time' | 'from' | 'to' | 'derived'> {
  const [part, name] = partsOf(field);
  return {
    time: part === 'metadata' ? 'write_ts' : 'ts',
    derived: { time: name as DerivedTime, ...range },
    ...((name === 'write_ts' || name === 'ts') && { from: range.from, to: justAfter(range.to) }),
  };
}

/** Selects entries whose field `key_time` is between `start_time` and `end_time`, both included. */
function byTimestamp({ start_time: from, end_time: to, key_time: name }: JsonObject): TimeSelection {
  if (typeof from !== 'number' || typeof to !== 'number')
    throw badRequest('expected "start_time" and "end_time" as numbers');
  const field = oneOf(timeNames, 'key_time', name ?? 'metadata.write_ts');
  const timeOf = reader(field);
  const matches = (entry: Entry): boolean => {
    const ts = timeOf(entry);
    return typeof ts === 'number' && ts >= from && ts <= to;
  };
  return { ...searched(field, { from, to }), matches };
}

/** Selects entries whose field `key_local_date` is from `from_local_date` to `to_local_date`, both included. */
function byLocalDate(body: JsonObject): TimeSelection {
  const days = daysBetween(body.from_local_date, body.to_local_date, ['from_local_date', 'to_local_date']);
  const dateField = oneOf(dateNames, 'key_local_date', body.key_local_date ?? 'metadata.write_local_dt');
  const field = timeNames[dateNames.indexOf(dateField)]!;
  const [timeOf, dateOf] = [reader(field), reader(dateField)];
  const matches = (entry: Entry): boolean => {
    const ts = timeOf(entry);
    // Leaves out the first and the last day of the calendar: whether their local day exists depends on the zone.
    if (typeof ts !== 'number' || ts < minTime + 86_400 || ts > maxTime - 86_400) return false;
    const local = dateOf(entry);
    const zone = isJsonObject(local) && isTimeZone(local.timezone) ? local.timezone : entry.metadata.time_zone;
    const day = localDay(ts, isTimeZone(zone) ? zone : 'UTC');
    return day >= days.from && day <= days.to;
  };
  // No zone differs from UTC by more than a day.
  const range = { from: startOfDay(days.from, 'UTC') - 86_400, to: startOfDay(days.to, 'UTC') + 2 * 86_400 };
  return { ...searched(field, range), matches };
}

function oneOf(fields: readonly string[], name: string, asked: JsonValue): string {
  if (typeof asked === 'string' && fields.includes(asked)) return asked;
  throw badRequest(`expected "${name}" to be one of ${fields.join(', ')}`);
}

function answer({ caller, body, store }: RouteCall, time: TimeSelection): AsyncIterable<string> {
  const asked = body.max_entries as number | null | undefined;
  const entries = findEntries(store, caller.uuid, {
    ...time,
    suggestions: suggestionSettings,
    ...(Array.isArray(body.key_list) && { keys: body.key_list as string[] }),
    max: Math.min(asked ?? maxFoundEntries, maxFoundEntries),
    keep: asked == null ? 'first' : ((body.trunc_method ?? 'sample') as Selection['keep']),
  });
  return phoneData(caller.uuid, entries);
}

const pieceLength = 64 * 1024; // characters sent at once

/** Yields `{"phone_data": […], "truncated": …}` in pieces. */
async function* phoneData(userId: string, found: AsyncIterable<FoundEntry>): AsyncGenerator<string> {
  const user = uuidValue(userId);
  let piece = '{"phone_data":[';
  let separator = '';
  for await (const item of found) {
    if ('truncated' in item) {
      piece += `],"truncated":${item.truncated}}`;
      break;
    }
    const { id = entryId(userId, item.entry.metadata), metadata, data } = item.entry;
    piece += separator + JSON.stringify({ _id: oid(id), user_id: user, metadata, data });
    separator = ',';
    if (piece.length >= pieceLength) {
      yield piece;
      piece = '';
    }
  }
  yield piece;
}
