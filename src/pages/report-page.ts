// Months of a study as one page: a bar for each figure and the numbers beside it.
import type { DisclosedCell } from '../report/disclose.ts';
import type { MonthReport } from '../report/month-report.ts';
import { html } from './html.ts';
import { Markup } from './markup.ts';
import { modeFill, modePatterns, modeStyles, styleOfMode } from './mode-styles.ts';
import { shell } from './shell.ts';
import { textsFor } from './texts/texts.ts';

/** What the lines of a table are, in words. */
const dimensions: Record<MonthReport['by'], string> = {
  mode: 'Mode',
  hour: 'Hour of departure',
  weekday: 'Weekday',
  zone: 'Time zone',
  cell: 'South-west corner of the cell',
};

/** The page as text. `least` is the least number of people behind a figure. */
export function reportPage(months: readonly MonthReport[], least: number): string {
  const [first, last] = [months[0]!, months.at(-1)!];
  const span = first === last ? first.month : `${first.month} to ${last.month}`;
  const title = `Report of ${span} by ${first.by}`;
  const links =
    months.length < 2
      ? ''
      : `<nav aria-label="Months">${months.map(({ month }) => `<a href="#m${month}">${month}</a>`).join('')}</nav>`;
  const patterns = first.by === 'mode' ? modePatterns(new Set(modeStyles.map(({ name }) => name))) : '';
  const body = `<header><h1>${title}</h1><p>No figure stands for fewer than ${least} people, nor for one who makes up more than half of it; what
is too small alone stands in the rest. Each figure is moved by chance, by up to what its busiest person adds, and rounded: parts do not
add up exactly.</p>${links}</header>${patterns}
${months.map(monthSection).join('\n')}`;
  return shell({ t: textsFor(), title, isFile: true, body: new Markup(body) }).text;
}

function monthSection(report: MonthReport): string {
  const { month, by, all, cells, rest, withheld } = report;
  const heading = `<h2 id="m${month}"><time datetime="${month}">${month}</time></h2>`;
  const told = [...cells, ...(rest === null ? [] : [rest])];
  if (told.length === 0 && all === null)
    return `<section>${heading}<p class="soft">Too few people to tell anything.</p></section>`;
  const longest = Math.max(1, ...told.map(({ km }) => km));
  const rows = told.map((cell) => row(cell, by, longest)).join('') + (all === null ? '' : row(all, by, null));
  const few = withheld === 0 ? '' : `<p class="soft">Put together as the rest: ${withheld}.</p>`;
  const numbers = ['People, at least', 'Trips', 'km', 'Minutes'].map(
    (name) => `<th scope="col" class="n">${name}</th>`,
  );
  return `<section>${heading}<div class="wide" role="region" aria-labelledby="m${month}" tabindex="0"><table>
<caption>Trips, kilometres and minutes; the bar shows kilometres</caption>
<thead><tr><th scope="col">${dimensions[by]}</th><th scope="col">Share</th>${numbers.join('')}</tr></thead>
<tbody>${rows}</tbody></table></div>${few}</section>`;
}

const barWidth = 120;

/** A line of the table; the bar is as long as the kilometres are beside those of the longest line. */
function row({ cell, people_at_least, trips, km, minutes }: DisclosedCell, by: string, longest: number | null): string {
  const width = longest === null ? 0 : Math.round((km / longest) * barWidth * 10) / 10;
  const look = styleOfMode(by === 'mode' ? cell : 'car');
  const bar =
    width === 0
      ? ''
      : `<svg viewBox="0 0 ${barWidth} 12" width="${barWidth}" aria-hidden="true"><rect class="on ${look.name}" fill="${modeFill(look)}" width="${width}" height="12"/></svg>`;
  const numbers = [people_at_least, trips, km, minutes].map((n) => `<td class="n">${n.toLocaleString('en-US')}</td>`);
  const name = html(cell.replaceAll('_', ' '));
  return `<tr><th scope="row">${name}</th><td>${bar}</td>${numbers.join('')}</tr>`;
}
