// A diary as one page of HTML that needs nothing else: the bar of each day, a map, a table, totals. No script, no
// network.
import { lettersOf } from '../../diary/place-letters.ts';
import { plainMode } from '../../model/plain-mode.ts';
import { formatForPeople, localDay, startOfDay } from '../../model/time.ts';
import type { Position, Trip, TripRecord } from '../../model/trip.ts';
import { dayMap } from './day-map.ts';
import { html } from './html.ts';
import { type ModeStyle, modeKey, modePatterns, modeRules, styleOf } from './mode-styles.ts';

/** One local day. */
export interface PageDay {
  day: string;
  /** Trips that start on the day, in order. */
  records: readonly TripRecord[];
}

/** What a page shows. */
export interface DiaryPage {
  /** Whose diary it is. */
  name: string;
  days: readonly PageDay[];
  /** Data time up to which the diary is final; null: nothing is yet. */
  completeUntil: number | null;
  /** What the participant named, by id of the trip: mode and purpose in plain words. */
  labels?: ReadonlyMap<string, string>;
}

/** What every page of the program looks like. */
export const pageStyle = `
:root{color-scheme:light dark;--paper:#fff;--ink:#1a1a1a;--soft:#5a5a5a;--line:#c9c9c9;--still:#e9e9e9}
@media screen and (prefers-color-scheme:dark){:root{--paper:#141414;--ink:#f0f0f0;--soft:#b5b5b5;--line:#4a4a4a;--still:#2a2a2a}}
body{margin:0 auto;padding:1rem;max-width:46rem;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2rem 0 .4rem}p{margin:.4rem 0}.soft{color:var(--soft)}
svg{display:block;width:100%;height:auto}.patterns{position:absolute;width:0;height:0}.tile{fill:var(--c)}.cut{fill:var(--paper)}
.bar .still{fill:var(--still)}.on{stroke:var(--c)}
svg text{font:11px system-ui,sans-serif;fill:var(--ink)}.tick{stroke:var(--line)}
.map{border:1px solid var(--line);border-radius:4px;margin:.6rem 0}
.way{fill:none;stroke:var(--c);stroke-width:3;stroke-linejoin:round}
.place circle{fill:var(--paper);stroke:var(--ink);stroke-width:1.5}.place text{text-anchor:middle;font-weight:600}
.scale path{fill:none;stroke:var(--ink)}table{border-collapse:collapse;width:100%;margin:.6rem 0}.wide{overflow-x:auto}
th,td{text-align:left;padding:.25rem .5rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}th{font-weight:600}
td:nth-child(3){white-space:nowrap}td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}caption{text-align:left;color:var(--soft)}
.key{white-space:nowrap;margin-right:1rem}.key svg{display:inline-block;width:3.75rem;height:.75rem;vertical-align:middle;margin-right:.4rem}
nav a{color:inherit;margin-right:.8rem;display:inline-block;padding:.4rem 0;min-width:24px}
a:focus-visible,.wide:focus-visible{outline:3px solid var(--bicycling);outline-offset:2px}
@media print{body{max-width:none;padding:0}nav{display:none}h2{break-after:avoid}section{break-inside:avoid}.wide{overflow:visible}}
`.trim();

/** The page as text. */
export function diaryPage({ name, days, completeUntil, labels }: DiaryPage): string {
  const title = `Diary of ${name}`;
  const links = days.length < 2 ? '' : `<nav aria-label="Days">${days.map(({ day }) => dayLink(day)).join('')}</nav>`;
  const trips = days.flatMap(({ records }) => tripsIn(records));
  const sum = days.length < 2 ? '' : `<p>${totals(trips)}</p>`;
  return page(
    title,
    `<header><h1>${html(title)}</h1>${sum}${links}</header>${modePatterns(new Set(usedStyles(trips).keys()))}<main>
${days.map((day) => daySection(day, completeUntil, labels ?? new Map())).join('\n')}
</main>`,
  );
}

/** A page that needs nothing else and may fetch nothing. */
export function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${html(title)}</title><style>${pageStyle}${modeRules()}</style></head>
<body>${body}</body></html>
`;
}

const dayLink = (day: string): string => `<a href="#d${day}">${day}</a>`;

const tripsIn = (records: readonly TripRecord[]): Trip[] =>
  records.flatMap(({ trip }) => (trip === null ? [] : [trip]));

function daySection(
  { day, records }: PageDay,
  completeUntil: number | null,
  labels: ReadonlyMap<string, string>,
): string {
  const trips = tripsIn(records);
  const heading = `<h2 id="d${day}"><time datetime="${day}">${html(longDay(day))}</time></h2>`;
  if (trips.length === 0) return `<section>${heading}<p class="soft">No trips.</p></section>`;
  const letterOf = lettersOf(trips.flatMap((trip) => [trip.start_loc, trip.end_loc]));
  const last = trips.at(-1)!;
  const draft = completeUntil === null || completeUntil < last.end_ts;
  return `<section>${heading}
<p>${totals(trips)}${draft ? ' <strong>Draft: later data may change it.</strong>' : ''}</p>
${dayBar(day, trips)}${dayMap(trips, letterOf)}${legend(trips)}${tripTable(day, trips, letterOf, labels)}</section>`;
}

const longDay = (day: string): string => formatForPeople(startOfDay(day, 'UTC') + 43_200, 'UTC', 'dddd D MMMM YYYY');

// ---------------------------------------------------------------- bar

const barWidth = 640;

/** The 24 hours of a local day. Its colours are those of the map, its patterns tell modes apart too. */
function dayBar(day: string, trips: readonly Trip[]): string {
  const x = (share: number): number => Math.round(share * barWidth * 10) / 10;
  const hours = [0, 3, 6, 9, 12, 15, 18, 21].map((hour) => {
    const at = x(hour / 24);
    return `<path class="tick" d="M${at} 0v26"/><text x="${at + 3}" y="38">${hour}</text>`;
  });
  const parts = trips.flatMap((trip) =>
    trip.sections.map((section) => {
      const from = shareOfDay(section.start_ts, trip.start_zone, day);
      const to = Math.max(from + 0.002, shareOfDay(section.end_ts, trip.start_zone, day));
      return `<rect class="on ${styleOf(section.sensed_mode).name}" x="${x(from)}" y="3" width="${x(to - from)}" height="20"/>`;
    }),
  );
  const words = trips
    .map((trip) => {
      const modes = new Set(trip.sections.map(({ sensed_mode }) => modeWords(sensed_mode)));
      return `${clock(trip.start_ts, trip.start_zone)} to ${clock(trip.end_ts, trip.end_zone)}, ${[...modes].join(', ')}`;
    })
    .join('; ');
  return (
    `<svg class="bar" viewBox="0 0 ${barWidth} 42" role="img" aria-label="On the way: ${words}">` +
    `<rect class="still" x="0" y="10" width="${barWidth}" height="6"/>${parts.join('')}${hours.join('')}</svg>`
  );
}

/** The position of a time on the clock of the day, 0 to 1; times after midnight are at the end. */
function shareOfDay(ts: number, zone: string, day: string): number {
  if (localDay(ts, zone) > day) return 1;
  const [hour, minute] = clock(ts, zone).split(':').map(Number) as [number, number];
  return (hour * 60 + minute) / 1440;
}

const clock = (ts: number, zone: string): string => formatForPeople(ts, zone, 'HH:mm');

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
  labels: ReadonlyMap<string, string>,
): string {
  const named = trips.some(({ id }) => labels.has(id));
  const rows = trips.map((trip) => {
    const { start_ts, start_zone, end_ts, end_zone, start_loc, end_loc, sections } = trip;
    const modes = sections.map(({ sensed_mode, distance }) => `${modeWords(sensed_mode)} ${km(distance)}`);
    const label = named ? `<td>${html(labels.get(trip.id) ?? '')}</td>` : '';
    return (
      `<tr><td>${timeTag(start_ts, start_zone)}</td><td>${timeTag(end_ts, end_zone)}</td>` +
      `<td>${html(letterOf(start_loc))} → ${html(letterOf(end_loc))}</td><td>${modes.join(', ')}</td>` +
      `<td class="n">${km(trip.distance)}</td><td class="n">${minutes(trip.duration)}</td>${label}</tr>`
    );
  });
  const last = named ? '<th scope="col">Named</th>' : '';
  return (
    `<div class="wide" role="region" aria-labelledby="d${day}" tabindex="0">` +
    `<table><caption>Trips; letters are the places on the map</caption><thead><tr><th scope="col">Left</th>` +
    `<th scope="col">Arrived</th><th scope="col">Way</th><th scope="col">Modes</th>` +
    `<th scope="col" class="n">Length</th><th scope="col" class="n">Time</th>${last}</tr></thead>` +
    `<tbody>${rows.join('')}</tbody></table></div>`
  );
}

const modeWords = (sensedMode: string): string => html(plainMode(sensedMode).replaceAll('_', ' '));

function timeTag(ts: number, zone: string): string {
  return `<time datetime="${new Date(Math.round(ts * 1000)).toISOString()}">${clock(ts, zone)}</time>`;
}

const km = (metres: number): string => (metres < 1000 ? `${Math.round(metres)} m` : `${(metres / 1000).toFixed(1)} km`);

function minutes(seconds: number): string {
  const whole = Math.round(seconds / 60);
  return whole < 60 ? `${whole} min` : `${Math.floor(whole / 60)} h ${whole % 60} min`;
}

function totals(trips: readonly Trip[]): string {
  const metres = new Map<string, number>();
  for (const { sensed_mode, distance } of trips.flatMap(({ sections }) => sections)) {
    const words = modeWords(sensed_mode);
    metres.set(words, (metres.get(words) ?? 0) + distance);
  }
  const sum = (pick: (trip: Trip) => number): number => trips.reduce((total, trip) => total + pick(trip), 0);
  const modes = [...metres].sort((a, b) => b[1] - a[1]).map(([mode, length]) => `${mode} ${km(length)}`);
  const count = `${trips.length} ${trips.length === 1 ? 'trip' : 'trips'}`;
  return `${count}, ${km(sum(({ distance }) => distance))}, ${minutes(sum(({ duration }) => duration))} on the way: ${modes.join(', ')}.`;
}
