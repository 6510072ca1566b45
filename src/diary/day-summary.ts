// Describes a day in words and numbers, for the terminal.
import { plainMode } from '../model/modes.ts';
import { formatForPeople, localDay } from '../model/time.ts';
import type { Position, Section, TransitLine, Trip, TripRecord } from '../model/trip.ts';
import { estimatedOf, isTripLink, metresBy } from '../model/trip-fields.ts';
import type { Flagged } from './flags.ts';
import { shownTexts } from './labels/label-text.ts';
import { type Labels, noLabels } from './labels/load-labels.ts';
import { clockText, distanceText, durationText } from './number-text.ts';
import { type ObservedDay, reasonsOf, unobservedWithin } from './observed-time.ts';
import type { Day } from './read-days.ts';

export const tripsText = (count: number): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? 'trip' : 'trips'}`;

/** `PredictedModeTypes.LIGHT_RAIL` as `light rail`. */
export const modeText = (sensedMode: string): string => plainMode(sensedMode).replaceAll('_', ' ');

/** Describes a transit line: `N, SFMTA, from Embarcadero`. Empty if no line is known. */
export function lineText(line: TransitLine | undefined): string {
  return line === undefined ? '' : `${lineName(line)}, ${line.agency}, from ${line.from_stop}`;
}

/** The name of a line: short name, long name or id. */
export const lineName = ({ route_short_name, route_long_name, route_id }: TransitLine): string =>
  route_short_name || route_long_name || route_id;

const estimatedText = (metres = 0): string => (metres < 50 ? '' : `${distanceText(metres)} estimated`);

/** The part of a `Day` that the summary shows. */
export interface WordedDay extends Pick<Day, 'day' | 'observed'>, Partial<Pick<Day, 'labels' | 'flagged'>> {
  records: readonly TripRecord[]; // links that start on the day, in order
}

/** A part of a day, in order of time. */
export type DayPart =
  /** A place before or after a trip. `stay`: text about the time there; empty: not known. */
  | { kind: 'place'; clock: string; letter: string; position: Position; stay: string }
  /** Between two trips, in place of a stay: movement that was not recorded, or no time at all. */
  | { kind: 'between'; clock: string; words: string }
  /** A trip. `labels`: texts such as `mode e_bike`. */
  | { kind: 'trip'; trip: Trip; path: PathPart[]; labels: string[] };

export interface PathPart {
  clock: string; // empty for a wait
  mode: string;
  distance: string;
  duration: string;
  estimated: string;
  line: string; // see `lineText`
}

/** Divides a day into places, trips and what is between them. `letterOf`: the letter of a place. */
export function dayParts(
  { records, observed, labels }: WordedDay,
  letterOf: (position: Position) => string,
): DayPart[] {
  const parts: DayPart[] = [];
  const trips = records.filter(isTripLink);
  const place = (ts: number, zone: string, position: Position, stay: string): DayPart => {
    return { kind: 'place', clock: clockText(ts, zone), letter: letterOf(position), position, stay };
  };
  for (const [i, { trip, untracked }] of trips.entries()) {
    const { start_ts, start_zone, end_ts, end_zone } = trip;
    if (untracked !== null) {
      const { start_ts, end_ts } = untracked;
      const format = localDay(start_ts, start_zone) === observed.day ? 'HH:mm' : 'D MMM HH:mm';
      const words = `moved unseen for ${durationText(end_ts - start_ts)}`;
      parts.push({ kind: 'between', clock: formatForPeople(start_ts, start_zone, format), words });
    }
    if (untracked !== null || i === 0) parts.push(place(start_ts, start_zone, trip.start_loc, ''));
    parts.push({ kind: 'trip', trip, path: pathParts(trip), labels: labelTexts(labels, trip) });
    const next = trips[i + 1];
    const stay = next?.untracked === null ? next.trip.start_ts - end_ts : null;
    if (stay !== null && stay < leastStay)
      parts.push({ kind: 'between', clock: clockText(end_ts, end_zone), words: 'continued at once' });
    else
      parts.push(place(end_ts, end_zone, trip.end_loc, stay === null ? '' : stayText(end_ts, end_ts + stay, observed)));
  }
  return parts;
}

const leastStay = 1; // s; if less time is between two trips, no place is shown between them

function stayText(from: number, to: number, observed: ObservedDay): string {
  const unseen = unobservedWithin(observed, from, to);
  const seen = unseen < 60 ? '' : `, ${durationText(unseen)} of it not observed`;
  return `${durationText(to - from)} here${seen}`;
}

function pathParts({ sections, stops, start_zone }: Trip): PathPart[] {
  const ofSection = ({ start_ts, end_ts, sensed_mode, distance, duration, estimated, transit }: Section): PathPart => ({
    clock: `${clockText(start_ts, start_zone)}-${clockText(end_ts, start_zone)}`,
    mode: modeText(sensed_mode),
    distance: distanceText(distance),
    duration: durationText(duration),
    estimated: estimatedText(estimated),
    line: lineText(transit),
  });
  return sections.flatMap((section, i) => {
    const seconds = stops[i]?.duration ?? 0;
    const wait = { clock: '', mode: 'waiting', distance: '', duration: durationText(seconds), estimated: '', line: '' };
    return seconds < 60 ? [ofSection(section)] : [ofSection(section), wait];
  });
}

const labelNames: Record<string, string> = {
  mode_confirm: 'mode',
  purpose_confirm: 'purpose',
  replaced_mode: 'instead of',
};

const labelTexts = (labels: Labels | undefined, trip: Trip): string[] =>
  Object.entries(shownTexts((labels ?? noLabels).ofTrip(trip.start_ts))).map(
    ([name, text]) => `${labelNames[name] ?? name.replaceAll('_', ' ')} ${text.replaceAll(/\s+/g, ' ')}`,
  );

export const zonesText = (trips: readonly Trip[]): string =>
  [...new Set(trips.flatMap((trip) => [trip.start_zone, trip.end_zone]))].join(', ');

/** `2 trips, 4.0 km (240 m estimated), 20 min on the way`. */
export function totalsText(trips: readonly Trip[]): string {
  const sum = (pick: (trip: Trip) => number): number => trips.reduce((total, trip) => total + pick(trip), 0);
  const estimated = estimatedText(sum(estimatedOf));
  const length = `${distanceText(sum(({ distance }) => distance))}${estimated && ` (${estimated})`}`;
  return `${tripsText(trips.length)}, ${length}, ${durationText(sum(({ duration }) => duration))} on the way`;
}

/** The length of each mode, the longest first. `sensed_mode`: the stored name of the mode. */
export function modeTotals(trips: readonly Trip[]): { sensed_mode: string; metres: number; words: string }[] {
  const sections = trips.flatMap((trip) => trip.sections);
  const named = new Map(sections.map(({ sensed_mode }) => [modeText(sensed_mode), sensed_mode]));
  return [...metresBy(sections, ({ sensed_mode }) => modeText(sensed_mode))]
    .sort(([, a], [, b]) => b - a)
    .map(([mode, metres]) => ({ sensed_mode: named.get(mode)!, metres, words: `${mode} ${distanceText(metres)}` }));
}

/** The observed time of the day, and the duration of each reason for unobserved time. */
export function observedWords(day: ObservedDay): { observed: string; reasons: string[] } {
  const observed = `observed ${durationText(day.moving_s + day.staying_s)}`;
  if (day.unobserved_s < 60) return { observed, reasons: [] };
  const reasons = reasonsOf(day).map(
    ([reason, seconds]) => `${durationText(seconds)} ${reason === 'moved' ? 'moved unseen' : reason}`,
  );
  return { observed: `${observed}, not observed ${durationText(day.unobserved_s)}`, reasons };
}

/** Whether later data may change the trip. `completeUntil`: the diary is final up to it; null: no part is final yet. */
export function finalText({ end_ts, end_zone }: Trip, completeUntil: number | null): string {
  if (completeUntil === null || completeUntil < end_ts) return 'draft: later entries may change it';
  return `final up to ${formatForPeople(completeUntil, end_zone, 'D MMMM HH:mm')}; later parts are a draft`;
}

/** The flags of a day, one line each: `13:21-14:21 car: mostly estimated`. Times in `zone`. */
export const flagLines = (flagged: readonly Flagged[], zone: string): string[] =>
  flagged.map(({ flag, of, from, to, mode = of }) => {
    const clocks = `${clockText(from, zone)}-${clockText(to, zone)} `;
    return `${of === 'day' ? '' : clocks}${mode.replaceAll('_', ' ')}: ${flag.replaceAll('_', ' ')}`;
  });
