// Where something is not right though nothing failed: flags on days, places, trips and sections. They are computed when
// somebody reads, and nothing is repaired by them.

import { fastestIn, modeClass, plainMode } from '../model/modes.ts';
import type { TimeRange } from '../model/time.ts';
import type { Section, Trip } from '../model/trip.ts';
import { metresBy } from '../model/trip-fields.ts';
import { type Labels, noLabels } from './labels/load-labels.ts';

/** Every flag and what it means. */
export const flagMeanings = {
  too_fast: 'the section is faster on average than its mode can be',
  mostly_estimated: 'no location shows more than half of the section (500 m or more)',
  one_location: 'one location only tells of the day, the stay or the section',
  sources_disagree: 'two sources told of places more than 1 km apart at the same time',
  clock_moved: "the phone's clock was ahead: it wrote entries after they were received, or measured after it wrote",
  jump_left_out: 'locations were left out because the person cannot have been there, or nothing else told of it',
  correction_contradicted: 'a correction holds, but later data say otherwise',
  label_contradicts: 'the person named another mode than the diary has for the longest way of the trip',
} as const;

/** The name of a flag. */
export type Flag = keyof typeof flagMeanings;

/** A flag of something that lasted from one time to another. */
export interface Mark extends TimeRange {
  flag: Flag;
}

/** What the flags need of a stretch of time beside its trips. */
export interface Clues {
  /** Times of locations, ascending, each once. */
  locations: readonly number[];
  /** Locations below this time were removed because they were old: nothing is said of their number. Absent: none. */
  removedBefore?: number;
  /** Flags of stretches of time: they go to every day, place and section that they touch. */
  marks: readonly Mark[];
}

/** What a flag is about. */
export interface Flagged extends Mark {
  of: 'day' | 'place' | 'trip' | 'section';
  /** Of the place, trip or section; null of a day. */
  id: string | null;
  /** Of a section. */
  mode?: string;
}

/** A stay with both its ends; a missing one is open. */
export interface FlaggedStay {
  id: string;
  from: number;
  to: number;
}

const limits = {
  /** m; over less an average tells little, and the way to a first location is often estimated */
  least: 500,
  /** s around a stay in which a second location would tell of it too */
  around: 300,
  /** s; a shorter stay may well have one location */
  stay: 900,
};

type FlaggedTrip = Pick<Trip, 'id' | 'start_ts' | 'end_ts' | 'sections' | 'evidence'>;

/** The flags of a trip and its sections. */
export function flagsOfTrip(trip: FlaggedTrip, clues: Clues, labels: Labels = noLabels): Flagged[] {
  const { id, start_ts: from, end_ts: to, sections, evidence } = trip;
  const { spikes = 0, strays = 0 } = evidence?.left_out ?? {};
  const said = labels.ofTrip(from).user_input.mode_confirm;
  const own: Flag[] = [
    ...(spikes + strays > 0 ? ['jump_left_out' as const] : []),
    ...(typeof said === 'string' && contradicts(said, sections) ? ['label_contradicts' as const] : []),
  ];
  const ofSections = sections.flatMap((section) => {
    const [begin, end] = [section.start_ts, section.end_ts];
    const found = sectionFlags(section, clues).map((flag) => ({ flag, from: begin, to: end }));
    const mode = plainMode(section.sensed_mode);
    return found.map((mark): Flagged => ({ ...mark, of: 'section', id: section.id, mode }));
  });
  return [...own.map((flag): Flagged => ({ flag, from, to, of: 'trip', id })), ...ofSections];
}

function sectionFlags(
  { start_ts: from, end_ts: to, sensed_mode, distance, duration, estimated = 0 }: Section,
  clues: Clues,
): Flag[] {
  const flags: Flag[] = touching(clues, { from, to });
  if (distance >= limits.least && distance > fastestIn(sensed_mode) * duration) flags.push('too_fast');
  if (distance >= limits.least && estimated > distance / 2) flags.push('mostly_estimated');
  if (distance >= limits.least && countWithin(clues, from, to) < 2) flags.push('one_location');
  return flags;
}

/** True if the person named a mode that the diary knows, and it has another one for the longest way. */
function contradicts(said: string, sections: readonly Section[]): boolean {
  const label = modeClass(said);
  if (label === 'other' || sections.length === 0) return false;
  const ways = [...metresBy(sections, ({ sensed_mode }) => modeClass(sensed_mode))];
  const [found] = ways.reduce((longest, way) => (way[1] > longest[1] ? way : longest));
  if (found === 'other' || found === label) return false;
  const isMotor = (kind: string): boolean => ['car', 'bus', 'rail', 'motor'].includes(kind);
  if (label === 'motor' || found === 'motor') return isMotor(label) !== isMotor(found);
  return !(label === 'scooter' && found === 'bike'); // who rides a scooter is shown as cycling
}

/** The flags of a stay. */
export function flagsOfStay({ id, from, to }: FlaggedStay, clues: Clues): Flagged[] {
  const flags: Flag[] = touching(clues, { from, to });
  const isLong = to - from >= limits.stay && from > Number.NEGATIVE_INFINITY && to < Number.POSITIVE_INFINITY;
  if (isLong && countWithin(clues, from - limits.around, to + limits.around) === 1) flags.push('one_location');
  return flags.map((flag) => ({ flag, from, to, of: 'place', id }));
}

/** The flags of a day itself, without those of its trips and stays. */
export function flagsOfDay(day: TimeRange, trips: number, clues: Clues): Flagged[] {
  const flags: Flag[] = touching(clues, day);
  if (trips === 0 && countWithin(clues, day.from, day.to) === 1) flags.push('one_location');
  return flags.map((flag) => ({ ...day, flag, of: 'day', id: null }));
}

/** The names of flags, each once, in the order of the table. */
export const flagNames = (flagged: readonly Flagged[]): Flag[] =>
  (Object.keys(flagMeanings) as Flag[]).filter((flag) => flagged.some((one) => one.flag === flag));

/** The flags of the marks that a stretch touches, each once. */
const touching = ({ marks }: Clues, { from, to }: TimeRange): Flag[] => [
  ...new Set(marks.filter((mark) => mark.from < to && mark.to >= from).map(({ flag }) => flag)),
];

function countWithin({ locations, removedBefore = -Infinity }: Clues, from: number, to: number): number {
  if (from < removedBefore) return Infinity;
  let count = 0;
  for (const ts of locations) if (ts >= from && ts <= to) count += 1;
  return count;
}
