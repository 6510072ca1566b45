import type { ObservedDay } from '../../diary/observed-time.ts';
import { compareTexts } from '../../model/text-order.ts';
import { daysOfWeek, monthBeside } from '../../model/time.ts';
import type { Trip } from '../../model/trip.ts';
import { dayBar } from './day-bar.ts';
import { dayItems, isOutside, recordedTime, type ShownDay, settledUntil } from './day-items.ts';
import { modeLegend, tripsInWords } from './day-view.ts';
import { Markup, type MarkupValue, markup } from './markup.ts';
import type { Texts } from './texts/texts.ts';

export type NeighbourLink = { href: string; words: string };

export type Neighbours = readonly [before: NeighbourLink | null, after: NeighbourLink | null];

export function monthSteps(month: string, href: string, first: string, last: string, t: Texts): Neighbours {
  const step = (other: string): NeighbourLink | null =>
    other < first || other > last ? null : { href: `${href}/${other}`, words: t.month(`${other}-01`) };
  return [step(monthBeside(month, -1)), step(monthBeside(month, 31))];
}

export function stepHeading(content: MarkupValue, [before, after]: Neighbours, level: 'h1' | 'h2' = 'h1'): Markup {
  const tag = new Markup(level);
  const beside = (step: NeighbourLink | null, sign: string, rel: string): Markup =>
    step === null
      ? markup`<span class="step"></span>`
      : markup`<a class="step" rel="${rel}" href="${step.href}" aria-label="${step.words}">${sign}</a>`;
  return markup`<div class="hd">${beside(before, '‹', 'prev')}<${tag}>${content}</${tag}>${beside(after, '›', 'next')}</div>`;
}

export const dayTitle = (day: string, t: Texts): Markup =>
  markup`<time datetime="${day}">${t.day(day).replace(/\d.*/, (date) => date.replaceAll(' ', '\u00a0'))} <span class="soft yr">${day.slice(0, 4)}</span></time>`;

export function weekStrip(
  days: readonly { observed: ObservedDay; metres: number; isFinal: boolean }[],
  { day, today, href, now }: { day: string; today: string; href: (day: string) => string; now: number },
  t: Texts,
): Markup {
  const items = days.map(({ observed, metres, isFinal }) => {
    const own = observed.day;
    const number = String(Number(own.slice(8)));
    if (own > today) return markup`<li><span><i>${t.weekday(own)}</i><b>${number}</b></span></li>`;
    const { share } = recordedTime(observed, now);
    const long = Math.round(share * 28);
    const meter = new Markup(
      `<svg width="28" height="6" viewBox="0 0 28 6"><path class="o0" d="M.5 .5h27v5h-27z"/><path class="o1" d="M0 0h${long}v6H0z"/>` +
        `${isFinal || long === 0 ? '' : `<path fill="url(#draft)" d="M0 0h${long}v6H0z"/>`}</svg>`,
    );
    const current = own === day && new Markup(' aria-current="date"');
    return markup`<li><a href="${href(own)}"${current}><span class="vh">${t.me.dayInWords(own, t.length(metres), t.share(share))}</span><span aria-hidden="true"><i>${t.weekday(own)}</i><b>${number}</b>${meter}<em>${t.km(metres)}</em></span></a></li>`;
  });
  return markup`<nav aria-label="${t.me.week}"><ul class="week">${items}</ul></nav>`;
}

/** `past`, `recorded`: s; `past` is the time up to now that could have been recorded. */
type DayFigures = Record<'metres' | 'past' | 'recorded' | 'flags', number>;
export type DayRow = DayFigures & { day: string; row: Markup; trips: readonly Trip[] };

export function dayRow(shown: ShownDay, href: string, t: Texts): DayRow {
  const { observed, began, flagged, now } = shown;
  const { day } = observed;
  const metres = began.reduce((sum, { distance }) => sum + distance, 0);
  const isOut = dayItems(shown).every(isOutside);
  const { recorded, past, share: part } = recordedTime(observed, now);
  const sums = { day, metres, trips: began, past, recorded, flags: flagged.length };
  if (observed.from > now) return { ...sums, row: markup`` };
  const share = t.share(part);
  const isDraft = settledUntil(shown) < Math.min(observed.to, now) - 1;
  const words = [t.me.dayInWords(day, t.length(metres), share), t.trips(began.length)];
  if (flagged.length > 0) words.push(t.me.toCheck(flagged.length));
  const mark = flagged.length > 0 && markup`<b class="mk">!</b>`;
  const note = isOut ? '' : isDraft ? t.me.draftMark : share === t.share(1) ? '' : share;
  const row = markup`<li><a href="${href}"><span class="vh">${words.join(', ')}</span><span aria-hidden="true">${t.shortDay(day)} ${mark}</span>${dayBar(shown, dayItems(shown), t, true)}<span class="n" aria-hidden="true">${t.km(metres)}</span><span class="n soft" aria-hidden="true">${note}</span></a></li>`;
  return { ...sums, row };
}

export function monthSummary(rows: readonly DayRow[], t: Texts): Markup {
  const sum = (pick: (row: DayRow) => number) => rows.reduce((total, row) => total + pick(row), 0);
  const trips = rows.flatMap((row) => row.trips);
  const [past, recorded, flags] = [sum((row) => row.past), sum((row) => row.recorded), sum((row) => row.flags)];
  const share = past > 0 && t.me.recorded(t.span(recorded), t.span(past), t.share(recorded / past));
  const key = (look: string, name: string, over: MarkupValue = null): Markup =>
    markup`<li><svg class="key" viewBox="0 0 34 10" aria-hidden="true"><rect class="${look}" x="1" y="1" width="32" height="8"/>${over}</svg>${name}</li>`;
  const kinds = [
    key('band home', t.me.home),
    key('band work', t.me.workKind),
    key('band place', t.me.placeKind),
    key('hole', t.me.inBar.not),
    key('band work', t.me.draftMark, markup`<path fill="url(#draft)" d="M0 0h34v10H0z"/>`),
  ];
  return markup`<p class="lead"><b>${tripsInWords(trips, t)}</b></p><p class="small soft">${share} ${flags > 0 && `${t.me.toCheck(flags)}.`}</p>${modeLegend(trips, t, kinds)}`;
}

export function listByWeek(rows: readonly DayRow[], t: Texts): Markup {
  const weeks = new Map<string, DayRow[]>();
  for (const one of [...rows].sort((a, b) => compareTexts(b.day, a.day))) {
    const { from: monday } = daysOfWeek(one.day);
    weeks.set(monday, [...(weeks.get(monday) ?? []), one]);
  }
  const hours = [0, 6, 12, 18, 24].map((hour) => {
    const anchor = hour === 0 ? 'start' : hour === 24 ? 'end' : 'middle';
    return `<text class="t2" x="${(hour / 24) * 100}%" y="13" text-anchor="${anchor}">${hour}</text>`;
  });
  const scale = markup`<div class="hours" aria-hidden="true"><span></span><svg width="100%" height="18">${new Markup(hours.join(''))}</svg><span class="n">${t.me.kmHead}</span><span class="n">${t.me.recordedHead}</span></div>`;
  const sections = [...weeks].map(([monday, own]) => {
    const total = own.reduce((sum, { metres }) => sum + metres, 0);
    return markup`<h2>${t.me.weekOf(monday)} <span class="soft">${t.length(total)}</span></h2><ul>${own.map(({ row }) => row)}</ul>`;
  });
  return markup`<div class="rows">${scale}${sections}</div>`;
}
