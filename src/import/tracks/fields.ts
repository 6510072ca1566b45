// Reads locations from records. Programs write names of fields, times and numbers in different ways.
import { locationEntry, type OtherLocation } from '../../intake/apps/other-entry.ts';
import type { Entry, Origin } from '../../model/entry.ts';
import { zoneAt } from '../../model/geo/zone.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { timeOnClocks } from '../../model/time.ts';
import type { FileReading, Found } from '../import-format.ts';
import { SourceBroken } from '../source-error.ts';

const knot = 1852 / 3600; // m/s

const fieldNames = ['time', 'date', 'end', 'lat', 'lon', 'accuracy', 'altitude', 'speed', 'bearing'] as const;

/** For `--columns`. The last three are speeds in other units than m/s. */
export const columnNames = [...fieldNames, 'speed_kmh', 'speed_knots', 'speed_mph'];
type Field = (typeof fieldNames)[number] | 'vaccuracy' | 'person';

/** Units at the end of a name, such as `speed_kmh` or `hAcc (m)`, and their factors. */
const lengths = { m: 1, meter: 1, meters: 1, metre: 1, metres: 1, mm: 1e-3, ft: 0.3048, feet: 0.3048 };
const degrees = { deg: 1, degree: 1, degrees: 1, wgs84: 1, e7: 1e-7 };
const kmh = 1 / 3.6;
const mph = 0.44704;
const speeds: Readonly<Record<string, number>> = {
  ...{ ms: 1, mps: 1, meterspersecond: 1, metrespersecond: 1 },
  ...{ kmh, kph: kmh, kmph: kmh, kmhr: kmh, kilometersperhour: kmh },
  ...{ kn: knot, kt: knot, kts: knot, knot, knots: knot, mph, milesperhour: mph },
};

/** Names in lower-case letters and digits, the most specific first. `units`: a name may end with a unit. */
const table: readonly [field: Field, names: string, units?: Readonly<Record<string, number>>][] = [
  ['time', 'fixtime timestamp time datetime timeutc utctime utc'],
  ['time', 'recordedat trackedat capturedat when tst ts t timelong'],
  ['time', 'timestampms timems timestamputc unixtime unixtimestamp epoch locationtime localtime coordtimes'],
  ['time', 'timestampsince1970s unix gpstime sampletime eventtime linestringtimestamps devicetime'],
  ['time', 'lastupdated lastchanged'],
  ['time', 'starttime startedat starttimestamp begin start createdat date day'],
  ['date', 'date day'],
  ['end', 'endtime endedat finishedat endtimestamp stoptime end'],
  ['lat', 'latitude lat latitudens latns', degrees],
  ['lon', 'longitude lon lng long longitudeew lonew', degrees],
  ['accuracy', 'horizontalaccuracy accuracy acc hacc haccuracy horizaccuracy', lengths],
  ['accuracy', 'precision uncertainty errorradius eph', lengths],
  ['altitude', 'altitude alt elevation ele height', lengths],
  ['speed', 'speed velocity sensedspeed', speeds],
  ['speed', 'vel kmh', { '': kmh }],
  ['bearing', 'bearing heading course cog direction', degrees],
  ['vaccuracy', 'verticalaccuracy vaccuracy vertaccuracy vacc vac', lengths],
  ['person', 'userid uid user useremail username person personid participant participantid subjectid entityid'],
];
const byName = new Map<string, { factor: number; rank: number }>();
for (const [row, [field, names, units = {}]] of table.entries())
  for (const [at, name] of names.split(' ').entries())
    for (const [unit, factor] of Object.entries({ '': 1, ...units })) {
      const key = `${field} ${name}${unit}`;
      if (!byName.has(key)) byName.set(key, { factor, rank: row * 100 + at });
    }
const allFields = [...new Set(table.map(([field]) => field))];

// Programs. Columns with all `names` occur only in their files. `speed`: factor to m/s. `person`:
// name of the column that identifies the person.
const programs: readonly { names: string[]; speed?: number; person?: string }[] = [
  { names: ['fixtime', 'devicetime'], speed: knot, person: 'deviceid' }, // Traccar
  { names: ['fixtime', 'protocol'], speed: knot, person: 'deviceid' },
  { names: ['sourcetype', 'velocity'], speed: kmh }, // GeoPulse
  { names: ['doublelatitude', 'doublelongitude'], person: 'deviceid' }, // AWARE
];

export type Fields = Readonly<Partial<Record<Field, readonly { name: string; factor: number }[]>>>;

/** `columns` takes precedence over the table of known names. */
export function fieldsIn(names: readonly string[], columns: FileReading['columns'] = {}): Fields {
  const forms = names.map(plain);
  const program = programs.find(({ names: some }) => some.every((name) => forms.includes(name)));
  const fields: Partial<Record<Field, Fields[Field]>> = {};
  for (const field of allFields) {
    const found = forms.flatMap((one, i) => {
      const all = field === 'person' && one === program?.person ? ['person'] : formsOf(one);
      const known = all.flatMap((form) => byName.get(`${field} ${form}`) ?? [])[0];
      return known === undefined ? [] : [{ name: names[i]!, ...known }];
    });
    if (found.length === 0) continue;
    found.sort((a, b) => a.rank - b.rank);
    const scale = (field === 'speed' && program?.speed) || 1;
    fields[field] = found.map(({ name, factor }) => ({ name, factor: factor === 1 ? scale : factor }));
  }
  for (const [given, name] of Object.entries(columns)) {
    const [field, unit = ''] = given.split('_') as [Field, string?];
    if (names.includes(name)) fields[field] = [{ name, factor: speeds[unit] ?? 1 }];
  }
  return fields;
}

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** Returns a name, its singular, and the name without a prefix such as in `double_latitude`. */
const formsOf = (name: string): string[] => {
  const one = name.replace(/ies$/, 'y').replace(/s$/, '');
  return [name, one, name.replace(/^(double|gps|location|coords)/, '')];
};

export const hasLocation = ({ time, lat, lon }: Fields): boolean =>
  time !== undefined && lat !== undefined && lon !== undefined;

/** A position outside the columns, for example in the geometry of a feature. */
export interface GivenPosition {
  longitude: JsonValue | undefined;
  latitude: JsonValue | undefined;
  altitude?: JsonValue | undefined;
  time?: JsonValue | undefined;
}

/** `where`: for messages. `reported`: further values, stored beside the location. */
interface LocationContext {
  origin: Origin;
  where: string;
  zone: FileReading['zone'];
  reported?: JsonObject;
}

export const timeForms = 'write times as 2024-12-31 08:00:00, 31.12.2024 08:00:00, or seconds since 1970';

/** Matches `21.6 km/h` or `240 m`. */
const withUnit = /^([+-]?[\d.,]+) *(m|ft|mm|m\/s|km\/h|kmh|kph|mph|kn|kt|kts|knots)$/i;

/** `position` takes precedence over columns of the record. */
export function locate(record: JsonObject, fields: Fields, context: LocationContext, position?: GivenPosition): Found {
  const { origin, where, zone, reported } = context;
  const number = (field: Field, min = Number.NEGATIVE_INFINITY): number | undefined => {
    for (const { name, factor } of fields[field] ?? []) {
      const [, text = record[name], unit] = withUnit.exec(String(record[name] ?? '').trim()) ?? [];
      const value = numberIn(text);
      const scale = unit === undefined ? factor : byName.get(`${field} ${field}${plain(unit)}`)?.factor;
      if (value !== undefined && scale && value >= min) return scale < 1e-6 ? value / 1e7 : value * scale;
    }
    return undefined;
  };
  const latitude = position === undefined ? number('lat') : numberIn(position.latitude);
  const longitude = position === undefined ? number('lon') : numberIn(position.longitude);
  if (latitude === undefined || longitude === undefined)
    return { unread: `expected latitude and longitude as numbers at ${where}, found a missing or unreadable value` };
  if (Math.abs(latitude) > 90 || Math.abs(longitude) > 180)
    return { unread: `expected latitude -90 to 90 and longitude -180 to 180 at ${where}, found another number` };
  const time = position?.time ?? timeOf(record, fields);
  const ts = instantIn(time, zone);
  if (ts === null)
    return {
      unread: `expected a time at ${where}, found ${time === undefined ? 'none' : `another text (${timeForms})`}`,
    };
  const known: Partial<OtherLocation> = {
    altitude: numberIn(position?.altitude) ?? number('altitude'),
    accuracy: number('accuracy', 0),
    vaccuracy: number('vaccuracy', 0),
    sensed_speed: number('speed', 0),
    bearing: number('bearing', 0),
  };
  const location = { ts, latitude, longitude, ...known };
  const entry = withZoneAt(locationEntry(location, origin, reported), location);
  return { owner: null, entry, ...(fields.person && { named: true }) };
}

/** Sets the time zone of the place, because files name none. */
export function withZoneAt(entry: Entry, { latitude, longitude }: OtherLocation): Entry {
  const time_zone = zoneAt({ latitude: Number(latitude), longitude: Number(longitude) });
  return { ...entry, metadata: { ...entry.metadata, time_zone } };
}

/** Combines date and time of day if they are in separate columns. */
function timeOf(record: JsonObject, { time = [], date: [date] = [] }: Fields): JsonValue | undefined {
  const value = time.map(({ name }) => record[name]).find((one) => (one ?? '') !== '');
  const isOfDay = typeof value === 'string' && /^\s*\d{1,2}:\d\d/.test(value);
  return isOfDay && date ? `${record[date.name]} ${value.trim()}` : value;
}

/** The function throws `SourceBroken` at the first row of a second person. */
export function personChecker(): (row: JsonObject, fields: Fields, where: string) => void {
  let first: JsonValue | undefined;
  return (row, { person: [column] = [] }, where) => {
    const person = column && row[column.name];
    first ??= person;
    if ((person ?? first) === first) return; // Home Assistant names the person only in the first row
    const found = `a second person in ${JSON.stringify(column?.name)} at ${where}`;
    const remedy = 'split the file by person, and import each part with its own --user';
    throw new SourceBroken(`expected locations of one person, found ${found}: ${remedy}`, 'people');
  };
}

/** Returns all fields on one level, because some programs nest the coordinates. */
export function flattened(record: JsonObject, depth = 4): JsonObject {
  const inner = Object.values(record).filter(isJsonObject);
  if (inner.length === 0 || depth === 0) return record;
  return Object.assign({}, ...inner.map((one) => flattened(one, depth - 1)), record) as JsonObject;
}

const dayFirst = /^(?<day>\d\d?)\.(?<month>\d\d?)\.(?<year>\d{4})/;
const yearFirst = /^(?<year>\d{4})[-/.](?<month>\d\d?)[-/.](?<day>\d\d?)/;
const clock = /^(?:T| +|, *)(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)? *(z|utc|gmt|[+-]\d\d(?::?\d\d)?)?$/i;

/**
 * Seconds since the epoch of a time in ISO 8601 or a similar form, such as `31.12.2024 08:00`, or a
 * number of s, ms, µs or ns. null: any other value. `zone`: of times without an offset; if it is
 * missing, such a time is an error.
 */
export function instantIn(value: JsonValue | undefined, zone?: string): number | null {
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : '';
  if (/^\d+(?:\.\d+)?(?:e\+?\d+)?$/i.test(text)) {
    let ts = Number(text);
    if (ts === Infinity) return null; // 309 digits or more
    while (ts >= 1e11) ts /= 1000; // ms, µs or ns: 1e11 s are in the year 5138
    return ts >= 1e8 ? ts : null; // numbers with fewer digits are dates, such as 20241231
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
    if (zone !== undefined) return timeOnClocks(local, zone);
    const found = 'times without one: name their zone, such as --zone Europe/Berlin or --zone UTC';
    const expected = 'times with an offset from UTC, such as 2024-03-12T08:00:00+01:00';
    throw new SourceBroken(`expected ${expected}, found ${found}`, 'zone');
  }
  const [, sign, ahead = '', more = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(offset) ?? [];
  const shift = sign === undefined ? 0 : Number(`${sign}1`) * (Number(ahead) * 3600 + Number(more) * 60);
  return local - shift;
}

/** Reads a number, or a text such as `12.5`, `12,5` or `12.5° S`. undefined: any other value. */
function numberIn(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const [, number, letter = ''] = /^([+-]?[\d.]+(?:,\d+)?(?:e[+-]?\d+)?) ?°? ?([NSEW])?$/i.exec(value.trim()) ?? [];
  const found = number === undefined ? Number.NaN : Number(number.replace(',', '.'));
  if (!Number.isFinite(found)) return undefined;
  return /[SW]/i.test(letter) ? -found : found;
}
