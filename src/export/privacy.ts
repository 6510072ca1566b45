// Replaces names and ids in an export by pseudonyms: hashes with a secret key.
import { createHmac } from 'node:crypto';
import type { Row } from './columns.ts';

/** A person in the tables of an export. Only `uuid` identifies the person in the store. */
export interface Person {
  uuid: string;
  id: string; // value of the column `user_id`; `name` is the value of `user_name`
  name: string;
  subgroup: string | null;
  joined_ts?: number | undefined;
}

const keyedHash = (key: string, text: string, digits: number): string =>
  createHmac('sha256', key).update(text).digest('hex').slice(0, digits);

export const keyedPseudonym = (uuid: string, key: string): string => keyedHash(key, uuid, 16);

/**
 * Replaces ids so that tables can still be joined, and leaves out names of places. Without a key,
 * an attacker with a list of UUIDs could compute the ids: hashes of a UUID and often a time.
 */
export function idsUnderPseudonym(key: string): (row: Row) => Row {
  const last = new Map<string, { id: string; replaced: string }>(); // a cache: consecutive rows often have the same ids
  const replacedOf = (name: string, id: string): string => {
    const known = last.get(name);
    if (known?.id === id) return known.replaced;
    // 24 digits, like ids. The prefix `id ` makes the hash differ from the pseudonym of a person.
    const replaced = keyedHash(key, `id ${id}`, 24);
    last.set(name, { id, replaced });
    return replaced;
  };
  return (row) => {
    const changed: Row = { ...row, ...('location_name' in row && { location_name: null }) };
    for (const [name, id] of Object.entries(row))
      if (name.endsWith('_id') && name !== 'user_id' && typeof id === 'string') changed[name] = replacedOf(name, id);
    return changed;
  };
}
