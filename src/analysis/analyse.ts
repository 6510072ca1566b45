// The analysis at a glance: a stretch of one user's data -> links of their chain of trips, through every pure stage in order.
import { distance } from '../geo/distance.ts';
import { idOf } from '../model/ids.ts';
import { localDay } from '../model/time.ts';
import type { Carry, Place, Position, Trip, TripRecord, Untracked } from '../model/trip.ts';
import { type CleanTrip, cleanTrip } from './build-trip.ts';
import { segmentSections, segmentSectionsDefaults } from './dwell/segment-sections.ts';
import { type RawTrip, restartedBetween, segmentTrips } from './dwell/segment-trips.ts';
import { within } from './in-time.ts';
import type { Location, Motion, PhoneEvent } from './observations.ts';

/** Raised whenever the same entries would give other trips than before; every user is then analysed anew at their next run. */
export const analysisVersion = 1;

export interface AnalyseOptions {
  /** m; nearer than this the user was not away unseen; by sampling */
  untrackedDistance: { time: number; distance: number };
  /** m/s; farther away, an average up to this means time that was not tracked (3 km/h) */
  untrackedSpeed: number;
  /** m; shorter trips are dropped */
  shortestTrip: number;
  /** m and s; a trip that begins this near to the place after dropped ones begins at the place, this much earlier */
  nearPlace: number;
  leadIn: number;
}

export const analyseDefaults: AnalyseOptions = {
  untrackedDistance: { time: 2500, distance: 1200 },
  untrackedSpeed: 3 / 3.6,
  shortestTrip: 100,
  nearPlace: 100,
  leadIn: 30,
};

export interface AnalyseInput {
  userId: string;
  /** Ascending by `ts`; from `carry.resume_ts` on. */
  locations: readonly Location[];
  motions: readonly Motion[];
  events: readonly PhoneEvent[];
  /** State after the link before; null: at the beginning. */
  carry: Carry | null;
  /** The data are complete below this time; infinite: there are no later ones. */
  loadedUntil: number;
}

export interface AnalyseOutput {
  records: TripRecord[];
  /** What the next stretch begins with: the last link's state, moved on to the open trip or to the last location. */
  goOn: Carry | null;
  /** Trips that could not be built, by start: they are left out and reported. */
  failed: { chainTs: number; error: unknown }[];
}

/**
 * Builds links until the data end. A link that follows from data up to a time that is not loaded yet is left to the next
 * stretch, and so is a trip that has not ended.
 */
export function analyse(input: AnalyseInput, options = analyseDefaults): AnalyseOutput {
  const { locations, loadedUntil } = input;
  const endOfData = loadedUntil === Number.POSITIVE_INFINITY;
  const resume = input.carry && { ts: input.carry.resume_ts, started: input.carry.started };
  const segmented = segmentTrips({ ...input, resume, endOfData });
  const records: TripRecord[] = [];
  const failed: AnalyseOutput['failed'] = [];
  let carry = input.carry;
  for (const raw of segmented.trips) {
    const settled = settledBy(raw, locations);
    if (settled !== null && settled >= loadedUntil) return { records, goOn: carry, failed };
    const link = makeLink(input, raw, settled, carry, options, failed);
    records.push(link);
    carry = link.carry;
  }
  return { records, goOn: goOnAfter(locations, segmented.openSince, carry), failed };
}

/** At the open trip's start; else at the last location, with which the user is still where they were. */
function goOnAfter(locations: readonly Location[], openSince: number | null, carry: Carry | null): Carry | null {
  const known = carry ?? { raw_place: null, place: null };
  if (openSince !== null) return { ...known, resume_ts: locations[openSince]!.ts, started: true };
  const last = locations.at(-1);
  return last ? { ...known, resume_ts: last.ts, started: false } : carry;
}

function settledBy(raw: RawTrip, locations: readonly Location[]): number | null {
  if (raw.settledTs === null) return null;
  return Math.max(raw.settledTs, locations[raw.endIndex]!.ts + segmentSectionsDefaults.eventSlack);
}

const positionOf = (l: { latitude: number; longitude: number }): Position => [l.longitude, l.latitude];
const latLonOf = ([longitude, latitude]: Position) => ({ latitude, longitude });
const sourceOf = (raw: RawTrip): string =>
  raw.sampling === 'time' ? 'DwellSegmentationTimeFilter' : 'DwellSegmentationDistFilter';

/** One raw trip with the place before it -> one link. A trip that cannot be built is dropped and reported, never the day. */
function makeLink(
  input: AnalyseInput,
  raw: RawTrip,
  settled: number | null,
  carry: Carry | null,
  options: AnalyseOptions,
  failed: AnalyseOutput['failed'],
): TripRecord {
  const { userId, events } = input;
  const own = input.locations.slice(raw.startIndex, raw.endIndex + 1).filter((l) => l.sampling === raw.sampling);
  const first = own[0]!;
  const last = own.at(-1)!;
  const unseen = carry?.raw_place ? untrackedBefore(carry.raw_place, first, events, options) : null;
  const startPlace =
    unseen || !carry?.raw_place
      ? { latitude: first.latitude, longitude: first.longitude, enterTs: unseen ? first.ts : null }
      : { ...latLonOf(carry.raw_place.location), enterTs: carry.raw_place.enter_ts };
  let clean: CleanTrip | null = null;
  try {
    const sections = segmentSections({
      sampling: raw.sampling,
      locations: own,
      motions: within(input.motions, first.ts, last.ts),
      events: within(events, first.ts, last.ts + segmentSectionsDefaults.eventSlack),
      startPlace,
    });
    clean = cleanTrip({ userId, chainTs: first.ts, sections, startPlace, endPlace: last });
  } catch (error) {
    failed.push({ chainTs: first.ts, error });
  }
  const rawPlace = { id: idOf(userId, 'raw_place', last.ts), location: positionOf(last), enter_ts: last.ts };
  const next = { resume_ts: raw.resume.ts, started: raw.resume.started, raw_place: rawPlace };
  const base = {
    id: idOf(userId, 'trip', first.ts),
    chain_ts: first.ts,
    settled_ts: settled,
    day: localDay(first.ts, first.zone),
  };
  if (clean && clean.distance >= options.shortestTrip)
    return link({ userId, raw, base, clean, carry, unseen, first, last, next, options });
  const place = mergedPlace(carry?.place ?? null, rawPlace);
  const away_since = place && awaySince(place, carry!, first, last, options);
  return {
    ...base,
    kind: 'dropped',
    start_ts: first.ts,
    end_ts: last.ts,
    trip: null,
    untracked: null,
    carry: { ...next, place, ...(away_since !== null && { away_since }) },
  };
}

interface LinkParts {
  userId: string;
  raw: RawTrip;
  base: Pick<TripRecord, 'id' | 'chain_ts' | 'settled_ts' | 'day'>;
  clean: CleanTrip;
  carry: Carry | null;
  unseen: Untracked | null;
  first: Location;
  last: Location;
  next: Omit<Carry, 'place'>;
  options: AnalyseOptions;
}

/** A kept trip: linked to the place before it, and with the place after it. */
function link(parts: LinkParts): TripRecord {
  const { userId, raw, base, clean, carry, first, last, next, options } = parts;
  const before = carry?.place ?? null;
  const gap = before ? distance(latLonOf(before.location), latLonOf(clean.start_loc)) : 0;
  // Time that seemed untracked is none when the user turns up where they were.
  const untracked = before && gap > options.nearPlace ? untrackedFrom(before, clean.start_loc, parts) : null;
  const start =
    before && !untracked
      ? before
      : newPlace(userId, untracked?.end_ts ?? null, untracked ? first.zone : null, clean.start_loc, raw);
  if (start === before && gap > 0) startAtPlace(clean, before, options);
  const end: Place = {
    id: idOf(userId, 'place', last.ts),
    location: clean.end_loc,
    raw_places: [next.raw_place!.id],
    enter_ts: clean.end_ts,
    enter_zone: last.zone,
    ending_trip: base.id,
    source: sourceOf(raw),
  };
  const trip: Trip = {
    id: base.id,
    raw_trip: idOf(userId, 'raw_trip', first.ts),
    source: sourceOf(raw),
    start_zone: first.zone,
    end_zone: last.zone,
    zone_guessed: first.zoneGuessed || last.zoneGuessed,
    ...clean,
    duration: clean.end_ts - clean.start_ts,
    start_place: start,
    end_place: end,
  };
  return {
    ...base,
    kind: 'trip',
    start_ts: trip.start_ts,
    end_ts: trip.end_ts,
    day: localDay(trip.start_ts, trip.start_zone),
    trip,
    untracked,
    carry: { ...next, place: end },
  };
}

/**
 * The way from the place where the diary has the user to the place where the trip begins: unseen, or by trips too short to keep. In
 * the latter case they have been where it begins since the last of these.
 */
function untrackedFrom(
  place: Place,
  end_loc: Position,
  parts: Pick<LinkParts, 'carry' | 'unseen' | 'first'>,
): Untracked {
  const { carry, unseen, first } = parts;
  const arrived = carry!.raw_place!.enter_ts;
  const start_ts = carry!.away_since ?? arrived;
  return { start_ts, end_ts: unseen ? first.ts : arrived, start_loc: place.location, end_loc };
}

/** Puts the place in front of the trip's first section, `leadIn` s earlier where the stay leaves room. */
function startAtPlace(clean: CleanTrip, place: Place, options: AnalyseOptions): void {
  const section = clean.sections[0]!;
  const ts = Math.max(
    clean.start_ts - options.leadIn,
    place.enter_ts === null ? Number.NEGATIVE_INFINITY : place.enter_ts,
  );
  if (!(ts < clean.start_ts)) return;
  const metres = distance(latLonOf(place.location), latLonOf(clean.start_loc));
  section.coordinates.unshift(place.location);
  section.altitudes.unshift(section.altitudes[0] ?? null);
  section.times.unshift(ts);
  section.distances.splice(0, 1, 0, metres);
  section.speeds.splice(0, 1, 0, metres / (clean.start_ts - ts));
  section.distance += metres;
  section.duration += clean.start_ts - ts;
  section.start_ts = ts;
  clean.distance += metres;
  clean.start_ts = ts;
  clean.start_loc = place.location;
}

function newPlace(
  userId: string,
  enterTs: number | null,
  zone: string | null,
  location: Position,
  raw: RawTrip,
): Place {
  return {
    id: enterTs === null ? idOf(userId, 'place', 'first') : idOf(userId, 'place', 'after untracked', enterTs),
    location,
    raw_places: [],
    enter_ts: enterTs,
    enter_zone: zone,
    ending_trip: null,
    source: sourceOf(raw),
  };
}

/** Raw places a place keeps count of: months at home with a restless receiver must not grow it for ever. */
const mostRawPlaces = 100;

/** Since when the user is away from the place, after a trip that is not kept; null: they are there. */
function awaySince(
  place: Place,
  carry: Carry,
  first: Location,
  last: Location,
  { nearPlace }: AnalyseOptions,
): number | null {
  const home = latLonOf(place.location);
  if (distance(home, last) <= nearPlace) return null;
  const unseen = distance(home, first) > nearPlace;
  return carry.away_since ?? (unseen ? carry.raw_place!.enter_ts : first.ts);
}

/** After a dropped trip the diary still has the user at the place where they were. */
function mergedPlace(place: Place | null, rawPlace: { id: string }): Place | null {
  return place && { ...place, raw_places: [...place.raw_places, rawPlace.id].slice(-mostRawPlaces) };
}

function untrackedBefore(
  place: { location: Position; enter_ts: number },
  first: Location,
  events: readonly PhoneEvent[],
  options: AnalyseOptions,
): Untracked | null {
  const metres = distance(latLonOf(place.location), first);
  const seconds = first.ts - place.enter_ts;
  const restarted = restartedBetween(events, place.enter_ts, first.ts);
  if (!restarted && (metres < options.untrackedDistance[first.sampling] || metres > seconds * options.untrackedSpeed))
    return null;
  return { start_ts: place.enter_ts, end_ts: first.ts, start_loc: place.location, end_loc: positionOf(first) };
}
