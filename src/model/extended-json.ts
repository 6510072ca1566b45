// Extended JSON of MongoDB, in the form that the phone app reads.
import type { JsonObject } from './json.ts';
import { formatTime, localDateTime } from './time.ts';

export const oid = (id: string) => ({ $oid: id });

export const uuidValue = (uuid: string) => ({ $uuid: uuid.replaceAll('-', '') });

/** Rounds `ts` (seconds since the epoch) to milliseconds. */
export const dateValue = (ts: number) => ({ $date: Math.round(ts * 1000) });

export const point = (coordinates: [longitude: number, latitude: number]) => ({ type: 'Point' as const, coordinates });

export function timeFields(name: string, ts: number, zone: string): JsonObject {
  return {
    [`${name}_ts`]: ts,
    [`${name}_local_dt`]: localDateTime(ts, zone),
    [`${name}_fmt_time`]: formatTime(ts, zone),
  };
}
