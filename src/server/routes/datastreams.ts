// The caller's entries by key and time, as pushed or as converted.
import { suggestionSettings } from '../../diary/labels/suggest.ts';
import { type FoundEntry, findEntries, type Selection } from '../../emission/find-entries.ts';
import type { DerivedTime } from '../../emission/read-derived.ts';
import type { Entry } from '../../model/entry.ts';
import { oid, uuidValue } from '../../model/extended-json.ts';
import { entryId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { justAfter } from '../../model/time.ts';
import { badRequest } from '../problem.ts';
import { arrayOf, objectOf, values } from '../schemas.ts';
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

const asked = objectOf(
  {},
  {
    key_list: { ...values.names, type: ['array', 'null'] },
    start_time: values.number,
    end_time: values.number,
    key_time: values.textOrNull,
    max_entries: { type: ['integer', 'null'], minimum: 1 },
    trunc_method: { enum: ['first', 'last', 'sample', null] },
  },
);

export const datastreamRoutes: readonly Route[] = [
  {
    path: '/datastreams/find_entries/timestamp',
    summary: 'Returns entries of the caller by key and time',
    answers: found,
    fetches: true,
    body: asked,
    answer: async (call) => answer(call, byTimestamp(call.body)),
  },
];

/** The fields of a selection that concern time. */
type TimeSelection = Pick<Selection, 'time' | 'from' | 'to' | 'derived' | 'matches'>;

const timeNames = [
  'metadata.write_ts',
  'data.ts',
  ...['start_ts', 'end_ts', 'enter_ts', 'exit_ts'].map((name) => `data.${name}`),
];

/**
 * Selects entries whose field `key_time` is between `start_time` and `end_time`, both included. The store searches by
 * `write_ts` and `ts` only: for other times, all entries of the keys are read.
 */
function byTimestamp({ start_time: from, end_time: to, key_time: asked }: JsonObject): TimeSelection {
  if (typeof from !== 'number' || typeof to !== 'number')
    throw badRequest('expected "start_time" and "end_time" as numbers');
  const field = String(asked ?? 'metadata.write_ts');
  if (!timeNames.includes(field)) throw badRequest(`expected "key_time" to be one of ${timeNames.join(', ')}`);
  const [part, name] = field.split('.') as ['metadata' | 'data', string];
  const matches = (entry: Entry): boolean => {
    const ts = entry[part][name];
    return typeof ts === 'number' && ts >= from && ts <= to;
  };
  return {
    time: part === 'metadata' ? 'write_ts' : 'ts',
    derived: { time: name as DerivedTime, from, to },
    ...((name === 'write_ts' || name === 'ts') && { from, to: justAfter(to) }),
    matches,
  };
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
