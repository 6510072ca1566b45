// Keyed pseudonyms for people and rows of an export that is handed on.
import { createHmac } from 'node:crypto';
import type { Row } from './columns.ts';

/** A person as an export names them. */
export interface Person {
  uuid: string;
  /** The values of `user_id` and `user_name`. */
  id: string;
  name: string;
  subgroup: string | null;
  joined_ts?: number;
}

/** Hex digits, the same for the same key and text; the text cannot be found without the key. */
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
  'location_id',
  'ending_trip_id',
  'starting_trip_id',
  'tour_id',
  'stop_id',
  'ending_section_id',
  'starting_section_id',
];

/**
 * Replaces the ids in rows by others, which join the tables in the same way, and leaves out names of places. The ids of
 * the store are hashes of the UUID and a time, and the id of a person's first place is a hash of the UUID alone: an
 * attacker with a list of UUIDs could compute them.
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
    const changed: Row = { ...row, ...('location_name' in row && { location_name: null }) };
    for (const name of rowIds) {
      const id = row[name];
      if (typeof id === 'string') changed[name] = replacedOf(name, id);
    }
    return changed;
  };
}
