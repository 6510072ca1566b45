import {
  type DayPart,
  dayParts,
  finalText,
  flagLines,
  modeTotals,
  observedWords,
  totalsText,
  type WordedDay,
  zonesText,
} from '../diary/day-summary.ts';
import { clockText } from '../diary/number-text.ts';
import type { ObservedDay } from '../diary/observed-time.ts';
import type { Places } from '../diary/places.ts';
import { formatForPeople } from '../model/time.ts';
import type { Trip } from '../model/trip.ts';
import { type ModeStyle, styleOf } from '../web/pages/mode-styles.ts';
import { type Output, table } from './output.ts';

export type DiaryMarks = Pick<Output, 'bold' | 'dim' | 'tint'>;

export interface DiaryDay extends WordedDay {
  name: string;
  /** Data time up to which the diary is final; null: no part is final. */
  completeUntil: number | null;
  places: Pick<Places, 'labelOf'>;
  ids?: boolean;
}

/** Describes the day from its first place to its last, in at most 80 columns. */
export function diaryText(shown: DiaryDay, { bold, dim, tint }: DiaryMarks): string {
  const { name, day, records, observed, completeUntil, places, flagged = [], ids = false } = shown;
  const trips = records.flatMap((record) => (record.trip ? [record.trip] : []));
  const first = trips[0];
  const known = [observedText(observed), ...flagLines(flagged, observed.zone).map((line) => `  to check: ${line}`)];
  if (first === undefined) return [`${bold(name)}  ${day}: no trips  ${dim(observed.zone)}`, ...known].join('\n');
  const title = `${bold(name)}  ${formatForPeople(first.start_ts, first.start_zone, 'dddd D MMMM YYYY')}  ${dim(zonesText(trips))}`;
  const lines = dayParts(shown, places.labelOf).flatMap((part) => {
    if (part.kind === 'between') return [dim(`  ${part.clock}  ○ ${part.words}`)];
    if (part.kind === 'trip') return tripLines(part, ids, dim);
    const { clock, letter, position, stay } = part;
    return [`  ${clock}  ● ${letter}  ${position[1].toFixed(4)}, ${position[0].toFixed(4)}  ${stay}`.trimEnd()];
  });
  const modes = modeTotals(trips).map(({ sensed_mode, words }) => {
    const { character, terminal } = styleOf(sensed_mode);
    return `${tint(character, terminal)} ${words}`; // also explains the characters of the bar
  });
  return [
    title,
    '',
    dayBar(observed, trips, tint),
    '',
    ...lines,
    '',
    `  ${totalsText(trips)}`,
    `  ${modes.join('  ')}`,
    ...known,
    dim(`  ${finalText(trips.at(-1)!, completeUntil)}`),
  ].join('\n');
}

const widest = 80; // columns

function tripLines(
  { trip, path: sections, labels }: DayPart & { kind: 'trip' },
  ids: boolean,
  dim: DiaryMarks['dim'],
): string[] {
  const rows = sections.map(({ clock, mode, distance, duration, estimated, line }) => [
    clock,
    mode.padEnd(12),
    distance.padStart(7),
    duration,
    [estimated, line].filter((one) => one !== '').join('; '),
  ]);
  const words = labels.map((text) => {
    const line = `         │ user input: ${text}`;
    return line.length > widest ? `${line.slice(0, widest - 1)}…` : line;
  });
  const lines = table(rows, [2]).split('\n');
  return [
    ...lines.map((row) => `         │ ${row}`.trimEnd()),
    ...(trip.draft ? [dim('         │ draft: it has not ended')] : []),
    ...words,
    ...(ids ? [dim(`         │ trip ${trip.id}`)] : []),
  ];
}

const cells = 72;
const minutesOfCell = 20;

/**
 * The 24 hours as one line. A cell with a trip has the character and colour of the mode with the most time in it. A
 * mostly unobserved cell is blank.
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

/** The cells of the day that a part of a trip touches, in the zone of the trip's start, and its minutes in each. */
function* cellsOf(part: { start_ts: number; end_ts: number }, trip: Trip): Generator<[cell: number, minutes: number]> {
  const [hour, minute] = clockText(trip.start_ts, trip.start_zone).split(':').map(Number) as [number, number];
  const from = hour * 60 + minute + (part.start_ts - trip.start_ts) / 60;
  const to = Math.max(from + 0.1, from + (part.end_ts - part.start_ts) / 60);
  for (let cell = Math.floor(from / minutesOfCell); cell < cells && cell * minutesOfCell < to; cell++)
    yield [cell, Math.min(to, (cell + 1) * minutesOfCell) - Math.max(from, cell * minutesOfCell)];
}

function observedText(day: ObservedDay): string {
  const { observed, reasons } = observedWords(day);
  return [`  ${observed}${reasons.length > 0 ? ':' : ''}`, ...reasons].join('\n    ');
}
