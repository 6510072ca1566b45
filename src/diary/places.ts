// The places of a person: their stays, those at one spot together, each with an id that stays as the life goes on. All
// of it follows from the stays, whatever their order; nothing is stored.

import { daysWithTime } from '../model/clock-times.ts';
import { cellMiddle, isFarNorth } from '../model/geo/cells.ts';
import { distance, type LatLon } from '../model/geo/distance.ts';
import { median } from '../model/geo/speed.ts';
import { idOf } from '../model/ids.ts';
import type { Position } from '../model/trip.ts';
import { atOnce, inSlices } from '../util/slices.ts';
import { type ChainStore, correctedTrips } from './corrections/corrected-trips.ts';
import { type CorrectionStore, holding, readCorrections } from './corrections/read-corrections.ts';

/** All set by hand, on made-up lives. */
const limits = {
  /** m; a stay farther from a place than this is another place */
  reach: 150,
  /** m; stays are counted in cells of this size */
  count: 50,
  /**
   * m; cells that ids are made of: the place with most stays in a large one has its id, others that of a smaller one
   */
  ids: [1500, 500, 150, 1],
  /** s after midnight at which people are at home */
  night: 3 * 3600,
};

/** A time at one spot. */
export interface LocatedStay {
  at: Position;
  /** Seconds since the epoch; equal where one of them is not known. */
  from: number;
  to: number;
  zone: string;
}

/** A place to which a person comes. */
export interface KnownPlace {
  /** The same whatever comes later, in nearly all cases: docs/quality.md. */
  id: string;
  /** The middle of its stays. */
  at: Position;
  stays: number;
  /** `A` for the place of the first stay of all, then `B`; after `Z` numbers. */
  letter: string;
  /** As the person or an operator named it; null: nobody did. */
  name: string | null;
  /** The chance that the next night is spent here, of the place with most nights; null: of others, and no guess. */
  home: number | null;
}

/** The places of a person, in order of their first stay. */
export interface Places {
  all: readonly KnownPlace[];
  /** The one that a position of a trip's end is of: the nearest. */
  of(position: Position): KnownPlace;
  /** Its letter, and its name where it has one: `B Gym`. */
  labelOf(position: Position): string;
}

/** A name that somebody gave to the place of the stay at `ts`. */
export interface PlaceName {
  ts: number;
  name: string;
}

/** Places from stays in any order. `names`: the last of two counts. Pure. */
export const placesOf = (userId: string, found: readonly LocatedStay[], names: readonly PlaceName[] = []): Places =>
  atOnce(placesInSteps(userId, found, names));

/** As `placesOf`, in slices: a life may have thousands of places, and each is compared with all. */
export const placesOfLife: (...all: Required<Parameters<typeof placesOf>>) => Promise<Places> = (...all) =>
  inSlices(placesInSteps(...all));

function* placesInSteps(
  userId: string,
  found: readonly LocatedStay[],
  names: readonly PlaceName[],
): Generator<void, Places> {
  const stays = found.toSorted((a, b) => a.from - b.from || a.to - b.to || a.at[0] - b.at[0] || a.at[1] - b.at[1]);
  const middles = yield* middlesOf(stays.map(({ at }) => at));
  const indexOf = (at: Position): number => nearest(locationOf(at), middles);
  const spots = middles.map((middle) => ({ middle, stays: 0, nights: 0, first: Number.POSITIVE_INFINITY }));
  for (const { at, from, to, zone } of stays) {
    const place = spots[indexOf(at)]!;
    place.stays += 1;
    place.nights += daysWithTime(limits.night, { from, to }, zone);
    place.first = Math.min(place.first, from);
    yield;
  }
  const nights = spots.reduce((sum, one) => sum + one.nights, 0);
  const most = Math.max(1, ...spots.map((one) => one.nights));
  const home = spots.findIndex((one) => one.nights === most);
  const ids = idsOf(userId, spots);
  const named = new Map(
    names.flatMap(({ ts, name }) => {
      const stay = stays.findLast(({ from }) => from <= ts) ?? stays[0];
      return stay === undefined ? [] : [[indexOf(stay.at), name] as const];
    }),
  );
  const order = [...spots.keys()].sort((a, b) => spots[a]!.first - spots[b]!.first || a - b);
  const places = spots.map(({ middle, stays: count }, i): KnownPlace => {
    const rank = order.indexOf(i);
    return {
      ...{ id: ids[i]!, at: [middle.longitude, middle.latitude], stays: count, name: named.get(i) ?? null },
      letter: rank < 26 ? String.fromCharCode(65 + rank) : String(rank + 1),
      home: i === home ? (most + 1) / (nights + 2) : null,
    };
  });
  const of = (position: Position): KnownPlace => places[indexOf(position)]!;
  const labelOf = (position: Position): string => {
    const { letter, name } = of(position);
    return name === null ? letter : `${letter} ${name.replaceAll(/[\p{C}\s]+/gu, ' ')}`;
  };
  return { all: order.map((i) => places[i]!), of, labelOf };
}

const locationOf = ([longitude, latitude]: Position): LatLon => ({ latitude, longitude });

/** The middles of spots where stays lie together, those with most stays first. */
function* middlesOf(positions: readonly Position[]): Generator<void, LatLon[]> {
  const cells = new Map<string, LatLon[]>();
  for (const at of positions.map(locationOf)) {
    const key = JSON.stringify(cellMiddle(at, limits.count));
    cells.set(key, [...(cells.get(key) ?? []), at]);
  }
  const spots = [...cells].map(([key, own]) => ({ key, own, at: middleOf(own) }));
  const near = (a: LatLon, b: LatLon, metres: number): boolean => !isFarNorth(a, b, metres) && distance(a, b) < metres;
  const weights = new Map<string, number>();
  for (const { key, at } of spots) {
    const around = spots.filter((spot) => near(at, spot.at, limits.reach / 2));
    weights.set(
      key,
      around.reduce((sum, spot) => sum + spot.own.length, 0),
    );
    yield;
  }
  let open = spots.sort((a, b) => weights.get(b.key)! - weights.get(a.key)! || (a.key < b.key ? -1 : 1));
  const middles: LatLon[] = [];
  while (open.length > 0) {
    const { at } = open[0]!;
    const own = open.filter((spot) => near(at, spot.at, limits.reach));
    middles.push(middleOf(own.flatMap((spot) => spot.own)));
    open = open.filter((spot) => !own.includes(spot));
    yield;
  }
  return middles;
}

/** The median of each coordinate, over the antimeridian too. */
function middleOf(locations: readonly LatLon[]): LatLon {
  const east = locations[0]!.longitude;
  const longitudes = locations.map(({ longitude }) => ((longitude - east + 540) % 360) - 180);
  return { latitude: median(locations.map(({ latitude }) => latitude)), longitude: east + median(longitudes) };
}

function nearest(at: LatLon, middles: readonly LatLon[]): number {
  let [found, metres] = [0, Number.POSITIVE_INFINITY];
  for (const [i, middle] of middles.entries()) {
    if (isFarNorth(at, middle, metres)) continue;
    const away = distance(at, middle);
    if (away < metres) [found, metres] = [i, away];
  }
  return found;
}

/** Ids of cells: middles that differ by some metres are mostly in one cell, the more so the larger it is. */
function idsOf(userId: string, places: readonly { middle: LatLon; stays: number }[]): string[] {
  const taken = new Set<string>();
  const ids: string[] = [];
  const order = [...places.keys()].sort((a, b) => places[b]!.stays - places[a]!.stays || a - b);
  for (const i of order) {
    const cells = limits.ids.map((size) => {
      const { latitude, longitude } = cellMiddle(places[i]!.middle, size);
      return idOf(userId, 'location', size, latitude, longitude);
    });
    ids[i] = cells.find((id) => !taken.has(id)) ?? cells.at(-1)!;
    for (const id of cells) taken.add(id);
  }
  return ids;
}

/** The places of all trips of a person, with the names that somebody gave them. */
export async function readPlaces(store: ChainStore, userId: string): Promise<Places> {
  const spans = await correctedTrips(store).spans(userId, { from: -Number.MAX_VALUE, to: Number.MAX_VALUE });
  const ends = new Map(spans.map(({ chain_ts, end_ts }) => [chain_ts, end_ts]));
  const outlines = await correctedTrips(store).outlines(userId, [...ends.keys()]);
  const trips = outlines.map((trip) => ({ ...trip, end_ts: ends.get(trip.chain_ts)! }));
  return placesOfLife(userId, staysOf(trips), await readPlaceNames(store, userId));
}

/** The names that somebody gave to places, in the order in which they did. */
export async function readPlaceNames(store: CorrectionStore, userId: string): Promise<PlaceName[]> {
  const stated = holding(await readCorrections(store, userId));
  return stated.flatMap((one) => {
    if (one.kind === 'at_home') return [{ ts: (one.start_ts + one.end_ts) / 2, name: 'home' }];
    return one.kind === 'place_name' ? [one] : [];
  });
}

/** What stays are made of. */
export interface Ends {
  start_ts: number;
  end_ts: number;
  start_zone: string;
  start_loc: Position;
  end_loc: Position;
}

/** The stays between trips. Where the next trip begins elsewhere, nobody knows when the person came and went. */
export function staysOf(trips: readonly Ends[]): LocatedStay[] {
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
