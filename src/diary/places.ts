// Groups the stays of a person, in any order, into places with stable ids. If there are many stays,
// a run stores the places up to a time (`keepPlaces`). Later stays join these, or make new ones.
//
//   stays      a 06:00   b 09:00   c 17:00   d 22:00    a, c, d: within 150 m
//   places     A = {a, c, d}   B = {b}                     letters in order of the first stay
//   home       A: the person was there at 03:00   P = (nights at A + 1) / (all nights + 2)
//   id of A    of its cell of 1500 m; if another place is in this cell, of its cell of 500 m, 150 m, or 1 m
//
//   kept       A B        later stays   a a' x             a and a' within 150 m of A, x of none
//   places     A, with two more stays   B   C = {x}
import { locationOf } from '../analysis/positions.ts';
import { daysWithTime } from '../model/clock-times.ts';
import type { Stated } from '../model/correction.ts';
import { cellMiddle, isFarNorth } from '../model/geo/cells.ts';
import { distance, type LatLon } from '../model/geo/distance.ts';
import { median } from '../model/geo/quantile.ts';
import { idOf } from '../model/ids.ts';
import { allTime, day, type TimeRange } from '../model/time.ts';
import type { BriefTrip, Position } from '../model/trip.ts';
import type { PipelineState, Store } from '../store/store.ts';
import { addToList } from '../util/add-to-list.ts';
import { inSlices } from '../util/slices.ts';
import { type ChainStore, correctedTrips } from './corrections/corrected-trips.ts';
import { activeCorrections, concernedTime, readCorrections } from './corrections/read-corrections.ts';

const limits = {
  reach: 150, // m; a stay farther from a place belongs to another place
  count: 50, // m; side of the cells that stays are counted in; a new place is around the fullest cell
  ids: [1500, 500, 150, 1], // m; an id comes from the first of these cells that no other place has
  night: 3 * 3600, // s after midnight (3:00); a stay at this time of day counts as a night
};

/** If the start or the end of the stay is not known, `from` equals `to`. */
export type LocatedStay = TimeRange & { at: Position; zone: string };

export interface KnownPlace {
  id: string; // stable: later data rarely change it, see docs/quality.md
  at: Position; // the median of its stays
  stays: number;
  nights: number; // nights spent here
  first: number; // when the first stay began, seconds since the epoch
  letter: string; // `A` for the place of the first stay, then `B`; after `Z`, numbers from 27
  name: string | null; // the name that the person or an operator gave
  home: number | null; // probability that the next night is here; null: another place has the most nights
}

export interface Places {
  all: readonly KnownPlace[];
  of(position: Position): KnownPlace;
  labelOf(position: Position): string;
}

export type PlaceName = { ts: number; name: string };

export interface KeptPlaces {
  /** See `keptKey`. If it differs from the present hash, the stored places are out of date. */
  key: string;
  until: number; // the places include the stays before this time
  places: Pick<KnownPlace, 'id' | 'at' | 'stays' | 'nights' | 'first'>[];
  /** The time of each given name, and the index of the place where the user was at that time. */
  named: [ts: number, place: number][];
}

/** Groups stays into places. A place has its last name in `names`. `kept`: what an earlier run stored. */
export const groupPlaces = (...of: Parameters<typeof placesInSteps>): Promise<Places> => inSlices(placesInSteps(...of));

/** Yields between steps, because a person may have thousands of stays. */
function* placesInSteps(
  userId: string,
  found: readonly LocatedStay[],
  names: readonly PlaceName[] = [],
  kept: KeptPlaces | null = null,
): Generator<void, Places> {
  const stays = found.toSorted((a, b) => a.from - b.from || a.to - b.to || a.at[0] - b.at[0] || a.at[1] - b.at[1]);
  const before = kept?.places ?? [];
  const known = before.map(({ at }) => locationOf(at));
  const around = bandsOf(known);
  const isNew = (at: LatLon): boolean => !indexesAround(around, at).some((i) => isNear(at, known[i]!, limits.reach));
  const added = yield* findMiddles(stays.map(({ at }) => locationOf(at)).filter(isNew));
  const middles = [...known, ...added];
  const bands = bandsOf(middles);
  const indexOf = (at: Position): number => nearest(locationOf(at), middles, bands);
  const spots = middles.map((middle, i) => {
    const { id = null, stays, nights, first } = before[i] ?? { stays: 0, nights: 0, first: Infinity };
    return { id, middle, stays, nights, first };
  });
  for (const { at, from, to, zone } of stays) {
    const place = spots[indexOf(at)]!;
    place.stays += 1;
    place.nights += daysWithTime(limits.night, { from, to }, zone);
    place.first = Math.min(place.first, from);
    yield;
  }
  const nights = spots.reduce((sum, one) => sum + one.nights, 0);
  const most = spots.reduce((largest, one) => Math.max(largest, one.nights), 1);
  const home = spots.findIndex((one) => one.nights === most);
  const ids = assignIds(userId, spots);
  const places = new Map(kept?.named);
  const named = new Map<number | undefined, string>();
  for (const { ts, name } of names) {
    const stay = stayAt(stays, ts);
    const isHere = stay !== undefined && (stay.from <= ts || !places.has(ts));
    named.set(isHere ? indexOf(stay.at) : places.get(ts), name);
  }
  const order = [...spots.keys()].sort((a, b) => spots[a]!.first - spots[b]!.first || a - b);
  const all = order.map((i, rank): KnownPlace => {
    const { middle, stays, nights: own, first } = spots[i]!;
    return {
      id: ids[i]!,
      at: [middle.longitude, middle.latitude],
      stays,
      nights: own,
      first,
      name: named.get(i) ?? null,
      letter: rank < 26 ? String.fromCharCode(65 + rank) : String(rank + 1),
      home: i === home ? (most + 1) / (nights + 2) : null,
    };
  });
  const byIndex = new Map(order.map((i, rank) => [i, all[rank]!]));
  const of = (position: Position): KnownPlace => byIndex.get(indexOf(position))!;
  const labelOf = (position: Position): string => {
    const { letter, name } = of(position);
    return name === null ? letter : `${letter} ${name.replaceAll(/[\p{C}\s]+/gu, ' ')}`;
  };
  return { all, of, labelOf };
}

const stayAt = (stays: readonly LocatedStay[], ts: number): LocatedStay | undefined =>
  stays.findLast(({ from }) => from <= ts) ?? stays[0];

const isNear = (a: LatLon, b: LatLon, metres: number): boolean => !isFarNorth(a, b, metres) && distance(a, b) < metres;

/**
 * Returns the median of each group. The cell with the most stays near it, and all cells within
 * `limits.reach` of it, are the first group. The remaining cells are grouped in the same way.
 */
function* findMiddles(positions: readonly LatLon[]): Generator<void, LatLon[]> {
  const cells = new Map<string, LatLon[]>();
  for (const at of positions) addToList(cells, JSON.stringify(cellMiddle(at, limits.count)), at);
  const spots = [...cells].map(([key, own]) => ({ key, own, at: medianLocation(own) }));
  const weights = new Map<string, number>();
  const bands = bandsOf(spots.map(({ at }) => at));
  for (const { key, at } of spots) {
    const around = indexesAround(bands, at).filter((i) => isNear(at, spots[i]!.at, limits.reach / 2));
    const weight = around.reduce((sum, i) => sum + spots[i]!.own.length, 0);
    weights.set(key, weight);
    yield;
  }
  spots.sort((a, b) => weights.get(b.key)! - weights.get(a.key)! || (a.key < b.key ? -1 : 1));
  const ordered = bandsOf(spots.map(({ at }) => at));
  const grouped = new Set<number>();
  const middles: LatLon[] = [];
  for (const [i, { at }] of spots.entries()) {
    if (grouped.has(i)) continue;
    const own = indexesAround(ordered, at).filter((k) => !grouped.has(k) && isNear(at, spots[k]!.at, limits.reach));
    middles.push(medianLocation(own.flatMap((k) => spots[k]!.own)));
    for (const k of own) grouped.add(k);
    yield;
  }
  return middles;
}

const bandHeight = limits.reach / 111_000; // degrees of latitude, just over `limits.reach`

type Bands = ReadonlyMap<number, readonly number[]>;

const bandOf = ({ latitude }: LatLon): number => Math.floor(latitude / bandHeight);

function bandsOf(locations: readonly LatLon[]): Bands {
  const bands = new Map<number, number[]>();
  for (const [i, one] of locations.entries()) addToList(bands, bandOf(one), i);
  return bands;
}

function indexesAround(bands: Bands, at: LatLon): number[] {
  const band = bandOf(at);
  return [band - 1, band, band + 1].flatMap((one) => bands.get(one) ?? []).sort((a, b) => a - b);
}

function medianLocation(locations: readonly LatLon[]): LatLon {
  const east = locations[0]!.longitude;
  const longitudes = locations.map(({ longitude }) => ((longitude - east + 540) % 360) - 180);
  return { latitude: median(locations.map(({ latitude }) => latitude)), longitude: east + median(longitudes) };
}

/** The index of the nearest middle. Searches all middles only if none is within `limits.reach`. */
function nearest(at: LatLon, middles: readonly LatLon[], bands: Bands): number {
  let [found, metres] = [0, Infinity];
  for (const indexes of [indexesAround(bands, at), middles.keys()]) {
    for (const i of indexes) {
      if (isFarNorth(at, middles[i]!, metres)) continue;
      const away = distance(at, middles[i]!);
      if (away < metres) [found, metres] = [i, away];
    }
    if (metres <= limits.reach) break;
  }
  return found;
}

/**
 * A stored place keeps its id. The id of a new place is made from the grid cell of its middle,
 * because a middle that moves a few metres mostly stays in its cell.
 */
function assignIds(userId: string, places: readonly { id: string | null; middle: LatLon; stays: number }[]): string[] {
  const taken = new Set<string>();
  const ids = places.map(({ id }) => id ?? '');
  const added = places.filter(({ id }) => id === null);
  const order = [...places.keys()].sort(
    (a, b) => Number(!ids[a]) - Number(!ids[b]) || places[b]!.stays - places[a]!.stays || a - b,
  );
  for (const i of order) {
    const { id, middle } = places[i]!;
    if (id !== null && !added.some((one) => isNear(one.middle, middle, 2 * limits.ids[0]!))) continue;
    const cells = limits.ids.map((size) => {
      const { latitude, longitude } = cellMiddle(middle, size);
      return idOf(userId, 'location', size, latitude, longitude);
    });
    ids[i] ||= cells.find((cell) => !taken.has(cell)) ?? cells.at(-1)!;
    for (const cell of [...cells, ids[i]!]) taken.add(cell);
  }
  return ids;
}

export async function readPlaces(source: ChainStore & Pick<Store, 'pipeline'>, userId: string): Promise<Places> {
  const corrections = await readCorrections(source, userId);
  const store = { ...source, corrections };
  const found = (await store.trips.places(userId)) as unknown as KeptPlaces | null;
  const { retained } = await store.pipeline.get(userId);
  const kept = found?.key === undefined || found.key !== keptKey(found.until, retained, corrections) ? null : found;
  const stays = await readStays(store, userId, kept === null ? {} : { from: kept.until });
  return groupPlaces(userId, stays, placeNames(corrections), kept);
}

/** `store` must return no pending entries. */
export async function placesUntil(
  store: ChainStore,
  userId: string,
  { until, retained }: { until: number; retained: PipelineState['retained'] },
): Promise<KeptPlaces> {
  const corrections = await readCorrections(store, userId);
  const stays = await readStays(store, userId, { to: until });
  const { all, of } = await groupPlaces(userId, stays);
  const named = stays.length === 0 ? [] : placeNames(corrections);
  return {
    key: keptKey(until, retained, corrections),
    until,
    places: all.map(({ id, at, stays, nights, first }) => ({ id, at, stays, nights, first })),
    named: named.map(({ ts }) => [ts, all.indexOf(of(stayAt(stays, ts)!.at))]),
  };
}

const correctionReach = 14 * day; // a correction changes only trips that ended at most this long before it

export function keptKey(until: number, retained: PipelineState['retained'], corrections: readonly Stated[]): string {
  // Ignore corrections of modes, because they do not change where a trip begins or ends.
  const moving = activeCorrections(corrections).filter(({ kind }) => kind !== 'mode');
  const concerning = moving.filter((one) => concernedTime(one).from < until + correctionReach);
  return idOf('places', until, retained?.days_before ?? '', ...concerning.map(({ write_ts }) => write_ts));
}

/** Omits the stay after the last trip, because a later trip decides when the stay ends. */
async function readStays(store: ChainStore, userId: string, { from, to }: Partial<TimeRange>): Promise<LocatedStay[]> {
  const range = { from: from ?? allTime.from, to: to ?? allTime.to };
  const found = await correctedTrips(store).briefs(userId, range);
  const trips = found.filter(({ kind, chain_ts }) => kind === 'trip' && chain_ts < range.to);
  const stays = staysBetweenTrips(trips.map(({ trip }) => trip!));
  const isFirstBefore = trips.length > 0 && trips[0]!.chain_ts < range.from;
  return stays.slice(isFirstBefore ? 1 : 0, to === undefined ? undefined : -1);
}

export const placeNames = (corrections: readonly Stated[]): PlaceName[] =>
  activeCorrections(corrections).flatMap((one) => {
    if (one.kind === 'at_home') return [{ ts: (one.start_ts + one.end_ts) / 2, name: 'home' }];
    return one.kind === 'place_name' ? [one] : [];
  });

export type Ends = Pick<BriefTrip, 'start_ts' | 'end_ts' | 'start_zone' | 'start_loc' | 'end_loc'>;

/** Before and after an unrecorded move, a stay lasts 0 s, because its end or its start is not known. */
export function staysBetweenTrips(trips: readonly Ends[]): LocatedStay[] {
  return trips.flatMap((trip, i): LocatedStay[] => {
    const { start_ts, end_ts, start_loc, end_loc, start_zone: zone } = trip;
    const next = trips[i + 1];
    const isThere = next !== undefined && distance(locationOf(next.start_loc), locationOf(end_loc)) < limits.reach;
    const before = trips[i - 1];
    const came = before !== undefined && distance(locationOf(before.end_loc), locationOf(start_loc)) < limits.reach;
    return [
      ...(came ? [] : [{ at: start_loc, from: start_ts, to: start_ts, zone }]),
      { at: end_loc, from: end_ts, to: isThere ? next.start_ts : end_ts, zone },
    ];
  });
}
