// Builds the index of a transit feed from its GTFS tables.
//
//   stop_times.txt                          index
//   trip 1: A 06:00, B 06:04, C 06:09       pattern 1: stops A B C, seconds 0 240 540, hours 6 and 7, 2 trips a day
//   trip 2: A 07:00, B 07:04, C 07:09       pattern 2: stops A C, seconds 0 420, hour 8, 1 trip a day
//   trip 3: A 08:00,          C 08:07
import { oneLine } from '../log/text.ts';
import { isNowhere, type LatLon } from '../model/geo/distance.ts';
import { type MobilityError, usageError } from '../model/mobility-error.ts';
import { isTimeZone } from '../model/time.ts';
import { addToList } from '../util/add-to-list.ts';
import { dayType, type FeedIndex, kindOfType, type TransitPattern, type TransitRoute } from './feed-index.ts';
import { simplify } from './line.ts';

export type GtfsRow = Readonly<Record<string, string | undefined>>;

export interface GtfsTables {
  /** The rows of `NAME.txt`; none if the feed lacks the table. */
  rows(table: string): AsyncIterable<GtfsRow>;
}

export interface FeedNotes {
  no_shape: number; // patterns without a shape
  no_times: number; // patterns without times
  stops_left_out: number; // stops without a position, and rows of stops whose id occurs again in a later row
  trips_left_out: number; // trips with fewer than two known stops
  routes_left_out: number; // routes of kinds that the analysis does not use, such as lifts and taxis
  patterns_left_out: number; // rare patterns, left out to keep the index small
}

const maxName = 200; // the index keeps at most this many characters of a name or an id
/** The maximum number of patterns of an index. A large agency has 500 to 3,000; the rarest are school trips. */
const maxPatterns = 6_000;
const shapeTolerance = 8; // m; largest distance by which a simplified shape differs from the shape of the feed
const day = 86_400;

export async function buildIndex(id: string, tables: GtfsTables): Promise<{ index: FeedIndex; notes: FeedNotes }> {
  const notes: FeedNotes = {
    no_shape: 0,
    no_times: 0,
    stops_left_out: 0,
    trips_left_out: 0,
    routes_left_out: 0,
    patterns_left_out: 0,
  };
  const { agencies, zone } = await readAgencies(tables);
  const routes = await readRoutes(tables, agencies, notes);
  const stops = await readStops(tables, notes);
  const services = await readServices(tables);
  const trips = await readTrips(tables, routes, services);
  await readFrequencies(tables, trips);
  await readStopTimes(tables, trips, stops);
  const patterns = toPatterns(trips, services.days, notes);
  if (patterns.length === 0) throw unusable('trips with two or more known stops in stop_times.txt', 'none');
  const kept = [...patterns].sort((a, b) => b.trips - a.trips || a.order - b.order).slice(0, maxPatterns);
  const shapes = await readShapes(tables, new Set(kept.map(({ shapeId }) => shapeId).filter((shape) => shape !== '')));
  kept.sort((a, b) => a.order - b.order);
  const { first_day, last_day } = services;
  const index = { id, ...compact(kept, trips.stops, shapes, { zone, first_day, last_day }) };
  notes.no_shape = index.patterns.filter(({ shape }) => shape < 0).length;
  notes.no_times = index.patterns.filter(({ seconds }) => seconds.length === 0).length;
  notes.patterns_left_out = patterns.length - kept.length;
  return { index, notes };
}

const unusable = (expected: string, found: string): MobilityError =>
  usageError(`expected a GTFS feed with ${expected}, found ${found}: correct the table, or add another feed`);

const nameOf = (text: string): string => oneLine(text.slice(0, maxName));

type Routes = Map<string, TransitRoute>;

async function readAgencies(tables: GtfsTables) {
  const agencies = new Map<string, string>(); // by id
  let zone = '';
  for await (const { agency_id = '', agency_name = '', agency_timezone = '' } of tables.rows('agency')) {
    agencies.set(agency_id, nameOf(agency_name || agency_id));
    zone ||= agency_timezone;
  }
  if (agencies.size === 0) throw unusable('agency.txt', 'none');
  const shown = JSON.stringify(zone.slice(0, maxName));
  if (!isTimeZone(zone)) throw unusable('an IANA time zone in agency_timezone', shown);
  return { agencies, zone };
}

async function readRoutes(tables: GtfsTables, agencies: Map<string, string>, notes: FeedNotes): Promise<Routes> {
  const routes: Routes = new Map();
  for await (const row of tables.rows('routes')) {
    const { route_id = '', agency_id = '', route_short_name = '', route_long_name = '', route_type = '' } = row;
    const kind = kindOfType(Number(route_type || Number.NaN));
    if (kind === null) {
      notes.routes_left_out += 1;
      continue;
    }
    const agency = agencies.get(agency_id) ?? [...agencies.values()][0]!;
    const names = { short_name: nameOf(route_short_name), long_name: nameOf(route_long_name) };
    routes.set(route_id, { id: nameOf(route_id), agency, ...names, kind });
  }
  if (routes.size === 0) throw unusable('routes of trains, buses or ferries in routes.txt', 'none');
  return routes;
}

type Stop = { name: string } & LatLon;

/** Stops by id. A platform gets the name of its station, and a platform without a position the station's position. */
async function readStops(tables: GtfsTables, notes: FeedNotes): Promise<Map<string, Stop>> {
  const found = new Map<string, { name: string; parent: string; at: LatLon | null }>();
  let count = 0;
  for await (const { stop_id = '', stop_name = '', stop_lat = '', stop_lon = '', parent_station = '' } of tables.rows(
    'stops',
  )) {
    const [latitude, longitude] = [Number(stop_lat), Number(stop_lon)];
    const isGiven = stop_lat !== '' && stop_lon !== '' && !isNowhere({ latitude, longitude });
    if (isGiven && !(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180)) {
      const found = JSON.stringify([stop_id, stop_lat, stop_lon]);
      throw unusable('latitudes up to 90 and longitudes up to 180 degrees in stops.txt', found);
    }
    const stop = { name: nameOf(stop_name), parent: parent_station, at: isGiven ? { latitude, longitude } : null };
    found.set(stop_id, stop);
    count += 1;
  }
  const stops = new Map<string, Stop>();
  for (const [id, { name, parent, at }] of found) {
    const station = found.get(parent);
    const place = at ?? station?.at;
    if (place) stops.set(id, { name: station?.name || name, ...place });
  }
  if (stops.size === 0) throw unusable('stops with coordinates in stops.txt', 'none');
  notes.stops_left_out = count - stops.size;
  return stops;
}

type Services = Awaited<ReturnType<typeof readServices>>;

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** Reads services. `byId`: by service, its days of the week as bits, Monday first, and how many days it runs. */
async function readServices(tables: GtfsTables) {
  const byId = new Map<string, { week: number; days: number }>();
  let first = '99999999';
  let last = '00000000';
  for await (const row of tables.rows('calendar')) {
    const { service_id = '', start_date = '', end_date = '' } = row;
    if (!isDate(start_date) || !isDate(end_date)) continue;
    const week = weekdays.reduce((bits, name, at) => bits | (row[name] === '1' ? 1 << at : 0), 0);
    const span = dayNumber(end_date) - dayNumber(start_date) + 1;
    const count = weekdays.filter((_, at) => week & (1 << at)).length;
    byId.set(service_id, { week, days: Math.round((Math.max(0, span) * count) / 7) });
    if (week === 0) continue;
    if (start_date < first) first = start_date;
    if (end_date > last) last = end_date;
  }
  for await (const { service_id = '', date = '', exception_type = '' } of tables.rows('calendar_dates')) {
    if (!isDate(date)) continue;
    const service = byId.get(service_id) ?? { week: 0, days: 0 };
    byId.set(service_id, service);
    service.days += exception_type === '2' ? -1 : 1;
    if (exception_type === '2') continue;
    service.week |= 1 << ((dayNumber(date) + 3) % 7); // 1970-01-01 was a Thursday
    if (date < first) first = date;
    if (date > last) last = date;
  }
  for await (const { feed_start_date = '', feed_end_date = '' } of tables.rows('feed_info')) {
    if (isDate(feed_start_date)) first = feed_start_date;
    if (isDate(feed_end_date)) last = feed_end_date;
  }
  if (!isDate(first) || !isDate(last) || last < first) {
    throw unusable('days of service in calendar.txt or calendar_dates.txt', 'none');
  }
  const days = dayNumber(last) - dayNumber(first) + 1;
  return { byId, first_day: withDashes(first), last_day: withDashes(last), days };
}

const isDate = (text: string): boolean => /^(19|20)\d{6}$/.test(text) && Number.isFinite(dayNumber(text));
const withDashes = (text: string): string => `${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6)}`;
const dayNumber = (text: string): number => Date.parse(`${withDashes(text)}T00:00:00Z`) / (day * 1000);

interface Trip {
  route: TransitRoute;
  shapeId: string;
  week: number; // days of the week as bits, Monday first
  days: number; // number of days of the feed on which the trip runs
  /** Times in which `frequencies.txt` repeats the trip every `headway` s; seconds of the service day. */
  windows: { start: number; end: number; headway: number }[];
  calls: { sequence: number; stop: number; time: number }[];
}

interface Trips {
  byId: Map<string, Trip>;
  stops: Stop[]; // stops in the order in which `stop_times.txt` first names them
}

async function readTrips(tables: GtfsTables, routes: Routes, services: Services): Promise<Trips> {
  const byId = new Map<string, Trip>();
  for await (const { trip_id = '', route_id = '', service_id = '', shape_id = '' } of tables.rows('trips')) {
    const route = routes.get(route_id);
    if (route === undefined) continue;
    const { week, days } = services.byId.get(service_id) ?? { week: 0b1111111, days: services.days };
    const trip = { route, shapeId: shape_id, week, days: Math.max(0, days), windows: [], calls: [] };
    byId.set(trip_id, trip);
  }
  if (byId.size === 0) throw unusable('trips in trips.txt', 'none');
  return { byId, stops: [] };
}

async function readFrequencies(tables: GtfsTables, trips: Trips): Promise<void> {
  for await (const { trip_id = '', start_time = '', end_time = '', headway_secs = '' } of tables.rows('frequencies')) {
    const [start, end, headway] = [secondsOf(start_time), secondsOf(end_time), Number(headway_secs)];
    if (Number.isFinite(start) && end > start && headway > 0)
      trips.byId.get(trip_id)?.windows.push({ start, end, headway });
  }
}

async function readStopTimes(tables: GtfsTables, trips: Trips, stops: ReadonlyMap<string, Stop>): Promise<void> {
  const numbers = new Map<string, number>();
  for await (const row of tables.rows('stop_times')) {
    const { trip_id = '', stop_id = '', stop_sequence = '', arrival_time = '', departure_time = '' } = row;
    const trip = trips.byId.get(trip_id);
    const stop = stops.get(stop_id);
    if (trip === undefined || stop === undefined) continue;
    let number = numbers.get(stop_id);
    if (number === undefined) {
      number = trips.stops.length;
      numbers.set(stop_id, number);
      trips.stops.push(stop);
    }
    trip.calls.push({ sequence: Number(stop_sequence), stop: number, time: secondsOf(arrival_time || departure_time) });
  }
}

/** Seconds of the service day. 24:00 and later times are on the next day. NaN: the text is not a time. */
function secondsOf(text: string): number {
  const parts = /^\s*(\d{1,3}):([0-5]\d):([0-5]\d)\s*$/.exec(text);
  return parts === null ? Number.NaN : Number(parts[1]) * 3600 + Number(parts[2]) * 60 + Number(parts[3]);
}

interface FoundPattern extends Omit<TransitPattern, 'route' | 'shape'> {
  route: TransitRoute;
  shapeId: string;
  order: number;
}

function toPatterns(trips: Trips, feedDays: number, notes: FeedNotes): FoundPattern[] {
  const groups = new Map<string, Trip[]>();
  for (const trip of trips.byId.values()) {
    trip.calls.sort((a, b) => a.sequence - b.sequence);
    if (trip.calls.length < 2) {
      notes.trips_left_out += 1;
      continue;
    }
    const key = `${trip.route.id}\n${trip.shapeId}\n${trip.calls.map(({ stop }) => stop).join()}`;
    addToList(groups, key, trip);
  }
  return [...groups.values()].map((group, order): FoundPattern => {
    const { route, shapeId, calls } = group[0]!;
    const times = group.map(timesFrom).filter((all) => all !== null);
    const seconds =
      times.length === 0 ? [] : calls.map((_, at) => medianSecond(times.map((all) => all[at]! - all[0]!)));
    const runs = group.reduce((sum, trip) => sum + runsADay(trip) * Math.min(1, trip.days / feedDays), 0);
    const hours = hoursOf(group, times.length === 0);
    const stops = calls.map(({ stop }) => stop);
    return { route, shapeId, stops, seconds, hours, trips: Math.round(runs * 100) / 100, order };
  });
}

/** Times at all stops of a trip; null: the first or last time is missing. Other missing times are interpolated. */
function timesFrom({ calls }: Trip): number[] | null {
  const times = calls.map(({ time }) => time);
  if (!Number.isFinite(times[0]) || !Number.isFinite(times.at(-1))) return null;
  for (let at = 1, known = 0; at < times.length; at += 1) {
    if (!Number.isFinite(times[at])) continue;
    for (let gap = known + 1; gap < at; gap += 1) {
      times[gap] = times[known]! + ((times[at]! - times[known]!) * (gap - known)) / (at - known);
    }
    known = at;
  }
  return times;
}

/** Returns the rounded median; of two values in the middle, the greater, so that the result is a recorded value. */
function medianSecond(values: readonly number[]): number {
  return Math.round(values.toSorted((a, b) => a - b)[values.length >> 1]!);
}

const runsADay = ({ windows }: Trip): number =>
  windows.length === 0 ? 1 : windows.reduce((sum, { start, end, headway }) => sum + (end - start) / headway, 0);

/** For each type of day, a bit for each hour in which a trip is under way. A pattern without times has all bits. */
function hoursOf(group: readonly Trip[], isUntimed: boolean): [number, number, number] {
  const hours: [number, number, number] = [0, 0, 0];
  if (isUntimed) return [0xffffff, 0xffffff, 0xffffff];
  for (const { week, windows, calls } of group) {
    const [start, end] = [calls[0]!.time, calls.at(-1)!.time];
    if (!Number.isFinite(start) || !Number.isFinite(end)) continue;
    const spans =
      windows.length === 0 ? [{ start, end }] : windows.map((one) => ({ ...one, end: one.end + end - start }));
    for (const span of spans) {
      for (let hour = Math.floor(span.start / 3600); hour <= Math.floor(span.end / 3600) && hour < 72; hour += 1) {
        for (let weekday = 0; weekday < 7; weekday += 1) {
          if ((week & (1 << weekday)) === 0) continue;
          hours[dayType((weekday + Math.floor(hour / 24)) % 7)] |= 1 << (hour % 24);
        }
      }
    }
  }
  return hours;
}

async function readShapes(tables: GtfsTables, wanted: ReadonlySet<string>): Promise<Map<string, number[]>> {
  const found = new Map<string, { sequence: number; latitude: number; longitude: number }[]>();
  if (wanted.size === 0) return new Map();
  for await (const row of tables.rows('shapes')) {
    const { shape_id = '', shape_pt_sequence = '', shape_pt_lat = '', shape_pt_lon = '' } = row;
    if (!wanted.has(shape_id)) continue;
    const [latitude, longitude] = [Number(shape_pt_lat), Number(shape_pt_lon)];
    if (!(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180) || isNowhere({ latitude, longitude })) continue;
    addToList(found, shape_id, { sequence: Number(shape_pt_sequence), latitude, longitude });
  }
  const lines = [...found].flatMap(([id, points]): [string, number[]][] => {
    points.sort((a, b) => a.sequence - b.sequence);
    const line = simplify(points, shapeTolerance).flatMap(({ latitude, longitude }) => [latitude, longitude]);
    return line.length < 4 ? [] : [[id, line]];
  });
  return new Map(lines);
}

/** Keeps only stops, routes and shapes that a pattern uses, each once. */
function compact(
  patterns: readonly FoundPattern[],
  stops: readonly Stop[],
  lines: ReadonlyMap<string, number[]>,
  facts: Pick<FeedIndex, 'zone' | 'first_day' | 'last_day'>,
): Omit<FeedIndex, 'id'> {
  const used = { stops: new Numbered<Stop>(), routes: new Numbered<TransitRoute>(), shapes: new Numbered<string>() };
  const kept = patterns.map(({ route, shapeId, stops: calls, seconds, hours, trips }): TransitPattern => {
    const line = lines.get(shapeId);
    return {
      route: used.routes.of(route),
      shape: line === undefined ? -1 : used.shapes.of(JSON.stringify(line)),
      stops: calls.map((call) => used.stops.of(stops[call]!)),
      seconds,
      hours,
      trips,
    };
  });
  return {
    agencies: [...new Set(used.routes.values.map(({ agency }) => agency))].sort(),
    ...facts,
    stops: used.stops.values,
    routes: used.routes.values,
    patterns: kept,
    shapes: used.shapes.values.map((line) => JSON.parse(line) as number[]),
  };
}

class Numbered<T> {
  readonly values: T[] = [];
  readonly #numbers = new Map<T, number>();

  of(value: T): number {
    const known = this.#numbers.get(value);
    if (known !== undefined) return known;
    this.#numbers.set(value, this.values.length);
    this.values.push(value);
    return this.values.length - 1;
  }
}
