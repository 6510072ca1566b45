// The mode that a correction or a label states, in place of the analysed one.
//
//   walk 300 m, bus 4 km, walk 200 m    label "car"    -> the bus becomes a car: it is the only ride
//   bus 4 km, train 20 km               label "car"    -> unchanged: there are two rides
//   bus 4 km                            label "other"  -> unchanged: no mode has this name
import { plainMode, sensedModeOf } from '../../model/modes.ts';
import type { Section } from '../../model/trip.ts';

/** The part of a trip that has modes. */
interface WithSections {
  sections: Section[];
}

/** The sections of a trip that are no walks; of a trip on foot its longest section. */
export function ridesOf<T extends Pick<Section, 'sensed_mode' | 'distance'>>(sections: readonly T[]): T[] {
  const rides = sections.filter(({ sensed_mode }) => plainMode(sensed_mode) !== 'walking');
  const [longest] = [...sections].sort((a, b) => b.distance - a.distance);
  return rides.length > 0 || longest === undefined ? rides : [longest];
}

/** The trip with a section in another mode. `source`: who states it. */
export function inStatedMode<T extends WithSections>(trip: T, section: Section, mode: string, source: string): T {
  const { mode_confidence: _, mode_probabilities: _others, transit, ...rest } = section;
  const sensed_mode = sensedModeOf(mode);
  const isSame = plainMode(sensed_mode) === plainMode(section.sensed_mode);
  const stated = { ...rest, sensed_mode, source, ...(isSame && transit && { transit }) };
  return { ...trip, sections: trip.sections.map((one) => (one === section ? stated : one)) };
}

/** The trip in the mode of its label, if it has one ride. A correction counts before a label. */
export function inLabelledMode<T extends WithSections>(trip: T, mode: string | null): T {
  const [ride, ...others] = ridesOf(trip.sections);
  if (mode === null || ride === undefined || others.length > 0 || ride.source === 'correction') return trip;
  return plainMode(ride.sensed_mode) === mode ? trip : inStatedMode(trip, ride, mode, 'label');
}
