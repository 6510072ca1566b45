import type { JsonObject, JsonValue } from './json.ts';

/** The program that made an entry of the platform `other`, such as `owntracks` or `gpx`. */
export interface Origin {
  program: string;
  version?: string;
}

/** The metadata of an entry. Unknown fields are kept. */
export interface Metadata {
  key: string;
  /** Decimal seconds since the epoch. */
  write_ts: number;
  /** `message`, `sensor-data` or `rw-document`. Not part of the identity. */
  type?: string;
  /** `android`, `ios`, or `other`: other apps, trackers and imports. */
  platform?: string;
  origin?: JsonValue;
  /** IANA zone of the phone when it wrote the entry. */
  time_zone?: string;
  /** Id of the token of the put. The server sets it; missing: the call had no token. */
  token_id?: string;
  read_ts?: number;
  plugin?: string | null;
  [name: string]: JsonValue | undefined;
}

/** A usable entry: metadata with a key and a finite `write_ts`, and an object as payload. */
export interface Entry {
  metadata: Metadata;
  data: JsonObject;
}

/** The identity of a pushed entry within a user, in usercache, timeseries and error timeseries. */
export interface Identity {
  key: string;
  write_ts: number;
}

/** Of two entries of a user with the same identity, the later one replaces the earlier one. */
export const identityOf = ({ metadata: { key, write_ts } }: Entry): Identity => ({ key, write_ts });

/** The identity as one text, for maps and sets. A key has no blank, see `intake/check-entry.ts`. */
export const identityText = ({ key, write_ts }: Identity): string => `${write_ts} ${key}`;

/**
 * The time by which stores index an entry, seconds since the epoch: `data.ts`, else
 * `data.start_ts`, as in labels, else `data.end_ts`. null: it has none of them.
 */
export function dataTime(data: JsonObject): number | null {
  for (const value of [data.ts, data.start_ts, data.end_ts]) {
    if (typeof value === 'number' && Number.isFinite(value)) return value;
  }
  return null;
}
