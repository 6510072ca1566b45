// Reads the locations of a stretch: the phone's locations, and locations of other sources where the phone has none.
import {
  type BySource,
  chooseLocations,
  cleanLocations,
  type Location,
  locationFields,
  type ObservedLocation,
  type Ping,
  sourceReach,
  toLocation,
  toPing,
} from '../analysis/clean/observations.ts';
import { interpretEntry } from '../intake/converters/convert.ts';
import type { Entry } from '../model/entry.ts';
import { keys } from '../model/keys.ts';
import { isPhone, sourceOf } from '../model/sources.ts';
import type { TimeRange } from '../model/time.ts';
import { entryPages } from '../store/paging.ts';
import type { Timeseries } from '../store/store.ts';
import { addToList } from '../util/add-to-list.ts';

const pageSize = 5000; // entries per read

interface LocationReader {
  timeseries: Pick<Timeseries, 'find'>;
  userId: string;
  /** The key of the phone's locations, filtered or not. Other sources have only unfiltered locations. */
  key: string;
  zonesOf(locations: readonly ObservedLocation[]): Promise<(location: ObservedLocation) => string>;
  onPing(ping: Ping): void;
}

/**
 * Reads the locations of a stretch that begins at `from`. The stretch ends when it has `size` locations since
 * `countFrom`, or where the data end. It may have up to about 2 * `size`, because whole pages are read. Locations
 * with the same time are never in two stretches. Also reads the locations within `sourceReach` s of the stretch,
 * because the choice between sources depends on them.
 */
export async function readLocations(
  reader: LocationReader,
  { from, countFrom, size }: { from: number; countFrom: number; size: number },
): Promise<{ locations: Location[]; loadedUntil: number }> {
  const found = new Map<string, Location[]>();
  const main = { key: reader.key, from: from - sourceReach, countFrom, size };
  let until = await readPart(reader, found, main, isAny);
  await readPart(reader, found, { key: reader.key, from: until, to: until + sourceReach }, isAny);
  if (reader.key !== keys.location) until = await readOthers(reader, found, { from, until, countFrom, size });
  const locations = chooseLocations(found).filter(({ ts }) => ts >= from && ts < until);
  return { locations, loadedUntil: until };
}

type IsWanted = (source: string) => boolean;

const isAny: IsWanted = () => true;
const isOther: IsWanted = (source) => !isPhone(source);

/**
 * Reads locations of other sources in the gaps between the phone's filtered locations, up to about 2 * `size`. Returns
 * the time before which all locations are read.
 *
 *   phone    o o o o                  o o o o
 *   gap              |--------------|            `sourceReach` s away from each location
 */
async function readOthers(
  reader: LocationReader,
  found: Map<string, Location[]>,
  { from, until, countFrom, size }: { from: number; until: number; countFrom: number; size: number },
): Promise<number> {
  const gaps = gapsOf(found, from - sourceReach, until + sourceReach);
  const [first, last] = [gaps[0], gaps.at(-1)];
  if (first === undefined || last === undefined) return until;
  const part = { key: keys.location, from: first.from, to: last.to, within: gaps, countFrom, size };
  const end = await readPart(reader, found, part, isOther);
  if (end >= last.to || end >= until) return until;
  await readPart(reader, found, { key: keys.location, from: end, to: end + sourceReach }, isOther);
  return end;
}

/** The parts of `[from, to)` that are farther than `sourceReach` s from every location found. */
function gapsOf(found: BySource, from: number, to: number): TimeRange[] {
  const gaps: TimeRange[] = [];
  let start = from;
  for (const ts of timesOf(found)) {
    if (ts - sourceReach > start) gaps.push({ from: start, to: ts - sourceReach });
    start = Math.max(start, ts + sourceReach);
  }
  if (start < to) gaps.push({ from: start, to });
  return gaps;
}

function timesOf(found: BySource): number[] {
  const times = [...found.values()].flatMap((locations) => locations.map(({ ts }) => ts));
  return found.size > 1 ? times.sort((a, b) => a - b) : times;
}

interface Part {
  key: string;
  from: number;
  to?: number;
  within?: readonly TimeRange[]; // only entries in these ranges, see `EntryQuery`
  countFrom?: number; // reading ends when `size` locations since `countFrom` are found
  size?: number;
}

/** Adds the locations of one key to `found`, cleaned by source. Returns the time before which they are complete. */
async function readPart(
  { timeseries, userId, zonesOf, onPing }: LocationReader,
  found: Map<string, Location[]>,
  { key, from, to, within, countFrom = 0, size = Number.POSITIVE_INFINITY }: Part,
  isWanted: IsWanted,
): Promise<number> {
  let count = 0;
  if (from === Number.POSITIVE_INFINITY) return from;
  const end = to === undefined || to > Number.MAX_VALUE ? Number.POSITIVE_INFINITY : to;
  const bound = end === Number.POSITIVE_INFINITY ? {} : { to: end };
  // The locations that end a page and have the same time. The next page may begin with others of that time.
  let held: ObservedLocation[] = [];
  const some = within === undefined ? {} : { within };
  const query = { keys: [key], time: 'ts', from, ...bound, ...some, limit: Math.min(pageSize, size) } as const;
  const read = (entry: Entry): ObservedLocation | null => {
    const source = sourceOf(entry);
    const ping = toPing(entry);
    if (ping !== null) onPing(ping);
    return isWanted(source) ? toLocation(interpretEntry(entry, locationFields), source) : null;
  };
  for await (const { entries, next } of entryPages(timeseries, userId, query)) {
    const picked = entries.map(read).filter((location) => location !== null);
    const until = next === null ? end : next.time;
    const locations = held.length === 0 ? picked : [...held, ...picked];
    const whole = next === null ? locations : locations.filter(({ ts }) => ts < until);
    for (const [source, own] of bySource(whole)) {
      const clean = cleanLocations(own, await zonesOf(own));
      const before = found.get(source);
      found.set(source, before === undefined ? clean : [...before, ...clean]);
      for (const { ts } of clean) if (ts >= countFrom) count += 1;
    }
    if (count >= size) return until;
    held = locations.slice(whole.length);
  }
  return end;
}

function bySource(locations: readonly ObservedLocation[]): Map<string, readonly ObservedLocation[]> {
  const first = locations[0]?.source;
  if (first !== undefined && locations.every(({ source }) => source === first)) return new Map([[first, locations]]);
  const groups = new Map<string, ObservedLocation[]>();
  for (const location of locations) addToList(groups, location.source, location);
  return groups;
}
