// Removes data that are older than a study keeps them: what phones sensed, the diary, or both. Remaining days are not
// derived again from the remaining data.
import { lookAround } from '../analysis/segmenter.ts';
import { keys } from '../model/keys.ts';
import { MobilityError } from '../model/mobility-error.ts';
import type { PipelineState, Retained } from '../model/pipeline-state.ts';
import { justAfter } from '../model/time.ts';
import type { TripRecord } from '../model/trip.ts';
import { withLease } from '../pipeline/lease.ts';
import { type PipelineOptions, runPipeline } from '../pipeline/run-pipeline.ts';
import { everyLink } from '../store/paging.ts';
import type { Lease, Store } from '../store/store.ts';
import { removeErrors } from './recover-user.ts';

/** Which old data are removed: `raw`, what phones sensed; `days`, the trips with their labels; or both. */
export const retentions = ['raw', 'days', 'both'] as const;

/** What is removed, and the options of the pipeline run before it. */
export interface RetainOptions extends PipelineOptions {
  /** Sensed data before this time are removed, unless later days need them; seconds since the epoch. */
  before: number;
  what: (typeof retentions)[number];
}

/** The result for one user. */
export interface RetainReport {
  /** Rows that were removed. */
  entries: number;
  errors: number;
  links: number;
  /** No data of the kind are left before these data times, seconds since the epoch. null: none were removed. */
  raw_before: number | null;
  days_before: number | null;
}

/** True for keys of sensed data and of reports of the app. */
const isSensed = (key: string): boolean => /^(?:background|statemachine|stats)\//.test(key);
/** True for keys of user inputs about days. Corrections, such as names of places, are not among them: see `retain`. */
const isUserInput = (key: string): boolean => key.startsWith('manual/') && key !== keys.correction;

/**
 * Runs the pipeline for the user, then removes old data: up to the last trip that no later data can change, except
 * entries that later trips need. If no data arrived since `before`, removes all old data. First it records in the
 * pipeline state the last link that is never derived again: so a killed call loses no day, and the next call
 * continues. Late entries for a removed time change no day; the next call removes them. Corrections stay, because they
 * are needed to read later days.
 *
 * Throws `MOBILITY_LEASE_HELD` if another process holds the user.
 */
export async function retain(
  store: Store,
  userId: string,
  { before, what, ...options }: RetainOptions,
): Promise<RetainReport> {
  const run = await runPipeline(store, userId, options);
  if (run.status === 'busy')
    throw new MobilityError('MOBILITY_LEASE_HELD', run.message ?? 'another run holds the user');
  if (run.status === 'failed') throw new Error(run.message);
  return withLease(store, userId, options, async (held) => {
    const { observed } = held.state;
    const isOver = observed !== null && observed.seen.ts < before; // no data arrived since `before`
    const last = isOver ? await lastLink(store, userId) : await store.trips.lastSettledBefore(userId, before);
    const retained = retainedAt(held.state, last, what, isOver ? before : null);
    const report = { entries: 0, links: 0, errors: await removeErrors(store, userId, { before }) };
    if (retained === null) return { ...report, raw_before: null, days_before: null };
    await store.pipeline.merge(userId, { retained }, held.current());
    const { raw_before, days_before } = retained;
    if (days_before !== null) report.links = await removeLinks(store, userId, retained, held.current);
    const found = (await store.timeseries.summary(userId)).map(({ key }) => key);
    for (const [until, isMeant] of [
      [raw_before, isSensed],
      [days_before, isUserInput],
    ] as const) {
      const old = { keys: found.filter(isMeant), before: until ?? 0 };
      if (until !== null) report.entries += await store.timeseries.remove(userId, old, held.current());
    }
    return { ...report, raw_before, days_before };
  });
}

/** The last link of the chain, settled or not. */
async function lastLink(store: Store, userId: string): Promise<TripRecord | null> {
  let last: TripRecord | null = null;
  for await (const link of everyLink(store, userId)) last = link;
  return last;
}

/**
 * The record of what has been removed and what will be removed now; null: nothing. `end`: all data of the user lie
 * before this time.
 */
function retainedAt(
  { retained: earlier, analysis_version: version, observed }: PipelineState,
  last: TripRecord | null,
  what: RetainOptions['what'],
  end: number | null,
): Retained | null {
  if (last === null) return earlier;
  const { resume_ts, needs_from = resume_ts, raw_place } = last.carry;
  const needed = Math.min(resume_ts - lookAround, needs_from, raw_place?.enter_ts ?? resume_ts);
  const later = (a: number | null, b: number, isMeant: boolean): number | null =>
    isMeant ? Math.max(a ?? -Infinity, b) : a;
  // If no data after the link remain, later data continue from the current state.
  const atEnd = end === null || observed === null ? null : { seen: observed.seen, silences: observed.silences };
  const isEarlier = earlier !== null && earlier.chain_ts >= last.chain_ts && atEnd === null;
  const { chain_ts, carry } = isEarlier ? earlier : { ...last, carry: { ...last.carry, ...atEnd } };
  const versions = earlier?.versions ?? [];
  const others = versions.at(-1)?.version === version ? versions.slice(0, -1) : versions;
  return {
    chain_ts,
    carry,
    versions: version === null ? versions : [...others, { until: chain_ts, version }],
    raw_before: later(earlier?.raw_before ?? null, end ?? needed, what !== 'days'),
    days_before: later(earlier?.days_before ?? null, end ?? last.end_ts, what !== 'raw'),
  };
}

/** Removes the links that end before `days_before`. */
async function removeLinks(
  store: Store,
  userId: string,
  { chain_ts, days_before }: Retained,
  lease: () => Lease,
): Promise<number> {
  const remove: number[] = [];
  for await (const link of everyLink(store, userId, { to: justAfter(chain_ts) }))
    if (link.end_ts <= days_before!) remove.push(link.chain_ts);
  const drafts = (await store.trips.drafts(userId)).filter(({ end_ts }) => end_ts > days_before!);
  await store.trips.apply(userId, { put: [], remove, drafts, places: {} }, {}, lease());
  return remove.length;
}
