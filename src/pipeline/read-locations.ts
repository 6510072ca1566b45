// Reads the locations that trips are made of, stretch by stretch: those of the phone, and of other sources where it has
// none.
import { type BySource, chooseLocations, isOfPhone, sourceOf, sourceReach } from '../analysis/choose-sources.ts';
import type { Location } from '../analysis/observations.ts';
import { cleanLocations, type ZoneOf } from '../analysis/observe.ts';
import { meaningOf } from '../converters/convert.ts';
import type { Entry } from '../model/entry.ts';
import { keys } from '../model/keys.ts';
import { entryPages } from '../store/pages.ts';
import type { Timeseries } from '../store/store.ts';
import { locationFields } from './observed-fields.ts';

/** Entries read at a time. */
const pageSize = 5000;

/** What locations are read with. */
export interface LocationReader {
  timeseries: Pick<Timeseries, 'find'>;
  userId: string;
  /** The key of the phones' locations. Others are always raw. */
  key: string;
  zonesOf(entries: readonly Entry[]): Promise<ZoneOf>;
}

/** Locations in order, complete below `loadedUntil`; infinite at the end of data. */
export interface ReadLocations {
  locations: Location[];
  loadedUntil: number;
}

/**
 * Locations from `from` on, until there are `size` from `countFrom` on, up to about twice as many, or all there are.
 * What is unusable takes no memory, and one time is never cut in two. What a location is chosen by lies within
 * `sourceReach` of it and is read too.
 */
export async function readLocations(
  reader: LocationReader,
  { from, countFrom, size }: { from: number; countFrom: number; size: number },
): Promise<ReadLocations> {
  const found = new Map<string, Location[]>();
  const main = { key: reader.key, from: from - sourceReach, countFrom, size };
  let { until } = await readPart(reader, found, main, isAny);
  await readPart(reader, found, { key: reader.key, from: until, to: until + sourceReach }, isAny);
  if (reader.key !== keys.location) until = await readOthers(reader, found, { from, until, countFrom, size });
  const locations = chooseLocations(found).filter(({ ts }) => ts >= from && ts < until);
  return { locations, loadedUntil: until };
}

const isAny = (): boolean => true;
const isOther = (entry: Entry): boolean => !isOfPhone(entry);

/**
 * Other apps beside the phone's filtered locations, where these leave a gap: `size` of all gaps together, up to about
 * twice as many. Returns until when all is read.
 */
async function readOthers(
  reader: LocationReader,
  found: Map<string, Location[]>,
  { from, until, countFrom, size }: { from: number; until: number; countFrom: number; size: number },
): Promise<number> {
  let counted = 0;
  for (const gap of gapsOf(found, from - sourceReach, until + sourceReach)) {
    // Behind a gap follows a location of the phone, which has the time up to the next: it is a place to end too.
    if (counted >= size) return Math.min(gap.from, until);
    const part = await readPart(reader, found, { key: keys.location, ...gap, countFrom, size, counted }, isOther);
    counted = part.count;
    const end = part.until;
    if (end >= gap.to || end >= until) continue;
    await readPart(reader, found, { key: keys.location, from: end, to: end + sourceReach }, isOther);
    return end;
  }
  return until;
}

/** The stretches of `[from, to)` that are farther than `sourceReach` from every location found. */
function gapsOf(found: BySource, from: number, to: number): { from: number; to: number }[] {
  const times: number[] = [];
  for (const locations of found.values()) for (const { ts } of locations) times.push(ts);
  const gaps: { from: number; to: number }[] = [];
  let start = from;
  for (const ts of Float64Array.from(times).sort()) {
    if (ts - sourceReach > start) gaps.push({ from: start, to: ts - sourceReach });
    start = Math.max(start, ts + sourceReach);
  }
  if (start < to) gaps.push({ from: start, to });
  return gaps;
}

interface Part {
  key: string;
  from: number;
  to?: number;
  /** Enough when so many are found from `countFrom` on. */
  countFrom?: number;
  size?: number;
  /** So many of them were found before. */
  counted?: number;
}

/**
 * Reads one key into `found`, cleaned page by page and source by source. Returns until when it is complete, and how
 * many count.
 */
async function readPart(
  { timeseries, userId, zonesOf }: LocationReader,
  found: Map<string, Location[]>,
  { key, from, to, countFrom = 0, size = Number.POSITIVE_INFINITY, counted = 0 }: Part,
  isWanted: (entry: Entry) => boolean,
): Promise<{ until: number; count: number }> {
  let count = counted;
  if (from === Number.POSITIVE_INFINITY) return { until: from, count };
  const end = to === undefined || to > Number.MAX_VALUE ? Number.POSITIVE_INFINITY : to;
  const bound = end === Number.POSITIVE_INFINITY ? {} : { to: end };
  let held: Entry[] = []; // of the last time seen, of which the next page may have more
  const query = {
    keys: [key],
    time: 'ts',
    from,
    ...bound,
    limit: Math.min(pageSize, size),
    fields: locationFields,
  } as const;
  for await (const page of entryPages(timeseries, userId, query)) {
    const entries = [...held, ...page.entries.filter(isWanted).map(meaningOf)];
    const until = page.next === null ? end : page.next.time;
    const whole = entries.filter((entry) => page.next === null || (entry.data.ts as number) < until);
    for (const [source, own] of grouped(whole)) {
      const clean = cleanLocations(own, await zonesOf(own));
      found.set(source, [...(found.get(source) ?? []), ...clean]);
      for (const { ts } of clean) if (ts >= countFrom) count += 1;
    }
    if (count >= size) return { until, count };
    held = page.next === null ? [] : entries.slice(whole.length);
  }
  return { until: end, count };
}

function grouped(entries: readonly Entry[]): Map<string, Entry[]> {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    const source = sourceOf(entry);
    const group = groups.get(source);
    if (group === undefined) groups.set(source, [entry]);
    else group.push(entry);
  }
  return groups;
}
