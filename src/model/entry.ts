// An entry as phones push it, and its identity.
import type { JsonObject, JsonValue } from './json.ts';

/** The program that an entry of the platform `other` came from. */
export interface Origin {
  /** Such as `owntracks`, `overland`, `gpx`: lower case. */
  program: string;
  version?: string;
}

/** The metadata of an entry. Unknown fields are kept. */
export interface Metadata {
  /** Kind of entry, such as `background/location`. */
  key: string;
  /** When the phone wrote the entry, decimal seconds since the epoch. */
  write_ts: number;
  /** `message`, `sensor-data` or `rw-document`; no part of the identity. */
  type?: string;
  /** `android`, `ios`, or `other`: other apps, trackers and imports. */
  platform?: string;
  /** Of the platform `other`: the program it came from (an `Origin`). */
  origin?: JsonValue;
  /** IANA zone of the phone when it wrote the entry. */
  time_zone?: string;
  /** Of what was pushed with a token: the id of the token, set by the service. */
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

/** Identity of a pushed entry within one user. The same in usercache, timeseries and error timeseries. */
export interface Identity {
  key: string;
  write_ts: number;
}

/** The identity of an entry: within a user, key and `write_ts` name it. */
export function identityOf(entry: Entry): Identity {
  return { key: entry.metadata.key, write_ts: entry.metadata.write_ts };
}

/** An identity as one text, for maps and sets. A key holds no blank, see `intake/check-entry.ts`. */
export function identityText(identity: Identity): string {
  return `${identity.write_ts} ${identity.key}`;
}

/**
 * The data time by which an entry is indexed: `data.ts`; if missing, `data.start_ts` (labels and surveys over a range);
 * if missing, `data.end_ts`; otherwise null. Seconds since the epoch.
 */
export function dataTime(data: JsonObject): number | null {
  for (const value of [data.ts, data.start_ts, data.end_ts]) {
    if (typeof value === 'number' && Number.isFinite(value)) return value;
  }
  return null;
}
