// A diary as one page of HTML that needs nothing else: the bar of each day, a map, a table, totals. No script, no
// network.
import {
  clockText,
  distanceText,
  durationText,
  flagLines,
  modeText,
  modeTotals,
  observedWords,
  saidWords,
  totalsText,
  type WordedDay,
} from '../diary/day-words.ts';
import type { Flagged } from '../diary/flags.ts';
import type { ObservedDay } from '../diary/observed-time.ts';
import type { Places } from '../diary/places.ts';
import { explainDay } from '../explain/explain.ts';
import { formatForPeople, localDay, startOfDay } from '../model/time.ts';
import type { Position, Trip, TripRecord } from '../model/trip.ts';
import { estimatedOf } from '../model/trip-fields.ts';
import { dayMap } from './day-map.ts';
import { html } from './html.ts';
import { type ModeStyle, modeFill, modeKey, modePatterns, styleOf } from './mode-styles.ts';
import { page } from './page-frame.ts';

/** What a page shows. */
export interface DiaryPage {
  /** Whose diary it is. */
  name: string;
  days: readonly WordedDay[];
  /** Data time up to which the diary is final; null: nothing is yet. */
  completeUntil: number | null;
  /** The person's places. */
  places: Pick<Places, 'of' | 'labelOf'>;
  /** Links to pages beside this one. */
  beside?: readonly { href: string; words: string }[];
}

/** The page as text. */
export function diaryPage({ name, days, completeUntil, places, beside = [] }: DiaryPage): string {
  const title = `Diary of ${name}`;
  const links = days.length < 2 ? '' : `<nav aria-label="Days">${days.map(({ day }) => dayLink(day)).join('')}</nav>`;
  const others = beside.map(({ href, words }) => `<a href="${html(href)}">${html(words)}</a>`).join('');
  const pages = others === '' ? '' : `<nav aria-label="Pages">${others}</nav>`;
  const trips = days.flatMap(({ records }) => tripsIn(records));
  const sum = days.length < 2 ? '' : `<p>${totals(trips)}</p>`;
  return page(
    title,
    `<header><h1>${html(title)}</h1>${sum}${links}${pages}</header>${modePatterns(new Set(usedStyles(trips).keys()))}<main>
${days.map((day) => daySection(day, completeUntil, places)).join('\n')}${days.length === 1 ? why(days[0]!) : ''}
</main>`,
  );
}

const dayLink = (day: string): string => `<a href="#d${day}">${day}</a>`;

const tripsIn = (records: readonly TripRecord[]): Trip[] =>
  records.flatMap(({ trip }) => (trip === null ? [] : [trip]));

function daySection(
  { day, records, observed, labels, flagged = [] }: WordedDay,
  completeUntil: number | null,
  places: DiaryPage['places'],
): string {
  const trips = tripsIn(records);
  const heading = `<h2 id="d${day}"><time datetime="${day}">${html(longDay(day))}</time></h2>`;
  if (trips.length === 0) {
    const words = `<p class="soft">No trips. ${observedText(observed)}</p>${flagList(flagged, observed.zone)}`;
    return `<section>${heading}${words}${dayBar(day, observed, trips)}</section>`;
  }
  const last = trips.at(-1)!;
  const draft = completeUntil === null || completeUntil < last.end_ts;
  return `<section>${heading}
<p>${totals(trips)}${draft ? ' <strong>Draft: later data may change it.</strong>' : ''}</p>
${dayBar(day, observed, trips)}<p>${observedText(observed)}</p>${flagList(flagged, observed.zone)}${mapOf(trips, places)}${legend(trips)}${tripTable(day, trips, places.labelOf, labels)}</section>`;
}

function mapOf(trips: readonly Trip[], { of }: DiaryPage['places']): string {
  const places = new Map(
    trips.flatMap(({ start_loc, end_loc }) => [start_loc, end_loc]).map((position) => [of(position).letter, position]),
  );
  const marks = [...places].map(([mark, position]) => ({ mark, position }));
  const title = `Map of the ways between ${places.size} places. The table below tells the same.`;
  return dayMap(trips, marks, { title, north: 'N', length: distanceText });
}

/** Why the day is as it is, behind a fold. */
function why({ records, observed }: WordedDay): string {
  const parts = explainDay({ records, observed, zone: observed.zone }).map(
    ({ kind, from, to, zone, title, reasons }) => {
      const texts = reasons.map(({ about, text }) => `<li>${html(about)}: ${html(text)}</li>`);
      return `<h3>${clockText(from, zone)} to ${clockText(to, zone)} ${html(kind)}: ${html(title)}</h3><ul>${texts.join('')}</ul>`;
    },
  );
  return `<details><summary>Why</summary>${parts.join('')}</details>`;
}

const longDay = (day: string): string => formatForPeople(startOfDay(day, 'UTC') + 43_200, 'UTC', 'dddd D MMMM YYYY');

// ---------------------------------------------------------------- bar

const barWidth = 640;

/**
 * The 24 hours of a local day. Its colours are those of the map, its patterns tell modes apart too. Time that was not
 * observed is blank.
 */
function dayBar(day: string, { from: start, spans }: ObservedDay, trips: readonly Trip[]): string {
  const x = (share: number): number => Math.round(share * barWidth * 10) / 10;
  const hours = [0, 3, 6, 9, 12, 15, 18, 21].map((hour) => {
    const at = x(hour / 24);
    return `<path class="tick" d="M${at} 0v26"/><text x="${at + 3}" y="38">${hour}</text>`;
  });
  const parts = trips.flatMap((trip) =>
    trip.sections.map((section) => {
      const from = shareOfDay(section.start_ts, trip.start_zone, day);
      const to = Math.max(from + 0.002, shareOfDay(section.end_ts, trip.start_zone, day));
      const style = styleOf(section.sensed_mode);
      return `<rect class="on ${style.name}" fill="${modeFill(style)}" x="${x(from)}" y="3" width="${x(to - from)}" height="20"/>`;
    }),
  );
  const words = trips
    .map((trip) => {
      const modes = new Set(trip.sections.map(({ sensed_mode }) => html(modeText(sensed_mode))));
      return `${clockText(trip.start_ts, trip.start_zone)} to ${clockText(trip.end_ts, trip.end_zone)}, ${[...modes].join(', ')}`;
    })
    .join('; ');
  const seen = spans.flatMap(({ kind, from, to }) => {
    if (kind === 'unobserved') return [];
    const [left, right] = [x((from - start) / 86_400), x(Math.min(1, (to - start) / 86_400))];
    return `<rect class="still" x="${left}" y="10" width="${Math.max(0, right - left)}" height="6"/>`;
  });
  return (
    `<svg class="bar" viewBox="0 0 ${barWidth} 42" role="img" aria-label="On the way: ${words || 'never'}">` +
    `${seen.join('')}${parts.join('')}${hours.join('')}</svg>`
  );
}

/** The position of a time on the clock of the day, 0 to 1; times after midnight are at the end. */
function shareOfDay(ts: number, zone: string, day: string): number {
  if (localDay(ts, zone) > day) return 1;
  const [hour, minute] = clockText(ts, zone).split(':').map(Number) as [number, number];
  return (hour * 60 + minute) / 1440;
}

function observedText(day: ObservedDay): string {
  const { observed, reasons } = observedWords(day);
  return `${[upperFirst(observed), ...(reasons.length > 0 ? [reasons.join(', ')] : [])].join(': ')}.`;
}

/** What is doubtful of the day; nothing where nothing is. */
function flagList(flagged: readonly Flagged[], zone: string): string {
  if (flagged.length === 0) return '';
  const items = flagLines(flagged, zone).map((line) => `<li>${html(line)}</li>`);
  return `<p>To check:</p><ul>${items.join('')}</ul>`;
}

const upperFirst = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

// ---------------------------------------------------------------- table and words

/** The looks in use, in the order in which they come. */
function usedStyles(trips: readonly Trip[]): Map<string, ModeStyle> {
  return new Map(
    trips.flatMap(({ sections }) => sections.map(({ sensed_mode }) => styleOf(sensed_mode))).map((s) => [s.name, s]),
  );
}

function legend(trips: readonly Trip[]): string {
  return `<p>${[...usedStyles(trips).values()].map(modeKey).join('')}</p>`;
}

function tripTable(
  day: string,
  trips: readonly Trip[],
  letterOf: (position: Position) => string,
  labels: WordedDay['labels'],
): string {
  const saidOf = (trip: Trip): string => saidWords(labels, trip).join(', ');
  const named = trips.some((trip) => saidOf(trip) !== '');
  const rows = trips.map((trip) => {
    const { start_ts, start_zone, end_ts, end_zone, start_loc, end_loc, sections } = trip;
    const modes = sections.map(
      ({ sensed_mode, distance }) => `${html(modeText(sensed_mode))} ${distanceText(distance)}`,
    );
    const label = named ? `<td>${html(saidOf(trip))}</td>` : '';
    return (
      `<tr><td>${timeTag(start_ts, start_zone)}</td><td>${timeTag(end_ts, end_zone)}</td>` +
      `<td class="w">${html(letterOf(start_loc))} → ${html(letterOf(end_loc))}</td><td>${modes.join(', ')}</td>` +
      `<td class="n">${distanceText(trip.distance)}</td><td class="n">${distanceText(estimatedOf(trip))}</td><td class="n">${durationText(trip.duration)}</td>${label}</tr>`
    );
  });
  const last = named ? '<th scope="col">Named</th>' : '';
  return (
    `<div class="wide" role="region" aria-labelledby="d${day}" tabindex="0">` +
    `<table><caption>Trips; letters are the places on the map</caption><thead><tr><th scope="col">Left</th>` +
    `<th scope="col">Arrived</th><th scope="col">Way</th><th scope="col">Modes</th>` +
    `<th scope="col" class="n">Length</th><th scope="col" class="n">Estimated</th><th scope="col" class="n">Time</th>${last}</tr></thead>` +
    `<tbody>${rows.join('')}</tbody></table></div>`
  );
}

function timeTag(ts: number, zone: string): string {
  return `<time datetime="${new Date(Math.round(ts * 1000)).toISOString()}">${clockText(ts, zone)}</time>`;
}

/** Lengths by mode, the longest first, safe in HTML. */
export const modesText = (trips: readonly Trip[]): string =>
  html(
    modeTotals(trips)
      .map(({ words }) => words)
      .join(', '),
  );

const totals = (trips: readonly Trip[]): string => `${totalsText(trips)}: ${modesText(trips)}.`;
