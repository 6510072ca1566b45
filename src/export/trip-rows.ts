import { activeCorrections, concernedTime, readCorrections } from '../diary/corrections/read-corrections.ts';
import { type Flagged, flagNames } from '../diary/flags.ts';
import { type ModeClass, type ModeName, modeClass, plainMode } from '../model/modes.ts';
import type { TimeRange } from '../model/time.ts';
import type { Position, Section } from '../model/trip.ts';
import { estimatedOf, metresBy, zoneWithin } from '../model/trip-fields.ts';
import type { ShownTrip } from './coarse.ts';
import type { Row } from './columns.ts';
import type { KeptTrip, Source } from './exported-trips.ts';
import { round } from './geometry.ts';
import { isoWeekday, localText, timesRow } from './instants.ts';
import { placesIn } from './place-rows.ts';

export interface LabelledTrip {
  record: KeptTrip;
  stated: ShownTrip;
  confirmed: Partial<Record<string, string>>; // mode and purpose that the participant confirmed
  flagged: readonly Flagged[];
  located: number | null; // time of the first location; null: raw data were removed
}

/** Makes the rows of one table from a trip. Must be called in the order of trips. */
export type TripRows = (one: LabelledTrip) => Row[];

export async function tripRows(source: Source): Promise<TripRows> {
  const { store, person, homes } = source;
  const corrections = activeCorrections(await readCorrections(store, person.uuid));
  const isHome = homes ? await homeOf(source) : null;
  let before: { place: string; purpose: string | null } | null = null;
  let tour: string | null = null;
  return ({ record, stated, confirmed, flagged, located }) => {
    const { trip, startRule } = record;
    const isInferred = startRule !== null && startRule !== 'location';
    const { mode_confirm = null, purpose_confirm = null } = confirmed;
    const origin_purpose = before?.place === trip.start_place.id ? before.purpose : null;
    before = { place: trip.end_place.id, purpose: purpose_confirm };
    if (isHome?.(trip.start_place.location)) tour = trip.id;
    const kinds = corrections.filter((one) => touches(concernedTime(one), record)).map(({ kind }) => kind);
    return [
      {
        ...tripRow(record),
        start_inferred_s: isInferred ? located && located - trip.start_ts : 0,
        mode: longestMode(stated),
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
  };
}

const touches = ({ from, to }: TimeRange, { start_ts, end_ts }: KeptTrip): boolean => from <= end_ts && to >= start_ts;

/** Returns null if no place is the home with a probability over 0.5. */
async function homeOf(source: Source): Promise<((at: Position) => boolean) | null> {
  const { all, of } = await placesIn(source);
  const home = all.find((place) => (place.home ?? 0) > 0.5);
  return home === undefined ? null : (at) => of(at).id === home.id;
}

function tripRow({ trip, day, follows, isFollowed, startRule }: KeptTrip): Row {
  const line = trip.sections.flatMap(({ coordinates }) => coordinates);
  const places = [trip.start_place.location, trip.end_place.location];
  return {
    trip_id: trip.id,
    day,
    weekday: isoWeekday(day),
    start_rule: startRule,
    ...timesRow(trip.start_ts, trip.end_ts, trip.start_zone, trip.end_zone),
    duration_s: trip.duration,
    distance_m: trip.distance,
    estimated_m: estimatedOf(trip),
    analysed_mode: longestMode(trip),
    sections: trip.sections.length,
    start_place_id: follows ? null : trip.start_place.id,
    end_place_id: isFollowed ? null : trip.end_place.id,
    corrected: trip.corrected ?? false,
    draft: trip.draft ?? false,
    geometry: { type: 'LineString', coordinates: line.length > 0 ? line : places },
  };
}

function longestMode({ sections }: ShownTrip): string | null {
  const metres = [...metresBy(sections, ({ sensed_mode }) => plainMode(sensed_mode))];
  return metres.sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}

/** Classes and names of modes, the highest rank first. */
const hierarchy: (ModeClass | ModeName)[] = ['rail', 'bus', 'ferry', 'air', 'car', 'motor', 'bike', 'scooter', 'walk'];

function firstMode({ sections }: Pick<ShownTrip, 'sections'>): string | null {
  const rank = ({ sensed_mode }: Section): number => {
    const at = hierarchy.findIndex((one) => one === plainMode(sensed_mode) || one === modeClass(sensed_mode));
    return at < 0 ? hierarchy.length : at;
  };
  const [first] = sections.toSorted((a, b) => rank(a) - rank(b) || b.distance - a.distance);
  return first === undefined ? null : plainMode(first.sensed_mode);
}

export const isTransit = (sensedMode: string): boolean => ['bus', 'rail'].includes(modeClass(sensedMode));

function accessAndEgress(sections: readonly Section[]): Row {
  const first = sections.findIndex(({ sensed_mode }) => isTransit(sensed_mode));
  if (first < 0) return {};
  const last = sections.findLastIndex(({ sensed_mode }) => isTransit(sensed_mode));
  const metres = (part: readonly Section[]): number => part.reduce((sum, { distance }) => sum + distance, 0);
  return { access_m: metres(sections.slice(0, first)), egress_m: metres(sections.slice(last + 1)) };
}

export const sectionRows: TripRows = ({ record, stated, confirmed: { mode_confirm = null }, flagged }) =>
  record.trip.sections.map((section, i) => {
    const { trip, follows, isFollowed } = record;
    const { start_ts, end_ts, mode_confidence } = section;
    const { sensed_mode, transit: line } = stated.sections[i]!;
    return {
      section_id: section.id,
      trip_id: trip.id,
      number: i + 1,
      ...timesRow(start_ts, end_ts, zoneWithin(trip, start_ts), zoneWithin(trip, end_ts)),
      duration_s: section.duration,
      distance_m: section.distance,
      estimated_m: section.estimated ?? 0,
      mode: plainMode(sensed_mode),
      mode_confirmed: mode_confirm,
      mode_confidence: mode_confidence ?? null,
      mode_probabilities: section.mode_probabilities ?? null,
      sensed_mode: section.sensed_mode,
      start_place_id: i === 0 && !follows ? trip.start_place.id : null,
      end_place_id: i === trip.sections.length - 1 && !isFollowed ? trip.end_place.id : null,
      draft: trip.draft ?? false,
      flags: flagNames(flagged.filter(({ id }) => id === section.id)).join(' '),
      agency: line?.agency,
      route: line?.route_short_name || line?.route_long_name,
      route_type: line?.route_type,
      from_stop: line?.from_stop,
      to_stop: line?.to_stop,
      route_probability: line?.probability,
      geometry: { type: 'LineString', coordinates: section.coordinates },
    };
  });

export const pointRows: TripRows = ({ record: { trip }, stated }) =>
  stated.sections.flatMap((section) =>
    section.coordinates.map((coordinates, i) => {
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
        mode: plainMode(section.sensed_mode),
        geometry: { type: 'Point', coordinates },
      };
    }),
  );
