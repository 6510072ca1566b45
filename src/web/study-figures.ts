// The figures of a study for a month, and the days with flags.
import { type Flag, flagNames } from '../diary/flags.ts';
import { everyDay } from '../diary/read-days.ts';
import { exactCsv, publishedCsv } from '../export/report-csv.ts';
import { usualLeast } from '../figures/disclose.ts';
import {
  exactCells,
  fromKept,
  isSettled,
  type MonthFigures,
  monthFigures,
  monthKey,
  monthReport,
  type PersonMonth,
  readPersonMonth,
} from '../figures/month-report.ts';
import { idOf } from '../model/ids.ts';
import { addDays, daysOfMonth, localDay, monthBeside, startOfDay } from '../model/time.ts';
import type { MemberMonth, Store } from '../store/store.ts';
import { startSlices } from '../util/slices.ts';
import { barPatterns } from './pages/day-view.ts';
import { markup } from './pages/markup.ts';
import { monthSteps, stepHeading } from './pages/overview.ts';
import { figuresTable } from './pages/report-page.ts';
import { studyPage } from './study-pages.ts';
import { pageLinks, readPeople, type StudyPerson, takePage, withStatusFacts } from './study-people.ts';
import { banner, csvType, faultPage, fileAnswer, isShownDay, type StudyCall, type WebAnswer } from './web.ts';

export async function showFigures(call: StudyCall): Promise<WebAnswer> {
  const { t, store, study, now, params, query, note, cache } = call;
  const words = t.figures;
  const today = localDay(now, 'UTC');
  const thisMonth = today.slice(0, 7);
  const settled = [1, 2].reduce((month) => (isSettled(month, today) ? month : monthBeside(month, -1)), thisMonth);
  if (params.month !== undefined && !isShownDay(`${params.month}-01`)) return faultPage(404, call);
  let people = await readMembers(store, study.name, params.month ?? settled);
  const first = localDay(Math.min(now, ...people.map(({ registered_ts }) => registered_ts)), 'UTC').slice(0, 7);
  const month = params.month ?? (first > settled ? first : settled);
  if (month !== (params.month ?? settled)) people = await readMembers(store, study.name, month);
  const isDue = isSettled(month, today);
  const until = Math.min(now, startOfDay(addDays(daysOfMonth(month).to, 1), 'UTC'));
  const revisions = people.map(({ user_id, revision }) => [user_id, revision]);
  const readTable = () => readMonthTable(call, month, people, until);
  const changes = idOf(JSON.stringify([monthKey(study.config), isDue, until, revisions]));
  const { exact, report, share, counted } = await cache.getFor(`table ${study.name} ${month}`, changes, readTable);
  const shown = people.filter(({ user_id }) => counted.has(user_id)).map((figures) => ({ figures }));
  await note(`figures of ${month}`, shown);
  const all = exact.at(-1);
  const steps = monthSteps(month, `/study/${study.name}/figures`, '', thisMonth, t);
  const name = t.month(`${month}-01`);
  const title = words.title(name, 'mode');
  const isPublished = isDue && report.all !== null;
  if (query.csv !== undefined && all !== undefined) {
    const isExact = query.csv !== 'published' || !isPublished;
    const body = isExact ? exactCsv(month, exact) : publishedCsv([report]);
    return fileAnswer(body, `${study.name}-${month}-${isExact ? 'internal' : 'published'}.csv`, csvType);
  }
  const here = `/study/${study.name}/figures/${month}`;
  const content =
    all === undefined
      ? banner(words.nothing)
      : markup`<p class="lead"><b>${words.lead(t.length(all.metres), t.number(Math.round(all.seconds / 3600)), t.people(all.people), t.share(share))}</b></p>
${isPublished ? markup`<h2>${words.toPublish}</h2><p>${words.protection(usualLeast)}</p>${figuresTable(report, null, t)}<p><a href="${here}?csv=published">${words.csv}</a></p>` : !isDue && banner(words.notYet)}
${isPublished && report.withheld > 0 && markup`<p class="soft small">${words.withheld(report.withheld)}</p>`}
<h2>${words.internal}</h2><p class="note bad">${words.notToPass}</p>${figuresTable(report, exact, t)}<p><a href="${here}?csv=internal">${words.csv}</a></p><p class="soft small">${words.rangeText}</p>`;
  const body = markup`${barPatterns(null)}${stepHeading(title, steps)}${content}`;
  return studyPage(call, title, body, 'figures');
}

const membersAtOnce = 1000;

async function readMembers({ users }: Store, study: string, month: string): Promise<MemberMonth[]> {
  const members: MemberMonth[] = [];
  for (let after = ''; ; after = members.at(-1)!.user_id) {
    const page = await users.months({ study, after, limit: membersAtOnce }, month);
    members.push(...page);
    if (page.length < membersAtOnce) return members;
  }
}

/** `until`: the end of the month, or now. The report has no figures until the month is settled (`isSettled`). */
async function readMonthTable(
  { store, study, now, cache }: StudyCall,
  month: string,
  people: readonly MemberMonth[],
  until: number,
) {
  const months = new Map<string, PersonMonth>();
  const key = monthKey(study.config);
  const slices = startSlices();
  for (const { user_id, figures, revision } of people) {
    const readOne = () => readPersonMonth(store, user_id, month, 'mode');
    const kept = figures && fromKept(key, figures);
    months.set(user_id, kept ?? (await cache.getFor(`${user_id} month ${month} ${key}`, revision, readOne)));
    if (slices.isOver()) await slices.next();
  }
  const read = monthFigures(month, 'mode', months);
  const none = { month, by: read.by, all: null, cells: [], withheld: 0, rest: null, observed_days: null };
  const report = isSettled(month, localDay(now, 'UTC')) ? monthReport(read, usualLeast) : none;
  const share = recordedShare(read, people, until);
  return { exact: exactCells(read), report, share, counted: new Set(read.tallies.keys()) };
}

/** The recorded share of the time from registration until `end`, of all people with recorded time. */
function recordedShare({ month, observed }: MonthFigures, people: readonly MemberMonth[], end: number): number {
  const start = startOfDay(daysOfMonth(month).from, 'UTC');
  let [recorded, possible] = [0, 0];
  for (const { user_id, registered_ts } of people) {
    const own = observed.get(user_id)?.get('all') ?? 0;
    recorded += own;
    // Imported data may be older than the registration.
    possible += own === 0 ? 0 : Math.max(own, end - Math.max(start, registered_ts));
  }
  return possible === 0 ? 0 : recorded / possible;
}

const daysBack = 7; // the page of days with flags shows today and this many days before

export async function showFlagged(call: StudyCall): Promise<WebAnswer> {
  const { t, store, study, now, query, note, cache } = call;
  const words = t.study;
  const all = (await readPeople(store, study, now)).filter(({ state }) => state !== 'never_began');
  const { chosen } = takePage(all, query.page);
  const today = localDay(now, 'UTC');
  const slices = startSlices();
  const rows: { day: string; row: ReturnType<typeof markup> }[] = [];
  for (const person of chosen) {
    for (const { day, flags } of await cache.get(`flags ${today}`, person, () => readFlaggedDays(call, person))) {
      const facts = flags.map((flag) => t.me.flags[flag][0]);
      const row = markup`<li class="stated"><a href="/study/${study.name}/p/${person.id}/${day}">${t.shortDay(day)}, ${person.shown}</a><span>${facts.join(' ')}</span></li>`;
      rows.push({ day, row });
    }
    if (slices.isOver()) await slices.next();
  }
  await note('flagged days', chosen);
  rows.sort((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0));
  const body = markup`<h1>${words.flagged}</h1><p>${words.flaggedText(daysBack)}</p>
${rows.length === 0 ? banner(words.noneFlagged) : markup`<ul>${rows.map(({ row }) => row)}</ul>`}
${pageLinks(all.length, query.page, `/study/${study.name}/flagged?page=`, t)}`;
  return studyPage(call, words.flagged, body, 'flagged');
}

async function readFlaggedDays(call: StudyCall, person: StudyPerson): Promise<{ day: string; flags: Flag[] }[]> {
  const { now } = call;
  const store = withStatusFacts(call.store, person);
  const today = localDay(now, 'UTC');
  const found: { day: string; flags: Flag[] }[] = [];
  const bounds = { from: addDays(today, -daysBack), to: today };
  for await (const { day, flagged } of everyDay(store, person.user, bounds, now))
    if (flagged.length > 0) found.push({ day, flags: flagNames(flagged) });
  return found;
}
