import type { JsonValue } from '../../model/json.ts';
import { errorIdOf, unusableIdOf, unusableKeyOf } from '../../model/rejections.ts';
import { packValue, unpackText } from '../chunks/pack.ts';
import { readColumn } from '../rows/sums.ts';
import { errors, type RejectedRow } from '../rows/tables.ts';
import type { ErrorRow, PersonFigures, UnusableEntry } from '../store.ts';
import type { Known } from './identities.ts';

/** `known`: facts that the store has for the identity of the entry, or else for its content. */
export function failedRow(
  user: string,
  { identity, entry, reason, message }: UnusableEntry,
  known: Pick<Known, 'received_ts' | 'failed'> | undefined,
  now: number,
): RejectedRow {
  const { received_ts = now, failed = null } = known ?? {};
  const times = { first_ts: failed?.first_ts ?? now, last_ts: now, tries: (failed?.tries ?? 0) + 1, received_ts };
  const id = errorId({ entry, ...(identity && { identity }) });
  return rowOf(user, { id, entry, identity: identity ?? null, reason, message, ...times });
}

export const errorId = ({ identity, entry }: Pick<UnusableEntry, 'identity' | 'entry'>): string =>
  identity ? errorIdOf(identity) : unusableIdOf(entry);

export function rowOf(user: string, { entry, identity, ...rest }: ErrorRow): RejectedRow {
  const place = { key: identity?.key ?? unusableKeyOf(entry), write_ts: identity?.write_ts ?? null };
  return { user, ...place, ...rest, entry: packValue(entry) };
}

export function addError(
  groups: PersonFigures['set_aside'],
  { key, reason, last_ts }: Pick<RejectedRow, 'key' | 'reason' | 'last_ts'>,
): void {
  const known = groups.find((one) => one.key === key && one.reason === reason);
  if (known === undefined) groups.push({ key, reason, count: 1, last_ts });
  else {
    known.count += 1;
    known.last_ts = Math.max(known.last_ts, last_ts);
  }
}

/** Reads an error. `size`: characters of JSON of its entry. */
export function errorOf(row: RejectedRow): { error: ErrorRow; size: number } {
  const { user: _, id, key, write_ts, entry, ...rest } = row;
  const identity = write_ts === null ? null : { key: key!, write_ts };
  const text = readColumn(errors, row, 'entry', () => unpackText(entry));
  return { error: { id, entry: JSON.parse(text) as JsonValue, identity, ...rest }, size: text.length };
}
