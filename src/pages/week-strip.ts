// The seven days of a week as links: how far, and how much of each was recorded.
import type { ObservedDay } from '../diary/observed-time.ts';
import { recordedShare } from './day-view.ts';
import { Markup, markup } from './markup.ts';
import type { Texts } from './texts/texts.ts';

/** A day of the strip. */
export interface StripDay {
  observed: ObservedDay;
  metres: number;
  isFinal: boolean;
}

/** What the strip marks, and where it leads. */
export interface StripOptions {
  /** The chosen day, and today: later ones are no links. */
  day: string;
  today: string;
  href: (day: string) => string;
  now: number;
}

/** The strip. A draft is hatched. */
export function weekStrip(days: readonly StripDay[], { day, today, href, now }: StripOptions, t: Texts): Markup {
  const items = days.map(({ observed, metres, isFinal }) => {
    const own = observed.day;
    const number = String(Number(own.slice(8)));
    if (own > today) return markup`<li><span><i>${t.weekday(own)}</i><b>${number}</b></span></li>`;
    const share = recordedShare(observed, now);
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
