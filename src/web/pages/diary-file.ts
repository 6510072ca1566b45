// Makes HTML files of days. The files have no forms and fetch nothing.
import type { ShownDay } from './day-items.ts';
import { barPatterns, dayView } from './day-view.ts';
import { markup } from './markup.ts';
import type { DayRow, NeighbourLink, Neighbours } from './overview.ts';
import { dayRow, dayTitle, listByWeek, stepHeading } from './overview.ts';
import { shell } from './shell.ts';
import type { Texts } from './texts/texts.ts';

export const fileOfDay = (day: string): string => `${day}.html`;

export function dayFile(name: string, day: ShownDay, t: Texts, beside: Neighbours, all?: NeighbourLink): string {
  const up = all && markup`<nav><a href="${all.href}">${all.words}</a></nav>`;
  const heading = stepHeading(dayTitle(day.observed.day, t), beside, 'h2');
  return file(name, [day], t, markup`${up}<section>${heading}${dayView(day, t)}</section>`);
}

export function daysFile(name: string, days: readonly ShownDay[], t: Texts): string {
  const rows = days.map((day) => dayRow(day, `#d${day.observed.day}`, t));
  const each = days.map((shown) => {
    const { day } = shown.observed;
    return markup`<section><h2 id="d${day}">${dayTitle(day, t)}</h2>${dayView(shown, t, {}, day)}</section>`;
  });
  return file(name, days, t, markup`${listByWeek(rows, t)}${each}`);
}

export const indexFile = (name: string, rows: readonly DayRow[], t: Texts): string =>
  file(name, null, t, listByWeek(rows, t));

function file(name: string, days: readonly ShownDay[] | null, t: Texts, content: ReturnType<typeof markup>): string {
  const title = t.me.diaryOf(name);
  const body = markup`${barPatterns(days?.flatMap(({ trips }) => trips) ?? null)}<h1>${title}</h1>${content}`;
  return shell({ t, title, isFile: true, body }).text;
}
