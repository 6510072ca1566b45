// The bar of a day: stays are bands, trips are higher bars, unrecorded time is empty.
import { localDateTime } from '../../model/time.ts';
import { type DayItem, mainMode, type ShownDay, settledUntil, zoneOfDay } from './day-items.ts';
import { html, Markup } from './markup.ts';
import { modeFill, styleOf } from './mode-styles.ts';
import type { Texts } from './texts/texts.ts';

/** Width of a letter in per cent of the bar, on a phone of 390 px; `rowLetter`: in a row of a month. */
const letter = 2;
const rowLetter = 3.7;

/** Positions are in per cent, so that text is not stretched. `isRow`: draws a row of a month. */
export function dayBar(day: ShownDay, items: readonly DayItem[], t: Texts, isRow = false): Markup {
  const { from, to } = day.observed;
  const x = (ts: number): number => Math.round(((ts - from) / (to - from)) * 10_000) / 100;
  const bands: string[] = [];
  const trips: string[] = [];
  const names: string[] = [];
  for (const item of items) {
    const left = x(item.from);
    const wide = x(item.to) - left;
    const at = `x="${left}%" width="${wide.toFixed(2)}%"`;
    if (item.kind === 'gap') {
      const outside = t.me.inBar.outside[item.reason];
      if (outside === undefined) bands.push(`<rect class="hole" ${at} y="8.5" height="19"/>`);
      const name = outside ?? t.me.inBar.not;
      const least = Math.max(50, name.length * (isRow ? rowLetter : letter));
      if (wide > least) names.push(nameAt(left + wide / 2, name));
    }
    if (item.kind === 'stay') {
      bands.push(`<rect class="band ${item.place.look}" ${at} y="8" height="20"/>`);
      const { name, mark } = item.place;
      const text = wide > Math.max(8, name.length * letter) ? name : mark;
      // A row of a month names only a stay that lasts all day. A legend explains the other colours.
      const all = t.me.atAllDay(name);
      if (isRow && items.length === 1 && wide > all.length * rowLetter) names.push(nameAt(left + wide / 2, all));
      if (!isRow && wide > Math.max(4, text.length * letter)) names.push(nameAt(left + wide / 2, text));
    }
    if (item.kind !== 'trip') continue;
    for (const { start_ts, end_ts, sensed_mode } of item.trip.sections) {
      const [begin, end] = [x(Math.max(from, start_ts)), x(Math.min(to, end_ts))];
      const style = styleOf(sensed_mode);
      if (end > begin) trips.push(tripBar(`class="on ${style.name}" fill="${modeFill(style)}"`, begin, end));
    }
  }
  const settled = settledUntil(day);
  const drafts = items
    .filter(({ kind, to }) => kind !== 'gap' && to > settled)
    .map((item) => tripBar('fill="url(#draft)"', x(Math.max(settled, item.from)), x(item.to)));
  const drawn = [...bands, ...trips, ...drafts, ...names].join('');
  if (isRow) return new Markup(`<svg width="100%" height="36" aria-hidden="true">${drawn}</svg>`);
  return new Markup(
    `<svg width="100%" height="54" role="img" aria-label="${html(t.me.bar(words(day, items, t)))}">${drawn}${hours(day, x)}</svg>`,
  );
}

const tripBar = (look: string, begin: number, end: number): string =>
  `<rect ${look} x="${begin}%" y="4" width="${(end - begin).toFixed(2)}%" height="28"/>`;

const nameAt = (x: number, name: string): string =>
  `<text x="${x.toFixed(2)}%" y="22" text-anchor="middle">${html(name)}</text>`;

function hours(day: ShownDay, x: (ts: number) => number): string {
  const { from, to } = day.observed;
  return [0, 3, 6, 9, 12, 15, 18, 21, 24]
    .map((hour) => {
      // If the clocks change, each hour has its usual distance from the start or end of the day.
      const possible = [from + hour * 3600, to - (24 - hour) * 3600];
      const ts = hour === 24 ? to : possible.find((one) => localDateTime(one, zoneOfDay(day, one)).hour === hour);
      if (ts === undefined || ts < from) return '';
      const at = x(ts);
      const anchor = hour === 0 ? 'start' : hour === 24 ? 'end' : 'middle';
      const number = hour % 6 === 0 ? `<text class="t2" x="${at}%" y="52" text-anchor="${anchor}">${hour}</text>` : '';
      return `<line class="tick" x1="${at}%" x2="${at}%" y1="34" y2="${hour % 6 === 0 ? 40 : 37}"/>${number}`;
    })
    .join('');
}

function words(day: ShownDay, items: readonly DayItem[], t: Texts): string {
  const nameOf = (item: DayItem): string => {
    if (item.kind === 'stay') return item.place.name;
    return item.kind === 'gap' ? t.me.inBar.not : t.me.inBar.trip(t.me.mode(mainMode(item.trip)));
  };
  return items.map((item) => `${t.clock(item.from, zoneOfDay(day, item.from))} ${nameOf(item)}`).join(', ');
}
