import { locationOf, metres, speed } from '../../analysis/positions.ts';
import { measureTrip, startAtPlace, stopBetween } from '../../analysis/trips/build-trip.ts';
import { linkLimits, newPlace } from '../../analysis/trips/chain-links.ts';
import { longestStated } from '../../intake/stated-times.ts';
import type { Correction, CorrectionStanding, Effect, Stated } from '../../model/correction.ts';
import { distance } from '../../model/geo/distance.ts';
import { idOf } from '../../model/ids.ts';
import { sensedModeOf } from '../../model/modes.ts';
import { allTime, justAfter, localDay, type TimeRange } from '../../model/time.ts';
import type { Place, Position, Section, Silence, Stop, Trip, TripRecord } from '../../model/trip.ts';
import { isTripLink, type TripLink, zoneWithin } from '../../model/trip-fields.ts';
import { concernedTime } from './read-corrections.ts';
import { inStatedMode } from './stated-mode.ts';

const slack = 900; // s; if a time differs by more, the author saw another trip (by hand, as for labels)

const source = 'correction';

/** True for a trip that a correction added: no entries of it exist. */
export const isAdded = (trip: Pick<Trip, 'source'>): boolean => trip.source === source;

/**
 * Applies corrections in order of `write_ts`. `links` must have the trips around each correction.
 *
 * analysed   home --walk-- cafe --bus-- office --car-- home
 * split bus at 9:10    ... cafe --bus-- place --bus-- office ...
 * join at the cafe     home --walk, stop, bus-- office --car-- home
 * drop the bus         home --walk-- cafe  (gap)  office --car-- home
 * mode of the car      ... office --bicycle-- home
 * place_name 12:00     ... --bus-- "Work" --car-- ...
 *
 * A trip that a correction replaces stays in the chain as a dropped link.
 */
export function applyCorrections(
  userId: string,
  links: readonly TripRecord[],
  corrections: readonly Stated[],
): { links: TripRecord[]; standings: CorrectionStanding[] } {
  const stretch = new CorrectedStretch(userId, links);
  const ordered = [...corrections].sort((a, b) => a.write_ts - b.write_ts);
  const standings = ordered.map((one) => stretch.apply(one));
  return { links: stretch.links(), standings };
}

/** Returns the trips that a correction is about: for `join`, the trips before and after its time. */
export function concernedTrips<T extends Pick<TripRecord, 'start_ts' | 'end_ts'>>(
  correction: Correction,
  trips: readonly T[],
): T[] {
  const { from, to } = concernedTime(correction);
  const ended = trips.findLastIndex(({ end_ts }) => end_ts <= from);
  if (correction.kind === 'join') return trips.slice(Math.max(0, ended), ended + 2);
  return trips.filter(({ start_ts, end_ts }) => start_ts <= to && end_ts >= from);
}

class CorrectedStretch {
  private readonly userId: string;
  private readonly trips: TripLink[]; // in order of time
  private readonly others: TripRecord[];

  constructor(userId: string, links: readonly TripRecord[]) {
    this.userId = userId;
    this.trips = links.filter(isTripLink);
    this.others = links.filter((link) => !isTripLink(link));
  }

  links(): TripRecord[] {
    return withOwnGaps([...this.trips, ...this.others].sort((a, b) => a.chain_ts - b.chain_ts));
  }

  apply(correction: Stated): CorrectionStanding {
    const { from } = concernedTime(correction);
    const near = this.trips.find(({ end_ts }) => end_ts >= from) ?? this.trips.at(-1);
    const day = near === undefined ? null : localDay(from, near.trip.start_zone);
    const asSeen = this.isAsSeen(correction);
    const effect = this.change(correction);
    return { correction, effect: effect === 'applied' && !asSeen ? 'contradicted' : effect, day };
  }

  private isAsSeen(correction: Stated): boolean {
    const { seen } = correction;
    if (seen === undefined) return true;
    const found = concernedTrips(correction, this.trips);
    const isSame = ({ start_ts, end_ts }: TripLink, i: number): boolean =>
      Math.abs(start_ts - seen[i]![0]) <= slack && Math.abs(end_ts - seen[i]![1]) <= slack;
    return found.length === seen.length && found.every(isSame);
  }

  private change(one: Stated): Effect {
    if (one.kind === 'mode') return this.setMode(one.ts, one.mode);
    if (one.kind === 'split') return this.split(one.ts);
    if (one.kind === 'join') return this.join(one.ts);
    if (one.kind === 'drop') return this.remove(this.tripAt(one.ts), 1);
    if (one.kind === 'add') return this.add(one);
    if (one.kind === 'place_name') return this.nameStay(one.ts, one.name);
    if (one.kind !== 'at_home' && one.kind !== 'at_place') return 'applied';
    const cleared = this.clear(one.start_ts, one.end_ts);
    if (one.kind === 'at_home') this.nameStay((one.start_ts + one.end_ts) / 2, 'home');
    else if (one.at !== undefined) this.arriveAtNext(one.end_ts, one.at === 'next' ? one.start_ts : one.end_ts);
    return cleared === 'contradicted' ? cleared : 'applied';
  }

  private tripAt(ts: number): number {
    return this.trips.findIndex(({ start_ts, end_ts }) => start_ts <= ts && ts <= end_ts);
  }

  /** The index of the last trip that ended at or before `ts`; -1: none. */
  private gapAt(ts: number): number {
    return this.trips.findLastIndex(({ end_ts }) => end_ts <= ts);
  }

  /** Replaces trips. If the next trip began where they ended, it then begins where the new trips end. */
  private replace(i: number, count: number, trips: readonly TripLink[]): void {
    const replaced = this.trips.splice(i, count, ...trips);
    const kept = new Set(trips.map(({ chain_ts }) => chain_ts));
    const dropped = replaced.filter(({ chain_ts }) => !kept.has(chain_ts));
    for (const link of dropped)
      this.others.push({ ...link, kind: 'dropped', dropped: 'corrected', trip: null, untracked: null });
    const [before, after] = [replaced.at(-1)?.trip.end_place, trips.at(-1)?.trip.end_place];
    const next = this.trips[i + trips.length];
    if (after === undefined || next === undefined || next.trip.start_place.id !== before?.id) return;
    this.trips[i + trips.length] = { ...next, trip: { ...next.trip, start_place: after } };
  }

  private setMode(ts: number, mode: string): Effect {
    const i = this.tripAt(ts);
    const link = this.trips[i];
    const section = link?.trip.sections.find(({ start_ts, end_ts }) => start_ts <= ts && ts <= end_ts);
    if (link === undefined || section === undefined) return 'without effect';
    this.replace(i, 1, [linkOf(link, inStatedMode(link.trip, section, mode, source))]);
    return 'applied';
  }

  private remove(i: number, count: number): Effect {
    if (i < 0) return 'without effect';
    const [first, last] = [this.trips[i]!, this.trips[i + count - 1]!];
    this.replace(i, count, []);
    const next = this.trips[i];
    if (next === undefined) return 'applied';
    const from = first.untracked?.start_ts ?? first.start_ts;
    return this.relink(i, { from, to: next.untracked?.end_ts ?? last.end_ts }) ? 'applied' : 'contradicted';
  }

  private clear(from: number, to: number): Effect {
    const isWithin = ({ start_ts, end_ts }: TripLink): boolean =>
      Math.min(to, end_ts) - Math.max(from, start_ts) > (end_ts - start_ts) / 2;
    return this.remove(this.trips.findIndex(isWithin), this.trips.filter(isWithin).length);
  }

  /**
   * Makes a trip begin at the stay before it, and returns true. If the trip begins too far away,
   * puts untracked time (`unseen`) before it, and returns false.
   */
  private relink(i: number, unseen: TimeRange): boolean {
    const [left, link] = [this.trips[i - 1], this.trips[i]!];
    const { trip } = link;
    const place = left?.trip.end_place ?? newPlace(this.userId, null, null, trip.start_loc, trip.source);
    if (distance(locationOf(place.location), locationOf(trip.start_loc)) <= linkLimits.nearPlace) {
      this.trips[i] = linkOf({ ...link, untracked: null }, startTripAt(trip, place));
      return true;
    }
    const end_ts = Math.min(Math.max(unseen.to, left!.end_ts), link.start_ts);
    const start_ts = Math.min(Math.max(unseen.from, left!.end_ts), end_ts);
    const untracked = { start_ts, end_ts, start_loc: place.location, end_loc: trip.start_loc };
    const start_place = newPlace(this.userId, end_ts, trip.start_zone, trip.start_loc, trip.source);
    this.trips[i] = linkOf({ ...link, untracked }, { ...trip, start_place });
    return false;
  }

  private split(ts: number): Effect {
    const i = this.tripAt(ts);
    const link = this.trips[i];
    const parts = link === undefined ? null : this.cut(link.trip, ts);
    if (link === undefined || parts === null) return 'without effect';
    const [first, second] = parts;
    const chain_ts = this.freeChainTime(Math.max(ts, justAfter(link.chain_ts)));
    const [silences, later] = splitGaps(link, ts);
    const own = { id: second.id, chain_ts, untracked: null, silences: later };
    this.replace(i, 1, [linkOf({ ...link, silences }, first), linkOf({ ...link, ...own }, second)]);
    return 'applied';
  }

  private cut(trip: Trip, ts: number): [Trip, Trip] | null {
    const { sections, stops, end_zone } = trip;
    const at = sections.findLastIndex((section) => section.start_ts < ts);
    const section = sections[at];
    if (section === undefined || ts >= trip.end_ts) return null;
    const isCut = ts < section.end_ts;
    const cutId = idOf(this.userId, 'section', 'split', ts);
    const cut = isCut ? cutSection(section, ts, cutId) : ([section] as const);
    if (cut === null) return null;
    const [left, ...right] = cut;
    const zone = zoneWithin(trip, ts);
    const id = idOf(this.userId, 'trip', 'split', ts);
    const place = this.placeAfter(trip.id, left.end_ts, zone, left.coordinates.at(-1)!);
    const later = [...right, ...sections.slice(at + 1)];
    const laterStops = stops.slice(isCut ? at : at + 1).map((stop, k): Stop => {
      return { ...stop, ending_section: later[k]!.id, starting_section: later[k + 1]!.id };
    });
    const before = { sections: [...sections.slice(0, at), left], stops: stops.slice(0, at) };
    const end_place = { ...trip.end_place, ending_trip: id };
    const own = { id, raw_trip: id, start_zone: zone, end_zone, start_place: place, end_place };
    return [
      rebuiltTrip({ ...trip, end_zone: zone, end_place: place, ...before }),
      startTripAt(rebuiltTrip({ ...trip, ...own, sections: later, stops: laterStops }), place),
    ];
  }

  private join(ts: number): Effect {
    const i = this.gapAt(ts);
    const [a, b] = [this.trips[i], this.trips[i + 1]];
    if (a === undefined || b === undefined || b.start_ts < ts) return 'without effect';
    if (b.end_ts - a.start_ts > longestStated) return 'without effect';
    const id = idOf(this.userId, 'stop', 'join', a.chain_ts, b.chain_ts);
    const stop = stopBetween(a.trip.sections.at(-1)!, b.trip.sections[0]!, id, source);
    const trip = rebuiltTrip({
      ...a.trip,
      end_zone: b.trip.end_zone,
      end_place: { ...b.trip.end_place, ending_trip: a.trip.id },
      sections: [...a.trip.sections, ...b.trip.sections],
      stops: [...a.trip.stops, stop, ...b.trip.stops],
    });
    this.replace(i, 2, [linkOf(a, trip)]);
    return 'applied';
  }

  private add(one: Extract<Stated, { kind: 'add' }>): Effect {
    const cleared = this.clear(one.start_ts, one.end_ts);
    const at = this.trips.findLastIndex(({ start_ts }) => start_ts <= one.start_ts) + 1;
    const [before, after] = [this.trips[at - 1], this.trips[at]];
    // The added trip may be shorter than stated, because the trips beside it keep their times.
    const start_ts = Math.max(one.start_ts, before?.end_ts ?? one.start_ts);
    const end_ts = Math.min(one.end_ts, after?.start_ts ?? one.end_ts);
    const start_loc = before?.trip.end_loc ?? after?.trip.start_loc ?? one.end_loc;
    if (start_loc === undefined || end_ts <= start_ts) return 'without effect';
    const end_loc = one.end_loc ?? after?.trip.start_loc ?? start_loc;
    const zone = before?.trip.end_zone ?? after?.trip.start_zone ?? 'UTC';
    const id = idOf(this.userId, 'trip', 'add', one.write_ts);
    const ends = { start_ts, end_ts, start_loc, end_loc };
    const section = straightSection(idOf(this.userId, 'section', 'add', one.write_ts), one, ends);
    const end_place = this.placeAfter(id, end_ts, zone, end_loc);
    const start_place = before?.trip.end_place ?? newPlace(this.userId, null, null, start_loc, source);
    const own = { id, raw_trip: id, source, start_zone: zone, end_zone: zone, zone_guessed: false };
    const trip = rebuiltTrip({ ...own, start_place, end_place, sections: [section], stops: [] });
    const chain_ts = this.freeChainTime(Math.max(start_ts, justAfter(before?.chain_ts ?? start_ts)));
    const carry = { resume_ts: chain_ts, started: false, raw_place: null, place: null };
    const about = { id, kind: 'trip', chain_ts, settled_ts: null, untracked: null } as const;
    const [silences, later] = splitGaps(before ?? {}, start_ts);
    if (before !== undefined) this.trips[at - 1] = { ...before, silences };
    this.replace(at, 0, [linkOf({ ...about, silences: later, carry, trip }, trip)]);
    if (after !== undefined) this.relink(at + 1, { from: end_ts, to: after.untracked?.end_ts ?? after.start_ts });
    const isWhole = start_ts === one.start_ts && end_ts === one.end_ts;
    return cleared === 'without effect' && isWhole ? 'applied' : 'contradicted';
  }

  private placeAfter(ending_trip: string, enterTs: number, zone: string, location: Position): Place {
    const id = idOf(this.userId, 'place', source, enterTs);
    return { ...newPlace(this.userId, enterTs, zone, location, source), id, ending_trip };
  }

  private freeChainTime(ts: number): number {
    let free = ts;
    while ([...this.trips, ...this.others].some(({ chain_ts }) => chain_ts === free)) free = justAfter(free);
    return free;
  }

  /** Sets the end of the untracked time before the first trip at or after `after` to `ts`. */
  private arriveAtNext(after: number, ts: number): void {
    const i = this.trips.findIndex(({ start_ts }) => start_ts >= after);
    const link = this.trips[i];
    if (link === undefined || link.untracked === null) return;
    const enter_ts = Math.max(ts, link.untracked.start_ts);
    const untracked = { ...link.untracked, end_ts: enter_ts };
    const trip = { ...link.trip, start_place: { ...link.trip.start_place, enter_ts } };
    this.trips[i] = { ...link, untracked, trip };
  }

  private nameStay(ts: number, name: string): Effect {
    const i = this.gapAt(ts);
    const [left, right] = [this.trips[i], this.trips[i + 1]];
    const gap = right?.untracked ?? null; // between two places
    const isUnseen = left !== undefined && gap !== null && ts > gap.start_ts && ts < gap.end_ts;
    const isMoving = right !== undefined && right.start_ts < ts;
    if ((left ?? right) === undefined || isMoving || isUnseen) return 'without effect';
    const isAfterGap = left === undefined || (gap !== null && ts >= gap.end_ts);
    const rename = (at: number, place: 'start_place' | 'end_place'): void => {
      const link = this.trips[at]!;
      this.trips[at] = { ...link, trip: { ...link.trip, [place]: { ...link.trip[place], name } } };
    };
    if (left !== undefined && !isAfterGap) rename(i, 'end_place');
    if (right !== undefined && (isAfterGap || gap === null)) rename(i + 1, 'start_place');
    return 'applied';
  }
}

/** True for a link that a correction created: an added trip, or the second part of a split trip. */
const isCreated = (link: TripRecord | undefined): boolean => !!link?.trip && link.trip.raw_trip === link.trip.id;

/** Moves gaps that end before a created link ends from the next analysed link to the created link. */
function withOwnGaps(links: TripRecord[]): TripRecord[] {
  return links.map((link, i) => {
    const before = isCreated(links[i - 1]) ? links[i - 1]!.end_ts : allTime.from;
    const isOwn = isCreated(link);
    const next = isOwn ? links.slice(i + 1).find((other) => !isCreated(other)) : link;
    if (next === undefined || !(isOwn || isCreated(links[i - 1]))) return link;
    const part = { from: before, to: isOwn ? link.end_ts : allTime.to };
    const gaps = (next.silences ?? []).flatMap((gap) => cutTo(gap, part));
    const silences = isOwn ? [...(link.silences ?? []), ...gaps] : gaps;
    const { silences: _, ...rest } = link;
    return silences.length === 0 ? rest : { ...rest, silences };
  });
}

function cutTo({ moved_m, ...gap }: Silence, { from, to }: TimeRange): Silence[] {
  // Only the part with the end of the gap keeps `moved_m`, so that the distance counts once.
  const moved = moved_m !== undefined && gap.to <= to ? { moved_m } : {};
  const part = { ...gap, ...moved, from: Math.max(gap.from, from), to: Math.min(gap.to, to) };
  return part.to > part.from ? [part] : [];
}

function splitGaps({ silences = [] }: Pick<TripRecord, 'silences'>, ts: number): [Silence[], Silence[]] {
  return [silences.filter(({ to }) => to <= ts), silences.filter(({ to }) => to > ts)];
}

function linkOf(link: Omit<TripLink, 'start_ts' | 'end_ts' | 'day'>, trip: Trip): TripLink {
  const { start_ts, end_ts, start_zone } = trip;
  return { ...link, start_ts, end_ts, day: localDay(start_ts, start_zone), trip: { ...trip, corrected: true } };
}

function rebuiltTrip(trip: Omit<Trip, keyof ReturnType<typeof measureTrip> | 'duration'>): Trip {
  const measured = measureTrip(trip.sections, trip.stops);
  return { ...trip, ...measured, duration: measured.end_ts - measured.start_ts };
}

/**
 * Makes a trip begin at the place, `linkLimits.leadIn` s earlier. If the user entered the place
 * only when the trip began, moves the first vertex of the trip to the place.
 */
function startTripAt(trip: Trip, place: Place): Trip {
  const { location } = place;
  const isThere = trip.start_loc[0] === location[0] && trip.start_loc[1] === location[1];
  const led = isThere ? trip : startAtPlace(trip, place, linkLimits.leadIn);
  const [first, ...rest] = led.sections as [Section, ...Section[]];
  const sections = [{ ...first, coordinates: [location, ...first.coordinates.slice(1)] }, ...rest];
  return { ...led, duration: led.end_ts - led.start_ts, start_place: place, start_loc: location, sections };
}

function straightSection(
  id: string,
  { mode, distance: stated }: { mode: string; distance?: number },
  { start_ts, end_ts, start_loc, end_loc }: Pick<Trip, 'start_ts' | 'end_ts' | 'start_loc' | 'end_loc'>,
): Section {
  const length = metres(stated ?? distance(locationOf(start_loc), locationOf(end_loc)));
  const duration = end_ts - start_ts;
  return {
    id,
    start_ts,
    end_ts,
    sensed_mode: sensedModeOf(mode),
    duration,
    distance: length,
    estimated: length,
    source,
    coordinates: [start_loc, end_loc],
    altitudes: [null, null],
    times: [start_ts, end_ts],
    speeds: [0, speed(length / duration)],
    distances: [0, length],
  };
}

/** Cuts a section at the first vertex at or after `ts`. null: a part would last 0 s. */
export function cutSection(section: Section, ts: number, id: string): [Section, Section] | null {
  const { times, speeds, distances } = section;
  const vertex = times.findIndex((time) => time >= ts);
  const at = Math.min(vertex, times.length - 2);
  if (at < 1) return null;
  const first = { speeds: speeds.slice(0, at + 1), distances: distances.slice(0, at + 1) };
  const second = { speeds: [0, ...speeds.slice(at + 1)], distances: [0, ...distances.slice(at + 1)] };
  return [partOf(section, 0, at + 1, first), partOf({ ...section, id }, at, times.length, second)];
}

/** The part of a section from vertex `from` to before `to`, with its share of the estimated metres. */
function partOf(section: Section, from: number, to: number, steps: Pick<Section, 'speeds' | 'distances'>): Section {
  const { estimated = 0, ...rest } = section;
  const slice = <T>(list: readonly T[]): T[] => list.slice(from, to);
  const times = slice(section.times);
  const line = { coordinates: slice(section.coordinates), altitudes: slice(section.altitudes), times, ...steps };
  const [start_ts, end_ts] = [times[0]!, times.at(-1)!];
  const distance = metres(steps.distances.reduce((sum, one) => sum + one, 0));
  const own = section.distance > 0 ? metres((estimated * distance) / section.distance) : 0;
  const part = { ...rest, ...line, start_ts, end_ts, duration: end_ts - start_ts, distance };
  return own >= 1 ? { ...part, estimated: own } : part;
}
