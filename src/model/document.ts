import type { JsonValue } from './json.ts';

/** A document that phones pull. User and key identify it. Pushed entries with the same key are independent of it. */
export interface Document {
  key: string;
  /** Last change, seconds since the epoch. */
  write_ts: number;
  data: JsonValue;
}
