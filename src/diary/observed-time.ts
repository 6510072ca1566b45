// What is known of each local day: when the user moved, when they stayed, and when nobody knows. The kinds of time of a
// day sum to its length, also where the clock changes or the user crosses zones.
import { holding, readCorrections, spokenTime } from '../corrections/read.ts';
import type { SetAside } from '../model/pipeline-state.ts';
import { addDays, justAfter, startOfDay, type TimeRange } from '../model/time.ts';
import type { Silence, SilenceReason, Trip, TripRecord } from '../model/trip.ts';
import type { PipelineState, Store } from '../store/store.ts';

/** Why nothing is known of a time. */
export type UnobservedReason = SilenceReason | 'nothing received' | 'before the first location' | 'taken out';

/** A part of a day. */
export interface TimeSpan {
  from: number;
  to: number;
  kind: 'moving' | 'staying' | 'unobserved';
  /** Of unobserved time; else null. */
  reason: UnobservedReason | null;
}

/** A local day: its parts without gaps, in order, and how long each kind takes, s. */
export interface ObservedDay {
  day: string;
  /** Half open; the zone in force at the end is that of the trip before it. */
  from: number;
  to: number;
  spans: TimeSpan[];
  moving_s: number;
  staying_s: number;
  unobserved_s: number;
}

/** What days are made of: links in order from the trip before them to the link behind them, and the state. */
export interface ObservedSource {
  links: readonly TripRecord[];
  /** See `PipelineState`. */
  observed: PipelineState['observed'];
  /** The zone where no trip says one. */
  zone: string;
  /** What corrections say: entries that are not analysed, and times at home. Absent: nothing. */
  setAside?: readonly SetAside[];
  atHome?: readonly TimeRange[];
}

/** The days from `from` to `to`, both included. Pure. */
export function observedDays(source: ObservedSource, from: string, to: string): ObservedDay[] {
  const trips = source.links.flatMap(({ trip }) => trip ?? []);
  const startOf = dayStarts(trips, source.zone);
  const known: Known = { trips, silences: silencesOf(source), out: source.setAside ?? [], atHome: source.atHome ?? [] };
  const days: ObservedDay[] = [];
  for (let day = from, start = startOf(day); day <= to; day = addDays(day, 1)) {
    const end = Math.max(start, startOf(addDays(day, 1)));
    days.push(dayOf(day, start, end, known));
    start = end;
  }
  return days;
}

/** The same days, read from the store. */
export async function readObservedDays(
  store: Pick<Store, 'trips' | 'pipeline' | 'timeseries'>,
  userId: string,
  { from, to, zone = 'UTC' }: { from: string; to: string; zone?: string },
): Promise<ObservedDay[]> {
  const [earliest, latest] = [startOfDay(from, 'UTC') - 86_400, startOfDay(to, 'UTC') + 3 * 86_400];
  const before = await store.trips.previous(userId, earliest);
  const links: TripRecord[] = [];
  for (let at = before?.chain_ts ?? earliest; at < latest; ) {
    const page = await store.trips.chain(userId, { from: at, to: latest, limit: linksAtOnce });
    links.push(...page);
    if (page.length < linksAtOnce) break;
    at = justAfter(page.at(-1)!.chain_ts);
  }
  links.push(...(await store.trips.chain(userId, { from: latest, limit: 1 })));
  const { observed, set_aside: setAside } = await store.pipeline.get(userId);
  const stated = holding(await readCorrections(store.timeseries, userId));
  const atHome = stated.flatMap((one) => (one.kind === 'at_home' ? [spokenTime(one)] : []));
  return observedDays({ links, observed, zone, setAside, atHome }, from, to);
}

const linksAtOnce = 200;

/** The first instant of a day, by the zone in which the user is: that of the end of a trip holds until the next one. */
function dayStarts(trips: readonly Trip[], zone: string): (day: string) => number {
  const zones = [{ from: Number.NEGATIVE_INFINITY, zone: trips[0]?.start_zone ?? zone }];
  for (const { end_ts, end_zone } of trips) {
    if (end_zone !== zones.at(-1)!.zone) zones.push({ from: end_ts, zone: end_zone });
  }
  return (day) => {
    for (const [i, piece] of zones.entries()) {
      const start = Math.max(piece.from, startOfDay(day, piece.zone));
      if (start < (zones[i + 1]?.from ?? Number.POSITIVE_INFINITY)) return start;
    }
    throw new Error('the last zone has no end');
  };
}

type Unobserved = TimeRange & { reason: UnobservedReason };

/** Unobserved time in order of its end, from the beginning to the end of time. */
function silencesOf({ links, observed }: ObservedSource): Unobserved[] {
  if (observed === null) {
    return [{ from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY, reason: 'nothing received' }];
  }
  const between: Silence[] = [...links.flatMap(({ silences = [] }) => silences), ...observed.silences];
  const { phone, ts } = observed.seen;
  const last = phone === 'off' ? 'tracking off' : phone === 'error' ? 'no permission' : 'nothing received';
  return [
    { from: Number.NEGATIVE_INFINITY, to: observed.from, reason: 'before the first location' },
    ...between,
    { from: Math.max(ts, ...links.map(({ end_ts }) => end_ts)), to: Number.POSITIVE_INFINITY, reason: last },
  ];
}

/** What is known of any time. */
interface Known {
  trips: readonly Trip[];
  silences: readonly Unobserved[];
  out: readonly SetAside[];
  atHome: readonly TimeRange[];
}

function dayOf(day: string, from: number, to: number, { trips, silences, ...stated }: Known): ObservedDay {
  const onDay = (part: TimeRange): boolean => part.from < to && part.to > from;
  const moves = trips.map(({ start_ts, end_ts }) => ({ from: start_ts, to: end_ts })).filter(onDay);
  const gaps = silences.filter(onDay);
  const out = stated.out.map(({ start_ts, end_ts, ...of }) => ({ from: start_ts, to: end_ts, ...of })).filter(onDay);
  const atHome = stated.atHome.filter(onDay);
  const bounds = [from, to, ...[...moves, ...gaps, ...out, ...atHome].flatMap((part) => [part.from, part.to])];
  const cuts = [...new Set(bounds)].filter((ts) => ts >= from && ts <= to).sort((a, b) => a - b);
  const spans: TimeSpan[] = [];
  for (const [i, start] of cuts.slice(0, -1).entries()) {
    const end = cuts[i + 1]!;
    const isAround = (part: TimeRange): boolean => part.from <= start && part.to >= end;
    const isMoving = moves.some(isAround);
    const isHome = atHome.some(isAround);
    const gap = isHome ? undefined : gaps.find(isAround);
    const taken = isHome ? undefined : out.find(isAround);
    // Where only one of several sources was taken out, the others say whether the user stayed.
    const isTaken = taken !== undefined && (gap !== undefined || !(isMoving || taken.source || taken.token));
    const reason = isTaken ? 'taken out' : (gap?.reason ?? null);
    const kind = reason !== null ? 'unobserved' : isMoving ? 'moving' : 'staying';
    const last = spans.at(-1);
    if (last?.kind === kind && last.reason === reason) last.to = end;
    else spans.push({ from: start, to: end, kind, reason });
  }
  const sum = (kind: TimeSpan['kind']): number =>
    spans.reduce((total, span) => total + (span.kind === kind ? span.to - span.from : 0), 0);
  const times = { moving_s: sum('moving'), staying_s: sum('staying'), unobserved_s: sum('unobserved') };
  return { day, from, to, spans, ...times };
}

/** How long each reason held on the day, s, the longest first. */
export function reasonsOf({ spans }: Pick<ObservedDay, 'spans'>): [reason: UnobservedReason, seconds: number][] {
  const sums = new Map<UnobservedReason, number>();
  for (const { reason, from, to } of spans) if (reason !== null) sums.set(reason, (sums.get(reason) ?? 0) + to - from);
  return [...sums].sort(([, a], [, b]) => b - a);
}

/** s of the day between two times that were not observed. */
export function unobservedWithin({ spans }: Pick<ObservedDay, 'spans'>, from: number, to: number): number {
  const within = (span: TimeSpan): number => Math.max(0, Math.min(span.to, to) - Math.max(span.from, from));
  return spans.reduce((sum, span) => sum + (span.kind === 'unobserved' ? within(span) : 0), 0);
}
