import type { Identity } from './entry.ts';
import type { JsonValue } from './json.ts';

/** The reason if a converter threw: a fault of the program. All other reasons are about the content. */
export const faultReason = 'conversion_failed';

/** A rejected entry, with the reason. */
export interface ErrorRow {
  /** Derived from the identity, or from the content if the entry has none. */
  id: string;
  /** The entry exactly as pushed (times in seconds). */
  entry: JsonValue;
  /** Key and `write_ts`; null: the entry has none that are usable. */
  identity: Identity | null;
  reason: string;
  message: string;
  /** When it was first and last rejected, seconds since the epoch. */
  first_ts: number;
  last_ts: number;
  tries: number;
  /** The first receipt of the identity, seconds since the epoch. */
  received_ts: number;
}
