// The database dialect of JSON that phones know: ids, UUIDs and dates as objects with a dollar name.

/** An object id of 24 hex characters. */
export const oid = (id: string) => ({ $oid: id });

/** A UUID: 32 hex characters, without dashes. */
export const uuidValue = (uuid: string) => ({ $uuid: uuid.replaceAll('-', '') });

/** A date, from seconds since the epoch: whole milliseconds. */
export const dateValue = (ts: number) => ({ $date: Math.round(ts * 1000) });
