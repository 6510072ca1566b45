// A document of a user.
import type { JsonValue } from './json.ts';

/** A document that the phone pulls. Identity: user and key; independent of entries pushed with the same key. */
export interface Document {
  key: string;
  /** Last change, seconds since the epoch. */
  write_ts: number;
  data: JsonValue;
}
