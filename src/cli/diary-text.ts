import { flagLines } from '../diary/flags.ts';
import { shownTexts } from '../diary/labels/label-text.ts';
import { noLabels } from '../diary/labels/load-labels.ts';
import { lineText, modeText, modeTotals } from '../diary/mode-text.ts';
import { clockText, distanceText, durationText } from '../diary/number-text.ts';
import { type ObservedDay, reasonsOf, unobservedWithin } from '../diary/observed-time.ts';
import type { Places } from '../diary/places.ts';
import type { Day } from '../diary/read-days.ts';
import { counted } from '../log/text.ts';
import { formatForPeople, localDay } from '../model/time.ts';
import type { Position, Trip, TripRecord } from '../model/trip.ts';
import { estimatedOf, isTripLink } from '../model/trip-fields.ts';
import { type ModeStyle, styleOf } from '../web/pages/mode-styles.ts';
import { type Output, table } from './output.ts';

export type DiaryMarks = Pick<Output, 'bold' | 'dim' | 'tint'>;

export interface DiaryDay extends Pick<Day, 'day' | 'observed'>, Partial<Pick<Day, 'labels' | 'flagged'>> {
  name: string;
  records: readonly TripRecord[]; // links that start on the day, in order
  completeUntil: number | null; // data time up to which the diary is final; null: no part is final
  places: Pick<Places, 'labelOf'>;
  ids?: boolean;
}

/** Describes the day from its first place to its last, in at most 80 columns. */
export function diaryText(shown: DiaryDay, { bold, dim, tint }: DiaryMarks): string {
  const { name, day, records, observed, completeUntil, flagged = [] } = shown;
  const trips = records.flatMap(({ trip }) => trip ?? []);
  const first = trips[0];
  const known = [observedText(observed), ...flagLines(flagged, observed.zone).map((line) => `  to check: ${line}`)];
  if (first === undefined) return [`${bold(name)}  ${day}: no trips  ${dim(observed.zone)}`, ...known].join('\n');
  const zones = [...new Set(trips.flatMap((trip) => [trip.start_zone, trip.end_zone]))].join(', ');
  const title = `${bold(name)}  ${formatForPeople(first.start_ts, first.start_zone, 'dddd D MMMM YYYY')}  ${dim(zones)}`;
  const modes = modeTotals(trips).map(({ sensed_mode, metres }) => {
    const { character, terminal } = styleOf(sensed_mode);
    // This line also explains the characters of the bar.
    return `${tint(character, terminal)} ${modeText(sensed_mode)} ${distanceText(metres)}`;
  });
  return [
    title,
    '',
    dayBar(observed, trips, tint),
    '',
    ...dayLines(shown, dim),
    '',
    `  ${totalsText(trips)}`,
    `  ${modes.join('  ')}`,
    ...known,
    dim(`  ${finalText(trips.at(-1)!, completeUntil)}`),
  ].join('\n');
}

const leastStay = 1; // s; a shorter stay between two trips is not shown

function dayLines(shown: DiaryDay, dim: DiaryMarks['dim']): string[] {
  const { records, observed, labels = noLabels, places, ids = false } = shown;
  const place = (ts: number, zone: string, at: Position, stay: string): string =>
    `  ${clockText(ts, zone)}  ● ${places.labelOf(at)}  ${at[1].toFixed(4)}, ${at[0].toFixed(4)}  ${stay}`.trimEnd();
  const trips = records.filter(isTripLink);
  return trips.flatMap(({ trip, untracked }, i) => {
    const { start_ts, start_zone, end_ts, end_zone } = trip;
    const lines: string[] = [];
    if (untracked !== null) {
      const format = localDay(untracked.start_ts, start_zone) === observed.day ? 'HH:mm' : 'D MMM HH:mm';
      const clock = formatForPeople(untracked.start_ts, start_zone, format);
      lines.push(dim(`  ${clock}  ○ moved unseen for ${durationText(untracked.end_ts - untracked.start_ts)}`));
    }
    if (untracked !== null || i === 0) lines.push(place(start_ts, start_zone, trip.start_loc, ''));
    lines.push(...tripLines(trip, shownTexts(labels.ofTrip(start_ts)), ids, dim));
    const next = trips[i + 1];
    const stay = next?.untracked === null ? next.trip.start_ts - end_ts : null;
    if (stay !== null && stay < leastStay) lines.push(dim(`  ${clockText(end_ts, end_zone)}  ○ continued at once`));
    else {
      const text = stay === null ? '' : stayText(end_ts, end_ts + stay, observed);
      lines.push(place(end_ts, end_zone, trip.end_loc, text));
    }
    return lines;
  });
}

function stayText(from: number, to: number, observed: ObservedDay): string {
  const unseen = unobservedWithin(observed, from, to);
  const seen = unseen < 60 ? '' : `, ${durationText(unseen)} of it not observed`;
  return `${durationText(to - from)} here${seen}`;
}

const widest = 80; // columns

const labelNames: Record<string, string> = {
  mode_confirm: 'mode',
  purpose_confirm: 'purpose',
  replaced_mode: 'instead of',
};

function tripLines(trip: Trip, texts: Record<string, string>, ids: boolean, dim: DiaryMarks['dim']): string[] {
  const { sections, stops, start_zone } = trip;
  const rows = sections.flatMap(({ start_ts, end_ts, sensed_mode, distance, duration, estimated, transit }, i) => {
    const clock = `${clockText(start_ts, start_zone)}-${clockText(end_ts, start_zone)}`;
    const length = distanceText(distance).padStart(7);
    const more = [estimatedText(estimated), lineText(transit)].filter((one) => one !== '').join('; ');
    const row = [clock, modeText(sensed_mode).padEnd(12), length, durationText(duration), more];
    const wait = stops[i]?.duration ?? 0;
    return wait < 60 ? [row] : [row, ['', 'waiting'.padEnd(12), ''.padStart(7), durationText(wait), '']];
  });
  const inputs = Object.entries(texts).map(([name, text]) => {
    const words = `${labelNames[name] ?? name.replaceAll('_', ' ')} ${text.replaceAll(/\s+/g, ' ')}`;
    const line = `         │ user input: ${words}`;
    return line.length > widest ? `${line.slice(0, widest - 1)}…` : line;
  });
  return [
    ...table(rows, [2])
      .split('\n')
      .map((row) => `         │ ${row}`.trimEnd()),
    ...(trip.draft ? [dim('         │ draft: it has not ended')] : []),
    ...inputs,
    ...(ids ? [dim(`         │ trip ${trip.id}`)] : []),
  ];
}

const estimatedText = (metres = 0): string => (metres < 50 ? '' : `${distanceText(metres)} estimated`);

/** Returns a text such as `2 trips, 4.0 km (240 m estimated), 20 min on the way`. */
function totalsText(trips: readonly Trip[]): string {
  const sum = (pick: (trip: Trip) => number): number => trips.reduce((total, trip) => total + pick(trip), 0);
  const estimated = estimatedText(sum(estimatedOf));
  const length = `${distanceText(sum(({ distance }) => distance))}${estimated && ` (${estimated})`}`;
  return `${counted(trips.length, 'trip')}, ${length}, ${durationText(sum(({ duration }) => duration))} on the way`;
}

function finalText({ end_ts, end_zone }: Trip, completeUntil: number | null): string {
  if (completeUntil === null || completeUntil < end_ts) return 'draft: later entries may change it';
  return `final up to ${formatForPeople(completeUntil, end_zone, 'D MMMM HH:mm')}; later parts are a draft`;
}

const cells = 72; // characters of the day bar
const minutesOfCell = 20;

// Draws 24 hours as one line. A cell with a trip has the character and colour of the mode with the
// most time in the cell. A mostly unobserved cell is blank.
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

/** Yields the cells of the day bar that `part` touches, with its minutes in each. */
function* cellsOf(part: { start_ts: number; end_ts: number }, trip: Trip): Generator<[cell: number, minutes: number]> {
  const [hour, minute] = clockText(trip.start_ts, trip.start_zone).split(':').map(Number) as [number, number];
  const from = hour * 60 + minute + (part.start_ts - trip.start_ts) / 60;
  const to = Math.max(from + 0.1, from + (part.end_ts - part.start_ts) / 60);
  for (let cell = Math.floor(from / minutesOfCell); cell < cells && cell * minutesOfCell < to; cell++)
    yield [cell, Math.min(to, (cell + 1) * minutesOfCell) - Math.max(from, cell * minutesOfCell)];
}

function observedText(day: ObservedDay): string {
  const observed = `  observed ${durationText(day.moving_s + day.staying_s)}`;
  if (day.unobserved_s < 60) return observed;
  const reasons = reasonsOf(day).map(
    ([reason, seconds]) => `${durationText(seconds)} ${reason === 'moved' ? 'moved unseen' : reason}`,
  );
  const colon = reasons.length > 0 ? ':' : '';
  return [`${observed}, not observed ${durationText(day.unobserved_s)}${colon}`, ...reasons].join('\n    ');
}
