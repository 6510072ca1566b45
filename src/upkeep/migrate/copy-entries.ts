// Entries from store to store: those that wait, those that were set aside, those of the long term.
import { meaningOf } from '../../converters/convert.ts';
import { dataTime, type Entry } from '../../model/entry.ts';
import { idOf } from '../../model/ids.ts';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { everyError } from '../../store/pages.ts';
import type { ErrorRow, WaitingEntry } from '../../store/store.ts';
import { addTally, compare, emptyTally, type Pair, type Tally } from './pairs.ts';
import { timeseriesKeys, timeseriesOf, waitingKeys, waitingOf } from './streams.ts';
import { mending, toRemove, toWrite, type UserCopy } from './user-copy.ts';

const contentOf = ({ metadata, data }: Entry): JsonValue => [metadata as JsonValue, data];

/** Copies what waits. It comes before the errors: an entry that leaves the usercache takes its error with it. */
export async function copyWaiting(copy: UserCopy): Promise<Tally> {
  const { userId, from, to } = copy;
  const sum = emptyTally();
  for (const key of new Set([...(await waitingKeys(from, userId)), ...(await waitingKeys(to, userId))])) {
    const sides = {
      source: waitingOf(from, userId, key),
      target: waitingOf(to, userId, key),
      place: ({ entry }: WaitingEntry) => entry.metadata.write_ts,
      content: ({ entry, failed }: WaitingEntry) =>
        jsonText([contentOf(entry), failed ? [failed.first_ts, failed.tries] : null]),
    };
    addTally(
      sum,
      await compare(
        sides,
        mending<WaitingEntry>(copy, (pairs) => mendWaiting(copy, pairs)),
      ),
    );
  }
  return sum;
}

async function mendWaiting({ userId, to }: UserCopy, pairs: readonly Pair<WaitingEntry>[]): Promise<void> {
  // What is known of earlier failures comes with taking an error back, and only where nothing waits yet.
  const leaving = pairs.filter(({ source, target, same }) => !same && (!source || source.failed || target?.failed));
  const moved = leaving.flatMap(({ target }) => {
    if (target === null) return [];
    const { key, write_ts } = target.entry.metadata;
    return [{ key, write_ts, revision: target.revision }];
  });
  if (moved.length > 0) await to.usercache.settle(userId, { moved, failed: [] }, 0);
  const wanted = toWrite(pairs);
  const entries = wanted.filter(({ failed }) => failed === undefined).map(({ entry }) => entry);
  if (entries.length > 0) await to.usercache.put(userId, { entries, unusable: [] }, 0);
  const back = wanted.filter(({ failed }) => failed !== undefined).map((row) => ({ ...row, error: asError(row) }));
  if (back.length === 0) return;
  await to.errors.apply(userId, { put: back.map(({ error }) => error), remove: [] });
  await to.errors.takeBack(
    userId,
    back.map(({ error, entry }) => ({ id: error.id, entry })),
  );
}

/** The error that a waiting entry is taken back from. Should it stay behind, the comparison of errors removes it. */
function asError({ entry, failed }: WaitingEntry): ErrorRow {
  const { key, write_ts } = entry.metadata;
  const { first_ts, tries } = failed!;
  return {
    id: idOf('waiting', key, write_ts),
    entry: entry as unknown as JsonValue,
    identity: { key, write_ts },
    reason: '',
    message: '',
    first_ts,
    last_ts: first_ts,
    tries,
  };
}

/** Copies what was set aside, with since when and how often. */
export async function copyErrors(copy: UserCopy): Promise<Tally> {
  const { userId, from, to } = copy;
  const sides = {
    source: everyError(from, userId),
    target: everyError(to, userId),
    place: ({ id }: ErrorRow) => id,
    content: ({ entry, identity, reason, message, first_ts, last_ts, tries }: ErrorRow) => {
      const place = identity && [identity.key, identity.write_ts];
      return jsonText([entry, place, reason, message, first_ts, last_ts, tries]);
    },
  };
  const mend = mending<ErrorRow>(copy, (pairs) =>
    to.errors.apply(userId, { put: toWrite(pairs), remove: toRemove(pairs).map(({ id }) => id) }),
  );
  return compare(sides, mend);
}

/** Copies the timeseries. What that marks as changed in the pipeline state goes when the state is copied. */
export async function copyTimeseries(copy: UserCopy): Promise<Tally> {
  const { userId, from, to } = copy;
  const sum = emptyTally();
  for (const key of new Set([...(await timeseriesKeys(from, userId)), ...(await timeseriesKeys(to, userId))])) {
    const sides = {
      source: timeseriesOf(from, userId, key),
      target: timeseriesOf(to, userId, key),
      place: ({ metadata }: Entry) => metadata.write_ts,
      content: (entry: Entry) => jsonText(contentOf(entry)),
    };
    const mend = mending<Entry>(copy, (pairs, lease) => {
      const remove = toRemove(pairs).map(({ metadata: { key, write_ts } }) => ({ key, write_ts }));
      const put = toWrite(pairs).map((entry) => ({ entry, ts: dataTime(meaningOf(entry).data) }));
      return to.timeseries.apply(userId, { put, remove }, lease);
    });
    addTally(sum, await compare(sides, mend));
  }
  return sum;
}
