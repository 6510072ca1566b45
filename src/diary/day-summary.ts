// What a day says, in words and numbers: the terminal and the HTML page both show these, each in its own form.

import { plainMode } from '../model/modes.ts';
import { formatForPeople, localDay } from '../model/time.ts';
import type { Position, Section, TransitLine, Trip, TripRecord } from '../model/trip.ts';
import { estimatedOf, metresBy } from '../model/trip-fields.ts';
import type { Flagged } from './flags.ts';
import { shownTexts } from './labels/label-text.ts';
import { type Labels, noLabels } from './labels/load-labels.ts';
import { clockText, distanceText, durationText } from './number-text.ts';
import { type ObservedDay, reasonsOf, unobservedWithin } from './observed-time.ts';
import type { Day } from './read-days.ts';

/** `1 trip`, `2 trips`. */
export const tripsText = (count: number): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? 'trip' : 'trips'}`;

/** `PredictedModeTypes.LIGHT_RAIL` as `light rail`. */
export const modeText = (sensedMode: string): string => plainMode(sensedMode).replaceAll('_', ' ');

/** The line of a section: `N, SFMTA, from Embarcadero`; empty if none is known. */
export function lineText(line: TransitLine | undefined): string {
  return line === undefined ? '' : `${lineName(line)}, ${line.agency}, from ${line.from_stop}`;
}

/** The name by which riders know a line. */
export const lineName = ({ route_short_name, route_long_name, route_id }: TransitLine): string =>
  route_short_name || route_long_name || route_id;

/** m that no location shows, where they show in a length; else empty. */
const estimatedText = (metres = 0): string => (metres < 50 ? '' : `${distanceText(metres)} estimated`);

// ---------------------------------------------------------------- the parts of a day

/** What is shown of a day, see `Day`: labels and flags may be missing. */
export interface WordedDay extends Pick<Day, 'day' | 'observed'>, Partial<Pick<Day, 'labels' | 'flagged'>> {
  /** Links that start on the day, in order. */
  records: readonly TripRecord[];
}

/** What happened in a day, in order of time. */
export type DayPart =
  | { kind: 'place'; clock: string; letter: string; position: Position /** Empty: not known. */; stay: string }
  /** What lies between two trips and is no place. */
  | { kind: 'between'; clock: string; words: string }
  | {
      kind: 'trip';
      trip: Trip;
      way: WayPart[] /** What the user said about it, such as `mode e_bike`. */;
      said: string[];
    };

/** A section of a trip, or a wait of a minute or more between two. */
export interface WayPart {
  /** Empty of a wait. */
  clock: string;
  mode: string;
  distance: string;
  duration: string;
  estimated: string;
  /** See `lineText`. */
  line: string;
}

/** The parts of a day. `letterOf` names places. */
export function dayParts(
  { records, observed, labels }: WordedDay,
  letterOf: (position: Position) => string,
): DayPart[] {
  const parts: DayPart[] = [];
  const trips = records.filter(({ trip }) => trip !== null) as (TripRecord & { trip: Trip })[];
  for (const [i, { trip, untracked }] of trips.entries()) {
    const { start_ts, start_zone, end_ts, end_zone } = trip;
    if (untracked !== null) {
      const { start_ts, end_ts } = untracked;
      const format = localDay(start_ts, start_zone) === observed.day ? 'HH:mm' : 'D MMM HH:mm';
      const words = `moved unseen for ${durationText(end_ts - start_ts)}`;
      parts.push({ kind: 'between', clock: formatForPeople(start_ts, start_zone, format), words });
    }
    if (untracked !== null || i === 0) parts.push(place(start_ts, start_zone, trip.start_loc, ''));
    parts.push({ kind: 'trip', trip, way: wayParts(trip), said: saidWords(labels, trip) });
    const next = trips[i + 1];
    const stay = next?.untracked === null ? next.trip.start_ts - end_ts : null;
    if (stay !== null && stay < leastStay)
      parts.push({ kind: 'between', clock: clockText(end_ts, end_zone), words: 'went on at once' });
    else
      parts.push(place(end_ts, end_zone, trip.end_loc, stay === null ? '' : stayText(end_ts, end_ts + stay, observed)));
  }
  return parts;

  function place(ts: number, zone: string, position: Position, stay: string): DayPart {
    return { kind: 'place', clock: clockText(ts, zone), letter: letterOf(position), position, stay };
  }
}

/** s; where two trips touch there is no place between them */
const leastStay = 1;

function stayText(from: number, to: number, observed: ObservedDay): string {
  const unseen = unobservedWithin(observed, from, to);
  const seen = unseen < 60 ? '' : `, ${durationText(unseen)} of it not observed`;
  return `${durationText(to - from)} here${seen}`;
}

function wayParts({ sections, stops, start_zone }: Trip): WayPart[] {
  const ofSection = ({ start_ts, end_ts, sensed_mode, distance, duration, estimated, transit }: Section): WayPart => ({
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

const saidNames: Record<string, string> = {
  mode_confirm: 'mode',
  purpose_confirm: 'purpose',
  replaced_mode: 'instead of',
};

/** What the user said about a trip, each thing with its name: `mode e_bike`. */
const saidWords = (labels: Labels | undefined, trip: Trip): string[] =>
  Object.entries(shownTexts((labels ?? noLabels).ofTrip(trip.start_ts))).map(
    ([name, text]) => `${saidNames[name] ?? name.replaceAll('_', ' ')} ${text.replaceAll(/\s+/g, ' ')}`,
  );

// ---------------------------------------------------------------- the day as a whole

/** The zones of trips, each once. */
export const zonesText = (trips: readonly Trip[]): string =>
  [...new Set(trips.flatMap((trip) => [trip.start_zone, trip.end_zone]))].join(', ');

/** `2 trips, 4.0 km (240 m estimated), 20 min on the way`. */
export function totalsText(trips: readonly Trip[]): string {
  const sum = (pick: (trip: Trip) => number): number => trips.reduce((total, trip) => total + pick(trip), 0);
  const estimated = estimatedText(sum(estimatedOf));
  const length = `${distanceText(sum(({ distance }) => distance))}${estimated && ` (${estimated})`}`;
  return `${tripsText(trips.length)}, ${length}, ${durationText(sum(({ duration }) => duration))} on the way`;
}

/** Lengths by mode, the longest first, each with a `sensed_mode` that it stands for. */
export function modeTotals(trips: readonly Trip[]): { sensed_mode: string; metres: number; words: string }[] {
  const sections = trips.flatMap((trip) => trip.sections);
  const named = new Map(sections.map(({ sensed_mode }) => [modeText(sensed_mode), sensed_mode]));
  return [...metresBy(sections, ({ sensed_mode }) => modeText(sensed_mode))]
    .sort(([, a], [, b]) => b - a)
    .map(([mode, metres]) => ({ sensed_mode: named.get(mode)!, metres, words: `${mode} ${distanceText(metres)}` }));
}

/** How much of the day was observed, and how long each reason held for which the rest was not. */
export function observedWords(day: ObservedDay): { observed: string; reasons: string[] } {
  const observed = `observed ${durationText(day.moving_s + day.staying_s)}`;
  if (day.unobserved_s < 60) return { observed, reasons: [] };
  const reasons = reasonsOf(day).map(([reason, seconds]) => `${durationText(seconds)} ${reason}`);
  return { observed: `${observed}, not observed ${durationText(day.unobserved_s)}`, reasons };
}

/** Whether later data may change the day. `completeUntil`: the diary is final up to it; null: nothing is yet. */
export function finalText({ end_ts, end_zone }: Trip, completeUntil: number | null): string {
  if (completeUntil === null || completeUntil < end_ts) return 'draft: later entries may change it';
  return `final up to ${formatForPeople(completeUntil, end_zone, 'D MMMM HH:mm')}; what came later is draft`;
}

/** What is doubtful of a day, a line each: `13:21-14:21 car: mostly estimated`. Times in `zone`. */
export const flagLines = (flagged: readonly Flagged[], zone: string): string[] =>
  flagged.map(({ flag, of, from, to, mode = of }) => {
    const clocks = `${clockText(from, zone)}-${clockText(to, zone)} `;
    return `${of === 'day' ? '' : clocks}${mode.replaceAll('_', ' ')}: ${flag.replaceAll('_', ' ')}`;
  });
