// The one table of names that programs give to the parts of a fix, and how they write times and numbers.
import { locationEntry, type OtherFix } from '../../intake/apps/other-entry.ts';
import type { Entry, Origin } from '../../model/entry.ts';
import { zoneAt } from '../../model/geo/zone.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { timeOnClocks } from '../../model/time.ts';
import type { FileReading, Found } from '../import-format.ts';
import { SourceBroken } from '../source-error.ts';

/** Parts of a fix, as `--columns` names them. */
export const columnNames = ['time', 'date', 'end', 'lat', 'lon', 'accuracy', 'altitude', 'speed', 'bearing'] as const;
type Field = (typeof columnNames)[number] | 'vaccuracy' | 'person';

const knot = 1852 / 3600; // m/s

/** Names in small letters and digits alone, the most telling first, and what their values are multiplied with. */
const table: readonly [field: Field, factor: number, names: string][] = [
  ['time', 1, 'timestamp time datetime timeutc utctime utc recordedat trackedat capturedat when tst ts t timelong'],
  ['time', 1, 'timestampms timems timestamputc unixtime unixtimestamp epoch gpstime locationtime localtime'],
  ['time', 1, 'starttime startedat starttimestamp begin start createdat date day'],
  ['date', 1, 'date day'],
  ['end', 1, 'endtime endedat finishedat endtimestamp stoptime end'],
  ['lat', 1, 'latitude lat latitudedeg latitudedegrees latdeg latitudens latns gpslatitude'],
  ['lat', 1e-7, 'latitudee7 late7'],
  ['lon', 1, 'longitude lon lng long longitudedeg longitudedegrees londeg lngdeg longitudeew lonew gpslongitude'],
  ['lon', 1e-7, 'longitudee7 lnge7 lone7'],
  ['accuracy', 1, 'horizontalaccuracy accuracy acc hacc accuracym accuracymeters precision'],
  ['accuracy', 1e-3, 'accuracymm'],
  ['altitude', 1, 'altitude alt elevation ele height altitudem altitudemeters elevationm heightm'],
  ['speed', 1, 'speed velocity sensedspeed speedms speedmps speedmeterspersecond'],
  ['speed', 1 / 3.6, 'speedkmh speedkph kmh velocitykmh vel'],
  ['speed', knot, 'speedknots speedkn speedkt'],
  ['bearing', 1, 'bearing heading course cog direction'],
  ['vaccuracy', 1, 'verticalaccuracy vaccuracy vacc vac'],
  ['person', 1, 'userid uid user useremail username person personid participant participantid subjectid'],
];
const byName = new Map(
  table.flatMap(([field, factor, names], row) =>
    names.split(' ').map((name, at) => [`${field} ${name}`, { factor, rank: row * 100 + at }] as const),
  ),
);
const allFields = [...new Set(table.map(([field]) => field))];

/** Where each part of a fix is, by name, and what its numbers are multiplied with. */
export type Fields = Readonly<Partial<Record<Field, { name: string; factor: number }>>>;

/** The parts that are among `names`; `columns` say more than the table. */
export function fieldsIn(names: readonly string[], columns: FileReading['columns'] = {}): Fields {
  const plain = names.map((name) => name.toLowerCase().replace(/[^a-z0-9]/g, ''));
  const fields: Partial<Record<Field, { name: string; factor: number }>> = {};
  for (const field of allFields) {
    let best = Number.POSITIVE_INFINITY;
    for (const [i, one] of plain.entries()) {
      const { factor, rank } = byName.get(`${field} ${one}`) ?? { factor: 1, rank: best };
      if (rank >= best) continue;
      best = rank;
      fields[field] = { name: names[i]!, factor };
    }
    const told = columns[field];
    if (told !== undefined && names.includes(told)) fields[field] = { name: told, factor: 1 };
  }
  return fields;
}

/** True where time and place are known. */
export const isFix = ({ time, lat, lon }: Fields): boolean =>
  time !== undefined && lat !== undefined && lon !== undefined;

/** A fix where something else gives the place or the time, such as the geometry of a feature. */
export interface Spot {
  longitude: JsonValue | undefined;
  latitude: JsonValue | undefined;
  altitude?: JsonValue | undefined;
  time?: JsonValue | undefined;
}

/** What a fix comes from. */
interface FixOf {
  origin: Origin;
  /** The place in the file, for messages. */
  where: string;
  /** Of times that have no offset. */
  zone: FileReading['zone'];
  /** Other values of the fix. */
  reported?: JsonObject;
}

/** The fix of a record, or the reason why there is none. */
export function fixFound(
  record: JsonObject,
  fields: Fields,
  { origin, where, zone, reported }: FixOf,
  spot?: Spot,
): Found {
  const number = (field: Field, min?: number): number | undefined => {
    const found = fields[field];
    const value = numberIn(found && record[found.name]);
    if (value === undefined || (min !== undefined && value < min)) return undefined;
    return found!.factor === 1 ? value : found!.factor < 1e-6 ? value / 1e7 : value * found!.factor;
  };
  const latitude = spot === undefined ? number('lat') : numberIn(spot.latitude);
  const longitude = spot === undefined ? number('lon') : numberIn(spot.longitude);
  if (latitude === undefined || longitude === undefined)
    return { unread: `expected latitude and longitude as numbers at ${where}, found something else` };
  const time = spot?.time ?? timeOf(record, fields);
  const ts = instantIn(time, zone);
  if (ts === null)
    return { unread: `expected a time at ${where}, found ${time === undefined ? 'none' : 'another text'}` };
  const known: Partial<OtherFix> = {
    altitude: numberIn(spot?.altitude) ?? number('altitude'),
    accuracy: number('accuracy', 0),
    vaccuracy: number('vaccuracy', 0),
    sensed_speed: number('speed', 0),
    bearing: number('bearing', 0),
  };
  const fix = { ts, latitude, longitude, ...known };
  return { of: null, entry: zoned(locationEntry(fix, origin, reported), fix) };
}

/** The entry with the zone at its coordinate: a file does not name one, and other entries may be from elsewhere. */
export function zoned(entry: Entry, { latitude, longitude }: Pick<OtherFix, 'latitude' | 'longitude'>): Entry {
  const time_zone = zoneAt({ latitude: Number(latitude), longitude: Number(longitude) });
  return { ...entry, metadata: { ...entry.metadata, time_zone } };
}

/** The time of a record: where date and time of day are apart, both. */
function timeOf(record: JsonObject, { time, date }: Fields): JsonValue | undefined {
  const value = time && record[time.name];
  const isOfDay = typeof value === 'string' && /^\s*\d{1,2}:\d\d/.test(value);
  return isOfDay && date ? `${record[date.name]} ${value.trim()}` : value;
}

/** A source whose times lack an offset and whose zone was not named. */
export class ZoneMissing extends SourceBroken {
  constructor() {
    super(
      'expected times with an offset from UTC, such as 2024-03-12T08:00:00+01:00, found times without one: ' +
        'name their zone, such as --zone Europe/Berlin or --zone UTC',
    );
  }
}

const dayFirst = /^(?<day>\d\d?)\.(?<month>\d\d?)\.(?<year>\d{4})/;
const yearFirst = /^(?<year>\d{4})[-/.](?<month>\d\d?)[-/.](?<day>\d\d?)/;
const clock = /^(?:T| +|, *)(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)? *(z|utc|gmt|[+-]\d\d(?::?\d\d)?)?$/i;

/**
 * Seconds since the epoch of a time as programs write it: ISO 8601 and its kin, `31.12.2024 08:00`, or a number of
 * seconds, milliseconds, microseconds or nanoseconds. Null for anything else. Throws `ZoneMissing` for a time without
 * an offset if no `zone` is given.
 */
export function instantIn(value: JsonValue | undefined, zone?: string): number | null {
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : '';
  if (/^\d+(?:\.\d+)?$/.test(text)) {
    let ts = Number(text);
    while (ts >= 1e11) ts /= 1000; // 1e11 s are in the year 5138
    return ts >= 1e8 ? ts : null; // fewer digits are a date, such as 20241231
  }
  const day = (yearFirst.exec(text) ?? dayFirst.exec(text))?.[0];
  const time = day === undefined ? null : clock.exec(text.slice(day.length));
  if (day === undefined || time === null) return null;
  const { year, month, day: date } = (yearFirst.exec(day) ?? dayFirst.exec(day))!.groups!;
  const [, hours = '', minutes = '', seconds = '00', fraction = '', offset] = time;
  const two = (part = ''): string => part.padStart(2, '0');
  const iso = `${year}-${two(month)}-${two(date)}T${two(hours)}:${minutes}:${seconds}`;
  const local = Date.parse(`${iso}Z`) / 1000 + Number(`0.${fraction || 0}`);
  if (!Number.isFinite(local)) return null;
  if (offset === undefined) {
    if (zone === undefined) throw new ZoneMissing();
    return timeOnClocks(local, zone);
  }
  const [, sign, ahead = '', more = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(offset) ?? [];
  const shift = sign === undefined ? 0 : Number(`${sign}1`) * (Number(ahead) * 3600 + Number(more) * 60);
  return local - shift;
}

/** A number, or a text of one: with a decimal comma, or a coordinate with the letter of its hemisphere. */
function numberIn(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const [, number, letter = ''] = /^([+-]?[\d.]+(?:,\d+)?(?:e[+-]?\d+)?) ?°? ?([NSEW])?$/i.exec(value.trim()) ?? [];
  const found = number === undefined ? Number.NaN : Number(number.replace(',', '.'));
  if (!Number.isFinite(found)) return undefined;
  return /[SW]/i.test(letter) ? -found : found;
}
