// A round puts the rejected entries that are accepted now into the usercache and moves them. Rounds
// are repeated until no more entry is accepted.
import { shippedSegmenter } from '../analysis/segment.ts';
import { checkEntry, isEntry, tooManyKeys } from '../intake/check-entry.ts';
import { convert } from '../intake/converters/convert.ts';
import { beyondBounds } from '../intake/stated-times.ts';
import type { Entry } from '../model/entry.ts';
import { isJsonObject } from '../model/json.ts';
import { compareTexts } from '../model/text-order.ts';
import { type HeldLease, withLease } from '../pipeline/lease.ts';
import { moveToLongTerm } from '../pipeline/move-to-long-term.ts';
import type { PipelineOptions } from '../pipeline/run-pipeline.ts';
import { runStage } from '../pipeline/stage.ts';
import { errorPages } from '../store/paging.ts';
import type { ErrorRow, Store } from '../store/store.ts';

/** `key`, `reason` and `platform` select rejected entries. */
export interface RecoverOptions extends PipelineOptions {
  key?: string;
  reason?: string;
  platform?: string;
  dryRun?: boolean;
}

/** `tried` counts each entry once, although each round tries all rejected entries, also new ones. */
export interface RecoverReport {
  user_id: string;
  tried: number;
  recovered: number;
  rounds: number;
  remaining: { key: string | null; reason: string; count: number }[];
}

const pageSize = 1000; // errors that are read at once

/**
 * Moves to the timeseries every rejected entry of the user that intake and converters accept now.
 * Other entries stay rejected. An interruption loses no entry, and the next call continues. Throws
 * `MOBILITY_LEASE_HELD` if a pipeline run holds the user.
 */
export async function recoverErrors(store: Store, userId: string, options: RecoverOptions): Promise<RecoverReport> {
  const report: RecoverReport = { user_id: userId, tried: 0, recovered: 0, rounds: 0, remaining: [] };
  const tried = new Set<string>();
  const recoverAll = async ({ current: lease }: HeldLease): Promise<void> => {
    const { log, now } = options;
    for (report.rounds = 1; (await takeRound(store, userId, options, report, tried)) > 0; report.rounds += 1) {
      const state = await store.pipeline.get(userId);
      // The type requires these fields, but this stage does not use them.
      const rest = { changedTrips: null, segmenter: shippedSegmenter, feeds: null, reanalyseFrom: null };
      await runStage(moveToLongTerm, { store, userId, lease, log, now, started: now(), state, ...rest });
    }
  };
  if (options.dryRun) await takeRound(store, userId, options, report, tried);
  else await withLease(store, userId, options, recoverAll);
  report.remaining = await readRemaining(store, userId);
  return report;
}

async function readRemaining({ users }: Store, userId: string): Promise<RecoverReport['remaining']> {
  const [figures] = await users.figures({ uuid: userId });
  const left = (figures?.set_aside ?? []).map(({ key, reason, count }) => ({ key, reason, count }));
  return left.sort((a, b) => compareTexts(a.key ?? '', b.key ?? '') || compareTexts(a.reason, b.reason));
}

/** Deletes entries whose last rejection was before `before`. Returns their number. */
export async function removeErrors(store: Store, userId: string, before: number): Promise<number> {
  let removed = 0;
  for await (const rows of errorPages(store, userId, { limit: pageSize })) {
    const old = rows.filter((row) => row.last_ts < before).map(({ id }) => id);
    if (old.length > 0) removed += await store.errors.remove(userId, old, before);
  }
  return removed;
}

/** Returns the number of entries that were put into the usercache. */
async function takeRound(
  store: Store,
  userId: string,
  options: RecoverOptions,
  report: RecoverReport,
  tried: Set<string>,
): Promise<number> {
  const { key, reason, platform } = options;
  const which = { key, reason, limit: pageSize };
  let recovered = 0;
  for await (const page of errorPages(store, userId, which)) {
    const rows = page.filter((row) => platform === undefined || platformOf(row) === platform);
    // Of entries with one identity, the store recovers the first, so the newest comes first.
    const newestFirst = rows.toSorted((a, b) => b.last_ts - a.last_ts);
    const usable = newestFirst.flatMap((row) => {
      const entry = acceptedEntry(row);
      return entry ? [{ ...row, entry }] : [];
    });
    for (const { id } of rows) tried.add(id);
    report.tried = tried.size;
    recovered += options.dryRun ? usable.length : await store.errors.recover(userId, usable);
  }
  report.recovered += recovered;
  return recovered;
}

function acceptedEntry(row: ErrorRow): Entry | null {
  const entry = usableEntry(row);
  if (entry === null) return null;
  try {
    convert(entry);
    return beyondBounds(entry, row.received_ts) === null ? entry : null;
  } catch {
    return null;
  }
}

/**
 * Returns null if the intake does not accept the entry. An entry with an identity passed the intake
 * before, so its times are in seconds already and must not be converted again.
 */
function usableEntry({ identity, entry, reason }: ErrorRow): Entry | null {
  if (identity !== null) return entry as unknown as Entry;
  const checked = checkEntry(entry);
  if (!isEntry(checked)) return null;
  return reason === tooManyKeys ? (entry as unknown as Entry) : checked;
}

export function platformOf({ entry }: Pick<ErrorRow, 'entry'>): string | null {
  const metadata = isJsonObject(entry) && isJsonObject(entry.metadata) ? entry.metadata : {};
  return typeof metadata.platform === 'string' ? metadata.platform : null;
}
