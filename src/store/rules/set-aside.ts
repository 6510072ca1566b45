// Rows of the error timeseries: how entries get there.
import type { Identity } from '../../model/entry.ts';
import { errorIdOf, unusableIdOf, unusableKeyOf } from '../../model/error-ids.ts';
import type { JsonValue } from '../../model/json.ts';
import { packValue, unpackText } from '../chunks/pack.ts';
import { readColumn } from '../rows/sums.ts';
import { errors, type SetAsideRow } from '../rows/tables.ts';
import type { ErrorRow } from '../store.ts';
import type { Known } from './identities.ts';

/** The row of an entry that fails now. `known`: what the store has under its identity. */
export function failedRow(
  user: string,
  failure: { identity: Identity; entry: JsonValue; reason: string; message: string },
  known: Pick<Known, 'received_ts' | 'failed'> | undefined,
  now: number,
): SetAsideRow {
  const { identity, entry, reason, message } = failure;
  const { received_ts = now, failed = null } = known ?? {};
  const history = { first_ts: failed?.first_ts ?? now, last_ts: now, tries: (failed?.tries ?? 0) + 1, received_ts };
  return { user, id: errorIdOf(identity), ...identity, reason, message, ...history, entry: packValue(entry) };
}

/** The row of something unusable. `before`: the row of the same content, if it was pushed before. */
export function unusableRow(
  user: string,
  { entry, reason, message }: { entry: JsonValue; reason: string; message: string },
  now: number,
): SetAsideRow {
  const place = { user, id: unusableIdOf(entry), key: unusableKeyOf(entry), write_ts: null };
  const history = { first_ts: now, last_ts: now, tries: 1, received_ts: now };
  return { ...place, reason, message, ...history, entry: packValue(entry) };
}

/** An error as callers see it, and how many characters of JSON its entry has. */
export function errorOf(row: SetAsideRow): { error: ErrorRow; size: number } {
  const { id, key, write_ts, reason, message, first_ts, last_ts, tries, received_ts } = row;
  const identity = write_ts === null ? null : { key: key!, write_ts };
  const text = readColumn(errors, row, 'entry', () => unpackText(row.entry));
  const entry = JSON.parse(text) as JsonValue;
  const error = { id, entry, identity, reason, message, first_ts, last_ts, tries, received_ts };
  return { error, size: text.length };
}
