// Makes entries of derived keys from trips when a client asks for them. They are not stored.
import type { Element } from './elements.ts';
import * as make from './entries.ts';

export interface DerivedKey {
  key: string;
  labels?: true; // the entries contain user inputs
  suggests?: true; // the entries contain suggested labels
  make(element: Element, context: make.EntryContext): make.DerivedEntry[];
}

const ofTrips =
  (entriesOf: (element: make.OfTrip, context: make.EntryContext) => make.DerivedEntry[]): DerivedKey['make'] =>
  (element, context) =>
    element.kind === 'trip' ? entriesOf(element, context) : [];

const ofStays =
  (entryOf: (stay: Element['after'], context: make.EntryContext) => make.DerivedEntry): DerivedKey['make'] =>
  ({ first, before, after }, context) =>
    (first ? [before, after] : before === after ? [] : [after]).map((stay) => entryOf(stay, context));

const ofUntracked =
  (key: string): DerivedKey['make'] =>
  (element, context) =>
    element.kind === 'untracked' ? [make.untrackedTime(key, element, context)] : [];

const plain = (key: string): DerivedKey => ({
  key,
  make: ofTrips((element, context) => [make.plainTrip(key, element, context)]),
});

export const derivedKeys: readonly DerivedKey[] = [
  { key: 'analysis/cleaned_place', make: ofStays(make.cleanedPlace) },
  { key: 'analysis/cleaned_section', make: ofTrips(make.cleanedSections) },
  { key: 'analysis/cleaned_stop', make: ofTrips(make.cleanedStops) },
  plain('analysis/cleaned_trip'),
  { key: 'analysis/cleaned_untracked', make: ofUntracked('analysis/cleaned_untracked') },
  {
    key: 'analysis/composite_trip',
    labels: true,
    suggests: true,
    make: (element, context) => [make.compositeTrip(element, context)],
  },
  { key: 'analysis/confirmed_place', labels: true, make: ofStays(make.confirmedPlace) },
  {
    key: 'analysis/confirmed_trip',
    labels: true,
    suggests: true,
    make: ofTrips((element, context) => [make.confirmedTrip(element, context)]),
  },
  { key: 'analysis/confirmed_untracked', labels: true, make: ofUntracked('analysis/confirmed_untracked') },
  { key: 'analysis/inferred_section', make: ofTrips(make.inferredSections) },
  { key: 'analysis/recreated_location', make: ofTrips(make.recreatedLocations) },
  plain('segmentation/raw_trip'),
];

/** Without `keys`, returns only the key of composite trips, which contain the other entries. */
export function selectDerivedKeys(keys: readonly string[] | undefined): DerivedKey[] {
  return derivedKeys.filter(({ key }) => (keys === undefined ? key === 'analysis/composite_trip' : keys.includes(key)));
}
