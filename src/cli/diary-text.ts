// One day of one user as people read it in a terminal.
import { type ObservedDay, reasonsOf } from '../diary/observed-time.ts';
import { lettersOf } from '../diary/place-letters.ts';
import { type Labels, noLabels } from '../labels/labels-of.ts';
import type { Said } from '../labels/said.ts';
import { saidTexts } from '../labels/said-text.ts';
import { formatForPeople } from '../model/time.ts';
import type { Position, Section, Trip, TripRecord } from '../model/trip.ts';
import { estimatedOf } from '../model/trip-fields.ts';
import { type ModeStyle, styleOf } from '../pages/mode-styles.ts';
import { counted, table } from './output.ts';
import { clockText, distanceText, durationText } from './wording.ts';

/** How words are emphasised and coloured in a terminal; elsewhere each returns the text as it is. */
export interface DiaryMarks {
  bold(text: string): string;
  dim(text: string): string;
  tint(text: string, colour: number): string;
}

/** What the text of a day is made from. */
export interface DiaryDay {
  name: string;
  day: string;
  /** Trips that start on the day, in order. */
  records: readonly TripRecord[];
  /** Data time up to which the diary is final; null: nothing is yet. */
  completeUntil: number | null;
  /** What is known of the day. */
  observed: ObservedDay;
  /** What the user said about the trips; absent: nothing. */
  labels?: Labels;
  /** Shows the id of each trip. */
  ids?: boolean;
}

/** The day from its first place to its last: times, places, and a line per section and stop. At most 80 columns. */
export function diaryText(shown: DiaryDay, { bold, dim, tint }: DiaryMarks): string {
  const { name, day, records, observed, completeUntil, labels = noLabels, ids = false } = shown;
  const trips = records.flatMap((record) => (record.trip ? [record.trip] : []));
  const first = trips[0];
  if (first === undefined) return `${bold(name)}  ${day}: no trips\n${observedText(observed)}`;
  const title = `${bold(name)}  ${formatForPeople(first.start_ts, first.start_zone, 'dddd D MMMM YYYY')}  ${dim(zonesOf(trips))}`;
  const letters = lettersOf(trips.flatMap((trip) => [trip.start_loc, trip.end_loc]));
  const lines = [title, '', dayBar(observed, trips, tint), ''];
  for (const [i, record] of records.entries()) {
    if (record.trip === null) continue;
    const before = records[i - 1]?.trip ?? null;
    if (record.untracked !== null) lines.push(dim(unseenLine(record.untracked, record.trip)));
    if (before === null || record.untracked !== null)
      lines.push(placeLine(record.trip.start_loc, record.trip, 'start', letters));
    lines.push(
      ...wayLines(record.trip),
      ...saidLines(labels.ofTrip(record.trip.start_ts)),
      ...(ids ? [dim(`         │ trip ${record.trip.id}`)] : []),
      placeLine(record.trip.end_loc, record.trip, 'end', letters, nextOf(records, i)),
    );
  }
  return [
    ...lines,
    '',
    totalsText(trips, tint),
    observedText(observed),
    dim(finalText(trips.at(-1)!, completeUntil)),
  ].join('\n');
}

function zonesOf(trips: readonly Trip[]): string {
  return [...new Set(trips.flatMap((trip) => [trip.start_zone, trip.end_zone]))].join(', ');
}

// ---------------------------------------------------------------- places

function placeLine(
  position: Position,
  trip: Trip,
  end: 'start' | 'end',
  letter: (position: Position) => string,
  next: Trip | null = null,
): string {
  const time = end === 'start' ? clockText(trip.start_ts, trip.start_zone) : clockText(trip.end_ts, trip.end_zone);
  const stay = next === null ? '' : `  ${durationText(Math.max(0, next.start_ts - trip.end_ts))} here`;
  return `  ${time}  ● ${letter(position)}  ${position[1].toFixed(4)}, ${position[0].toFixed(4)}${stay}`;
}

/** The trip that starts where the trip at `index` ended. */
function nextOf(records: readonly TripRecord[], index: number): Trip | null {
  const next = records[index + 1];
  return next === undefined || next.untracked !== null ? null : next.trip;
}

// ---------------------------------------------------------------- ways

/** The word after the dot, as people say it: `PredictedModeTypes.BUS` is `bus`. */
export function modeText(sensedMode: string): string {
  const word = sensedMode.slice(sensedMode.indexOf('.') + 1);
  return word.toLowerCase().replaceAll('_', ' ');
}

function wayLines(trip: Trip): string[] {
  const rows = trip.sections.flatMap((section, i) => {
    const stop = trip.stops[i];
    return [
      sectionRow(section, trip),
      ...(stop && stop.duration >= 60 ? [['', 'waiting', '', durationText(stop.duration)]] : []),
    ];
  });
  return table(rows, [2])
    .split('\n')
    .map((row) => `         │ ${row}`.trimEnd());
}

const widest = 80; // columns

/** A line for each thing that was said: `said: mode e_bike`. */
function saidLines(said: Said): string[] {
  const names: Record<string, string> = {
    mode_confirm: 'mode',
    purpose_confirm: 'purpose',
    replaced_mode: 'instead of',
  };
  return Object.entries(saidTexts(said)).map(([name, text]) => {
    const line = `         │ said: ${names[name] ?? name.replaceAll('_', ' ')} ${text.replaceAll(/\s+/g, ' ')}`;
    return line.length > widest ? `${line.slice(0, widest - 1)}…` : line;
  });
}

function sectionRow(section: Section, trip: Trip): string[] {
  const zone = trip.start_zone;
  const times = `${clockText(section.start_ts, zone)}-${clockText(section.end_ts, zone)}`;
  return [
    times,
    modeText(section.sensed_mode).padEnd(12),
    distanceText(section.distance).padStart(7),
    durationText(section.duration),
    ...estimatedCell(section.estimated),
  ];
}

/** m of a length that no location shows, where they show in it. */
const estimatedCell = (metres = 0): string[] => (metres < 50 ? [] : [`${distanceText(metres)} estimated`]);

function unseenLine({ start_ts, end_ts }: { start_ts: number; end_ts: number }, trip: Trip): string {
  return `  ${clockText(start_ts, trip.start_zone)}  ○ moved unseen for ${durationText(end_ts - start_ts)}`;
}

// ---------------------------------------------------------------- the day as a whole

const cells = 72;
const minutesOfCell = 20;

/**
 * The 24 hours as one line; a cell on the way has the character and colour of the mode that takes most of it. One that
 * was mostly not observed is blank.
 */
function dayBar({ from, spans }: ObservedDay, trips: readonly Trip[], tint: DiaryMarks['tint']): string {
  const bar = Array.from({ length: cells }, () => ({ isOnTheWay: false, minutes: new Map<ModeStyle, number>() }));
  for (const trip of trips) {
    for (const [cell] of cellsOf(trip, trip)) bar[cell]!.isOnTheWay = true;
    for (const section of trip.sections) {
      const style = styleOf(section.sensed_mode);
      for (const [cell, length] of cellsOf(section, trip)) {
        const { minutes } = bar[cell]!;
        minutes.set(style, (minutes.get(style) ?? 0) + length);
      }
    }
  }
  const unknown = Array.from({ length: cells }, (_, cell) => {
    const [begin, end] = [from + cell * minutesOfCell * 60, from + (cell + 1) * minutesOfCell * 60];
    const seconds = spans.map((span) =>
      span.kind === 'unobserved' ? Math.max(0, Math.min(end, span.to) - Math.max(begin, span.from)) : 0,
    );
    return seconds.reduce((sum, one) => sum + one, 0) > (end - begin) / 2;
  });
  const line = bar.map(({ isOnTheWay, minutes }, cell) => {
    if (unknown[cell] && minutes.size === 0) return ' ';
    const [longest] = [...minutes].sort(([, a], [, b]) => b - a);
    if (longest === undefined) return isOnTheWay ? '┄' : '─'; // a wait, or a stay
    return tint(longest[0].character, longest[0].terminal);
  });
  const hours = Array.from({ length: 8 }, (_, i) => String(i * 3).padEnd(9)).join('');
  return `  ${hours}24\n  ${line.join('')}`;
}

/** The cells of the day that a part of a trip touches, on the clock where the trip began, and its minutes in each. */
function* cellsOf(part: { start_ts: number; end_ts: number }, trip: Trip): Generator<[cell: number, minutes: number]> {
  const [hour, minute] = clockText(trip.start_ts, trip.start_zone).split(':').map(Number) as [number, number];
  const from = hour * 60 + minute + (part.start_ts - trip.start_ts) / 60;
  const to = Math.max(from + 0.1, from + (part.end_ts - part.start_ts) / 60);
  for (let cell = Math.floor(from / minutesOfCell); cell < cells && cell * minutesOfCell < to; cell++)
    yield [cell, Math.min(to, (cell + 1) * minutesOfCell) - Math.max(from, cell * minutesOfCell)];
}

/** How much of the day was observed, and why the rest was not. */
function observedText(day: ObservedDay): string {
  const observed = `  observed ${durationText(day.moving_s + day.staying_s)}`;
  if (day.unobserved_s < 60) return observed;
  const reasons = reasonsOf(day).map(([reason, seconds]) => `${durationText(seconds)} ${reason}`);
  return `${observed}, not observed ${durationText(day.unobserved_s)}:\n    ${reasons.join('\n    ')}`;
}

/** Lengths by mode are the legend of the bar too. */
function totalsText(trips: readonly Trip[], tint: DiaryMarks['tint']): string {
  const byMode = new Map<string, { metres: number; style: ModeStyle }>();
  for (const section of trips.flatMap((trip) => trip.sections)) {
    const mode = modeText(section.sensed_mode);
    const known = byMode.get(mode) ?? { metres: 0, style: styleOf(section.sensed_mode) };
    byMode.set(mode, { ...known, metres: known.metres + section.distance });
  }
  const sum = (pick: (trip: Trip) => number): number => trips.reduce((total, trip) => total + pick(trip), 0);
  const estimated = estimatedCell(sum(estimatedOf)).map((text) => ` (${text})`);
  const head = `  ${counted(trips.length, 'trip')}, ${distanceText(sum((trip) => trip.distance))}${estimated.join('')}, ${durationText(sum((trip) => trip.duration))} on the way`;
  const modes = [...byMode]
    .sort(([, a], [, b]) => b.metres - a.metres)
    .map(([mode, { metres, style }]) => `${tint(style.character, style.terminal)} ${mode} ${distanceText(metres)}`);
  return `${head}\n  ${modes.join('  ')}`;
}

function finalText(last: Trip, completeUntil: number | null): string {
  if (completeUntil === null || completeUntil < last.end_ts) return '  draft: later entries may change it';
  return `  final up to ${formatForPeople(completeUntil, last.end_zone, 'D MMMM HH:mm')}; what came later is draft`;
}
