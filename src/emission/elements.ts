// Makes the timeline of a user: trips, untracked time, and the stays between them.
//
//   links      trip 1: home -> work    trip 2: work -> shop   (unseen move)    trip 3: gym -> home
//   elements   trip 1                  trip 2                 untracked time   trip 3
//   stays          work, until trip 2        shop, until the move     gym, until trip 3
import { afterTrip } from '../diary/build-trip-documents.ts';
import { type ChainStore, correctedTrips, everyCorrectedLink } from '../diary/corrections/corrected-trips.ts';
import { readStated, type StatedTime, type UnobservedReason, unobservedIn } from '../diary/observed-time.ts';
import { justAfter, type TimeRange } from '../model/time.ts';
import type { Place, Trip, TripRecord, Untracked } from '../model/trip.ts';
import { isTripLink, type StayTimes, type TripLink } from '../model/trip-fields.ts';
import type { Store } from '../store/store.ts';

export interface PlaceStay extends StayTimes {
  place: Place;
  /** The time zone at the end of the stay; also at the start if `place` has no `enter_zone`. */
  zone: string;
}

export type Element = (
  | { kind: 'trip'; trip: Trip }
  | { kind: 'untracked'; untracked: Untracked; zones: [string, string]; reason?: UnobservedReason }
) & {
  chain_ts: number;
  start_ts: number;
  end_ts: number;
  before: PlaceStay;
  after: PlaceStay;
  /** True if no earlier element has this element's `before` as its `after`. */
  first: boolean;
};

/** A trip (`record`), the trips beside it, and all links from `previous` to `record`, inclusive. */
interface Around extends Record<'previous' | 'next', TripLink | null> {
  record: TripLink;
  links: readonly TripRecord[];
}

export function elementsOf({ previous, record, next, links }: Around, stated: StatedTime): Element[] {
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
  if (previous === null) return [own];
  const left = stayAfter(previous, record);
  const unseen = unseenIn(left, chain_ts, { links, ...stated });
  if (untracked === null || isSamePlace(previous, record)) return [...unseen, own];
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
  return [...unseen, gap, own];
}

function unseenIn(stay: PlaceStay, chain_ts: number, known: StatedTime & Pick<Around, 'links'>): Element[] {
  if (known.observed === null) return [];
  const { zone, enter_ts, exit_ts } = stay;
  const { location } = stay.place;
  return unobservedIn(known, { from: enter_ts!, to: exit_ts! }).map(({ from: start_ts, to: end_ts, reason }) => ({
    kind: 'untracked',
    zones: [zone, zone],
    reason,
    chain_ts,
    start_ts,
    end_ts,
    first: false,
    untracked: { start_ts, end_ts, start_loc: location, end_loc: location },
    before: stay,
    after: stay,
  }));
}

const isSamePlace = (previous: TripLink, next: TripLink): boolean =>
  next.trip.start_place.id === previous.trip.end_place.id;

function stayBefore(previous: TripLink | null, record: TripLink): PlaceStay {
  if (previous !== null && isSamePlace(previous, record)) return stayAfter(previous, record);
  const { start_place: place, start_ts, start_zone, id } = record.trip;
  return { place, zone: start_zone, enter_ts: place.enter_ts, exit_ts: start_ts, starting_trip: id };
}

function stayAfter(record: TripLink, next: TripLink | null): PlaceStay {
  const { end_place: place, end_zone: zone, end_ts: enter_ts } = record.trip;
  return { place, zone, enter_ts, ...afterTrip(record, next) };
}

type ElementStore = ChainStore & Pick<Store, 'pipeline'>;

/**
 * Yields, in order, the elements of trips whose `chain_ts` is in the range, and of the trip that is
 * under way when the range begins. A trip may start up to a day before its `chain_ts`, so callers
 * that search by the start of trips extend the range by a day.
 */
export async function* everyElement(
  store: ElementStore,
  userId: string,
  { from, to }: TimeRange,
): AsyncGenerator<Element, undefined> {
  const underWay = (await correctedTrips(store).previous(userId, from)) as TripLink | null;
  const before = underWay && ((await correctedTrips(store).previous(userId, underWay.chain_ts)) as TripLink | null);
  const stated = await readStated(store, userId);
  let around: Omit<Around, 'next'> | null = null;
  let links: TripRecord[] = [];
  for await (const link of everyCorrectedLink(store, userId, { from: (before ?? underWay)?.chain_ts ?? from, to })) {
    links.push(link);
    if (!isTripLink(link)) continue;
    const previous: TripLink | null = around === null ? null : around.record;
    if (around !== null && around.record.chain_ts !== before?.chain_ts)
      yield* elementsOf({ ...around, next: link }, stated);
    around = { previous, record: link, links };
    links = [link];
  }
  if (around === null) return;
  const next = (await correctedTrips(store).next(userId, around.record.chain_ts)) as TripLink | null;
  yield* elementsOf({ ...around, next }, stated);
}

export async function elementsAt(
  store: ElementStore,
  userId: string,
  chainTs: number,
  stated: StatedTime,
): Promise<Element[]> {
  const [previous, next] = await Promise.all([
    correctedTrips(store).previous(userId, chainTs),
    correctedTrips(store).next(userId, chainTs),
  ]);
  const links: TripRecord[] = [];
  const range = { from: previous?.chain_ts ?? chainTs, to: justAfter(chainTs) };
  for await (const link of everyCorrectedLink(store, userId, range)) links.push(link);
  const record = links.at(-1);
  if (!isTripLink(record) || record.chain_ts !== chainTs) return [];
  return elementsOf({ previous: previous as TripLink | null, record, next: next as TripLink | null, links }, stated);
}
