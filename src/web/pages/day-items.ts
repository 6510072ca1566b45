import type { Flagged } from '../../diary/flags.ts';
import { shownTexts } from '../../diary/labels/label-text.ts';
import type { Labels } from '../../diary/labels/load-labels.ts';
import { surveyAnswers } from '../../diary/labels/survey-answers.ts';
import type { UserInput } from '../../diary/labels/user-labels.ts';
import type { ObservedDay, UnobservedReason } from '../../diary/observed-time.ts';
import type { Places } from '../../diary/places.ts';
import type { Entry } from '../../model/entry.ts';
import { distance } from '../../model/geo/distance.ts';
import type { Position, Trip } from '../../model/trip.ts';
import { ownValue, type Texts } from './texts/texts.ts';

export interface ShownPlace {
  name: string;
  mark: string; // the label of the place on the map
  isNamed: boolean;
  isGuess?: boolean; // true: the place has no name, but the nights spent there suggest a home
  look: 'home' | 'work' | 'place';
}

export interface ShownDay {
  observed: ObservedDay;
  trips: readonly Trip[]; // trips that touch the day, in order
  began: readonly Trip[];
  before: Trip | null;
  after: Trip | null;
  completeUntil: number | null; // data time up to which the diary is final, or null
  labels: Labels;
  flagged: readonly Flagged[];
  placeAt: (position: Position) => ShownPlace;
  /** A gap that begins after the last location has the reason `no location` instead of `silent`. */
  locatedUntil?: number | undefined;
  now: number; // seconds since the epoch; later time is not shown
  others?: readonly (readonly Position[])[];
  labelWords?: (label: string) => string | undefined;
}

export type DayItem = { from: number; to: number } & (
  | { kind: 'trip'; trip: Trip }
  /** `since`: the start of a stay that began before the day. */
  | { kind: 'stay'; place: ShownPlace; since: number | null }
  /**
   * `here`, `there`: the places before and after the gap. `parts`: the number of joined gaps.
   * `byAir`: only a plane covers the distance in this time.
   */
  | {
      kind: 'gap';
      reason: UnobservedReason;
      here: ShownPlace | null;
      there: ShownPlace | null;
      parts: number;
      byAir?: boolean;
    }
);

const airSpeed = 200 / 3.6; // m/s; only a plane or a high-speed train has a higher average

function isByAir(last: Trip | undefined, next: Trip | undefined): boolean {
  if (last === undefined || next === undefined) return false;
  const place = ([longitude, latitude]: Position) => ({ longitude, latitude });
  return distance(place(last.end_loc), place(next.start_loc)) > airSpeed * (next.start_ts - last.end_ts);
}

/** These reasons concern the study or the future. Pages ask nothing about such a gap. */
const outsideReasons = ['before the first location', 'before joining', 'after leaving', 'not yet'] as const;
const outside: ReadonlySet<UnobservedReason> = new Set(outsideReasons);

export const isOutside = (item: DayItem): boolean => item.kind === 'gap' && outside.has(item.reason);

export const itemId = ({ from }: DayItem): string => `at-${Math.round(from)}`;

export function dayItems({ observed, trips, before, after, placeAt, now, locatedUntil }: ShownDay): DayItem[] {
  const around = [...(before ? [before] : []), ...trips, ...(after ? [after] : [])];
  const lastBefore = (ts: number) => around.findLast((trip) => trip.end_ts <= ts + 1);
  const place = (from: number): ShownPlace | null => {
    const last = lastBefore(from);
    const next = around.find((trip) => trip.start_ts >= from);
    // The person may have moved, unseen, to where the next trip begins.
    const isElsewhere = last !== undefined && next !== undefined && next.start_place.id !== last.end_place.id;
    const isThere = isElsewhere && (next.start_place.enter_ts ?? Infinity) <= from + 1;
    const position = (isThere ? next.start_loc : last?.end_loc) ?? next?.start_loc;
    return position === undefined ? null : placeAt(position);
  };
  const items: DayItem[] = [];
  const shown = new Set<Trip>();
  for (const { kind, from, to: end, reason } of observed.spans) {
    const to = Math.min(end, now);
    if (to <= from) break;
    for (const trip of trips) {
      if (trip.start_ts >= to || trip.end_ts <= from || shown.has(trip)) continue;
      shown.add(trip);
      const [start, stop] = [Math.max(trip.start_ts, observed.from), Math.min(trip.end_ts, observed.to)];
      items.push({ kind: 'trip', from: start, to: stop, trip });
    }
    if (kind === 'unobserved') {
      // A gap may end within a trip: cut the gap at the start of the trip.
      const cut = Math.min(to, trips.find((trip) => trip.start_ts > from && trip.end_ts > to)?.start_ts ?? to);
      const isWithin = trips.some((trip) => trip.start_ts <= from && trip.end_ts >= to);
      const next = around.find((trip) => trip.start_ts >= cut - 1);
      const there = next === undefined ? null : placeAt(next.start_loc);
      const why = reason === 'silent' && from >= (locatedUntil ?? Infinity) ? 'no location' : reason!;
      const gap = { kind: 'gap', from, to: cut, reason: why, here: place(from), there, parts: 1 } as const;
      const byAir = why === 'moved' && isByAir(lastBefore(from), next);
      if (!isWithin && cut - from >= shortest) items.push(byAir ? { ...gap, byAir } : gap);
    }
    if (kind !== 'staying') continue;
    // A stated stay may last across two places: cut it at the arrival at the second place.
    const entered = around.find((trip) => trip.start_ts >= from)?.start_place.enter_ts ?? from;
    const cuts = entered > from + 1 && entered < to ? [from, entered, to] : [from, to];
    for (const [i, start] of cuts.slice(0, -1).entries()) {
      const end = cuts[i + 1]!;
      const at = place(start);
      if (at === null || end - start < (start === observed.from ? shortest : 1)) continue;
      const since = start === observed.from ? (lastBefore(start)?.end_ts ?? null) : null;
      const isLonger = since !== null && since < start - shortest;
      items.push({ kind: 'stay', from: start, to: end, place: at, since: isLonger ? since : null });
    }
  }
  return joinGaps(items.sort((a, b) => a.from - b.from));
}

/**
 * Joins gaps with the same reason if no trip and less than five minutes of stay separate them.
 *
 * gap 8:00-9:00   stay 9:00-9:01   gap 9:01-10:00   ->   gap 8:00-10:00 in 2 parts
 */
function joinGaps(items: readonly DayItem[]): DayItem[] {
  const joined: DayItem[] = [];
  for (const item of items) {
    const isShort = (one: DayItem | undefined): boolean => one?.kind === 'stay' && one.to - one.from < shortStay;
    const at = isShort(joined.at(-1)) ? -2 : -1;
    const before = joined.at(at);
    const isNear = before !== undefined && item.from - before.to < shortStay;
    if (item.kind !== 'gap' || before?.kind !== 'gap' || before.reason !== item.reason || !isNear) joined.push(item);
    else joined.splice(at, -at, { ...before, to: item.to, there: item.there, parts: before.parts + 1 });
  }
  return joined;
}

const shortStay = 300; // s; a shorter stay does not separate two gaps
const shortest = 60; // s; a shorter gap is not listed, nor a shorter rest of a stay that began on the day before

export function zoneOfDay({ trips, before, after }: ShownDay, ts: number): string {
  const last = [...(before ? [before] : []), ...trips].findLast((trip) => trip.start_ts <= ts);
  if (last !== undefined) return ts < (last.start_ts + last.end_ts) / 2 ? last.start_zone : last.end_zone;
  return trips[0]?.start_zone ?? after?.start_zone ?? 'UTC';
}

/** Names places by name, else by letter. `isOwn`: shows a probable home as "Home?". */
export function namedPlaces(places: Places, t: Texts, isOwn: boolean): (position: Position) => ShownPlace {
  return (position) => {
    const { letter, name, home } = places.of(position);
    const isGuess = isOwn && name === null && (home ?? 0) >= leastHome;
    if (isGuess) return { name: t.me.homeGuess, mark: t.me.homeGuess, isNamed: false, isGuess, look: 'home' };
    if (name === null) return { name: t.me.place(letter), mark: letter, isNamed: false, look: 'place' };
    const shown = name.toLowerCase() === 'home' ? t.me.home : name;
    const look = t.me.looks[name.toLowerCase()] ?? 'place';
    return { name: shown, mark: shown.slice(0, 16), isNamed: true, look };
  };
}

const leastHome = 0.8; // least probability of a place that is shown as the home

/** Seconds. `past`: time until `now` that could have been recorded. `share`: `recorded / past`. */
export function recordedTime({ moving_s, staying_s, spans }: ObservedDay, now: number) {
  const missing = spans.filter(({ kind, reason }) => kind === 'unobserved' && !outside.has(reason!));
  const unseen = missing.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, now) - from), 0);
  const recorded = moving_s + staying_s;
  return { recorded, past: recorded + unseen, share: recorded === 0 ? 0 : recorded / (recorded + unseen) };
}

/** Returns the time until which the day is final; the start of the day if no part is final. */
export const settledUntil = ({ completeUntil, observed: { from, to } }: ShownDay): number =>
  completeUntil === null ? from : Math.max(from, completeUntil >= to - 1 ? to : completeUntil);

/** Omits surveys whose answers `answerList` shows. */
export function labelTexts({ user_input, additions }: UserInput, t: Texts, words?: ShownDay['labelWords']): string[] {
  const isShort = (input: string | Entry): boolean => typeof input === 'string' || surveyAnswers(input).length === 0;
  const short = Object.fromEntries(Object.entries(user_input).filter(([, input]) => isShort(input)));
  return Object.values(shownTexts({ user_input: short, additions: additions.filter(isShort) })).map(
    (one) => words?.(one) ?? ownValue(t.labelModes, one) ?? ownValue(t.labelPurposes, one) ?? one,
  );
}

export const mainMode = ({ sections }: Trip): string =>
  [...sections].sort((a, b) => b.distance - a.distance)[0]?.sensed_mode ?? 'UNKNOWN';
