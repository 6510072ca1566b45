// Removes old data, as the rules of a study demand: what phones sensed, the diary, or both. The
// trips that remain are not derived again, because their data may be gone.
//
//   links        1 ──── 2 ──── 3 ──── 4 ──── 5        link 3: the last settled link before `before`
//   raw          removed before the data that link 4 needs
//   days         links 1 to 3 removed; link 3 is recorded as `retained`, and the analysis continues after it
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

/** `raw`: what phones sensed; `days`: the trips with their labels. */
export const retentions = ['raw', 'days', 'both'] as const;

export interface RetainOptions extends PipelineOptions {
  /** Data before this time are removed, unless later days need them; seconds since the epoch. */
  before: number;
  what: (typeof retentions)[number];
}

/** Counts of removed rows, and the times before which no raw data or no days are left. */
export interface RetainReport {
  entries: number;
  errors: number;
  links: number;
  raw_before: number | null;
  days_before: number | null;
}

const isSensed = (key: string): boolean => /^(?:background|statemachine|stats)\//.test(key);
/** True for keys of user inputs, except corrections, which are kept. */
const isUserInput = (key: string): boolean => key.startsWith('manual/') && key !== keys.correction;

/**
 * Runs the pipeline for the user, then removes data up to the last settled link before `before`,
 * except entries that later trips need. If no data arrived since `before`, drafts become trips, and
 * all data before that time are removed.
 *
 * Before the removal it records this link in the pipeline state (`retained`); links up to it are
 * never derived again. So if the process is killed, no later day changes, and the next call
 * continues. Late entries for a removed time change no day; the next call removes them. Corrections
 * stay, because later days need them, for example for the names of places. Throws
 * `MOBILITY_LEASE_HELD` if another process holds the user.
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
    const put = isOver ? (await store.trips.drafts(userId)).map((draft) => finalTrip(draft, before)) : [];
    const last = isOver
      ? (put.at(-1) ?? (await lastLink(store, userId)))
      : await store.trips.lastSettledBefore(userId, before);
    const state = put.length > 0 ? stateAfter(held.state, put) : held.state;
    const retained = retainedAt(state, last, what, isOver ? before : null);
    const report = { entries: 0, links: 0, errors: await removeErrors(store, userId, before) };
    if (retained === null) return { ...report, raw_before: null, days_before: null };
    const change = { put, remove: [], months: [], ...(isOver && { drafts: [] }) };
    const kept = { retained, complete_until: state.complete_until, observed: state.observed, months: null };
    await store.trips.apply(userId, change, kept, held.current());
    const { raw_before, days_before } = retained;
    if (days_before !== null) report.links = await removeLinks(store, userId, retained, held.current);
    const found = (await store.timeseries.summary(userId)).map(({ key }) => key);
    const removeEntries = async (hasKey: (key: string) => boolean, until: number | null): Promise<void> => {
      if (until === null) return;
      const old = { keys: found.filter(hasKey), before: until };
      report.entries += await store.timeseries.remove(userId, old, held.current());
    };
    await removeEntries(isSensed, raw_before);
    await removeEntries(isUserInput, days_before);
    return { ...report, raw_before, days_before };
  });
}

/** Makes a final trip of a draft, because the data that could change it are removed. */
function finalTrip(draft: TripRecord, settled_ts: number): TripRecord {
  const { draft: _, ...trip } = draft.trip!;
  return { ...draft, kind: 'trip', settled_ts, trip };
}

/** Returns the state after `links` are added, without the gaps that these links contain. */
function stateAfter(state: PipelineState, links: readonly TripRecord[]): PipelineState {
  const theirs = new Set(links.flatMap(({ silences = [] }) => silences.map(({ from }) => from)));
  const observed = state.observed && {
    ...state.observed,
    silences: state.observed.silences.filter(({ from }) => !theirs.has(from)),
  };
  return { ...state, observed, complete_until: links.at(-1)!.carry.raw_place?.enter_ts ?? null };
}

async function lastLink(store: Store, userId: string): Promise<TripRecord | null> {
  let last: TripRecord | null = null;
  for await (const link of everyLink(store, userId)) last = link;
  return last;
}

/**
 * Returns the record of this removal and of earlier removals; null if none removes anything.
 * `last`: the last link that must never be derived again. `end`: the time before which all data
 * are; null if there are later data.
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
  const later = (a: number | null, b: number, isRemoved: boolean): number | null =>
    isRemoved ? Math.max(a ?? -Infinity, b) : a;
  // If all data are removed, the analysis of new data begins with the phone's last known state.
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
