// The table of derived keys. Their entries are not stored: the server makes them from trips on request.
import type { Element } from './elements.ts';
import {
  cleanedPlace,
  cleanedSection,
  cleanedStop,
  compositeTrip,
  confirmedPlace,
  confirmedTrip,
  type DerivedEntry,
  type EntryContext,
  inferredSection,
  plainTrip,
  recreatedLocations,
  untrackedTime,
} from './entries.ts';

export interface DerivedKey {
  key: string;
  labels?: true; // true if it contains user inputs
  suggests?: true; // true if it contains suggested labels
  /** Makes the entries of one element of the timeline, in order of time. */
  make(element: Element, context: EntryContext): DerivedEntry[];
}

type OfTrip = Element & { kind: 'trip' };

const ofTrips =
  (make: (element: OfTrip, context: EntryContext) => DerivedEntry[]): DerivedKey['make'] =>
  (element, context) =>
    element.kind === 'trip' ? make(element, context) : [];

const ofStays =
  (make: (stay: Element['after'], context: EntryContext) => DerivedEntry): DerivedKey['make'] =>
  ({ first, before, after }, context) =>
    (first ? [before, after] : before === after ? [] : [after]).map((stay) => make(stay, context));

const untracked = (key: string, labels?: true): DerivedKey => ({
  key,
  ...(labels && { labels }),
  make: (element, context) => (element.kind === 'untracked' ? [untrackedTime(key, element, context)] : []),
});

const plain = (key: string): DerivedKey => ({
  key,
  make: ofTrips((element, context) => [plainTrip(key, element, context)]),
});

/** All derived keys, sorted. */
export const derivedKeys: readonly DerivedKey[] = [
  { key: 'analysis/cleaned_place', make: ofStays(cleanedPlace) },
  {
    key: 'analysis/cleaned_section',
    make: ofTrips((element, context) => element.trip.sections.map((_, i) => cleanedSection(element, context, i))),
  },
  {
    key: 'analysis/cleaned_stop',
    make: ofTrips((element, context) => element.trip.stops.map((stop) => cleanedStop(element, context, stop))),
  },
  plain('analysis/cleaned_trip'),
  untracked('analysis/cleaned_untracked'),
  {
    key: 'analysis/composite_trip',
    labels: true,
    suggests: true,
    make: (element, context) => [compositeTrip(element, context)],
  },
  { key: 'analysis/confirmed_place', labels: true, make: ofStays(confirmedPlace) },
  {
    key: 'analysis/confirmed_trip',
    labels: true,
    suggests: true,
    make: ofTrips((element, context) => [confirmedTrip(element, context)]),
  },
  untracked('analysis/confirmed_untracked', true),
  {
    key: 'analysis/inferred_section',
    make: ofTrips((element, context) => element.trip.sections.map((_, i) => inferredSection(element, context, i))),
  },
  { key: 'analysis/recreated_location', make: ofTrips(recreatedLocations) },
  plain('segmentation/raw_trip'),
];

/** The requested derived keys. A request for all keys gets the composite trips, which contain the others. */
export function selectDerivedKeys(keys: readonly string[] | undefined): DerivedKey[] {
  return derivedKeys.filter(({ key }) => (keys === undefined ? key === 'analysis/composite_trip' : keys.includes(key)));
}
