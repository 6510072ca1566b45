// Divides each local day into moving, staying and unobserved time.
//
//   trips      |--trip--|             |--trip--|
//   gaps                    |--gap--|
//   causes                    |off--------|    replace the reason of a gap
//   day        moving   stay|unobserved|stay... moving  staying
//
// The parts add up to the length of the day, also if the clock or the time zone changes.
import type { Stated } from '../model/correction.ts';
import type { Exclusion } from '../model/pipeline-state.ts';
import { addDays, allTime, type DayRange, day, startOfDay, type TimeRange } from '../model/time.ts';
import type { BriefRecord, BriefTrip, Silence, SilenceReason } from '../model/trip.ts';
import type { PipelineState, Store } from '../store/store.ts';
import { isAdded } from './corrections/apply.ts';
import { type ChainStore, correctedTrips } from './corrections/corrected-trips.ts';
import {
  activeCorrections,
  type CorrectionStore,
  concernedTime,
  readCorrections,
} from './corrections/read-corrections.ts';

export type UnobservedReason =
  | SilenceReason
  | 'nothing received'
  | 'before the first location'
  | 'before joining'
  | 'after leaving'
  | 'clock wrong'
  | 'not yet'
  | 'taken out';

const offReasons: ReadonlySet<UnobservedReason> = new Set(['tracking off', 'no permission', 'phone off', 'taken out']);

/** `moved_m`: m in a straight line from start to end, if the user moved. */
export type Unobserved = TimeRange & { reason: UnobservedReason; moved_m?: number };

export interface TimeSpan extends TimeRange {
  kind: 'moving' | 'staying' | 'unobserved';
  reason: UnobservedReason | null;
}

/** The parts follow each other without a break. `_s` fields are the sums of each kind, in s. */
export interface ObservedDay {
  day: string;
  zone: string; // the user's time zone at `from`
  /** Midnight in the user's zone, or when the user came into a zone where midnight had passed. */
  from: number;
  to: number;
  spans: TimeSpan[];
  moving_s: number;
  staying_s: number;
  unobserved_s: number;
  /** The time when tracking, permission or phone was off, or that a correction excluded. */
  off_s: number;
  /** The part of `staying_s` that was inferred for phones without a state machine. */
  inferred_stay_s: number;
  /** Sum of `moved_m` of the gaps that end on the day. No trip contains these metres. */
  moved_unobserved_m: number;
}

export interface ObservedSource {
  links: readonly BriefRecord[]; // in order, from the trip before the days to the link after them
  observed: PipelineState['observed'];
  zone: string; // the time zone if there are no trips
  /** Causes replace the phone's own reason. The first match wins. */
  causes?: readonly Unobserved[];
  exclusions?: readonly Exclusion[];
  statedStays?: readonly TimeRange[];
}

export function observedDays(source: ObservedSource, from: string, to: string): ObservedDay[] {
  const trips = source.links.flatMap(({ trip }) => trip ?? []);
  const startOf = dayStarts(trips, source.zone);
  const known = collectKnown(source);
  const days: ObservedDay[] = [];
  for (let day = from, start = startOf(day); day <= to; day = addDays(day, 1)) {
    const next = startOf(addDays(day, 1));
    const end = next.ts > start.ts ? next : start;
    days.push({ day, zone: start.zone, ...dayOf(start.ts, end.ts, known) });
    start = end;
  }
  return days;
}

export function unobservedIn(source: Omit<ObservedSource, 'zone'>, { from, to }: TimeRange): Unobserved[] {
  const { spans } = dayOf(from, to, collectKnown(source));
  return spans.flatMap(({ from, to, reason }) => (reason === null ? [] : [{ from, to, reason }]));
}

/** The range of times to read for the days, in every time zone, with trips that last up to a day. */
export const linksRange = ({ from, to }: DayRange): TimeRange => ({
  from: startOfDay(from, 'UTC') - day,
  to: startOfDay(to, 'UTC') + 3 * day,
});

export async function readObservedDays(
  store: ChainStore & Pick<Store, 'pipeline'>,
  userId: string,
  { from, to, zone = 'UTC' }: DayRange & { zone?: string },
): Promise<{ days: ObservedDay[]; links: readonly BriefRecord[] }> {
  const links = await correctedTrips(store).briefs(userId, linksRange({ from, to }));
  return { days: observedDays({ links, zone, ...(await readStated(store, userId)) }, from, to), links };
}

export type StatedTime = Pick<ObservedSource, 'observed' | 'exclusions' | 'statedStays'>;

const isStay = ({ kind }: Stated): boolean => kind === 'at_home' || kind === 'at_place';

export async function readStated(
  store: CorrectionStore & Pick<Store, 'pipeline'>,
  userId: string,
): Promise<StatedTime> {
  const { observed, set_aside, retained } = await store.pipeline.get(userId);
  const removed = retained?.days_before ?? null;
  const exclusions = [...set_aside, ...(removed === null ? [] : [{ start_ts: -Number.MAX_VALUE, end_ts: removed }])];
  const stated = activeCorrections(await readCorrections(store, userId));
  const statedStays = stated.flatMap((one) => (isStay(one) ? [concernedTime(one)] : []));
  return { observed, exclusions, statedStays };
}

/** Returns a function that finds the start of a day. During a trip, the zone of its start applies. */
function dayStarts(trips: readonly BriefTrip[], zone: string): (day: string) => { ts: number; zone: string } {
  const zones = [{ from: -Infinity, zone: trips[0]?.start_zone ?? zone }];
  for (const { start_ts, start_zone, end_ts, end_zone } of trips) {
    if (start_zone !== zones.at(-1)!.zone) zones.push({ from: start_ts, zone: start_zone });
    if (end_zone !== start_zone) zones.push({ from: end_ts, zone: end_zone });
  }
  return (day) => {
    for (const [i, piece] of zones.entries()) {
      const ts = Math.max(piece.from, startOfDay(day, piece.zone));
      if (ts < (zones[i + 1]?.from ?? Infinity)) return { ts, zone: piece.zone };
    }
    throw new Error('the last zone has no end');
  };
}

function collectGaps({ links, observed }: Pick<ObservedSource, 'links' | 'observed'>): Unobserved[] {
  if (observed === null) return [{ ...allTime, reason: 'nothing received' }];
  const between = storedGaps({ links, observed }).filter(({ inferred }) => !inferred);
  const { phone, ts, unlocated } = observed.seen;
  const recorded = links.filter(({ trip }) => trip === null || !isAdded(trip));
  const until = Math.max(ts, ...recorded.map(({ end_ts }) => end_ts));
  const last = phone === 'off' ? 'tracking off' : phone === 'error' ? 'no permission' : 'nothing received';
  return [
    { from: allTime.from, to: observed.from, reason: 'before the first location' },
    ...between,
    ...(unlocated === undefined ? [] : [{ from: unlocated, to: until, reason: 'no location' as const }]),
    { from: until, to: allTime.to, reason: last },
  ];
}

function storedGaps({ links, observed }: Pick<ObservedSource, 'links' | 'observed'>): Silence[] {
  // The state (`observed`) has the gaps after the last final link, also the gaps of drafts.
  const final = links.filter(({ kind }) => kind !== 'draft');
  return [...final.flatMap(({ silences = [] }) => silences), ...(observed?.silences ?? [])];
}

interface Known {
  /** `added`: a correction added the trip. `unseen`: untracked time precedes the trip. */
  moves: readonly (TimeRange & { added: boolean; unseen: boolean })[];
  gaps: readonly Unobserved[];
  inferred: readonly TimeRange[]; // gaps that were probably stays
  causes: readonly Unobserved[];
  excluded: readonly (TimeRange & Pick<Exclusion, 'source' | 'token_id'>)[];
  statedStays: readonly TimeRange[];
}

function collectKnown({
  causes = [],
  statedStays = [],
  exclusions = [],
  ...source
}: Omit<ObservedSource, 'zone'>): Known {
  const moves = source.links.flatMap(({ trip, untracked }) => {
    if (trip === null) return [];
    return [{ from: trip.start_ts, to: trip.end_ts, added: isAdded(trip), unseen: untracked !== null }];
  });
  const excluded = exclusions.map(({ start_ts, end_ts, ...of }) => ({ from: start_ts, to: end_ts, ...of }));
  // If a trip contains a gap, the distance of the trip includes the distance of the gap. A trip
  // contains a gap if the trip covers the end of the gap, or overlaps the gap and a correction added
  // the trip. A trip after untracked time contains no gap that begins before the trip.
  const isInTrip = ({ from, to }: TimeRange): boolean =>
    moves.some(
      (move) => move.from < to && (move.added ? move.to > from : move.to >= to && !(move.unseen && move.from > from)),
    );
  const gaps = collectGaps(source).map((one) =>
    one.reason === 'moved' && isInTrip(one) ? { from: one.from, to: one.to, reason: 'silent' as const } : one,
  );
  const inferred = storedGaps(source).filter((one) => one.inferred);
  return { moves, gaps, inferred, causes, excluded, statedStays };
}

function dayOf(from: number, to: number, known: Known): Omit<ObservedDay, 'day' | 'zone'> {
  const onDay = <T extends TimeRange>(ranges: readonly T[]): T[] =>
    ranges.filter((range) => range.from < to && range.to > from);
  const [moves, gaps, inferred] = [onDay(known.moves), onDay(known.gaps), onDay(known.inferred)];
  const [causes, excluded, statedStays] = [onDay(known.causes), onDay(known.excluded), onDay(known.statedStays)];
  const parts = [...moves, ...gaps, ...inferred, ...causes, ...excluded, ...statedStays];
  const bounds = [from, to, ...parts.flatMap((part) => [part.from, part.to])];
  const cuts = [...new Set(bounds)].filter((ts) => ts >= from && ts <= to).sort((a, b) => a - b);
  const spans: TimeSpan[] = [];
  let inferred_stay_s = 0;
  for (const [i, start] of cuts.slice(0, -1).entries()) {
    const end = cuts[i + 1]!;
    const isAround = (part: TimeRange): boolean => part.from <= start && part.to >= end;
    const isMoving = moves.some(isAround);
    // A correction states what the user did then, so missing entries do not matter.
    const isStated = statedStays.some(isAround) || moves.some((move) => move.added && isAround(move));
    const cause = isStated ? undefined : causes.find(isAround);
    // While the clock is wrong, times of entries do not show a stay.
    const hasWrongTimes = !isMoving && cause?.reason === 'clock wrong';
    // Within a trip, time without locations is no gap, because the trip may lead through a tunnel.
    const isGap = (part: Unobserved): boolean => isAround(part) && !(isMoving && part.reason === 'no location');
    const gap = isStated ? undefined : (gaps.find(isGap) ?? (hasWrongTimes ? cause : undefined));
    const exclusion = isStated ? undefined : excluded.find(isAround);
    // If only one source or token is excluded, the data of other sources show what the user did.
    const isOut =
      exclusion !== undefined && (gap !== undefined || !(isMoving || exclusion.source || exclusion.token_id));
    const reason = isOut ? 'taken out' : gap ? (cause ?? gap).reason : null;
    const kind = reason !== null ? 'unobserved' : isMoving ? 'moving' : 'staying';
    if (kind === 'staying' && inferred.some(isAround)) inferred_stay_s += end - start;
    const last = spans.at(-1);
    if (last?.kind === kind && last.reason === reason) last.to = end;
    else spans.push({ from: start, to: end, kind, reason });
  }
  const sum = (isCounted: (span: TimeSpan) => boolean): number =>
    spans.reduce((total, span) => total + (isCounted(span) ? span.to - span.from : 0), 0);
  const times = {
    moving_s: sum(({ kind }) => kind === 'moving'),
    staying_s: sum(({ kind }) => kind === 'staying'),
    unobserved_s: sum(({ kind }) => kind === 'unobserved'),
    off_s: sum(({ reason }) => reason !== null && offReasons.has(reason)),
    inferred_stay_s,
    moved_unobserved_m: gaps.reduce((sum, gap) => sum + (gap.to <= to && gap.to > from ? (gap.moved_m ?? 0) : 0), 0),
  };
  return { from, to, spans, ...times };
}

export function reasonsOf({ spans }: Pick<ObservedDay, 'spans'>): [reason: UnobservedReason, seconds: number][] {
  const sums = new Map<UnobservedReason, number>();
  for (const { reason, from, to } of spans) if (reason !== null) sums.set(reason, (sums.get(reason) ?? 0) + to - from);
  return [...sums].sort(([, a], [, b]) => b - a);
}

export function unobservedWithin({ spans }: Pick<ObservedDay, 'spans'>, from: number, to: number): number {
  const within = (span: TimeSpan) => Math.max(0, Math.min(span.to, to) - Math.max(span.from, from));
  return spans.reduce((sum, span) => sum + (span.kind === 'unobserved' ? within(span) : 0), 0);
}
