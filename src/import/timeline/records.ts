// Google Takeout's `Records.json`, the location history until 2024: every fix of every phone, with what it believed to
// be doing.
import { locationEntry, motionEntry, numberFrom, secondsFrom } from '../../formats/other-entry.ts';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../model/json.ts';
import type { FileFormat, Found, SourceReadOptions } from '../format.ts';
import { jsonElements } from '../read/json-elements.ts';
import type { SourceFile } from '../source.ts';
import { zoned } from '../tracks/point.ts';
import { degreesFrom, surest } from './segments.ts';

/** The import format `google-records`. */
export const googleRecords: FileFormat = {
  name: 'google-records',
  title: 'Records.json of Google Takeout',
  recognises: ({ head }) =>
    /^\ufeff?\s*\{\s*"locations"\s*:\s*\[/.test(head.toString('utf8')) && head.includes('"latitudeE7"'),
  read: readRecords,
};

const origin = { program: 'google-location-history' };

async function* readRecords(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  for await (const { of, listed, text, reason, offset } of jsonElements(file.bytes(onBytes))) {
    if (!listed || of !== 'locations') continue;
    const record = text === null ? null : parseJsonObject(text);
    if (record === null)
      yield { unread: `expected a JSON object at byte ${offset}, found ${reason ?? 'something else'}` };
    else yield* recordFound(record, `byte ${offset}`);
  }
}

function* recordFound(record: JsonObject, where: string): Generator<Found> {
  const ts = timeOf(record);
  const latitude = degreesFrom(record.latitudeE7);
  const longitude = degreesFrom(record.longitudeE7);
  if (ts === null || latitude === undefined || longitude === undefined) {
    const missing = ts === null ? 'a time' : 'latitudeE7 and longitudeE7';
    yield { unread: `expected ${missing} in the record at ${where}, found something else` };
  } else {
    const fix = {
      ts,
      latitude,
      longitude,
      altitude: numberFrom(record.altitude),
      accuracy: numberFrom(record.accuracy, 0),
      vaccuracy: numberFrom(record.verticalAccuracy, 0),
      sensed_speed: numberFrom(record.velocity, 0),
      bearing: numberFrom(record.heading, 0),
    };
    yield { of: null, entry: zoned(locationEntry(fix, origin), fix) };
  }
  for (const reading of Array.isArray(record.activity) ? record.activity : []) {
    const at = isJsonObject(reading) ? timeOf(reading) : null;
    const found = isJsonObject(reading) ? surest(reading.activity) : null;
    if (at !== null && found !== null) yield { of: null, entry: motionEntry(at, found.type, origin, found.percent) };
  }
}

/** `timestamp` since 2022, `timestampMs` as text before. */
function timeOf({ timestamp, timestampMs }: JsonObject): number | null {
  if (timestamp !== undefined) return secondsFrom(timestamp);
  const ms = Number(timestampMs);
  return timestampMs === undefined || !Number.isFinite(ms) ? null : ms / 1000;
}
