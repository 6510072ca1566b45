import { dirtyState, isDirty, unionOf } from '../../model/dirty-range.ts';
import type { Entry } from '../../model/entry.ts';
import type { JsonValue } from '../../model/json.ts';
import { affectsOf, figureKeys } from '../../model/keys.ts';
import { errorIdOf } from '../../model/rejections.ts';
import { justBefore, type TimeRange, zoneNamed } from '../../model/time.ts';
import { dueTime, type PendingEntry, readBatch, replaceBatch } from '../chunks/batch.ts';
import type { StoredEntry } from '../chunks/chunk.ts';
import type { Engine, Rows } from '../rows/rows.ts';
import { sumOf } from '../rows/sums.ts';
import { type AccountRow, type BatchRow, batches, errors, months } from '../rows/tables.ts';
import type { FailedEntry, Judge, Moved, PipelineState, Usercache } from '../store.ts';
import { putAccount, stateIn, underLease, withState } from './accounts.ts';
import type { ChunkCache, UserRows, WritableUserRows } from './chunk-cache.ts';
import { type ChunkEdit, planEdit, replaceChunks } from './edit-chunks.ts';
import { failedRow } from './error-rows.ts';
import { zonelessSpan, zonesAround } from './timeseries.ts';

/**
 * Moves up to `limit` entries in one transaction, see `Usercache.move`:
 *
 *     batches            entries, by put        judge        to
 *     1  due             a  b                   a: ts 100    chunks, dirty range 100..100
 *                                               b: reason    errors
 *     2  c due, d later  c  d                   c: ts 40     chunks, dirty range 40..100
 *                                               d: -         not due: stays alone in batch 2
 *
 * Batch 1 is removed. An earlier error of `a` or `c` is removed with it.
 */
export async function move(
  engine: Engine,
  cache: ChunkCache,
  ...[userId, part, lease, judge]: Parameters<Usercache['move']>
): Promise<Moved> {
  const plan = (rows: Rows) => planMove({ rows, cache, user: userId }, part, judge);
  // A plan takes most of the time of a move. Outside of the transaction, it delays no other user.
  const early = engine.writesWait ? await engine.read(plan) : null;
  const { moved, written } = await engine.write(userId, async (rows) => {
    const account = await underLease(rows, userId, lease);
    const { due, more, accepted, recovered, failures, edit } =
      early !== null && (await isCurrent(rows, userId, early.due)) ? early : await plan(rows);
    const own = { rows, cache, user: userId };
    const written = await replaceChunks(rows, edit);
    await updateErrors(own, recovered, failures, part.at);
    await removeDue(own, due, part.at);
    const dirty = { ...edit.dirty };
    dirty.changed = unionOf(dirty.changed, await zoneChange(own, account, edit));
    const zones = zoneFlags(account, accepted);
    const before = stateIn(account);
    const state: Partial<PipelineState> = isDirty(dirty) ? dirtyState(before, dirty) : {};
    if (before.months !== null && [...accepted, ...failures].some(({ entry }) => affectsFigures(entry))) {
      await rows.remove(months, { user: userId });
      state.months = null;
    }
    if (accepted.length + failures.length > 0) state.moved_ts = part.at;
    if (accepted.length > 0) state.converted_ts = part.at;
    await putAccount(rows, account, { ...withState(account, state), ...zones });
    const { inserted, updated, unchanged } = edit;
    const failed = failures.map(({ key, write_ts, reason, message }) => ({ key, write_ts, reason, message }));
    const identities = accepted.map(({ entry: { metadata }, write_ts }) => ({ key: metadata.key, write_ts }));
    return { moved: { moved: identities, inserted, updated, unchanged, failed, dirty, more }, written };
  });
  for (const { row, entries, sum } of written) cache.keep({ ...row, sum }, entries);
  return moved;
}

/** Finds out what a move will change. `more`: more entries are due than the move takes. */
async function planMove(own: UserRows, part: Parameters<Usercache['move']>[1], judge: Judge) {
  const { due, more } = await dueBatches(own.rows, own.user, part);
  const judged = judgeAll(due, part.at, judge);
  return { due, more, ...judged, edit: await planEdit(own, judged.accepted, judged.failures) };
}

/** True if no put has changed the batches of the plan. The lease keeps others from changing chunks. */
async function isCurrent(rows: Rows, user: string, due: readonly BatchRow[]): Promise<boolean> {
  const where = { user, id: { in: due.map(({ id }) => id) } };
  const found = await rows.find(batches, { where, order: ['id'] }, ['sum']);
  return found.length === due.length && due.every((row, i) => found[i]!.sum === sumOf(batches, row));
}

/** The most batches of one move. Otherwise a move could read `limit` batches of one entry each. */
const mostBatches = 200;

/** Finds the oldest batches with due entries, with up to `limit` entries together. */
async function dueBatches(rows: Rows, user: string, { at, limit }: Parameters<Usercache['move']>[1]) {
  const due: BatchRow[] = [];
  let count = 0;
  // Reads few batches in the first steps, because usually only one is pending.
  for (let step = 2; ; step *= 4) {
    const where = { user, due_ts: { lte: at }, id: { gt: due.at(-1)?.id ?? 0 } };
    const found = await rows.find(batches, { where, order: ['id'], limit: step });
    for (const row of found) {
      if (due.length === mostBatches || (due.length > 0 && count + row.count > limit)) return { due, more: true };
      due.push(row);
      count += row.count;
    }
    if (found.length < step) return { due, more: false };
  }
}

async function removeDue({ rows, user }: WritableUserRows, due: readonly BatchRow[], at: number): Promise<void> {
  for (const row of due) {
    if (row.due_ts > 0) await replaceBatch(rows, row, (_, one) => dueTime(one) > at);
  }
  const done = due.filter(({ due_ts }) => due_ts === 0).map(({ id }) => id);
  if (done.length > 0) await rows.remove(batches, { user, id: { in: done } });
}

type Failure = FailedEntry & PendingEntry;

/** Judges the due entries. `recovered`: ids of errors whose entries are accepted now. */
function judgeAll(due: readonly BatchRow[], at: number, judge: Judge) {
  const accepted: StoredEntry[] = [];
  const recovered: string[] = [];
  const failures: Failure[] = [];
  for (const one of due.flatMap((row) => readBatch(row).list)) {
    if (dueTime(one) > at) continue;
    const { entry, received_ts, failed } = one;
    const { key, write_ts } = entry.metadata;
    const verdict = judge(entry);
    if ('reason' in verdict) failures.push({ key, write_ts, ...verdict, ...one });
    else {
      accepted.push({ write_ts, ts: verdict.ts, received_ts, entry });
      if (failed !== null) recovered.push(errorIdOf(entry.metadata));
    }
  }
  return { accepted, recovered, failures };
}

async function updateErrors(
  { rows, user }: WritableUserRows,
  recovered: readonly string[],
  failures: readonly Failure[],
  now: number,
): Promise<void> {
  if (recovered.length > 0) await rows.remove(errors, { user, id: { in: recovered } });
  const put = failures.map(({ key, write_ts, reason, message, entry, ...history }) => {
    const failure = { identity: { key, write_ts }, entry: entry as unknown as JsonValue, reason, message };
    return failedRow(user, failure, history, now);
  });
  await rows.put(errors, put);
}

/**
 * Finds the range of data times whose time zone may have changed; null: none. Entries without a
 * zone get the zone of the nearest entries that name one. So a new, changed or removed zone makes
 * the pipeline analyse this range again: otherwise the diary would depend on the order of arrival.
 */
async function zoneChange(own: UserRows, account: AccountRow, { rezoned }: ChunkEdit): Promise<TimeRange | null> {
  if (!account.zoneless || rezoned.length === 0) return null;
  const first = rezoned.reduce((a, b) => Math.min(a, b));
  const last = rezoned.reduce((a, b) => Math.max(a, b));
  const { before } = await zonesAround(own, justBefore(first));
  const { after } = await zonesAround(own, last);
  const { MAX_VALUE } = Number;
  return zonelessSpan(own, { from: before?.write_ts ?? -MAX_VALUE, to: after?.write_ts ?? MAX_VALUE });
}

const affectsFigures = ({ metadata }: Entry): boolean => figureKeys.includes(metadata.key);

function zoneFlags(account: AccountRow, accepted: readonly StoredEntry[]): Pick<AccountRow, 'zoned' | 'zoneless'> {
  const isZoned = accepted.some(({ entry }) => zoneNamed(entry) !== null);
  const isZoneless = accepted.some(
    ({ entry }) => zoneNamed(entry) === null && affectsOf(entry.metadata.key) === 'trips',
  );
  return { zoned: account.zoned || Number(isZoned), zoneless: account.zoneless || Number(isZoneless) };
}
