// Makes the rows of places and of the spots that they lie at.

import { flagNames, flagStay } from '../diary/flags.ts';
import { type Ends, groupPlacesInSlices, type Places, readPlaceNames, staysBetweenTrips } from '../diary/places.ts';
import type { TimeRange } from '../model/time.ts';
import type { Position, Silence } from '../model/trip.ts';
import type { Row } from './columns.ts';
import { everyTrip, flagsIn, isAmong, type KeptTrip } from './exported-trips.ts';
import { timesRow } from './instants.ts';
import type { Source } from './row-source.ts';

/** Groups the stays of the export into places. A coarse export has one place for each cell. */
export async function placesIn(source: Source): Promise<Places> {
  const ends: Ends[] = [];
  for await (const { trip } of everyTrip(source)) {
    const { start_ts, end_ts, start_zone, start_place, end_place } = trip;
    ends.push({ start_ts, end_ts, start_zone, start_loc: start_place.location, end_loc: end_place.location });
  }
  const { store, person } = source;
  return groupPlacesInSlices(person.uuid, staysBetweenTrips(ends), await readPlaceNames(store, person.uuid), null);
}

const positionOf = ({ geometry }: Row): Position => (geometry as { coordinates: Position }).coordinates;

export async function* placeRows(source: Source): AsyncGenerator<Row> {
  const { of } = await placesIn(source);
  for await (const row of stayRows(source)) yield { ...row, location_id: of(positionOf(row)).id };
}

export async function* locationRows(source: Source): AsyncGenerator<Row> {
  const { all, of } = await placesIn(source);
  const stays = new Map<string, number>();
  for await (const row of stayRows(source)) {
    const { id } = of(positionOf(row));
    stays.set(id, (stays.get(id) ?? 0) + 1);
  }
  for (const { id, name, home, at } of all) {
    const geometry = { type: 'Point', coordinates: at } as const;
    if (stays.has(id)) yield { location_id: id, location_name: name, stays: stays.get(id)!, home, geometry };
  }
}

/** Places, each once, with the trips before and after it. Untracked time ends a place and begins another. */
async function* stayRows(source: Source): AsyncGenerator<Row> {
  let before: KeptTrip | null = null;
  for await (const next of everyTrip(source)) {
    if (before !== null && before.trip.end_place.id !== next.trip.start_place.id) {
      yield* shownPlace(before, null, next.untracked?.start_ts ?? next.trip.start_ts, next);
      before = null;
    }
    if (!next.follows) yield* shownPlace(before, next, next.trip.start_ts);
    before = next;
  }
  if (before !== null) yield* shownPlace(before, null, null);

  async function* shownPlace(
    arriving: KeptTrip | null,
    leaving: KeptTrip | null,
    exit: number | null,
    next = leaving,
  ): AsyncGenerator<Row> {
    if (!isAmong((arriving ?? leaving)!.day, source.days)) return;
    const place = arriving?.trip.end_place ?? leaving!.trip.start_place;
    const zone = place.enter_zone ?? leaving?.trip.start_zone ?? arriving!.trip.end_zone;
    const stay = place.enter_ts === null || exit === null ? null : { id: place.id, from: place.enter_ts, to: exit };
    const around = stay && { from: stay.from - besideStay, to: stay.to + besideStay };
    const flagged = stay && (await flagsIn(source, around!, (clues) => flagStay(stay, clues)));
    const silent = stay && silentWithin([...(arriving?.silences ?? []), ...(next?.silences ?? [])], stay);
    yield {
      place_id: place.id,
      ...timesRow(place.enter_ts, exit, zone),
      duration_s: stay && stay.to - stay.from,
      observed_s: stay && stay.to - stay.from - silent!,
      flags: flagNames(flagged ?? []).join(' '),
      ending_trip_id: place.ending_trip,
      starting_trip_id: leaving?.trip.id ?? null,
      geometry: { type: 'Point', coordinates: place.location },
    };
  }
}

/** s; locations this long before and after a stay count for its flags */
const besideStay = 300;

function silentWithin(silences: readonly Silence[], { from, to }: TimeRange): number {
  const gaps = silences.filter((one) => !one.inferred);
  return gaps.reduce((sum, one) => sum + Math.max(0, Math.min(one.to, to) - Math.max(one.from, from)), 0);
}
