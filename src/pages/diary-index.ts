// The first page of a folder of days: every day with its trips, and a link to its page.
import { distanceText, durationText } from '../diary/day-words.ts';
import type { Trip } from '../model/trip.ts';
import { modesText } from './day-page.ts';
import { html } from './html.ts';
import { page } from './page-frame.ts';

/** One day of the list. */
export interface IndexDay {
  day: string;
  trips: number;
  /** m */
  distance: number;
  /** s */
  duration: number;
  /** Lengths by mode, in words. */
  modes: string;
}

/** What the list says of a day. */
export function indexDay(day: string, trips: readonly Trip[]): IndexDay {
  const sum = (pick: (trip: Trip) => number): number => trips.reduce((total, trip) => total + pick(trip), 0);
  return {
    day,
    trips: trips.length,
    distance: sum(({ distance }) => distance),
    duration: sum(({ duration }) => duration),
    modes: modesText(trips),
  };
}

/** Name of the page of a day within the folder. */
export const fileOfDay = (day: string): string => `${day}.html`;

/** The page as text: a table a month. */
export function diaryIndex(name: string, days: readonly IndexDay[]): string {
  const title = `Diary of ${name}`;
  const months = new Map<string, IndexDay[]>();
  for (const one of days) {
    const month = one.day.slice(0, 7);
    months.set(month, [...(months.get(month) ?? []), one]);
  }
  const links = [...months.keys()].map((month) => `<a href="#m${month}">${month}</a>`).join('');
  const nav = months.size < 2 ? '' : `<nav aria-label="Months">${links}</nav>`;
  const trips = days.reduce((sum, one) => sum + one.trips, 0);
  const metres = days.reduce((sum, one) => sum + one.distance, 0);
  return page(
    title,
    `<header><h1>${html(title)}</h1><p>${days.length} days with trips, ${trips} trips, ${distanceText(metres)}.</p>${nav}</header><main>
${[...months].map(([month, list]) => monthSection(month, list)).join('\n')}
</main>`,
  );
}

function monthSection(month: string, days: readonly IndexDay[]): string {
  const rows = days.map(
    ({ day, trips, distance, duration, modes }) =>
      `<tr><th scope="row"><a href="${fileOfDay(day)}"><time datetime="${day}">${day}</time></a></th><td class="n">${trips}</td>` +
      `<td class="n">${distanceText(distance)}</td><td class="n">${durationText(duration)}</td><td>${modes}</td></tr>`,
  );
  return `<section><h2 id="m${month}">${month}</h2><div class="wide" role="region" aria-labelledby="m${month}" tabindex="0"><table>
<caption>Days with trips</caption><thead><tr><th scope="col">Day</th><th scope="col" class="n">Trips</th>
<th scope="col" class="n">Length</th><th scope="col" class="n">Time</th><th scope="col">Modes</th></tr></thead>
<tbody>${rows.join('')}</tbody></table></div></section>`;
}
