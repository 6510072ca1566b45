// Extended JSON of MongoDB, in the form that the phone app reads. Also points, and times in three forms.
import type { JsonObject } from './json.ts';
import { formatTime, localDateTime } from './time.ts';

/** An object id of 24 hex characters. */
export const oid = (id: string) => ({ $oid: id });

/** A UUID: 32 hex characters, without dashes. */
export const uuidValue = (uuid: string) => ({ $uuid: uuid.replaceAll('-', '') });

/** The date of `ts` (seconds since the epoch), rounded to milliseconds. */
export const dateValue = (ts: number) => ({ $date: Math.round(ts * 1000) });

export const point = (coordinates: [longitude: number, latitude: number]) => ({ type: 'Point' as const, coordinates });

/** The fields `<name>_ts`, `<name>_local_dt` and `<name>_fmt_time` of a time. */
export function timeFields(name: string, ts: number, zone: string): JsonObject {
  return {
    [`${name}_ts`]: ts,
    [`${name}_local_dt`]: localDateTime(ts, zone),
    [`${name}_fmt_time`]: formatTime(ts, zone),
  };
}
