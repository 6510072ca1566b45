import { publishedRows } from '../../export/report-csv.ts';
import type { DisclosedCell } from '../../figures/disclose.ts';
import type { ExactCell, MonthReport } from '../../figures/month-report.ts';
import { modeLook } from '../../model/modes.ts';
import { barPatterns } from './day-view.ts';
import { Markup, markup } from './markup.ts';
import { modeFill } from './mode-styles.ts';
import { shell } from './shell.ts';
import { type Texts, textsFor } from './texts/texts.ts';

export function reportPage(months: readonly MonthReport[], least: number): string {
  const t = textsFor();
  const { by } = months[0]!;
  const names = months.map(({ month }) => t.month(`${month}-01`));
  const title = t.figures.title(t.figures.period(names[0]!, names.at(-1)!), by);
  const links = months.map(({ month }, i) => markup`<a href="#m${month}">${names[i]}</a> `);
  const sections = months.map((report, i) => {
    const few = report.withheld > 0 && markup`<p class="soft small">${t.figures.withheld(report.withheld)}</p>`;
    const content =
      publishedRows(report).length === 0
        ? markup`<p class="soft">${t.figures.tooFew}</p>`
        : markup`${figuresTable(report, null, t)}${few}`;
    return markup`<section><h2 id="m${report.month}"><time datetime="${report.month}">${names[i]}</time></h2>${content}</section>`;
  });
  const body = markup`${by === 'mode' && barPatterns(null)}<h1>${title}</h1><p>${t.figures.protection(least)}</p>${months.length > 1 && markup`<nav aria-label="${t.figures.months}">${links}</nav>`}${sections}`;
  return shell({ t, title, isFile: true, body }).text;
}

interface Shown extends Pick<DisclosedCell, 'trips' | 'trips_per_day' | 'km' | 'km_per_day'> {
  cell: string;
  people: number;
  hours: number;
  range: ExactCell['km_range'];
}

const published = ({ people_at_least: people, minutes, ...cell }: DisclosedCell): Shown => {
  return { ...cell, people, hours: Number((minutes / 60).toPrecision(2)), range: null };
};
const exactly = ({ metres, seconds, km_range: range, ...cell }: ExactCell): Shown => {
  return { ...cell, km: metres / 1000, hours: seconds / 3600, range };
};

const barWidth = 120;

function scaleEnd(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= most)!;
}

export function figuresTable(report: MonthReport, exact: readonly ExactCell[] | null, t: Texts): Markup {
  const { by, month, all, observed_days: days } = report;
  const words = t.figures;
  const shown = exact?.map(exactly) ?? publishedRows(report).map(published);
  const isSum = ({ cell }: Shown): boolean => cell === 'all' || cell === 'rest';
  const inside = shown.filter((one) => !isSum(one));
  if (by === 'mode' || by === 'zone' || by === 'cell') inside.sort((a, b) => b.km - a.km);
  const end = scaleEnd(Math.max(1, ...inside.map((one) => rangeOf(one)?.[1] ?? one.km)));
  const scale = new Markup(
    `<svg width="${barWidth}" height="16" aria-hidden="true"><text class="t2" y="12">0</text><text class="t2" x="${barWidth}" y="12" text-anchor="end">${t.roundLength(end * 1000)}</text></svg>`,
  );
  const { range, ...others } = words.columns;
  const heads = Object.values(exact === null ? others : { ...others, range });
  const whole = shown.find(({ cell }) => cell === 'all');
  const rows = [...inside, ...shown.filter(isSum)].map((one) => {
    const { cell } = one;
    const numbers = numbersOf(one, whole, exact !== null, t).map(
      (text, i) => markup`<td role="cell" class="n"><span class="lab">${heads[i]}</span> ${text}</td>`,
    );
    return markup`<tr role="row"><th scope="row" role="rowheader">${words.cell(by, cell)}</th>${numbers}<td role="cell">${cell !== 'all' && barOf(by === 'mode' ? cell : 'car', one, end)}</td></tr>`;
  });
  return markup`<div class="wide" role="region" aria-label="${words.table(t.month(`${month}-01`))}" tabindex="0"><table role="table" class="figures">
<thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${words.by[by]}</th>${heads.map((name) => markup`<th scope="col" role="columnheader" class="n">${name}</th>`)}<th scope="col" role="columnheader"><span class="vh">${words.bar}</span>${scale}</th></tr></thead><tbody role="rowgroup">${rows}</tbody></table></div>${exact === null && days !== null && all !== null && markup`<p class="small">${words.observed(days.toLocaleString(t.language), t.length(all.km_per_day! * 1000))}</p>`}`;
}

function numbersOf(one: Shown, all: Shown | undefined, hasRange: boolean, t: Texts): string[] {
  const number = (n: number | null): string =>
    n === null ? '–' : n.toLocaleString(t.language, { maximumFractionDigits: n < 10 ? 1 : 0 });
  const rate = (n: number | null): string => (n === null ? '–' : t.number(n, 1));
  const share = (name: 'km' | 'hours'): string => (all && all[name] > 0 ? t.share(one[name] / all[name]) : '–');
  const texts = [rate(one.trips_per_day), rate(one.km_per_day), number(one.km), share('km'), number(one.hours)];
  texts.push(share('hours'), number(one.trips), number(one.people));
  if (hasRange) texts.push(one.range === null ? '–' : `${rate(one.range[0])}–${rate(one.range[1])}`);
  return texts;
}

const rangeOf = ({ km, km_per_day: rate, range }: Shown): [from: number, to: number] | null =>
  range === null || !rate ? null : [(km * range[0]) / rate, (km * range[1]) / rate];

/** A thin line across the end of the bar shows the range. `end`: km at the end of the scale. */
function barOf(mode: string, one: Shown, end: number): Markup {
  const look = modeLook(mode);
  const x = (km: number): number => Math.round(Math.min(1, km / end) * barWidth * 10) / 10;
  const [from, to] = rangeOf(one)?.map(x) ?? [];
  const line = from === undefined ? '' : `M${from} 1v10M${from} 6H${to}M${to} 1v10`;
  return new Markup(
    `<svg viewBox="0 0 ${barWidth} 12" width="${barWidth}" aria-hidden="true"><rect class="on ${look.name}" fill="${modeFill(look)}" width="${x(one.km)}" height="12"/><path class="case" d="${line}"/><path class="scale" d="${line}"/></svg>`,
  );
}
