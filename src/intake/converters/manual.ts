// Converts user inputs, which are the same on both platforms.
import type { Entry } from '../../model/entry.ts';
import { isJsonObject, type JsonValue, kindOf } from '../../model/json.ts';
import {
  ConversionError,
  checkLength,
  checkLocalTime,
  checkNumber,
  checkStatement,
  checkText,
  numberOf,
  timeOf,
} from './checks.ts';
import { type Conversion, converted, copyWithout, withTime } from './conversion.ts';
import { checkPosition } from './location.ts';

const longestText = 1024; // characters of a label or of the name of a survey

function checkLengths(entry: Entry): void {
  const { label, name } = entry.data;
  checkText(label, 'data.label', longestText);
  if (typeof name === 'string') checkLength(name, 'data.name', longestText);
  checkStatement(entry);
}

export function convertUserInput(entry: Entry): Conversion {
  timeOf(entry.data.start_ts, 'data.start_ts');
  timeOf(entry.data.end_ts, 'data.end_ts');
  return convertOpenUserInput(entry);
}

/** The first place has no `start_ts`, and the current place has no `end_ts`. */
export function convertOpenUserInput(entry: Entry): Conversion {
  const { data } = entry;
  if ((data.start_ts ?? null) === null && (data.end_ts ?? null) === null) timeOf(data.start_ts, 'data.start_ts');
  if (data.ts !== undefined && data.ts !== null) timeOf(data.ts, 'data.ts');
  checkLengths(entry);
  for (const field of ['start_ts', 'end_ts'] as const) {
    if ((data[field] ?? null) === null) continue;
    checkLocalTime(entry, timeOf(data[field], `data.${field}`), `data.${field}`);
  }
  return converted(entry, () =>
    copyWithout(data, ['start_local_dt', 'start_fmt_time', 'end_local_dt', 'end_fmt_time']),
  );
}

/** Converts a survey that belongs to no trip and no place. */
export function convertSurvey(entry: Entry): Conversion {
  const ts = timeOf(entry.data.ts, 'data.ts');
  checkLengths(entry);
  return withTime(entry, ts);
}

/** Converts a place that the user marked. `stress`: 0 (happy) to 100 (stressed). */
export function convertIncident(entry: Entry): Conversion {
  const ts = timeOf(entry.data.ts, 'data.ts');
  checkPoint(entry.data.loc);
  checkNumber(entry.data.stress, 'data.stress', { min: 0, max: 100 });
  checkLengths(entry);
  return withTime(entry, ts);
}

function checkPoint(loc: JsonValue | undefined): void {
  if (loc === undefined)
    throw new ConversionError('missing_field', 'data.loc: expected a GeoJSON point, found nothing');
  const coordinates = isJsonObject(loc) && loc.type === 'Point' ? loc.coordinates : null;
  if (!Array.isArray(coordinates) || coordinates.length < 2) {
    const message = `data.loc: expected a GeoJSON point, found ${kindOf(loc)} that is not a point`;
    throw new ConversionError('wrong_type', message);
  }
  checkPosition(coordinates[0], coordinates[1], 'data.loc.coordinates[0]', 'data.loc.coordinates[1]');
  for (const [i, more] of coordinates.slice(2).entries()) numberOf(more, `data.loc.coordinates[${i + 2}]`);
}
