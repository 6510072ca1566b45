// A user's life in order: trips, stretches in which they moved unseen, and the stays between them, from the stored
// chain of trips.
import type { TimeRange } from '../model/time.ts';
import type { Place, Trip, TripRecord, Untracked } from '../model/trip.ts';
import { everyLink } from '../store/pages.ts';
import type { Store } from '../store/store.ts';

/** A stay at a place, with both its ends. */
export interface PlaceStay {
  place: Place;
  /** Zone of its end and, unless the place says otherwise, of its start. */
  zone: string;
  /** null: the first place of all. */
  enter_ts: number | null;
  /** null: the user is there, as far as is known. */
  exit_ts: number | null;
  /** The trip that begins there; null when they left it unseen, or not yet. */
  starting_trip: string | null;
}

/** A trip, or a stretch of untracked time, with the stays before and after it. */
export type Element = (
  | { kind: 'trip'; trip: Trip }
  | { kind: 'untracked'; untracked: Untracked /** Zones at its ends. */; zones: [start: string, end: string] }
) & {
  chain_ts: number;
  start_ts: number;
  end_ts: number;
  before: PlaceStay;
  after: PlaceStay;
  /** True when `before` is not the `after` of the element before this one: it is the first of all. */
  first: boolean;
};

/** A link that is a trip. */
export type TripLink = TripRecord & { trip: Trip };

const isTrip = (record: TripRecord | null | undefined): record is TripLink => (record?.trip ?? null) !== null;

/** The elements of one trip: the untracked time before it, if any, and the trip itself. Pure. */
export function elementsOf(previous: TripLink | null, record: TripLink, next: TripLink | null): Element[] {
  const { trip, untracked, chain_ts } = record;
  const before = stayBefore(previous, record);
  const own: Element = {
    kind: 'trip',
    trip,
    chain_ts,
    start_ts: trip.start_ts,
    end_ts: trip.end_ts,
    before,
    after: stayAfter(record, next),
    first: previous === null,
  };
  if (untracked === null || previous === null || isSamePlace(previous, record)) return [own];
  const left = stayAfter(previous, record);
  const start_ts = left.exit_ts!;
  const gap: Element = {
    kind: 'untracked',
    untracked,
    zones: [previous.trip.end_zone, trip.start_zone],
    chain_ts,
    start_ts,
    end_ts: Math.max(start_ts, Math.min(untracked.end_ts, trip.start_ts)),
    before: left,
    after: before,
    first: false,
  };
  return [gap, own];
}

const isSamePlace = (previous: TripLink, next: TripLink): boolean =>
  next.trip.start_place.id === previous.trip.end_place.id;

function stayBefore(previous: TripLink | null, record: TripLink): PlaceStay {
  if (previous !== null && isSamePlace(previous, record)) return stayAfter(previous, record);
  const { start_place: place, start_ts, start_zone, id } = record.trip;
  return { place, zone: start_zone, enter_ts: place.enter_ts, exit_ts: start_ts, starting_trip: id };
}

/** The stay at the end of a trip: until the next one begins there, or until the user left unseen. */
function stayAfter(record: TripLink, next: TripLink | null): PlaceStay {
  const { end_place: place, end_zone: zone, end_ts: enter_ts } = record.trip;
  if (next === null) return { place, zone, enter_ts, exit_ts: null, starting_trip: null };
  if (isSamePlace(record, next)) {
    return { place, zone, enter_ts, exit_ts: next.trip.start_ts, starting_trip: next.trip.id };
  }
  const left = Math.max(enter_ts, next.untracked?.start_ts ?? next.trip.start_ts);
  return { place, zone, enter_ts, exit_ts: left, starting_trip: null };
}

/**
 * The elements of the trips with `chain_ts` in the range, and of the one that was under way when it begins, in order of
 * time. A trip starts, as shown, before its first location: who looks for starts looks a day further.
 */
export async function* everyElement(
  store: Pick<Store, 'trips'>,
  userId: string,
  { from, to }: TimeRange,
): AsyncGenerator<Element, undefined> {
  const under = await store.trips.previous(userId, from);
  let previous = under === null ? null : ((await store.trips.previous(userId, under.chain_ts)) as TripLink | null);
  let current = under as TripLink | null;
  for await (const link of everyLink(store, userId, { from, to })) {
    if (!isTrip(link)) continue;
    if (current !== null) yield* elementsOf(previous, current, link);
    previous = current;
    current = link;
  }
  if (current === null) return;
  const next = (await store.trips.next(userId, current.chain_ts)) as TripLink | null;
  yield* elementsOf(previous, current, next);
}

/** The elements of the one trip with that `chain_ts`; none when it is gone. */
export async function elementsAt(store: Pick<Store, 'trips'>, userId: string, chainTs: number): Promise<Element[]> {
  const [record] = await store.trips.chain(userId, { from: chainTs, limit: 1 });
  if (!isTrip(record) || record.chain_ts !== chainTs) return [];
  const [previous, next] = await Promise.all([
    store.trips.previous(userId, chainTs),
    store.trips.next(userId, chainTs),
  ]);
  return elementsOf(previous as TripLink | null, record, next as TripLink | null);
}
