// Flags days, places, trips and sections that look wrong although nothing failed.
//
//   locations   o                                        o     2 locations, 60 km apart
//   section     |------------- bicycle, 1 h -------------|
//   flags       section: too_fast, mostly_estimated
//
//   marks             |sources_disagree|                       two phones, 5 km apart
//   flags       the day and the section: sources_disagree, because their times overlap with the mark
import { firstLaterIn } from '../analysis/sorted-times.ts';
import { fastestIn, knownAverage, modeClass, plainMode } from '../model/modes.ts';
import { justBefore, type TimeRange } from '../model/time.ts';
import type { BriefSection, BriefTrip } from '../model/trip.ts';
import { metresBy } from '../model/trip-fields.ts';
import { ridesOf } from './corrections/stated-mode.ts';
import { type Labels, noLabels } from './labels/load-labels.ts';
import { clockText } from './number-text.ts';

export const flagMeanings = {
  too_fast: 'the section is faster on average than its mode can be',
  mostly_estimated: 'more than half of the section, at least 500 m, is estimated, because locations are missing',
  one_location: 'only one location shows the day, the stay or the section',
  sources_disagree: 'two sources reported places more than 1 km apart at the same time',
  clock_moved:
    "the phone's clock was wrong: entries were written after they were received, or measured after they were written",
  jump_left_out: 'locations were removed because the person cannot have been there, or nothing else confirmed them',
  correction_contradicted: 'a correction applies, but data that arrived later contradict it',
  label_contradicts: 'the mode of the label differs from the mode of the longest part of the trip',
} as const;

export type Flag = keyof typeof flagMeanings;

export type Mark = TimeRange & { flag: Flag };

export interface FlagInputs {
  locations: readonly number[]; // times of locations, ascending, without repeats
  /** Locations before this time were removed, so their number is not known. Absent: none were. */
  removedBefore?: number;
  marks: readonly Mark[];
}

export interface Flagged extends Mark {
  of: 'day' | 'place' | 'trip' | 'section';
  id: string | null; // id of the place, trip or section; null for a day
  mode?: string; // mode of the section
}

export type FlaggedStay = TimeRange & { id: string };

const limits = {
  least: 500, // m; a shorter section may lack locations
  around: 300, // s; a second location in the stay, or this long before or after it, confirms the stay
  stay: 900, // s; a stay shorter than this may have only one location
};

type FlaggedTrip = Pick<BriefTrip, 'id' | 'start_ts' | 'end_ts' | 'sections' | 'evidence'>;

export function flagTrip(trip: FlaggedTrip, inputs: FlagInputs, labels: Labels = noLabels): Flagged[] {
  const { id, start_ts: from, end_ts: to, sections, evidence } = trip;
  const { spikes = 0, strays = 0 } = evidence?.left_out ?? {};
  const label = labels.ofTrip(from).user_input.mode_confirm;
  const own: Flag[] = spikes + strays > 0 ? ['jump_left_out'] : [];
  if (typeof label === 'string' && contradicts(label, sections)) own.push('label_contradicts');
  const ofSections = sections.flatMap((section) => {
    const about = { from: section.start_ts, to: section.end_ts, of: 'section', id: section.id } as const;
    const mode = plainMode(section.sensed_mode);
    return sectionFlags(section, inputs).map((flag): Flagged => ({ flag, ...about, mode }));
  });
  return [...own.map((flag): Flagged => ({ flag, from, to, of: 'trip', id })), ...ofSections];
}

function sectionFlags(
  { start_ts: from, end_ts: to, sensed_mode, distance, duration, estimated = 0 }: BriefSection,
  inputs: FlagInputs,
): Flag[] {
  const flags: Flag[] = touching(inputs, { from, to });
  if (knownAverage(distance, duration) > fastestIn(sensed_mode)) flags.push('too_fast');
  if (distance >= limits.least && estimated > distance / 2) flags.push('mostly_estimated');
  if (distance >= limits.least && countWithin(inputs, from, to) < 2) flags.push('one_location');
  return flags;
}

function contradicts(mode: string, sections: readonly BriefSection[]): boolean {
  const label = modeClass(mode);
  if (label === 'other' || sections.length === 0) return false;
  const lengths = [...metresBy(ridesOf(sections), ({ sensed_mode }) => modeClass(sensed_mode))];
  const [found] = lengths.reduce((longest, length) => (length[1] > longest[1] ? length : longest));
  if (found === 'other' || found === label) return false;
  const isMotor = (kind: string): boolean => ['car', 'bus', 'rail', 'motor'].includes(kind);
  if (label === 'motor' || found === 'motor') return isMotor(label) !== isMotor(found);
  return !(label === 'scooter' && found === 'bike'); // scooters are shown as cycling
}

/** `inputs` must include the locations of 5 minutes before and after the stay. */
export function flagStay({ id, from, to }: FlaggedStay, inputs: FlagInputs): Flagged[] {
  const flags: Flag[] = touching(inputs, { from, to });
  const isLong = to - from >= limits.stay && from > -Infinity && to < Infinity;
  if (isLong && countWithin(inputs, from - limits.around, to + limits.around) === 1) flags.push('one_location');
  return flags.map((flag) => ({ flag, from, to, of: 'place', id }));
}

export function flagDay(day: TimeRange, trips: number, inputs: FlagInputs): Flagged[] {
  const flags: Flag[] = touching(inputs, day);
  if (trips === 0 && countWithin(inputs, day.from, day.to) === 1) flags.push('one_location');
  return flags.map((flag) => ({ ...day, flag, of: 'day', id: null }));
}

export const flagNames = (flagged: readonly Flagged[]): Flag[] =>
  (Object.keys(flagMeanings) as Flag[]).filter((flag) => flagged.some((one) => one.flag === flag));

export const flagLines = (flagged: readonly Flagged[], zone: string): string[] =>
  flagged.map(({ flag, of, from, to, mode = of }) => {
    const clocks = `${clockText(from, zone)}-${clockText(to, zone)} `;
    return `${of === 'day' ? '' : clocks}${mode.replaceAll('_', ' ')}: ${flag.replaceAll('_', ' ')}`;
  });

const touching = ({ marks }: FlagInputs, { from, to }: TimeRange): Flag[] => [
  ...new Set(marks.filter((mark) => mark.from < to && mark.to >= from).map(({ flag }) => flag)),
];

function countWithin({ locations, removedBefore = -Infinity }: FlagInputs, from: number, to: number): number {
  if (from < removedBefore) return Infinity;
  return Math.max(0, firstLaterIn(locations, to) - firstLaterIn(locations, justBefore(from)));
}
