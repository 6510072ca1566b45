// What makes an export safer to hand on: keyed pseudonyms for people, and stays moved to the middle of a grid cell.
import { createHmac } from 'node:crypto';
import { distance } from '../geo/distance.ts';
import type { Place, Position, Trip } from '../model/trip.ts';
import type { Row } from './columns.ts';

/** A person as an export names them. */
export interface Person {
  uuid: string;
  /** The values of `user_id` and `user_name`. */
  id: string;
  name: string;
  subgroup: string | null;
}

/** Hex digits, the same for the same key and text; nobody finds the text without the key. */
function keyedHash(key: string, text: string, digits: number): string {
  return createHmac('sha256', key).update(text).digest('hex').slice(0, digits);
}

/** The person under a pseudonym. */
export function underPseudonym(person: Person, key: string): Person {
  const name = keyedHash(key, person.uuid, 16);
  return { ...person, id: name, name };
}

const rowIds: readonly string[] = [
  'trip_id',
  'section_id',
  'place_id',
  'start_place_id',
  'end_place_id',
  'ending_trip_id',
  'starting_trip_id',
];

/**
 * Replaces the ids in rows by others, which join the tables in the same way. The ids of the store are hashes of the
 * UUID and a time, and that of a person's first place of the UUID alone: somebody with a list of UUIDs could compute
 * them.
 */
export function idsUnderPseudonym(key: string): (row: Row) => Row {
  const last = new Map<string, { id: string; replaced: string }>(); // rows in a row name the same trip
  const replacedOf = (name: string, id: string): string => {
    const known = last.get(name);
    if (known?.id === id) return known.replaced;
    // 24 digits, as ids have; the word keeps it apart from the pseudonym of a person.
    const replaced = keyedHash(key, `id ${id}`, 24);
    last.set(name, { id, replaced });
    return replaced;
  };
  return (row) => {
    const changed: Row = { ...row };
    for (const name of rowIds) {
      const id = row[name];
      if (typeof id === 'string') changed[name] = replacedOf(name, id);
    }
    return changed;
  };
}

const metresPerDegree = 111_195; // of the sphere on which `distance` measures

/** The middle of the cell of about `size` metres in which a position lies. */
function cellMiddle([longitude, latitude]: Position, size: number): Position {
  const tall = size / metresPerDegree;
  const row = Math.floor(latitude / tall);
  const middle = (row + 0.5) * tall;
  const wide = tall / Math.max(0.01, Math.cos((middle * Math.PI) / 180));
  return [(Math.floor(longitude / wide) + 0.5) * wide, Math.min(90, Math.max(-90, middle))];
}

/**
 * The trip with its two places in the middle of their cells, and with every position of the way next to a place moved
 * likewise: a line that ran to the door would lead back to the stay. Lengths and times stay.
 */
export function coarseTrip(trip: Trip, size: number): Trip {
  const places = [trip.start_place.location, trip.end_place.location].map(latLon);
  const moved = (position: Position): Position =>
    places.some((place) => distance(latLon(position), place) < 1.5 * size) ? cellMiddle(position, size) : position;
  const place = (one: Place): Place => ({ ...one, location: cellMiddle(one.location, size) });
  return {
    ...trip,
    start_loc: cellMiddle(trip.start_loc, size),
    end_loc: cellMiddle(trip.end_loc, size),
    start_place: place(trip.start_place),
    end_place: place(trip.end_place),
    sections: trip.sections.map((section) => ({ ...section, coordinates: section.coordinates.map(moved) })),
  };
}

const latLon = ([longitude, latitude]: Position) => ({ latitude, longitude });
