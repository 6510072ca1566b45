// Makes the rows of each table for one person, with at most one part of the trips in memory.

import { correctedTrips, everyLinkAndDraft } from '../diary/corrections/corrected-trips.ts';
import { concernedTime, holding, readCorrections } from '../diary/corrections/read-corrections.ts';
import { type Flagged, type FlagInputs, flagNames, flagStay, flagTrip } from '../diary/flags.ts';
import { type Input, inputKeyNames, inputOf } from '../diary/labels/input-keys.ts';
import { inputTexts } from '../diary/labels/label-text.ts';
import { type Labels, readLabels, spansAround } from '../diary/labels/load-labels.ts';
import { findSpan } from '../diary/labels/match-inputs.ts';
import { type Ends, groupPlacesInSlices, type Places, readPlaceNames, staysBetweenTrips } from '../diary/places.ts';
import { everyDay, observedFigures } from '../diary/read-days.ts';
import { readFlagInputs } from '../diary/read-flag-inputs.ts';
import { meaningOf } from '../intake/converters/convert.ts';
import { dataTime, type Entry } from '../model/entry.ts';
import { distanceColumn, modeClass, plainMode } from '../model/modes.ts';
import { isTimeZone, justAfter, localDay, type TimeRange } from '../model/time.ts';
import type { Position, Section, Silence, Stop, TransitLine, Trip, TripRecord } from '../model/trip.ts';
import { estimatedOf, metresBy, zoneWithin } from '../model/trip-fields.ts';
import type { Store } from '../store/store.ts';
import { coarseTrip, type ShownTrip, stayCells } from './coarse.ts';
import type { Kind, Row } from './columns.ts';
import { type Days, entryRows } from './entry-rows.ts';
import { round } from './geometry.ts';
import { localText } from './instants.ts';
import { leftOf, membershipOn } from './membership.ts';
import type { Person } from './privacy.ts';
import { answerRows, fixRows, isTransit, peopleRows, stopRows } from './research-rows.ts';
import type { Source } from './row-source.ts';

/** Rows of one kind for one person, in order of time. */
export async function* rowsOf(kind: Kind, source: Source): AsyncGenerator<Row> {
  const who = personRow(source.person);
  // A coarse export leaves out columns from which a position could be computed more exactly than its cell.
  const exact = {
    ...(kind === 'places' ? { observed_s: null } : { estimated_m: null }),
    flags: null,
    from_stop: null,
    to_stop: null,
    start_rule: null,
    start_inferred_s: null,
    access_m: null,
    egress_m: null,
  };
  const hidden = source.coarse !== undefined && kind !== 'points' && kind !== 'locations' ? exact : {};
  for await (const row of makers[kind](source)) yield { ...who, ...row, ...hidden };
}

const makers: Record<Kind, (source: Source) => AsyncGenerator<Row>> = {
  trips: tripRows,
  sections: (source) =>
    labelled(source, (record, labels, flagged) => {
      const { mode_confirm: mode_confirmed = null } = inputTexts(labels.ofTrip(record.start_ts));
      const { sections: stated } = labels.stated(record.trip);
      return record.trip.sections.map((section, i) => {
        const flags = flagNames(flagged.filter(({ id }) => id === section.id)).join(' ');
        return { ...sectionRow(record, section, stated[i]!, i), mode_confirmed, flags };
      });
    }),
  points: (source) =>
    labelled(source, ({ trip }, labels) => labels.stated(trip).sections.flatMap((one) => pointRows(trip, one)), false),
  places: async function* places(source) {
    const { of } = await placesIn(source);
    for await (const row of placeRows(source)) yield { ...row, location_id: of(positionOf(row)).id };
  },
  locations: locationRows,
  stops: (source) =>
    labelled(source, ({ trip, stops }, labels) => stopRows({ ...trip, stops }, labels.stated(trip)), false),
  fixes: fixRows,
  people: peopleRows,
  days: dayRows,
  entries: entryTableRows,
  labels: labelRows,
  answers: answerRows,
};

async function* tripRows(source: Source): AsyncGenerator<Row> {
  const { store, person, homes } = source;
  const corrections = holding(await readCorrections(store, person.uuid));
  const isHome = homes ? await homeOf(source) : null;
  let before: { place: string; purpose: string | null } | null = null;
  let tour: string | null = null;
  yield* labelled(source, (record, labels, flagged, located) => {
    const { trip, startRule } = record;
    const isInferred = startRule !== null && startRule !== 'location' && located !== null;
    const { mode_confirm = null, purpose_confirm = null } = inputTexts(labels.ofTrip(record.start_ts));
    const stated = labels.stated(trip);
    const origin_purpose = before?.place === trip.start_place.id ? before.purpose : null;
    before = { place: trip.end_place.id, purpose: purpose_confirm };
    if (isHome?.(trip.start_place.location)) tour = trip.id;
    const kinds = corrections.filter((one) => touches(concernedTime(one), record)).map(({ kind }) => kind);
    return [
      {
        ...tripRow(record),
        start_inferred_s: isInferred ? located! - trip.start_ts : 0,
        mode: mainMode(stated),
        main_mode: firstMode(stated),
        ...accessAndEgress(stated.sections),
        mode_confirmed: mode_confirm,
        purpose_confirmed: purpose_confirm,
        origin_purpose,
        tour_id: tour,
        correction: [...new Set(kinds)].sort().join(' '),
        flags: flagNames(flagged).join(' '),
      },
    ];
  });
}

const touches = ({ from, to }: TimeRange, { start_ts, end_ts }: KeptTrip): boolean => from <= end_ts && to >= start_ts;

/** Makes a function that finds the probable home; null if no home is more probable than not. */
async function homeOf(source: Source): Promise<((at: Position) => boolean) | null> {
  const { all, of } = await placesIn(source);
  const home = all.find((place) => (place.home ?? 0) > 0.5);
  return home === undefined ? null : (at) => of(at).id === home.id;
}

const personRow = ({ id, name, subgroup }: Person): Row => ({ user_id: id, user_name: name, subgroup });

/** A trip of the export, and whether another one follows or precedes it without a stay. */
type KeptTrip = Omit<TripRecord, 'trip'> & {
  trip: ShownTrip;
  follows: boolean;
  isFollowed: boolean;
  stops: Stop[];
  /** The rule that set the start. */
  startRule: string | null;
};

/** Number of trips whose labels are read at one time. */
const labelsAtOnce = 50;

/** Rows of trips with their labels and, if requested, their flags and the time of their first location. */
async function* labelled(
  source: Source,
  rows: (record: KeptTrip, labels: Labels, flagged: readonly Flagged[], located: number | null) => Row[],
  isFlagged = true,
): AsyncGenerator<Row> {
  for await (const { record, labels } of labelledTrips(source)) {
    const { start_ts: from, end_ts: to, trip } = record;
    let located: number | null = null;
    const flagsBy = (clues: FlagInputs): Flagged[] => {
      located = clues.locations.find((ts) => ts >= from) ?? null;
      return flagTrip(labels.stated(trip), clues, labels);
    };
    const flagged = isFlagged ? await flagsIn(source, { from, to }, flagsBy) : [];
    yield* rows(record, labels, flagged, located);
  }
}

/** Trips that begin on the requested days, with their labels. */
async function* labelledTrips(source: Source): AsyncGenerator<{ record: KeptTrip; labels: Labels }> {
  let batch: KeptTrip[] = [];
  for await (const record of tripsOf(source)) {
    batch.push(record);
    if (batch.length < labelsAtOnce) continue;
    yield* await readBatch();
    batch = [];
  }
  yield* await readBatch();

  async function readBatch(): Promise<{ record: KeptTrip; labels: Labels }[]> {
    const [first, last] = [batch[0], batch.at(-1)];
    if (!first || !last) return [];
    const labels = await readLabels(source.store, source.person.uuid, { from: first.start_ts, to: last.end_ts });
    return batch.map((record) => ({ record, labels }));
  }
}

/** The flags of a time; none in a coarse export, which hides them. */
async function flagsIn(
  { store, person, coarse }: Source,
  range: TimeRange,
  flagsBy: (clues: FlagInputs) => Flagged[],
): Promise<Flagged[]> {
  return coarse === undefined ? flagsBy(await readFlagInputs(store, person.uuid, range)) : [];
}

/** Trips that begin on the requested days. */
async function* tripsOf(source: Source): AsyncGenerator<KeptTrip> {
  for await (const record of everyTrip(source)) if (isAmong(record.day, source.days)) yield record;
}

async function* everyTrip(source: Source): AsyncGenerator<KeptTrip> {
  if (source.coarse === undefined) return yield* everyExactTrip(source);
  const cells = await stayCells(tripsIn(everyExactTrip(source)), source.coarse);
  let end = Number.NEGATIVE_INFINITY;
  for await (const { untracked, ...record } of everyExactTrip(source)) {
    const trip = coarseTrip(record.trip, cells, end);
    // Untracked time begins with the hidden arrival at the place.
    yield { ...record, trip, untracked: untracked && { ...untracked, start_ts: end } };
    end = trip.end_ts;
  }
}

/** s; if less time is between two trips, there is no place between them */
const leastStay = 1;

type ExactTrip = Omit<KeptTrip, 'trip'> & { trip: Trip };

/** Each trip with the gaps since the trip before it. */
async function* everyExactTrip({ store, person }: Source): AsyncGenerator<ExactTrip> {
  let silences: Silence[] = [];
  let held: ExactTrip | null = null;
  for await (const record of everyLinkAndDraft(store, person.uuid)) {
    silences.push(...(record.silences ?? []));
    const { trip, untracked } = record;
    if (trip === null) continue;
    const follows: boolean = held !== null && untracked === null && trip.start_ts - held.trip.end_ts < leastStay;
    if (held !== null) yield { ...held, isFollowed: follows };
    const { stops, evidence } = trip;
    held = { ...record, trip, silences, follows, isFollowed: false, stops, startRule: evidence?.start ?? null };
    silences = [];
  }
  if (held !== null) yield held;
}

async function* tripsIn(records: AsyncIterable<{ trip: Trip }>): AsyncGenerator<Trip> {
  for await (const { trip } of records) yield trip;
}

const isAmong = (day: string, { from, to }: Days): boolean =>
  (from === undefined || day >= from) && (to === undefined || day <= to);

/** The columns of start and end, see `times` in columns.ts. */
function timesRow(started: number | null, finished: number | null, zone: string, endZone = zone): Row {
  return {
    started_at: started,
    finished_at: finished,
    started_local: localText(started, zone),
    finished_local: localText(finished, endZone),
    time_zone: zone,
  };
}

/** The day of the week of a local day, 1 (Monday) to 7. */
const weekdayOf = (day: string): number => new Date(day).getUTCDay() || 7;

function tripRow({ trip, day, follows, isFollowed, startRule }: KeptTrip): Row {
  const line = trip.sections.flatMap(({ coordinates }) => coordinates);
  const places = [trip.start_place.location, trip.end_place.location];
  return {
    trip_id: trip.id,
    day,
    weekday: weekdayOf(day),
    start_rule: startRule,
    ...timesRow(trip.start_ts, trip.end_ts, trip.start_zone, trip.end_zone),
    duration_s: trip.duration,
    distance_m: trip.distance,
    estimated_m: estimatedOf(trip),
    analysed_mode: mainMode(trip),
    sections: trip.sections.length,
    start_place_id: follows ? null : trip.start_place.id,
    end_place_id: isFollowed ? null : trip.end_place.id,
    corrected: trip.corrected ?? false,
    draft: trip.draft ?? false,
    geometry: { type: 'LineString', coordinates: line.length > 0 ? line : places },
  };
}

/** The mode with the greatest length; of two equal ones the first. */
function mainMode({ sections }: ShownTrip): string | null {
  const metres = [...metresBy(sections, ({ sensed_mode }) => plainMode(sensed_mode))];
  return metres.length === 0 ? null : metres.reduce((main, one) => (one[1] > main[1] ? one : main))[0];
}

/** Classes and names of modes in order of rank: the first one in a trip is its main mode. */
const hierarchy = ['rail', 'bus', 'ferry', 'plane', 'car', 'motor', 'bike', 'scooter', 'walk'];

/** The mode of a trip with the highest rank; within a class, the longest. */
function firstMode({ sections }: Pick<ShownTrip, 'sections'>): string | null {
  const rank = ({ sensed_mode }: Section): number => {
    const at = [plainMode(sensed_mode), modeClass(sensed_mode)].map((name) => hierarchy.indexOf(name));
    return at.find((one) => one >= 0) ?? hierarchy.length;
  };
  const [first] = sections.toSorted((a, b) => rank(a) - rank(b) || b.distance - a.distance);
  return first === undefined ? null : plainMode(first.sensed_mode);
}

/** m before and after public transport */
function accessAndEgress(sections: readonly Section[]): Row {
  const first = sections.findIndex(({ sensed_mode }) => isTransit(sensed_mode));
  if (first < 0) return {};
  const last = sections.findLastIndex(({ sensed_mode }) => isTransit(sensed_mode));
  const metres = (part: readonly Section[]): number => part.reduce((sum, { distance }) => sum + distance, 0);
  return { access_m: metres(sections.slice(0, first)), egress_m: metres(sections.slice(last + 1)) };
}

/** `stated`: the section with the mode of its label. */
function sectionRow({ trip, follows, isFollowed }: KeptTrip, section: Section, stated: Section, i: number): Row {
  const { start_ts, end_ts, mode_confidence } = section;
  return {
    section_id: section.id,
    trip_id: trip.id,
    number: i + 1,
    ...timesRow(start_ts, end_ts, zoneWithin(trip, start_ts), zoneWithin(trip, end_ts)),
    duration_s: section.duration,
    distance_m: section.distance,
    estimated_m: section.estimated ?? 0,
    mode: plainMode(stated.sensed_mode),
    mode_confidence: mode_confidence ?? null,
    mode_probabilities: section.mode_probabilities ?? null,
    sensed_mode: section.sensed_mode,
    start_place_id: i === 0 && !follows ? trip.start_place.id : null,
    end_place_id: i === trip.sections.length - 1 && !isFollowed ? trip.end_place.id : null,
    draft: trip.draft ?? false,
    ...lineRow(stated.transit),
    geometry: { type: 'LineString', coordinates: section.coordinates },
  };
}

function lineRow(line: TransitLine | undefined): Row {
  if (line === undefined) return {};
  return {
    agency: line.agency,
    route: line.route_short_name || line.route_long_name,
    route_type: line.route_type,
    from_stop: line.from_stop,
    to_stop: line.to_stop,
    route_probability: line.probability,
  };
}

function pointRows(trip: ShownTrip, section: Section): Row[] {
  const mode = plainMode(section.sensed_mode);
  return section.coordinates.map((coordinates, i) => {
    const ts = section.times[i]!;
    const zone = zoneWithin(trip, ts);
    return {
      section_id: section.id,
      trip_id: trip.id,
      number: i + 1,
      tracked_at: ts,
      tracked_local: localText(ts, zone),
      time_zone: zone,
      longitude: round(coordinates[0]),
      latitude: round(coordinates[1]),
      altitude_m: section.altitudes[i] ?? null,
      speed_ms: section.speeds[i] ?? null,
      mode,
      geometry: { type: 'Point', coordinates },
    };
  });
}

/** The places of the export. A coarse export has one for each cell. */
async function placesIn(source: Source): Promise<Places> {
  const ends: Ends[] = [];
  for await (const { trip } of everyTrip(source)) {
    const { start_ts, end_ts, start_zone, start_place, end_place } = trip;
    ends.push({ start_ts, end_ts, start_zone, start_loc: start_place.location, end_loc: end_place.location });
  }
  const { store, person } = source;
  return groupPlacesInSlices(person.uuid, staysBetweenTrips(ends), await readPlaceNames(store, person.uuid), null);
}

const positionOf = ({ geometry }: Row): Position => (geometry as { coordinates: Position }).coordinates;

async function* locationRows(source: Source): AsyncGenerator<Row> {
  const { all, of } = await placesIn(source);
  const stays = new Map<string, number>();
  for await (const row of placeRows(source)) {
    const { id } = of(positionOf(row));
    stays.set(id, (stays.get(id) ?? 0) + 1);
  }
  for (const { id, name, home, at } of all) {
    const geometry = { type: 'Point', coordinates: at } as const;
    if (stays.has(id)) yield { location_id: id, location_name: name, stays: stays.get(id)!, home, geometry };
  }
}

/** Places, each once, with the trips before and after it. Untracked time ends a place and begins another. */
async function* placeRows(source: Source): AsyncGenerator<Row> {
  let before: KeptTrip | null = null;
  for await (const next of everyTrip(source)) {
    if (before !== null && before.trip.end_place.id !== next.trip.start_place.id) {
      yield* shownPlace(before, null, next.untracked?.start_ts ?? next.trip.start_ts, next);
      before = null;
    }
    if (!next.follows) yield* shownPlace(before, next, next.trip.start_ts);
    before = next;
  }
  if (before !== null) yield* shownPlace(before, null, null);

  async function* shownPlace(
    arriving: KeptTrip | null,
    leaving: KeptTrip | null,
    exit: number | null,
    next = leaving,
  ): AsyncGenerator<Row> {
    if (!isAmong((arriving ?? leaving)!.day, source.days)) return;
    const place = arriving?.trip.end_place ?? leaving!.trip.start_place;
    const zone = place.enter_zone ?? leaving?.trip.start_zone ?? arriving!.trip.end_zone;
    const stay = place.enter_ts === null || exit === null ? null : { id: place.id, from: place.enter_ts, to: exit };
    const around = stay && { from: stay.from - besideStay, to: stay.to + besideStay };
    const flagged = stay && (await flagsIn(source, around!, (clues) => flagStay(stay, clues)));
    const silent = stay && silentWithin([...(arriving?.silences ?? []), ...(next?.silences ?? [])], stay);
    yield {
      place_id: place.id,
      ...timesRow(place.enter_ts, exit, zone),
      duration_s: stay && stay.to - stay.from,
      observed_s: stay && stay.to - stay.from - silent!,
      flags: flagNames(flagged ?? []).join(' '),
      ending_trip_id: place.ending_trip,
      starting_trip_id: leaving?.trip.id ?? null,
      geometry: { type: 'Point', coordinates: place.location },
    };
  }
}

/** s; locations this long before and after a stay count for its flags */
const besideStay = 300;

function silentWithin(silences: readonly Silence[], { from, to }: TimeRange): number {
  const gaps = silences.filter((one) => !one.inferred);
  return gaps.reduce((sum, one) => sum + Math.max(0, Math.min(one.to, to) - Math.max(one.from, from)), 0);
}

const noTrips = { trips: 0, duration_s: 0, distance_m: 0, estimated_m: 0 };
const noMetres = { walking_m: 0, bicycling_m: 0, car_m: 0, public_transport_m: 0, other_m: 0 };
const notKnown = {
  observed_s: 0,
  silent_s: 0,
  off_s: 0,
  inferred_stay_s: 0,
  moved_unobserved_m: 0,
  time_zone: null as string | null,
  draft: false,
  flags: '',
};

/** s; a coarse export rounds the times of a day to this, because gaps may begin and end with stays */
const coarseTime = 900;

async function* dayRows(source: Source): AsyncGenerator<Row> {
  const { store, person, days: bounds, coarse, now } = source;
  const left_ts = leftOf(await store.tokens.list(person.uuid));
  const dayIn = (ts: number | null | undefined, zone: string) => (ts == null ? null : localDay(ts, zone));
  const days = new Map<string, Row & typeof noTrips & typeof noMetres & typeof notKnown>();
  const rowOf = (day: string) => {
    const row = days.get(day) ?? { day, weekday: weekdayOf(day), ...noTrips, ...noMetres, ...notKnown };
    days.set(day, row);
    return row;
  };
  for await (const { record, labels } of labelledTrips(source)) {
    const trip = labels.stated(record.trip);
    const row = rowOf(record.day);
    row.trips += 1;
    row.draft ||= trip.draft ?? false;
    row.duration_s += trip.duration;
    row.distance_m += trip.distance;
    row.estimated_m += estimatedOf(trip);
    for (const section of trip.sections) row[distanceColumn(plainMode(section.sensed_mode))] += section.distance;
  }
  const rounded = (value: number, to: number): number => (coarse === undefined ? value : Math.round(value / to) * to);
  const shown = (seconds: number): number => rounded(seconds, coarseTime);
  for await (const { day, observed, flagged } of everyDay(store, person, bounds, now)) {
    const seconds = observedFigures(observed);
    const times = {
      observed_s: shown(seconds.observed_s),
      silent_s: shown(seconds.silent_s),
      off_s: shown(seconds.off_s),
      inferred_stay_s: shown(observed.inferred_stay_s),
      moved_unobserved_m: rounded(observed.moved_unobserved_m, coarse!),
    };
    const { zone } = observed;
    const membership = membershipOn(day, { joined: dayIn(person.joined_ts, zone), left: dayIn(left_ts, zone) });
    Object.assign(rowOf(day), times, { time_zone: zone, membership, flags: flagNames(flagged).join(' ') });
  }
  yield* [...days.keys()].sort().map((day) => days.get(day)!);
}

async function* entryTableRows({ store, person, days, keys }: Source): AsyncGenerator<Row> {
  for await (const entry of entryRows(store, person.uuid, days, keys)) {
    const { metadata, data } = meaningOf(entry);
    yield {
      key: metadata.key,
      written_at: metadata.write_ts,
      occurred_at: dataTime(data),
      time_zone: isTimeZone(metadata.time_zone) ? metadata.time_zone : null,
      platform: typeof metadata.platform === 'string' ? metadata.platform : null,
      data,
    };
  }
}

async function* labelRows({ store, person, days }: Source): AsyncGenerator<Row> {
  let batch: Entry[] = [];
  for await (const entry of entryRows(store, person.uuid, days, inputKeyNames)) {
    batch.push(meaningOf(entry));
    if (batch.length < labelsAtOnce) continue;
    yield* await rowsOfLabels(store, person.uuid, batch);
    batch = [];
  }
  yield* await rowsOfLabels(store, person.uuid, batch);
}

/** Labels, each with the trip that it was matched to. */
async function rowsOfLabels(store: Store, userId: string, entries: readonly Entry[]): Promise<Row[]> {
  const inputs = entries.map(inputOf);
  const ofTrips = inputs.filter((input) => input !== null && input.of.about === 'trip') as Input[];
  if (ofTrips.length === 0) return entries.map((entry) => labelRow(entry, null));
  const spans = await spansAround(store, userId, ofTrips);
  const ways = spans.map(({ start_ts, end_ts, chain_ts }) => ({ start: start_ts, end: end_ts, chain_ts }));
  const ids = new Map<number, string | null>();
  const rows: Row[] = [];
  for (const [i, entry] of entries.entries()) {
    const input = inputs[i]!;
    const way = input !== null && input.of.about === 'trip' ? findSpan(input, ways) : null;
    if (way !== null && !ids.has(way.chain_ts)) {
      const range = { from: way.chain_ts, to: justAfter(way.chain_ts), limit: 1 };
      const [record] = await correctedTrips(store).chain(userId, range);
      ids.set(way.chain_ts, record?.trip?.id ?? null);
    }
    rows.push(labelRow(entry, way === null ? null : ids.get(way.chain_ts)!));
  }
  return rows;
}

function labelRow({ metadata, data }: Entry, tripId: string | null): Row {
  const zone = isTimeZone(metadata.time_zone) ? metadata.time_zone : 'UTC';
  const time = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  return {
    trip_id: tripId,
    key: metadata.key,
    label: typeof data.label === 'string' ? data.label : null,
    ...timesRow(time(data.start_ts), time(data.end_ts), zone),
    written_at: metadata.write_ts,
    data,
  };
}
