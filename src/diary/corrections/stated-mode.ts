// Replaces the mode of a section by the mode that a correction or a label states.
//
//   walk, bus, walk   label "car"     -> the bus becomes a car: it is the only ride
//   bus, train        label "car"     -> unchanged: there are two rides
//   bus               label "other"   -> unchanged: "other" is not a mode
//   walk, walk        label "bike"    -> both walks become bicycle: a trip on foot counts as one ride
//   walk, bus         label "car" with the times of the walk   -> the walk becomes a car
import { plainMode, sensedModeOf } from '../../model/modes.ts';
import type { BriefSection, Section } from '../../model/trip.ts';

type WithSections = { sections: BriefSection[] };

type StatedSection = BriefSection & Partial<Pick<Section, 'mode_confidence' | 'mode_probabilities' | 'transit'>>;

/** The sections that are not walks; for a trip on foot, its longest section. */
export function ridesOf<T extends Pick<Section, 'sensed_mode' | 'distance'>>(sections: readonly T[]): T[] {
  const rides = sections.filter(({ sensed_mode }) => plainMode(sensed_mode) !== 'walking');
  const [longest] = [...sections].sort((a, b) => b.distance - a.distance);
  return rides.length > 0 || longest === undefined ? rides : [longest];
}

export function inStatedMode<T extends WithSections>(trip: T, section: StatedSection, mode: string, source: string): T {
  const { mode_confidence: _, mode_probabilities: _others, transit, ...rest } = section;
  const sensed_mode = sensedModeOf(mode);
  const isSame = plainMode(sensed_mode) === plainMode(section.sensed_mode);
  const stated = { ...rest, sensed_mode, source, ...(isSame && transit && { transit }) };
  return { ...trip, sections: trip.sections.map((one) => (one === section ? stated : one)) };
}

/** Applies a label from `start` to `end` (null: no bound). A corrected mode does not change. */
export function inLabelledMode<T extends WithSections>(
  trip: T,
  mode: string | null,
  label: { start: number | null; end: number | null } = { start: null, end: null },
): T {
  const isLabelled = ({ start_ts, end_ts }: BriefSection): boolean =>
    (label.end === null || start_ts < label.end) && (label.start === null || end_ts > label.start);
  const labelled = trip.sections.filter(isLabelled);
  const [ride, ...others] = ridesOf(labelled);
  if (mode === null || ride === undefined || others.length > 0 || plainMode(ride.sensed_mode) === mode) return trip;
  const changed = plainMode(ride.sensed_mode) === 'walking' ? labelled : [ride];
  const free = changed.filter(({ source }) => source !== 'correction');
  return free.reduce((one, section) => inStatedMode(one, section, mode, 'label'), trip);
}
