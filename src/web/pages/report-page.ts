// Monthly figures: the same table for the file of `mobility report` and for a study's page.
import type { DisclosedCell } from '../../figures/disclose.ts';
import type { ExactCell, MonthReport } from '../../figures/month-report.ts';
import type { Dimension } from '../../figures/tally.ts';
import { modeLook } from '../../model/modes.ts';
import { Markup, markup } from './markup.ts';
import { modeFill, modePatterns, modeStyles } from './mode-styles.ts';
import { shell } from './shell.ts';
import { type Texts, textsFor } from './texts/texts.ts';

/** The page as text. `least` is the least number of people behind a figure. */
export function reportPage(months: readonly MonthReport[], least: number): string {
  const t = textsFor();
  const { by } = months[0]!;
  const names = months.map(({ month }) => t.month(`${month}-01`));
  const title = t.figures.title[by](t.figures.period(names[0]!, names.at(-1)!));
  const links = months.map(({ month }, i) => markup`<a href="#m${month}">${names[i]}</a> `);
  const sections = months.map((report, i) => {
    const few = report.withheld > 0 && markup`<p class="soft small">${t.figures.withheld(report.withheld)}</p>`;
    const content =
      report.cells.length + Number(report.rest !== null) + Number(report.all !== null) === 0
        ? markup`<p class="soft">${t.figures.tooFew}</p>`
        : markup`${figuresTable(report, null, t)}${few}`;
    return markup`<section><h2 id="m${report.month}"><time datetime="${report.month}">${names[i]}</time></h2>${content}</section>`;
  });
  const body = markup`${figurePatterns(by)}<h1>${title}</h1><p>${t.figures.protection(least)}</p>${months.length > 1 && markup`<nav aria-label="${t.figures.months}">${links}</nav>`}${sections}`;
  return shell({ t, title, isFile: true, body }).text;
}

/** The patterns that the bars of the tables use, once a page. */
export const figurePatterns = (by: Dimension): Markup =>
  new Markup(by === 'mode' ? modePatterns(new Set(modeStyles.map(({ name }) => name))) : '');

/** Figures of a cell as the table shows them. */
interface Shown {
  people: number;
  trips: number;
  km: number;
  hours: number;
}

const published = ({ people_at_least: people, trips, km, minutes }: DisclosedCell): Shown => ({
  people,
  trips,
  km,
  hours: Number((minutes / 60).toPrecision(2)),
});
const exactly = ({ people, trips, metres, seconds }: ExactCell): Shown => ({
  people,
  trips,
  km: metres / 1000,
  hours: seconds / 3600,
});

const barWidth = 120;

/** The table of a month, in kilometres, hours and per cent. `exact`: beside what can be published; null: without. */
export function figuresTable(
  { by, month, cells, rest, all, observed_days: days }: MonthReport,
  exact: readonly ExactCell[] | null,
  t: Texts,
): Markup {
  const words = t.figures;
  const byCell = new Map(
    [...cells, ...[rest, all].flatMap((one) => one ?? [])].map((one) => [one.cell, published(one)]),
  );
  const known = new Map((exact ?? []).map((one) => [one.cell, exactly(one)]));
  const shown = exact === null ? byCell : known;
  const inside = [...shown.keys()].filter((cell) => cell !== 'all' && cell !== 'rest');
  const lines = [...inside, ...['rest', 'all'].filter((cell) => byCell.has(cell) || known.has(cell))];
  const longest = Math.max(1, ...inside.map((cell) => shown.get(cell)!.km));
  const sides = exact === null ? [byCell] : [byCell, known];
  const rows = lines.map((cell) => {
    const km = cell === 'all' ? undefined : shown.get(cell)?.km;
    const numbers = sides.map((side) => numbersOf(side.get(cell), side.get('all'), t));
    return markup`<tr><th scope="row">${words.cell(by, cell)}</th><td>${km !== undefined && barOf(by === 'mode' ? cell : 'car', km / longest)}</td>${numbers}</tr>`;
  });
  const heads = sides.map(() => words.columns.map((name) => markup`<th scope="col" class="n">${name}</th>`));
  const groups =
    exact !== null &&
    markup`<tr><td colspan="2"></td>${[words.toPublish, words.internal].map((name) => markup`<th scope="colgroup" colspan="${words.columns.length}">${name}</th>`)}</tr>`;
  return markup`<div class="wide" role="region" aria-label="${words.table(t.month(`${month}-01`))}" tabindex="0"><table class="figures">
<thead>${groups}<tr><th scope="col">${words.by[by]}</th><th scope="col">${words.bar}</th>${heads}</tr></thead><tbody>${rows}</tbody></table></div>${days !== null && all !== null && markup`<p class="small">${words.observed(days.toLocaleString(t.language), t.length(all.km_per_day! * 1000))}</p>`}`;
}

function numbersOf(one: Shown | undefined, all: Shown | undefined, t: Texts): Markup[] {
  const number = (n: number): string => n.toLocaleString(t.language, { maximumFractionDigits: n < 10 ? 1 : 0 });
  const share = (name: 'km' | 'hours'): string => (all && all[name] > 0 ? t.share(one![name] / all[name]) : '–');
  const texts =
    one === undefined
      ? t.figures.columns.map(() => '–')
      : [one.people, one.trips, one.km].map(number).concat(share('km'), number(one.hours), share('hours'));
  return texts.map((text) => markup`<td class="n">${text}</td>`);
}

function barOf(mode: string, part: number): Markup {
  const [look, width] = [modeLook(mode), Math.round(Math.min(1, part) * barWidth * 10) / 10];
  return new Markup(
    `<svg viewBox="0 0 ${barWidth} 12" width="${barWidth}" aria-hidden="true"><rect class="on ${look.name}" fill="${modeFill(look)}" width="${width}" height="12"/></svg>`,
  );
}
