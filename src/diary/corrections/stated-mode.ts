// Replaces the mode of a section by the mode that a correction or a label states.
//
//   walk 300 m, bus 4 km, walk 200 m    label "car"    -> the bus becomes a car: it is the only ride
//   bus 4 km, train 20 km               label "car"    -> unchanged: there are two rides
//   bus 4 km                            label "other"  -> unchanged: it is not a mode
import { plainMode, sensedModeOf } from '../../model/modes.ts';
import type { BriefSection, Section } from '../../model/trip.ts';

interface WithSections {
  sections: BriefSection[];
}

type StatedSection = BriefSection & Partial<Pick<Section, 'mode_confidence' | 'mode_probabilities' | 'transit'>>;

/** The sections of a trip that are not walks. For a trip on foot, its longest section. */
export function ridesOf<T extends Pick<Section, 'sensed_mode' | 'distance'>>(sections: readonly T[]): T[] {
  const rides = sections.filter(({ sensed_mode }) => plainMode(sensed_mode) !== 'walking');
  const [longest] = [...sections].sort((a, b) => b.distance - a.distance);
  return rides.length > 0 || longest === undefined ? rides : [longest];
}

/** Changes the mode of one section of a trip. `source`: who stated the mode. */
export function inStatedMode<T extends WithSections>(trip: T, section: StatedSection, mode: string, source: string): T {
  const { mode_confidence: _, mode_probabilities: _others, transit, ...rest } = section;
  const sensed_mode = sensedModeOf(mode);
  const isSame = plainMode(sensed_mode) === plainMode(section.sensed_mode);
  const stated = { ...rest, sensed_mode, source, ...(isSame && transit && { transit }) };
  return { ...trip, sections: trip.sections.map((one) => (one === section ? stated : one)) };
}

/** Changes the only ride of a trip to the mode of its label. A correction takes precedence over a label. */
export function inLabelledMode<T extends WithSections>(trip: T, mode: string | null): T {
  const [ride, ...others] = ridesOf(trip.sections);
  if (mode === null || ride === undefined || others.length > 0 || ride.source === 'correction') return trip;
  return plainMode(ride.sensed_mode) === mode ? trip : inStatedMode(trip, ride, mode, 'label');
}
