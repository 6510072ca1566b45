// Stage "analyse trips": derives the links of the trip chain that changed entries affect.
import { type AnalyseOutput, analyse } from '../analysis/analyse.ts';
import { sourceReach } from '../analysis/clean/observations.ts';
import { readCorrections } from '../diary/corrections/read-corrections.ts';
import { line } from '../log/messages.ts';
import { unionOf } from '../model/dirty-range.ts';
import type { JsonValue } from '../model/json.ts';
import { jsonText } from '../model/json-text.ts';
import { keys } from '../model/keys.ts';
import { errorText } from '../model/mobility-error.ts';
import { plainMode } from '../model/modes.ts';
import type { Exclusion } from '../model/pipeline-state.ts';
import { justAfter, type TimeRange } from '../model/time.ts';
import type { Carry, Trip, TripRecord } from '../model/trip.ts';
import { everyEntry, everyLink } from '../store/paging.ts';
import type { PipelineState, Trips } from '../store/store.ts';
import { coarseCell } from '../transit/network.ts';
import { exclusionChange, exclusionsIn, withoutExcluded } from './excluded-entries.ts';
import { readStretch, type StretchStore } from './read-stretch.ts';
import type { ByMode, RunContext, Stage, StageResult, TripChange } from './stage.ts';
import { feedsDiffer } from './transit-feeds.ts';

const firstStretchSize = 500; // locations; most runs need no other stretch
const defaultStretchSize = 5000; // locations; each stretch has twice as many as the previous, up to this number
const entriesAtOnce = 500; // filtered locations per read, while searching for a location that is not excluded
const linksAtOnce = 500; // stored links per read

const everything: TimeRange = { from: -Number.MAX_VALUE, to: Number.MAX_VALUE };

/**
 * Analyses again from the last link that no changed data can affect. Stops when a new link after all changes equals a
 * stored link, because then all later links are equal too. Stores each stretch with the state in one transaction.
 *
 *     stored   A---B---C---D---E---F
 *     changed            ^^             new locations after C
 *     analysed     B---X---Y---E        from B, the last link settled before the change
 *     written          X---Y            E is the same as before: the analyses converge
 *     chain    A---B---X---Y---E---F
 */
export const analyseTrips: Stage = {
  name: 'analyse trips',
  async run(context) {
    const { store, userId, state } = context;
    context.corrections = await readCorrections({ timeseries: store.timeseries }, userId);
    const exclusions = exclusionsIn(context.corrections);
    const read = { timeseries: withoutExcluded(store.timeseries, exclusions) };
    const source = await locationKey(read, userId, state, exclusions.length === 0 ? 1 : entriesAtOnce);
    const changed = changedRange(context, source, exclusions);
    if (!changed) return { counts: {} };
    if (changed === everything) context.changedTrips = null;
    const run = new Analysis({ context, changed, source, completeBefore: state.complete_until, read, exclusions });
    await run.start();
    return run.result();
  },
};

/**
 * The key of the locations to analyse: filtered locations, or all locations if the phone never sent a filtered location
 * (always-on tracking). If `mobility retain` removed entries, `locations_from` says what the removed entries showed.
 */
async function locationKey(
  { timeseries }: Pick<StretchStore, 'timeseries'>,
  userId: string,
  { retained, locations_from }: PipelineState,
  limit: number,
): Promise<NonNullable<PipelineState['locations_from']>> {
  // Read backwards, because the entries of the last day are in the cache.
  const query = { keys: [keys.filteredLocation], time: 'ts', limit, descending: true } as const;
  for await (const _ of everyEntry(timeseries, userId, query)) return keys.filteredLocation;
  return (retained && locations_from) ?? keys.location;
}

/** The range of data times to analyse again; null: none. */
function changedRange(
  { state, segmenter, feeds, reanalyseFrom }: RunContext,
  source: string,
  exclusions: readonly Exclusion[],
): TimeRange | null {
  const isAllOutdated =
    (state.analysis_version !== null && state.analysis_version !== segmenter.version) ||
    (state.locations_from !== null && state.locations_from !== source) ||
    feedsDiffer(state, feeds);
  if (isAllOutdated) return everything;
  const changed = unionOf(state.changed, exclusionChange(state.set_aside, exclusions));
  // A changed location also changes which locations of other sources near it are used, see `chooseLocations`.
  const near = changed && {
    from: changed.from - sourceReach,
    to: Math.min(changed.to + sourceReach, Number.MAX_VALUE),
  };
  if (reanalyseFrom === null) return near;
  return { from: Math.min(reanalyseFrom, near?.from ?? reanalyseFrom), to: Number.MAX_VALUE };
}

interface Work {
  context: RunContext;
  changed: TimeRange;
  source: NonNullable<PipelineState['locations_from']>; // the key of the locations to analyse
  completeBefore: number | null; // `complete_until` before the run
  read: StretchStore; // the store without excluded entries
  exclusions: readonly Exclusion[];
}

class Analysis {
  private readonly work: Work;
  private readonly changes: TripChange[] = [];
  private unmatched: TripRecord[] = []; // stored links that later stretches have not yet added again
  private firstTs: number | null; // the time of the user's first location
  private readonly problems: string[] = [];
  /** Cells of 0.5 degrees with locations; null: unknown, as the analysis of old trips kept none. */
  private readonly cells: Set<string> | null;
  /** The JSON of each link, because a link is compared several times. */
  private readonly texts = new WeakMap<TripRecord, string>();
  private readonly counts = { locations: 0, links: 0, trips: 0, added: 0, removed: 0, changed: 0 };

  constructor(work: Work) {
    this.work = work;
    this.firstTs = work.context.state.observed?.from ?? null;
    const { cells, analysis_version } = work.context.state;
    const areUnknown = cells === null && analysis_version !== null && work.changed !== everything;
    this.cells = areUnknown ? null : new Set(work.changed === everything ? [] : cells);
  }

  result(): StageResult {
    const days_changed = new Set(this.changes.map(({ day }) => day)).size;
    return { counts: { ...this.counts, days_changed }, changes: this.changes, problems: this.problems };
  }

  async start(): Promise<void> {
    const { context, read, source } = this.work;
    const { store, userId, segmenter, stretchSize = defaultStretchSize } = context;
    const found = await store.trips.lastSettledBefore(userId, this.work.changed.from);
    const { retained } = context.state;
    const before = retained !== null && retained.chain_ts >= (found?.chain_ts ?? -Infinity) ? retained : found;
    context.unchangedUntil = before?.chain_ts ?? Number.NEGATIVE_INFINITY;
    let carry = before?.carry ?? null;
    let from = before ? justAfter(before.chain_ts) : -Number.MAX_VALUE;
    let size = Math.min(firstStretchSize, stretchSize);
    for (;;) {
      const stretch = await readStretch(read, userId, source, carry, size);
      if (carry === null) this.firstTs = stretch.locations[0]?.ts ?? null;
      const derived = analyse({ userId, ...stretch, carry }, segmenter);
      for (const location of stretch.locations) this.cells?.add(coarseCell(location));
      this.report(derived.failed);
      const atEnd = stretch.loadedUntil === Number.POSITIVE_INFINITY;
      const last = derived.records.at(-1);
      this.counts.locations += stretch.locations.length;
      if ((last || atEnd) && (await this.write(from, derived, atEnd, carry))) return;
      if (last) from = justAfter(last.chain_ts);
      // No link ended: the stretch is inside one long trip. Read more, because a trip is analysed as a whole.
      const isInsideTrip = !last && derived.nextState?.resume_ts === carry?.resume_ts;
      size = isInsideTrip ? size * 2 : Math.min(size * 2, stretchSize);
      carry = derived.nextState;
    }
  }

  /** Stores the links of a stretch. Returns true if the analysis is done, because no later link can differ. */
  private async write(
    from: number,
    { records, latest, drafts }: Pick<AnalyseOutput, 'records' | 'latest' | 'drafts'>,
    atEnd: boolean,
    carry: Carry | null,
  ): Promise<boolean> {
    const { store, userId, lease } = this.work.context;
    const to = atEnd ? Number.MAX_VALUE : justAfter(Math.max(records.at(-1)!.chain_ts, records.at(-1)!.settled_ts!));
    const stored: TripRecord[] = [];
    for await (const link of everyLink(store, userId, { from, to, limit: linksAtOnce })) stored.push(link);
    const converged = this.firstConverging(records, stored);
    const links = converged === null ? records : records.slice(0, converged + 1);
    const end = converged === null ? to : justAfter(records[converged]!.chain_ts);
    const done = converged !== null || atEnd;
    const state: Partial<PipelineState> = done
      ? {
          changed: null,
          locations_from: this.work.source,
          analysis_version: this.work.context.segmenter.version,
          ...this.visited(),
          documents_due: true,
        }
      : { changed: { from: justAfter(records.at(-1)!.settled_ts!), to: this.work.changed.to }, documents_due: true };
    const isLast = converged === null && atEnd;
    if (isLast) Object.assign(state, this.completeState(records.at(-1)?.carry ?? carry));
    state.set_aside = this.work.exclusions;
    const observed = isLast ? latest : this.work.context.state.observed;
    if (isLast || (done && observed !== null)) {
      state.observed = observed && { ...observed, from: this.firstTs ?? observed.seen.ts };
    }
    const replaced = stored.filter((link) => link.chain_ts < end);
    const change = { ...this.differences(replaced, links), ...(isLast && { drafts }) };
    await store.trips.apply(userId, change, state, lease());
    Object.assign(this.work.context.state, state);
    const last = links.findLast(({ trip }) => trip !== null);
    if (last !== undefined && end === Number.MAX_VALUE) this.work.context.lastTrip = last;
    this.compare(replaced, links, done);
    return done;
  }

  private visited(): Pick<PipelineState, 'cells' | 'feeds'> {
    const cells = this.cells && [...this.cells].sort();
    return { cells, feeds: this.work.context.feeds?.touching(cells) ?? [] };
  }

  /**
   * `complete_until`: the diary is final up to this time. `complete_lost`: a part of the diary was final before the
   * run, but no part is final now.
   */
  private completeState(carry: Carry | null): Partial<PipelineState> {
    const complete_until = carry?.raw_place?.enter_ts ?? null;
    const lost = complete_until === null && this.work.completeBefore !== null;
    return { complete_until, ...(lost && { complete_lost: true }) };
  }

  private firstConverging(records: readonly TripRecord[], stored: readonly TripRecord[]): number | null {
    const byStart = new Map(stored.map((link) => [link.chain_ts, link]));
    const index = records.findIndex((link) => {
      const resumesFrom = link.carry.needs_from ?? link.carry.resume_ts;
      const needsFrom = Math.min(resumesFrom, link.carry.raw_place?.enter_ts ?? resumesFrom);
      if (link.settled_ts === null || needsFrom <= this.work.changed.to) return false;
      const twin = byStart.get(link.chain_ts);
      return twin !== undefined && this.isSame(twin, link);
    });
    return index < 0 ? null : index;
  }

  private differences(stored: readonly TripRecord[], links: readonly TripRecord[]): Parameters<Trips['apply']>[1] {
    const before = new Map(stored.map((link) => [link.chain_ts, link]));
    const put = links.filter((link) => {
      const twin = before.get(link.chain_ts);
      before.delete(link.chain_ts);
      return twin === undefined || !this.isSame(twin, link);
    });
    return { put, remove: [...before.keys()] };
  }

  /** Counts the differences. A stored link after the last new link may equal a link of the next stretch. */
  private compare(stored: readonly TripRecord[], links: readonly TripRecord[], done: boolean): void {
    const last = links.at(-1)?.chain_ts ?? Number.NEGATIVE_INFINITY;
    const replaced = [...this.unmatched, ...stored];
    this.unmatched = done ? [] : replaced.filter((link) => link.chain_ts > last);
    const before = new Map(
      replaced.filter((link) => done || link.chain_ts <= last).map((link) => [link.chain_ts, link]),
    );
    this.counts.links += links.length;
    for (const link of links) {
      const twin = before.get(link.chain_ts);
      before.delete(link.chain_ts);
      if (link.trip) this.counts.trips += 1;
      if (twin && this.isSame(twin, link)) continue;
      if (twin) this.counts.changed += 1;
      else this.counts.added += 1;
      this.noteChange(twin, link);
    }
    this.counts.removed += before.size;
    for (const link of before.values()) this.noteChange(link, undefined);
  }

  private isSame(a: TripRecord, b: TripRecord): boolean {
    return this.textOf(a) === this.textOf(b);
  }

  private textOf(link: TripRecord): string {
    const text = this.texts.get(link) ?? jsonText(link as unknown as JsonValue);
    this.texts.set(link, text);
    return text;
  }

  private noteChange(before: TripRecord | undefined, after: TripRecord | undefined): void {
    const changes = tripChange(before, after);
    this.changes.push(...changes);
    if (changes.length === 0) return;
    for (const link of [before, after]) {
      // Keep only two fields of each link, because the whole links of years would need too much memory.
      if (link?.trip) this.work.context.changedTrips?.push({ day: link.day, chain_ts: link.chain_ts });
    }
  }

  private report(failed: readonly { chainTs: number; error: unknown }[]): void {
    for (const { chainTs, error } of failed) {
      const problem = `trip that begins at ${chainTs} left out: ${errorText(error)}`;
      this.problems.push(problem);
      this.work.context.log.write('ERROR', line.aboutUser(this.work.context.userId, problem));
    }
  }
}

function tripChange(before: TripRecord | undefined, after: TripRecord | undefined): TripChange[] {
  const [was, is] = [before?.trip ?? null, after?.trip ?? null];
  if (JSON.stringify(was) === JSON.stringify(is)) return [];
  const { day, start_ts, end_ts } = (is === null ? before : after)!;
  const what = was === null ? 'added' : is === null ? 'removed' : 'changed';
  return [{ what, day, start_ts, end_ts, before: was && byMode(was), after: is && byMode(is) }];
}

function byMode({ sections }: Trip): ByMode {
  const modes: ByMode = {};
  for (const { sensed_mode, distance, duration } of sections) {
    const mode = plainMode(sensed_mode);
    const sum = modes[mode] ?? { distance_m: 0, duration_s: 0 };
    modes[mode] = { distance_m: sum.distance_m + distance, duration_s: sum.duration_s + duration };
  }
  return modes;
}
