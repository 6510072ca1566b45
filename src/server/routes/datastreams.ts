// Returns the caller's entries by key and time, as pushed or as converted.
import { type FoundEntry, findEntries, type Selection } from '../../emission/find-entries.ts';
import { oid, uuidValue } from '../../model/extended-json.ts';
import { entryId } from '../../model/ids.ts';
import { kindOf } from '../../model/json.ts';
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

export const datastreamRoutes: readonly Route[] = [
  {
    path: '/datastreams/find_entries/timestamp',
    summary: 'Returns entries of the caller by key and time',
    answers: found,
    fetches: true,
    body: objectOf(
      {},
      {
        key_list: { ...values.names, type: ['array', 'null'] },
        start_time: values.number,
        end_time: values.number,
        key_time: values.textOrNull,
        max_entries: { type: ['integer', 'null'], minimum: 1 },
        trunc_method: { enum: ['first', 'last', 'sample', null] },
      },
    ),
    answer,
  },
];

const timeNames = 'metadata.write_ts data.ts data.start_ts data.end_ts data.enter_ts data.exit_ts'.split(' ');

async function answer({ caller, body, store }: RouteCall): Promise<AsyncIterable<string>> {
  const { start_time: from, end_time: to, key_time: time, key_list: keys, max_entries: max } = body;
  if (typeof from !== 'number' || typeof to !== 'number')
    throw badRequest(`expected "start_time" and "end_time" as numbers, found ${kindOf(from)} and ${kindOf(to)}`);
  const field = String(time ?? 'metadata.write_ts');
  if (!timeNames.includes(field))
    throw badRequest(`expected "key_time" to be one of ${timeNames.join(', ')}, found another text`);
  const entries = findEntries(store, caller.uuid, {
    time: field.replace(/.*\./, '') as Selection['time'],
    from,
    to,
    ...(Array.isArray(keys) && { keys: keys as string[] }),
    max: Math.min((max as number | null | undefined) ?? maxFoundEntries, maxFoundEntries),
    keep: max == null ? 'first' : ((body.trunc_method ?? 'sample') as Selection['keep']),
  });
  return phoneData(caller.uuid, entries);
}

const pieceLength = 64 * 1024; // characters that are sent at once

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
