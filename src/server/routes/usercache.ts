// What phones push, and the documents they pull.
import { takeEntry } from '../../intake/check-entries.ts';
import type { Log } from '../../log/log.ts';
import { line, type PutCounts } from '../../log/messages.ts';
import type { EntryText } from '../../model/entry.ts';
import { errorText } from '../../model/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { keys } from '../../model/keys.ts';
import type { Document, PutResult, UnusableEntry } from '../../store/store.ts';
import { tooLarge } from '../problem.ts';
import { schemas } from '../schemas.ts';
import type { Route, RouteCall } from './route.ts';

/** Entries stored in one transaction. Phones send 10,000 at most; a larger batch is stored in parts, so that it holds up nobody. */
export const maxTransactionEntries = 20_000;

/** Entries of one put: each leaves a line in the log. */
export const maxPutEntries = 1_000_000;

export const usercacheRoutes: readonly Route[] = [
  {
    path: '/usercache/put',
    handler: 'userCache.put',
    caller: 'registered',
    body: schemas.put,
    list: { name: 'phone_to_server', read: takeEntry },
    answer: put,
  },
  {
    path: '/usercache/putone',
    handler: 'userCache.putone',
    caller: 'registered',
    body: schemas.putOne,
    answer: putOne,
  },
  { path: '/usercache/get', handler: 'userCache.get', caller: 'registered', answer: get },
];

/** What was pushed, after the look at each on its own. */
type Taken = EntryText | UnusableEntry;

async function put(call: RouteCall): Promise<PutCounts> {
  const pushed = call.body.phone_to_server as unknown as Taken[];
  if (pushed.length > maxPutEntries) {
    throw tooLarge(`expected at most ${maxPutEntries} entries in one put, found ${pushed.length}`, {
      limit_entries: maxPutEntries,
    });
  }
  return store(call, pushed);
}

async function putOne(call: RouteCall): Promise<object> {
  return { putone: true, ...(await store(call, [takeEntry(call.body.the_entry!, null)])) };
}

/** Stores a batch, part by part, and logs what became of each entry. Resolves when all of it is durable. */
async function store(call: RouteCall, pushed: readonly Taken[]): Promise<PutCounts> {
  const { caller, now, log } = call;
  const counts = { inserted: 0, updated: 0, rejected: 0 };
  const seen = newest();
  let start = 0;
  do {
    const batch = batchOf(pushed.slice(start, start + maxTransactionEntries));
    start += maxTransactionEntries;
    seen.add(batch.entries);
    const storing = call.store.usercache.put(caller.uuid, batch, now());
    // Asked for in the same turn as the last part, the note shares its commit: a small put waits for the disk only once.
    const noting = start < pushed.length ? null : noteInProfile(call, { last_put_ts: now(), ...seen.fields() });
    const results = await storing;
    await noting;
    logEntries(log, caller.uuid, batch, results);
    for (const result of results) counts[result] += 1;
    counts.rejected += batch.unusable.length;
  } while (start < pushed.length);
  log.write('INFO', line.putStored(caller.uuid, counts));
  return counts;
}

interface Batch {
  entries: EntryText[];
  unusable: UnusableEntry[];
}

function batchOf(pushed: readonly Taken[]): Batch {
  const batch: Batch = { entries: [], unusable: [] };
  for (const one of pushed) {
    if ('text' in one) batch.entries.push(one);
    else batch.unusable.push(one);
  }
  return batch;
}

function logEntries(log: Log, user: string, { entries, unusable }: Batch, results: readonly PutResult[]): void {
  if (log.enabled('DEBUG')) {
    log.writeAll(
      'DEBUG',
      entries.map(({ key, write_ts }, i) => line.entryStored(user, key, write_ts, results[i]!)),
    );
  }
  if (unusable.length > 0 && log.enabled('WARNING')) {
    log.writeAll(
      'WARNING',
      unusable.map(({ entry, reason }) => line.entryRejected(user, ...named(entry), reason)),
    );
  }
}

/** Key and `write_ts` of something unusable, as far as it names them. */
function named(entry: JsonValue): [key: string | null, writeTs: number | null] {
  const metadata = isJsonObject(entry) && isJsonObject(entry.metadata) ? entry.metadata : {};
  const { key, write_ts: writeTs } = metadata;
  return [
    typeof key === 'string' ? key : null,
    typeof writeTs === 'number' && Number.isFinite(writeTs) ? writeTs : null,
  ];
}

/** The newest times of a put, for the profile. */
function newest() {
  let data = Number.NEGATIVE_INFINITY;
  let location = Number.NEGATIVE_INFINITY;
  return {
    add: (entries: readonly EntryText[]): void => {
      for (const { key, write_ts, ts } of entries) {
        data = Math.max(data, write_ts);
        if (key === keys.location && ts !== null) location = Math.max(location, ts);
      }
    },
    fields: (): JsonObject => ({
      ...(Number.isFinite(data) && { last_phone_data_ts: data }),
      ...(Number.isFinite(location) && { last_location_ts: location }),
    }),
  };
}

/** What the profile tells about the last put. Never rejects: a failure here is none of the put. */
async function noteInProfile({ caller, store: { profiles }, log }: RouteCall, fields: JsonObject): Promise<void> {
  try {
    await profiles.merge(caller.uuid, fields);
  } catch (error) {
    log.write('WARNING', `Profile does not show this put: ${errorText(error)}`);
  }
}

async function get({ caller, store: { documents } }: RouteCall): Promise<object> {
  return { server_to_phone: (await documents.list(caller.uuid)).map(forPhone) };
}

/** A document as phones take it. An iOS phone crashes over any name in the metadata but the seven it knows. */
function forPhone({ key, write_ts, data }: Document): object {
  return { metadata: { key, type: 'document', write_ts }, data };
}
