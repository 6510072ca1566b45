// Makes the rows of places and of the spots that they lie at.
import { readCorrections } from '../diary/corrections/read-corrections.ts';
import { flagNames, flagStay } from '../diary/flags.ts';
import { type Ends, groupPlaces, type Places, placeNames, staysBetweenTrips } from '../diary/places.ts';
import type { TimeRange } from '../model/time.ts';
import type { Position, Silence } from '../model/trip.ts';
import type { Row } from './columns.ts';
import { isAmong } from './entry-rows.ts';
import { besideStay, everyTrip, type KeptTrip, type Source, type TripBatch } from './exported-trips.ts';
import { timesRow } from './instants.ts';

export async function placesIn(source: Source): Promise<Places> {
  const stays = new Stays(source);
  for await (const record of everyTrip(source)) stays.add(record, null);
  return stays.places();
}

const positionOf = ({ geometry }: Row): Position => (geometry as { coordinates: Position }).coordinates;

/** Call `add` for each trip in order, then `end`. */
export class Stays {
  readonly #source: Source;
  readonly #ends: Ends[] = [];
  readonly #rows: Row[] = [];
  #before: KeptTrip | null = null;

  constructor(source: Source) {
    this.#source = source;
  }

  /** Untracked time ends a place and begins another. */
  add(next: KeptTrip, flagInputs: TripBatch['flagInputs']): void {
    const before = this.#before;
    this.#before = next;
    const { start_ts, end_ts, start_zone, start_place, end_place } = next.trip;
    this.#ends.push({ start_ts, end_ts, start_zone, start_loc: start_place.location, end_loc: end_place.location });
    const isThere = before === null || before.trip.end_place.id === start_place.id;
    if (!isThere) this.#addRow(before, null, next.untracked?.start_ts ?? start_ts, flagInputs, next);
    if (!next.follows) this.#addRow(isThere ? before : null, next, start_ts, flagInputs);
  }

  async places(): Promise<Places> {
    const { store, person } = this.#source;
    const names = placeNames(await readCorrections(store, person.uuid));
    return groupPlaces(person.uuid, staysBetweenTrips(this.#ends), names);
  }

  async end(): Promise<{ places: Row[]; locations: Row[] }> {
    if (this.#before !== null) this.#addRow(this.#before, null, null, null);
    const { all, of } = await this.places();
    const places = this.#rows.map((row) => ({ ...row, location_id: of(positionOf(row)).id }));
    const stays = new Map<string, number>();
    for (const { location_id: id } of places) stays.set(id, (stays.get(id) ?? 0) + 1);
    const locations = all.flatMap(({ id, name, home, at }): Row[] => {
      const geometry = { type: 'Point', coordinates: at } as const;
      return stays.has(id) ? [{ location_id: id, location_name: name, stays: stays.get(id)!, home, geometry }] : [];
    });
    return { places, locations };
  }

  #addRow(
    arriving: KeptTrip | null,
    leaving: KeptTrip | null,
    exit: number | null,
    flagInputs: TripBatch['flagInputs'],
    next = leaving,
  ): void {
    if (!isAmong((arriving ?? leaving)!.day, this.#source.days)) return;
    const place = arriving?.trip.end_place ?? leaving!.trip.start_place;
    const zone = place.enter_zone ?? leaving?.trip.start_zone ?? arriving!.trip.end_zone;
    const stay = place.enter_ts === null || exit === null ? null : { id: place.id, from: place.enter_ts, to: exit };
    const around = stay && { from: stay.from - besideStay, to: stay.to + besideStay };
    const flagged = stay && flagInputs && flagStay(stay, flagInputs(around!));
    const silent = stay && silentWithin([...(arriving?.silences ?? []), ...(next?.silences ?? [])], stay);
    this.#rows.push({
      place_id: place.id,
      ...timesRow(place.enter_ts, exit, zone),
      duration_s: stay && stay.to - stay.from,
      observed_s: stay && stay.to - stay.from - silent!,
      flags: flagNames(flagged ?? []).join(' '),
      ending_trip_id: place.ending_trip,
      starting_trip_id: leaving?.trip.id ?? null,
      geometry: { type: 'Point', coordinates: place.location },
    });
  }
}

function silentWithin(silences: readonly Silence[], { from, to }: TimeRange): number {
  const gaps = silences.filter((one) => !one.inferred);
  return gaps.reduce((sum, one) => sum + Math.max(0, Math.min(one.to, to) - Math.max(one.from, from)), 0);
}
