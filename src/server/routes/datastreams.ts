// The caller's entries by key and time, as pushed or as converted.

import { suggestionSettings } from '../../diary/labels/suggest.ts';
import { type FoundEntry, findEntries, type Selection } from '../../emission/find-entries.ts';
import { daysBetween } from '../../emission/local-dates.ts';
import type { DerivedTime } from '../../emission/read-derived.ts';
import type { Entry } from '../../model/entry.ts';
import { oid, uuidValue } from '../../model/extended-json.ts';
import { entryId } from '../../model/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { isTimeZone, justAfter, localDay, maxTime, minTime, startOfDay } from '../../model/time.ts';
import { badRequest } from '../problem.ts';
import { arrayOf, objectOf, schemas, values } from '../schemas.ts';
import type { Route, RouteCall } from './route.ts';

/** The most entries of one answer. */
const maxFoundEntries = 250_000;

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

interface TimeField {
  /** The time by which the store reads the entries. */
  time: 'write_ts' | 'ts';
  /** The value of the field. An entry whose value is not a number is left out. */
  of: (entry: Entry) => JsonValue | undefined;
  /** The name of the field in entries that are derived from trips. */
  derived: DerivedTime;
  /** True if the store cannot search by the field, so all entries of the keys must be read. */
  scan?: true;
}

const timeField = (name: DerivedTime, scan?: true): [string, TimeField] => [
  `data.${name}`,
  { time: 'ts', derived: name, of: (entry) => entry.data[name], ...(scan && { scan }) },
];

const timeFields: Readonly<Record<string, TimeField>> = {
  'metadata.write_ts': { time: 'write_ts', derived: 'write_ts', of: (entry) => entry.metadata.write_ts },
  ...Object.fromEntries([
    timeField('ts'),
    ...(['start_ts', 'end_ts', 'enter_ts', 'exit_ts'] as const).map((name) => timeField(name, true)),
  ]),
};

interface DateField {
  /** The time field that belongs to the date field. */
  time: string;
  /** The local date with its time zone. */
  date: (entry: Entry) => JsonValue | undefined;
}

const dateFields: Readonly<Record<string, DateField>> = {
  'metadata.write_local_dt': { time: 'metadata.write_ts', date: (entry) => entry.metadata.write_local_dt },
  ...Object.fromEntries(
    ['', 'start_', 'end_', 'enter_', 'exit_'].map((prefix): [string, DateField] => [
      `data.${prefix}local_dt`,
      { time: `data.${prefix}ts`, date: (entry) => entry.data[`${prefix}local_dt`] },
    ]),
  ),
};

/** Selects entries whose field `key_time` is between `start_time` and `end_time`, both included. */
function byTimestamp({ start_time: from, end_time: to, key_time: name }: JsonObject): TimeSelection {
  if (typeof from !== 'number' || typeof to !== 'number')
    throw badRequest('expected "start_time" and "end_time" as numbers');
  const field = fieldOf(timeFields, 'key_time', name ?? 'metadata.write_ts');
  const matches = (entry: Entry): boolean => {
    const ts = field.of(entry);
    return typeof ts === 'number' && ts >= from && ts <= to;
  };
  return {
    time: field.time,
    derived: { time: field.derived, from, to },
    ...(!field.scan && { from, to: justAfter(to) }),
    matches,
  };
}

/** Selects entries whose field `key_local_date` is from `from_local_date` to `to_local_date`, both included. */
function byLocalDate(body: JsonObject): TimeSelection {
  const days = daysBetween(body.from_local_date, body.to_local_date, ['from_local_date', 'to_local_date']);
  const { time, date } = fieldOf(dateFields, 'key_local_date', body.key_local_date ?? 'metadata.write_local_dt');
  const field = timeFields[time]!;
  const matches = (entry: Entry): boolean => {
    const ts = field.of(entry);
    // Leaves out the first and the last day of the calendar: whether their local day exists depends on the zone.
    if (typeof ts !== 'number' || ts < minTime + 86_400 || ts > maxTime - 86_400) return false;
    const local = date(entry);
    const zone = isJsonObject(local) && isTimeZone(local.timezone) ? local.timezone : entry.metadata.time_zone;
    const day = localDay(ts, isTimeZone(zone) ? zone : 'UTC');
    return day >= days.from && day <= days.to;
  };
  // No zone differs from UTC by more than a day.
  const range = { from: startOfDay(days.from, 'UTC') - 86_400, to: startOfDay(days.to, 'UTC') + 2 * 86_400 };
  return { time: field.time, derived: { time: field.derived, ...range }, ...(!field.scan && range), matches };
}

function fieldOf<Field>(fields: Readonly<Record<string, Field>>, name: string, asked: JsonValue): Field {
  const field = typeof asked === 'string' && Object.hasOwn(fields, asked) ? fields[asked] : undefined;
  if (field === undefined) throw badRequest(`expected "${name}" to be one of ${Object.keys(fields).join(', ')}`);
  return field;
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
