// The table of derived keys, and what each is made from. Their entries are not stored; they are made from trips on
// request.
import type { Element } from './elements.ts';
import {
  cleanedPlace,
  cleanedSection,
  cleanedStop,
  compositeTrip,
  confirmedPlace,
  confirmedTrip,
  type DerivedEntry,
  inferredSection,
  type Making,
  plainTrip,
  recreatedLocations,
  untrackedTime,
} from './entries.ts';

export interface DerivedKey {
  key: string;
  /** The kind of element that each entry describes. */
  from: 'trip' | 'untracked time' | 'trip or untracked time' | 'stay' | 'section' | 'stop' | 'vertex of a line';
  /** True if it contains user inputs. */
  labels?: true;
  /** True if it contains suggested labels. */
  suggests?: true;
  /** Makes its entries for one element of the timeline, in order of time. */
  make(element: Element, making: Making): DerivedEntry[];
}

type OfTrip = Element & { kind: 'trip' };

const ofTrips =
  (make: (element: OfTrip, making: Making) => DerivedEntry[]): DerivedKey['make'] =>
  (element, making) =>
    element.kind === 'trip' ? make(element, making) : [];

const ofStays =
  (make: (stay: Element['after'], making: Making) => DerivedEntry): DerivedKey['make'] =>
  ({ first, before, after }, making) =>
    (first ? [before, after] : before === after ? [] : [after]).map((stay) => make(stay, making));

const untracked = (key: string, labels?: true): DerivedKey => ({
  key,
  from: 'untracked time',
  ...(labels && { labels }),
  make: (element, making) => (element.kind === 'untracked' ? [untrackedTime(key, element, making)] : []),
});

const plain = (key: string): DerivedKey => ({
  key,
  from: 'trip',
  make: ofTrips((element, making) => [plainTrip(key, element, making)]),
});

/** All derived keys, sorted. */
export const derivedKeys: readonly DerivedKey[] = [
  { key: 'analysis/cleaned_place', from: 'stay', make: ofStays(cleanedPlace) },
  {
    key: 'analysis/cleaned_section',
    from: 'section',
    make: ofTrips((element, making) => element.trip.sections.map((_, i) => cleanedSection(element, making, i))),
  },
  {
    key: 'analysis/cleaned_stop',
    from: 'stop',
    make: ofTrips((element, making) => element.trip.stops.map((stop) => cleanedStop(element, making, stop))),
  },
  plain('analysis/cleaned_trip'),
  untracked('analysis/cleaned_untracked'),
  {
    key: 'analysis/composite_trip',
    from: 'trip or untracked time',
    labels: true,
    suggests: true,
    make: (element, making) => [compositeTrip(element, making)],
  },
  { key: 'analysis/confirmed_place', from: 'stay', labels: true, make: ofStays(confirmedPlace) },
  {
    key: 'analysis/confirmed_trip',
    from: 'trip',
    labels: true,
    suggests: true,
    make: ofTrips((element, making) => [confirmedTrip(element, making)]),
  },
  untracked('analysis/confirmed_untracked', true),
  {
    key: 'analysis/inferred_section',
    from: 'section',
    make: ofTrips((element, making) => element.trip.sections.map((_, i) => inferredSection(element, making, i))),
  },
  { key: 'analysis/recreated_location', from: 'vertex of a line', make: ofTrips(recreatedLocations) },
  plain('segmentation/raw_trip'),
];

/** The requested derived keys. A request for all keys gets the composite trips, which contain the others. */
export function derivedKeysAsked(keys: readonly string[] | undefined): DerivedKey[] {
  return derivedKeys.filter(({ key }) => (keys === undefined ? key === 'analysis/composite_trip' : keys.includes(key)));
}
