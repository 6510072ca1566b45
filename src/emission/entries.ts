import { locationOf } from '../analysis/positions.ts';
import { inputFields, suggestionFields } from '../diary/labels/label-fields.ts';
import type { Labels } from '../diary/labels/load-labels.ts';
import type { Suggestions } from '../diary/labels/load-suggestions.ts';
import type { Entry, Metadata } from '../model/entry.ts';
import { oid, point, timeFields } from '../model/extended-json.ts';
import { distance } from '../model/geo/distance.ts';
import { idOf } from '../model/ids.ts';
import type { JsonObject } from '../model/json.ts';
import { inferredMode, motionMode } from '../model/modes.ts';
import { formatTime, localDateTime } from '../model/time.ts';
import type { Section, Trip } from '../model/trip.ts';
import { estimatedField, estimatedOf, stayFields, stopFields, zoneWithin } from '../model/trip-fields.ts';
import type { Element, PlaceStay } from './elements.ts';
import { thinned, verticesOf } from './thin-locations.ts';

/** Unlike the id of a pushed entry, `id` is not derived from `write_ts`. */
export type DerivedEntry = Entry & { id: string };

export interface EntryContext {
  userId: string;
  writtenTs: number; // when the trip was last written, seconds since the epoch
  labels: Labels;
  suggestions: Suggestions | null; // suggested labels; null: entries get no suggestions
  nested?: true; // the entry is a part of another entry, so it has short metadata
}

export type OfTrip = Element & { kind: 'trip' };

function metadataOf(key: string, { writtenTs, nested }: EntryContext, zone: string, origin?: string): Metadata {
  if (nested) return { key, write_ts: writtenTs };
  return {
    key,
    ...(origin !== undefined && { origin_key: origin }),
    platform: 'server',
    write_ts: writtenTs,
    time_zone: zone,
    write_local_dt: localDateTime(writtenTs, zone),
    write_fmt_time: formatTime(writtenTs, zone),
  };
}

function nested({ id, metadata, data }: DerivedEntry): JsonObject {
  return { _id: oid(id), metadata: metadata as JsonObject, data };
}

/**
 * Returns a hash of the line of a trip, for the id of the composite trip: apps cache lines by this
 * id. Only versions of one trip must differ, so the hash need not be cryptographic. A cryptographic
 * hash would take ten times as long.
 */
function shapeOf({ sections }: Trip): string {
  const sums = new Uint32Array(2);
  for (const { coordinates, times, sensed_mode } of sections) {
    const numbers = new Float64Array(3 * times.length + 1);
    for (let i = 0; i < times.length; i += 1) {
      numbers[3 * i] = coordinates[i]![0];
      numbers[3 * i + 1] = coordinates[i]![1];
      numbers[3 * i + 2] = times[i]!;
    }
    addTo(sums, new Uint32Array(numbers.buffer));
    const letters = Uint32Array.from(sensed_mode, (letter) => letter.codePointAt(0)!);
    addTo(sums, letters);
  }
  return `${sums[0]!.toString(16)}-${sums[1]!.toString(16)}`;
}

function addTo(sums: Uint32Array, words: Uint32Array): void {
  let [one, other] = [sums[0]! || 0x811c9dc5, sums[1]!];
  for (const word of words) {
    one = Math.imul(one ^ word, 0x01000193);
    let mixed = Math.imul(word, 0xcc9e2d51);
    mixed = Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
    other ^= mixed;
    other = Math.imul((other << 13) | (other >>> 19), 5) + 0xe6546b64;
  }
  sums[0] = one;
  sums[1] = other;
}

const ids = {
  composite: (userId: string, { start_ts, end_ts }: Element, shape: string) =>
    idOf(userId, 'composite_trip', start_ts, end_ts, shape),
  confirmed: (userId: string, trip: Trip) => idOf(userId, 'confirmed_trip', trip.id),
  untracked: (userId: string, kind: string, { start_ts, end_ts }: Element) => idOf(userId, kind, start_ts, end_ts),
  place: (userId: string, { place }: PlaceStay) => idOf(userId, 'confirmed_place', place.id),
  inferred: (userId: string, section: Section) => idOf(userId, 'inferred_section', section.id),
};

function tripFields(element: Element, context: EntryContext): JsonObject {
  const { userId } = context;
  const { start_ts, end_ts, before, after } = element;
  const [startZone, endZone] = zonesOf(element);
  const ends = element.kind === 'trip' ? element.trip : element.untracked;
  return {
    ...timeFields('start', start_ts, startZone),
    ...timeFields('end', end_ts, endZone),
    start_loc: point(ends.start_loc),
    end_loc: point(ends.end_loc),
    duration: end_ts - start_ts,
    distance: element.kind === 'trip' ? element.trip.distance : metresUnseen(element),
    ...(element.kind === 'trip' && estimatedField(estimatedOf(element.trip))),
    ...(element.kind === 'trip' && element.trip.corrected && { corrected: true }),
    ...(element.kind === 'untracked' && element.reason !== undefined && { reason: element.reason }),
    source: element.kind === 'trip' ? element.trip.source : before.place.source,
    start_place: oid(ids.place(userId, before)),
    end_place: oid(ids.place(userId, after)),
    ...(element.kind === 'trip' && element.trip.zone_guessed && { time_zone_guessed: true }),
  };
}

const zonesOf = (element: Element): [start: string, end: string] =>
  element.kind === 'trip' ? [element.trip.start_zone, element.trip.end_zone] : element.zones;

/** Returns the distance in a straight line (m), because the path is not known. */
function metresUnseen({ untracked: { start_loc, end_loc } }: Element & { kind: 'untracked' }): number {
  return distance(locationOf(start_loc), locationOf(end_loc));
}

function summaryOf(sections: readonly Section[], modeOf: (sensedMode: string) => { name: string }): JsonObject {
  const summary = { distance: {}, duration: {}, count: {} } as Record<string, Record<string, number>>;
  const add = (field: string, name: string, value: number): void => {
    summary[field]![name] = (summary[field]![name] ?? 0) + value;
  };
  for (const section of sections) {
    const { name } = modeOf(section.sensed_mode);
    add('distance', name, section.distance);
    add('duration', name, section.duration);
    add('count', name, 1);
  }
  return summary;
}

function confirmedFields({ trip }: OfTrip, { userId, labels, suggestions }: EntryContext): JsonObject {
  const inputs = labels.ofTrip(trip.start_ts);
  const id = oid(ids.confirmed(userId, trip));
  return {
    raw_trip: oid(trip.raw_trip),
    cleaned_trip: oid(trip.id),
    inferred_trip: id,
    expected_trip: id,
    confirmed_trip: id,
    inferred_section_summary: summaryOf(trip.sections, inferredMode),
    cleaned_section_summary: summaryOf(trip.sections, motionMode),
    ...inputFields(userId, inputs),
    ...suggestionFields(suggestions?.(trip, inputs) ?? null),
  };
}

export function compositeTrip(element: Element, context: EntryContext): DerivedEntry {
  const { userId } = context;
  const within: EntryContext = { ...context, nested: true };
  const isTrip = element.kind === 'trip';
  const origin = isTrip ? 'analysis/confirmed_trip' : 'analysis/confirmed_untracked';
  return {
    id: ids.composite(userId, element, isTrip ? shapeOf(element.trip) : ''),
    metadata: metadataOf('analysis/composite_trip', context, zonesOf(element)[0], origin),
    data: {
      ...tripFields(element, context),
      ...(isTrip
        ? confirmedFields(element, context)
        : { confirmed_untracked: oid(ids.untracked(userId, 'confirmed_untracked', element)), ...noInputs }),
      sections: isTrip ? inferredSections(element, within).map(nested) : [],
      locations: (isTrip ? thinned(element.trip.sections) : []).map(({ ts, position }) => ({
        metadata: { key: 'analysis/recreated_location' },
        data: { ts, loc: point(position) },
      })),
      start_confirmed_place: nested(confirmedPlace(element.before, within)),
      end_confirmed_place: nested(confirmedPlace(element.after, within)),
    },
  };
}

const noInputs = { user_input: {}, additions: [] };

export function confirmedTrip(element: OfTrip, context: EntryContext): DerivedEntry {
  return {
    id: ids.confirmed(context.userId, element.trip),
    metadata: metadataOf('analysis/confirmed_trip', context, element.trip.start_zone),
    data: { ...tripFields(element, context), ...confirmedFields(element, context) },
  };
}

export function untrackedTime(
  key: string,
  element: Element & { kind: 'untracked' },
  context: EntryContext,
): DerivedEntry {
  const inputs = key === 'analysis/confirmed_untracked' ? noInputs : {};
  return {
    id: ids.untracked(context.userId, key.slice(key.indexOf('/') + 1), element),
    metadata: metadataOf(key, context, element.zones[0]),
    data: { ...tripFields(element, context), ...inputs },
  };
}

/** Makes an `analysis/cleaned_trip` or a `segmentation/raw_trip`. Both have no user inputs. */
export function plainTrip(key: string, element: OfTrip, context: EntryContext): DerivedEntry {
  const { trip } = element;
  const isRaw = key === 'segmentation/raw_trip';
  return {
    id: isRaw ? trip.raw_trip : trip.id,
    metadata: metadataOf(key, context, trip.start_zone),
    data: { ...tripFields(element, context), ...(!isRaw && { raw_trip: oid(trip.raw_trip) }) },
  };
}

function sectionFields({ trip }: OfTrip, section: Section, index: number): JsonObject {
  const [before, after] = [trip.stops[index - 1], trip.stops[index]];
  return {
    trip_id: oid(trip.id),
    ...timeFields('start', section.start_ts, zoneWithin(trip, section.start_ts)),
    ...timeFields('end', section.end_ts, zoneWithin(trip, section.end_ts)),
    start_loc: point(section.coordinates[0]!),
    end_loc: point(section.coordinates.at(-1)!),
    duration: section.duration,
    distance: section.distance,
    ...estimatedField(section.estimated),
    ...(before && { start_stop: oid(before.id) }),
    ...(after && { end_stop: oid(after.id) }),
    ...(section.transit && { transit: { ...section.transit } }),
    source: section.source,
  };
}

export function inferredSections(element: OfTrip, context: EntryContext): DerivedEntry[] {
  return element.trip.sections.map((section, index) => {
    const { name, code } = inferredMode(section.sensed_mode);
    return {
      id: ids.inferred(context.userId, section),
      metadata: metadataOf('analysis/inferred_section', context, element.trip.start_zone),
      data: {
        ...sectionFields(element, section, index),
        cleaned_section: oid(section.id),
        sensed_mode: code,
        sensed_mode_str: name,
        ...(section.mode_confidence !== undefined && { mode_confidence: section.mode_confidence }),
        ...(section.mode_probabilities && { mode_probabilities: section.mode_probabilities }),
        ble_sensed_mode: null,
      },
    };
  });
}

/** `speeds` and `distances` have a value for each vertex. The modes are motion types of phones. */
export function cleanedSections(element: OfTrip, context: EntryContext): DerivedEntry[] {
  return element.trip.sections.map((section, index) => {
    const { name, code } = motionMode(section.sensed_mode);
    return {
      id: section.id,
      metadata: metadataOf('analysis/cleaned_section', context, element.trip.start_zone),
      data: {
        ...sectionFields(element, section, index),
        sensed_mode: code,
        sensed_mode_str: name,
        speeds: section.speeds,
        distances: section.distances,
      },
    };
  });
}

export function cleanedStops({ trip }: OfTrip, context: EntryContext): DerivedEntry[] {
  return trip.stops.map((stop) => ({
    id: stop.id,
    metadata: metadataOf('analysis/cleaned_stop', context, trip.start_zone),
    data: stopFields(stop, trip),
  }));
}

export function recreatedLocations({ trip }: OfTrip, context: EntryContext): DerivedEntry[] {
  return verticesOf(trip.sections).map(({ section, index, ts, position }, idx) => {
    const zone = zoneWithin(trip, ts);
    const altitude = section.altitudes[index] ?? null;
    return {
      id: idOf(context.userId, 'recreated_location', trip.id, idx),
      metadata: metadataOf('analysis/recreated_location', context, zone),
      data: {
        ts,
        local_dt: localDateTime(ts, zone),
        fmt_time: formatTime(ts, zone),
        loc: point(position),
        longitude: position[0],
        latitude: position[1],
        ...(altitude !== null && { altitude }),
        speed: section.speeds[index]!,
        distance: section.distances[index]!,
        idx,
        section: oid(section.id),
        mode: motionMode(section.sensed_mode).code,
      },
    };
  });
}

const placeFields = (stay: PlaceStay): JsonObject => ({
  location: point(stay.place.location),
  ...stayFields(stay.place, stay, stay.zone),
});

export function confirmedPlace(stay: PlaceStay, context: EntryContext): DerivedEntry {
  const { userId, labels } = context;
  const confirmed = (id: string | null, name: string): JsonObject =>
    id === null ? {} : { [name]: oid(idOf(userId, 'confirmed_trip', id)) };
  return {
    id: ids.place(userId, stay),
    metadata: metadataOf('analysis/confirmed_place', context, stay.zone),
    data: {
      ...placeFields(stay),
      cleaned_place: oid(stay.place.id),
      ...confirmed(stay.place.ending_trip, 'ending_trip'),
      ...confirmed(stay.starting_trip, 'starting_trip'),
      ...inputFields(userId, labels.ofStay(stay.enter_ts, stay.exit_ts)),
    },
  };
}

export function cleanedPlace(stay: PlaceStay, context: EntryContext): DerivedEntry {
  return {
    id: stay.place.id,
    metadata: metadataOf('analysis/cleaned_place', context, stay.zone),
    data: placeFields(stay),
  };
}
