// Recovers errors: puts them back into the usercache and moves them, until a round changes nothing.
import { shippedSegmenter } from '../analysis/segment.ts';
import { isEntry, takeEntry, tooManyKeys } from '../intake/check-entry.ts';
import { convert } from '../intake/converters/convert.ts';
import { beyondBounds } from '../intake/stated-times.ts';
import type { Entry } from '../model/entry.ts';
import { isJsonObject } from '../model/json.ts';
import { type HeldLease, withLease } from '../pipeline/lease.ts';
import { moveToLongTerm } from '../pipeline/move-to-long-term.ts';
import type { PipelineOptions } from '../pipeline/run-pipeline.ts';
import { runStage } from '../pipeline/stage.ts';
import { errorPages } from '../store/paging.ts';
import type { ErrorRow, Store } from '../store/store.ts';

export interface RecoverOptions extends PipelineOptions {
  /** Only errors with this key. */
  key?: string;
  reason?: string;
  platform?: string;
  dryRun?: boolean;
}

export interface RemoveOptions extends Pick<RecoverOptions, 'key' | 'reason' | 'platform' | 'dryRun'> {
  /** Only errors whose last failure was before this time, seconds since the epoch. */
  before: number;
}

/** The result of a recovery for a user. */
export interface RecoverReport {
  user_id: string;
  /** The number of errors that were checked. */
  tried: number;
  /** The number of errors that the converters accept now. Unless it was a dry run, these were moved. */
  recovered: number;
  rounds: number;
  /** The errors that remain, by key and reason. */
  remaining: { key: string | null; reason: string; count: number }[];
}

const pageSize = 1000;

/**
 * Recovers every error of the user that intake and converters accept now, and moves it to the timeseries. Errors that
 * would fail again stay. After an interruption, each entry is in at least one place, and the next call continues.
 * Throws `MOBILITY_LEASE_HELD` if a pipeline run holds the user.
 */
export async function recoverErrors(store: Store, userId: string, options: RecoverOptions): Promise<RecoverReport> {
  const report: RecoverReport = { user_id: userId, tried: 0, recovered: 0, rounds: 0, remaining: [] };
  const recoverAll = async ({ current: lease }: HeldLease): Promise<void> => {
    const { log, now } = options;
    for (report.rounds = 1; (await takeRound(store, userId, options, report)) > 0; report.rounds += 1) {
      const state = await store.pipeline.get(userId);
      // the move does not use these
      const rest = { changedTrips: null, segmenter: shippedSegmenter, feeds: null, reanalyseFrom: null };
      await runStage(moveToLongTerm, { store, userId, lease, log, now, started: now(), state, ...rest });
    }
  };
  if (options.dryRun) await takeRound(store, userId, options, report);
  else await withLease(store, userId, options, recoverAll);
  report.remaining = await store.errors.summary(userId);
  return report;
}

/** Removes errors permanently. Returns how many were removed; in a dry run: would be. */
export async function removeErrors(
  store: Store,
  userId: string,
  { before, dryRun, platform, ...which }: RemoveOptions,
): Promise<number> {
  let removed = 0;
  for await (const rows of errorPages(store, userId, { ...which, limit: pageSize })) {
    const old = rows.filter((row) => row.last_ts < before && isOf(row, platform)).map(({ id }) => id);
    removed += dryRun || old.length === 0 ? old.length : await store.errors.remove(userId, old);
  }
  return removed;
}

/** One round over the errors. Returns how many were put back into the usercache; in a dry run: could be. */
async function takeRound(
  store: Store,
  userId: string,
  options: RecoverOptions,
  report: RecoverReport,
): Promise<number> {
  const { key, reason } = options;
  const which = { key, reason, limit: pageSize };
  let recovered = 0;
  for await (const page of errorPages(store, userId, which)) {
    const rows = page.filter((row) => isOf(row, options.platform));
    // If several errors have one identity, the store takes the first.
    const newestFirst = rows.toSorted((a, b) => b.last_ts - a.last_ts);
    const usable = newestFirst.flatMap((row) => {
      const entry = acceptedEntry(row);
      return entry ? [{ id: row.id, entry }] : [];
    });
    if (report.rounds <= 1) report.tried += rows.length;
    recovered += options.dryRun ? usable.length : await store.errors.recover(userId, usable);
  }
  report.recovered += recovered;
  return recovered;
}

/** The entry if intake and converters accept it now; else null. */
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
 * The entry of an error if the intake accepts it. An entry that passed the intake before is returned unchanged: its
 * times are seconds already and must not be converted again.
 */
function usableEntry({ identity, entry, reason }: ErrorRow): Entry | null {
  if (identity !== null) return entry as unknown as Entry;
  const taken = takeEntry(entry);
  if (!isEntry(taken)) return null;
  return reason === tooManyKeys ? (entry as unknown as Entry) : taken;
}

/** The platform in the metadata of an entry; null: none. */
export function platformOf({ entry }: Pick<ErrorRow, 'entry'>): string | null {
  const metadata = isJsonObject(entry) && isJsonObject(entry.metadata) ? entry.metadata : {};
  return typeof metadata.platform === 'string' ? metadata.platform : null;
}

const isOf = (row: ErrorRow, platform: string | undefined): boolean =>
  platform === undefined || platformOf(row) === platform;
