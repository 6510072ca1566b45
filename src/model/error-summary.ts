// A rejected entry.
import type { Identity } from './entry.ts';
import type { JsonValue } from './json.ts';

/**
 * The reason if a converter failed: a fault of the program. All other reasons are judgements of
 * intake or of a converter about what was pushed.
 */
export const faultReason = 'conversion_failed';

/** A rejected entry, with the reason. */
export interface ErrorRow {
  /** Derived from the identity, or from the content of an unusable entry. */
  id: string;
  /** Exactly as pushed (times in seconds). */
  entry: JsonValue;
  /** null for an unusable entry without one. */
  identity: Identity | null;
  reason: string;
  message: string;
  /** When it was first and last rejected, seconds since the epoch. */
  first_ts: number;
  last_ts: number;
  /** How often it failed. */
  tries: number;
  /** When the service first received it, seconds since the epoch. */
  received_ts: number;
}
