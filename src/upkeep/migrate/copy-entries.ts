// Copies entries from store to store: usercache, error timeseries and timeseries.
import { meaningOf } from '../../converters/convert.ts';
import { dataTime } from '../../model/entry.ts';
import { idOf } from '../../model/ids.ts';
import type { JsonValue } from '../../model/json.ts';
import { errorContent, keptContent, waitingContent } from '../../store/content.ts';
import { everyError } from '../../store/pages.ts';
import type { ErrorRow, WaitingEntry } from '../../store/store.ts';
import { addTally, compare, emptyTally, type Pair, type Tally } from './pairs.ts';
import { type Received, timeseriesKeys, timeseriesOf, waitingKeys, waitingOf } from './streams.ts';
import { mending, toRemove, toWrite, type UserCopy } from './user-copy.ts';

/** Copies what waits. It comes before the errors: an entry that leaves the usercache takes its error with it. */
export async function copyWaiting(copy: UserCopy): Promise<Tally> {
  const { userId, from, to } = copy;
  const sum = emptyTally();
  for (const key of new Set([...(await waitingKeys(from, userId)), ...(await waitingKeys(to, userId))])) {
    const sides = {
      source: waitingOf(from, userId, key),
      target: waitingOf(to, userId, key),
      place: ({ entry }: WaitingEntry) => entry.metadata.write_ts,
      content: waitingContent,
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
  const leaving = pairs.filter(
    ({ source, target, same }) => !same && (!source || source.failed || target?.failed || target?.kept),
  );
  const moved = leaving.flatMap(({ target }) => {
    if (target === null) return [];
    const { key, write_ts } = target.entry.metadata;
    return [{ key, write_ts, revision: target.revision }];
  });
  if (moved.length > 0) await to.usercache.settle(userId, { moved, failed: [] }, 0);
  const wanted = toWrite(pairs);
  for (const kept of [false, true]) {
    const some = wanted.filter((row) => row.failed === undefined && (row.kept ?? false) === kept);
    if (some.length === 0) continue;
    const entries = some.map(({ entry }) => entry);
    const received_ts = some.map((row) => row.received_ts);
    await to.usercache.put(userId, { entries, unusable: [], received_ts, ...(kept && { kept }) }, 0);
  }
  const back = wanted.filter(({ failed }) => failed !== undefined).map((row) => ({ ...row, error: asError(row) }));
  if (back.length === 0) return;
  await to.errors.apply(userId, { put: back.map(({ error }) => error), remove: [] });
  await to.errors.takeBack(
    userId,
    back.map(({ error, entry }) => ({ id: error.id, entry })),
  );
}

/** The error that a waiting entry is taken back from. Should it stay behind, the comparison of errors removes it. */
function asError({ entry, failed, received_ts }: WaitingEntry): ErrorRow {
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
    received_ts,
  };
}

/** Copies what was set aside, with since when and how often. */
export async function copyErrors(copy: UserCopy): Promise<Tally> {
  const { userId, from, to } = copy;
  const sides = {
    source: everyError(from, userId),
    target: everyError(to, userId),
    place: ({ id }: ErrorRow) => id,
    content: errorContent,
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
      place: ({ entry: { metadata } }: Received) => metadata.write_ts,
      content: keptContent,
    };
    const mend = mending<Received>(copy, (pairs, lease) => {
      const remove = toRemove(pairs).map(
        ({
          entry: {
            metadata: { key, write_ts },
          },
        }) => ({ key, write_ts }),
      );
      const put = toWrite(pairs).map((row) => ({ ...row, ts: dataTime(meaningOf(row.entry).data) }));
      return to.timeseries.apply(userId, { put, remove }, lease);
    });
    addTally(sum, await compare(sides, mend));
  }
  return sum;
}
