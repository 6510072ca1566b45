import type { Steps } from '../diary/status/breakages.ts';
import { isTrouble } from '../diary/status/person-status.ts';
import { csvLine } from '../export/formats/csv.ts';
import { keys } from '../model/keys.ts';
import { studyTexts } from '../model/study-texts.ts';
import { localDay } from '../model/time.ts';
import { readDay } from './me-days.ts';
import { barPatterns, dayView } from './pages/day-view.ts';
import { factList, Markup, type MarkupValue, markup, optionList } from './pages/markup.ts';
import { shell } from './pages/shell.ts';
import { ownValue, type Texts, textsFor } from './pages/texts/texts.ts';
import {
  type Filter,
  type Fortnight,
  filters,
  isNew,
  isShown,
  matches,
  needsReminder,
  pageLinks,
  readFortnight,
  readPeople,
  type StudyPerson,
  takePage,
} from './study-people.ts';
import { baseMapOf } from './tiles.ts';
import {
  answerOf,
  csvType,
  faultPage,
  fileAnswer,
  formButton,
  isShownDay,
  type StudyCall,
  type WebAnswer,
} from './web.ts';

const parts = { people: '', flagged: '/flagged', figures: '/figures', export: '/export' } as const;

export function studyPage(
  call: StudyCall,
  title: string,
  body: MarkupValue,
  current?: keyof typeof parts,
  foot: MarkupValue = markup`<p>${call.t.study.noted}</p>`,
): WebAnswer {
  const { t, study, manager } = call;
  const links = [
    ...Object.entries(parts)
      .filter(([name]) => name !== 'export' || manager.may_export)
      .map(([name, path]) => ({
        href: `/study/${study.name}${path}`,
        words: t.study[name as keyof typeof parts],
        isCurrent: name === current,
      })),
    ...(manager.studies.length > 1 || manager.operator ? [{ href: '/study', words: t.study.studies }] : []),
  ];
  const signOut = formButton(call, '/sign-out/study', t.signOut);
  const brand = studyTexts(study, call.preferred).name;
  return answerOf(shell({ t, title, brand, links, signOut, foot, query: call.query, body }));
}

export async function showPeople(call: StudyCall): Promise<WebAnswer> {
  const { t, store, study, now, zone, query, cache } = call;
  const words = t.study;
  const all = await readPeople(store, study, now);
  const filter = filters.find((one) => one === query.show) ?? 'joined';
  const here = `/study/${study.name}`;
  const { find = '', group = '', sort = 'silence' } = query;
  const listed = all.filter((one) => (group === '' || one.user.subgroup === group) && matches(one, find));
  const numbers = filters.map((one) => {
    const count = listed.filter((person) => isShown(person, one)).length;
    const current = one === filter && new Markup(' aria-current="true"');
    return markup`<li><a href="${here}?${String(new URLSearchParams({ show: one, group, find }))}"${current}><b>${t.number(count)}</b><span>${words.numbers[one].name}</span><i>${words.numbers[one].text}</i></a></li>`;
  });
  const filtered = listed.filter((person) => isShown(person, filter));
  const chosen = sorted(filtered, query.sort);
  const rows: Markup[] = [];
  const onPage = takePage(chosen, query.page).chosen;
  await call.note('list of people', onPage);
  const today = localDay(now, 'UTC');
  for (const person of onPage) {
    const read = () => readFortnight(store, person, now);
    rows.push(personRow(person, await cache.get(`fortnight ${today}`, person, read), call));
  }
  const needed = all.filter((person) => needsReminder(person, now)).length;
  const asked = { show: filter, group, find, sort };
  const heads = Object.entries(columns).map(([name, kind]) => head(name as Column, kind, asked, call));
  const page = `${here}?${new URLSearchParams(asked)}&page=`;
  const body = markup`<h1>${words.people} <span class="asof">${t.moment(now, zone)}, ${t.zoneName(now, zone)}</span></h1>
<ul class="nums">${numbers}</ul>
<div class="above"><p><b>${words.needReminder(needed)}</b></p><a class="btn go" href="${here}/reminders.csv">${words.reminders}</a></div>
${searchForm(call, filter)}${chosen.length === 0 ? markup`<p class="note quiet">${words.noMatch}</p>` : markup`<div class="wide" role="region" aria-label="${words.people}" tabindex="0"><table role="table" class="folk"><thead role="rowgroup"><tr role="row" data-words="${words.sortBy}">${heads}</tr></thead><tbody role="rowgroup">${rows}</tbody></table></div>`}
${pageLinks(chosen.length, query.page, page, t)}`;
  const foot = markup`<p>${words.stripText} ${study.show_names ? null : words.noNames} ${words.noted}</p>`;
  return studyPage(call, words.people, body, 'people', foot);
}

/** CSS classes of columns. `s`: the reader can sort by the column, `ns`: cannot. `n`: numbers. */
const columns = {
  person: 's',
  silence: 's',
  contact: 's n',
  location: 's n',
  days: 'ns',
  trips: 'ns n',
  labelled: 'ns n',
  joined: 's n',
};
type Column = keyof typeof columns;

function searchForm({ t, study, query }: StudyCall, filter: Filter): Markup {
  const words = t.study;
  const groups = study.subgroups.map((one) => ({ value: one, words: one }));
  const options = optionList([{ value: '', words: words.allGroups }, ...groups], query.group ?? '');
  const group =
    study.subgroups.length > 1 &&
    markup`<label><span>${words.group}</span><select name="group">${options}</select></label>`;
  return markup`<form class="find" action="/study/${study.name}"><input type="hidden" name="show" value="${filter}"><label><span>${words.find}</span><input type="search" name="find" value="${query.find ?? ''}"></label>${group}<button>${words.findDo}</button></form>`;
}

function head(name: Column, kind: string, asked: Record<string, string>, { t, study }: StudyCall): Markup {
  const words = t.study.columns[name];
  if (kind.startsWith('ns')) return markup`<th scope="col" role="columnheader" class="${kind}">${words}</th>`;
  const isBy = asked.sort === name && new Markup(' aria-sort="ascending"');
  const query = new URLSearchParams({ ...asked, sort: name });
  return markup`<th scope="col" role="columnheader" class="${kind}"${isBy}><a href="/study/${study.name}?${String(query)}">${words}</a></th>`;
}

/** The default order puts people who need a reminder first. */
function sorted(people: readonly StudyPerson[], by = 'silence'): readonly StudyPerson[] {
  const keys: Record<string, (person: StudyPerson) => number | string> = {
    person: ({ shown }) => shown,
    contact: ({ chain }) => chain.called.ts ?? 0,
    location: ({ chain }) => chain.located.ts ?? 0,
    joined: joinedOf,
  };
  const key = ownValue(keys, by);
  if (key === undefined) return people;
  return [...people].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

const joinedOf = ({ chain }: StudyPerson): number => chain.joined.ts ?? chain.registered.ts ?? 0;

const lately = ({ t, now, zone }: StudyCall, ts: number | null): string =>
  ts === null ? '–' : t.lately(ts, now, zone);

function personRow(person: StudyPerson, { shares, trips, labelled }: Fortnight, call: StudyCall): Markup {
  const { t, study, now } = call;
  const { state, chain, user, app, shown, id, figures } = person;
  const words = t.study;
  const isQuiet = !isTrouble(state) || isNew(person, now);
  const asked =
    typeof figures.profile.erasure_asked_ts === 'number' && markup`<span class="sm flag">${words.asksErasure}</span>`;
  const cell = (kind: string, content: MarkupValue): Markup => markup`<td role="cell" class="${kind}">${content}</td>`;
  // A narrow screen has no table heads, so each number has its name beside it.
  const named = (column: Column, content: MarkupValue): Markup =>
    cell('n', markup`<span class="lab">${words.columns[column]}</span> ${content}`);
  return markup`<tr role="row"${isQuiet && new Markup(' class="quiet"')}><th scope="row" role="rowheader"><a href="/study/${study.name}/p/${id}">${shown}</a><span class="sm">${[user.subgroup, app].filter(Boolean).join(' · ')}</span></th>
${cell('w', markup`<span class="mk ${isQuiet ? 'in_order' : state}" aria-hidden="true">${isQuiet ? '' : '!'}</span>${stateText(person, now, t)}${!isQuiet && markup`<span class="sm">${words.advice[person.broken?.code ?? 'silent'] ?? ''}</span>`}${asked}`)}
${named('contact', lately(call, chain.called.ts))}${named('location', lately(call, chain.located.ts))}${cell('c', fortnightStrip(shares, t))}
${named('trips', trips)}${named('labelled', trips === 0 ? '–' : t.share(labelled / trips))}${named('joined', lately(call, joinedOf(person)))}</tr>
`;
}

function stateText(person: StudyPerson, now: number, t: Texts): string {
  const { state, since } = person;
  if (isNew(person, now)) return t.study.isNew;
  const days = since === null ? 0 : Math.floor((now - since) / 86_400);
  return t.study.states[state](days === 0 ? null : t.days(days));
}

/** Draws a column for each day, as high as the recorded share. A line at the bottom means 0. */
function fortnightStrip(shares: readonly (number | null)[], t: Texts): Markup {
  const bars = shares.map((share, i) => {
    if (share === null || share === 0) return '';
    const height = Math.max(2, Math.round(share * 16));
    return `M${i * 8} ${16 - height}h6v${height}h-6z`;
  });
  const none = shares.map((share, i) => (share === 0 ? `M${i * 8} 15h6` : ''));
  const there = shares.filter((share) => share !== null);
  const label = t.study.recordedOn(there.filter((share) => share! > 0).length, there.length);
  return markup`<svg class="st" width="110" height="16" role="img" aria-label="${label}"><path class="sa" d="${bars.join('')}"/><path class="se" d="${none.join('')}"/></svg>`;
}

export async function sendReminders(call: StudyCall): Promise<WebAnswer> {
  const { t, store, study, now, note } = call;
  const needed = (await readPeople(store, study, now)).filter((one) => needsReminder(one, now));
  const iso = (ts: number | null): string => (ts === null ? '' : new Date(ts * 1000).toISOString());
  const lines = needed.map((person) => {
    const { shown, user, app, state, since, chain, broken } = person;
    const cells = [shown, user.subgroup ?? '', app, state, iso(since), iso(chain.called.ts), iso(chain.located.ts)];
    return csvLine([...cells, t.study.advice[broken?.code ?? 'silent'] ?? '', letterTo(person, call) ?? '']);
  });
  await note('reminder list', needed);
  const names = 'person subgroup app state since last_contact last_location what_to_do text_to_send';
  return fileAnswer(`${csvLine(names.split(' '))}${lines.join('')}`, `${study.name}-reminders.csv`, csvType);
}

/** Returns a letter in the language of the study; null if the person cannot repair the phone. */
function letterTo({ broken }: StudyPerson, { study, t }: StudyCall): string | null {
  const own = textsFor([study.language ?? t.language]);
  const words = broken === null || broken.code === 'stopped' ? undefined : own.mine.phoneWords[broken.code];
  return words === undefined ? null : own.study.letter(words);
}

async function batteryText(call: StudyCall, userId: string): Promise<string> {
  const { store, t } = call;
  const newest = { keys: [keys.battery], time: 'write_ts', descending: true, limit: 1 } as const;
  const pages = await Promise.all([store.usercache, store.timeseries].map((part) => part.find(userId, newest)));
  const [last] = pages.flatMap(({ entries }) => entries).sort((a, b) => b.metadata.write_ts - a.metadata.write_ts);
  const { battery_level_pct: percent, battery_level_ratio: ratio } = last?.data ?? {};
  const level = typeof percent === 'number' ? percent / 100 : ratio;
  return typeof level !== 'number' ? '–' : `${t.share(level)}, ${lately(call, last!.metadata.write_ts)}`;
}

export async function showPerson(call: StudyCall): Promise<WebAnswer> {
  const { t, store, study, now, zone, params, note } = call;
  const found = (await readPeople(store, study, now)).find(({ id }) => id === params.id);
  if (found === undefined || (params.day !== undefined && !isShownDay(params.day))) return faultPage(404, call);
  const href = (other: string): string => `/study/${study.name}/p/${found.id}/${other}`;
  const { shown, heading, strip } = await readDay(call, found.user, { day: params.day, isOwn: false, href });
  await note(`look at ${shown.observed.day}`, [found]);
  const advice = found.broken === null ? null : (t.study.advice[found.broken.code] ?? null);
  const letter = isNew(found, now) ? null : letterTo(found, call);
  const { chain, figures } = found;
  const version = figures.profile.client_app_version;
  const calls = [
    [t.study.columns.contact, lately(call, chain.called.ts)],
    [t.study.links.pushed, lately(call, chain.pushed.ts)],
    [t.study.columns.location, lately(call, chain.located.ts)],
    [t.study.links.fetched, lately(call, chain.fetched.ts)],
    [t.study.app, [found.app, typeof version === 'string' ? version : ''].join(' ')],
    [t.study.battery, await batteryText(call, found.user.uuid)],
  ] as const;
  const facts = [found.user.subgroup, found.app, t.study.joinedOn(t.date(joinedOf(found), zone))].filter(Boolean);
  const body = markup`${barPatterns(shown.trips)}<p><a href="/study/${study.name}">${t.study.back}</a></p><h1>${found.shown}</h1><p class="soft">${facts.join(' · ')}</p>
<p class="lead"><b>${stateText(found, now, t)}</b></p>${advice && !isNew(found, now) && markup`<p class="note">${t.study.seen[found.broken!.code]} ${advice}</p>`}${letter !== null && markup`<section class="card"><h2>${t.study.letterTitle}</h2><p lang="${study.language ?? t.language}">${letter}</p></section>`}
${factList(calls)}<details><summary><span>${t.study.chain}</span></summary><ol class="chain">${stepItems(found, call)}</ol></details>
<h2 class="vh">${t.me.days}</h2>${heading}${strip}${dayView(shown, t, { base: baseMapOf(call, `/study/${study.name}`) })}`;
  return studyPage(call, found.shown, body);
}

function stepItems(of: StudyPerson, call: StudyCall): Markup[] {
  const { broken } = of;
  const chain: Steps = { ...of.chain, joined: { ts: joinedOf(of) } };
  const names = Object.keys(chain) as (keyof Steps)[];
  const at = broken === null ? names.length : names.indexOf(broken.link);
  return names.map((name, i) => {
    const when = lately(call, chain[name].ts ?? chain[name].phone_ts ?? null);
    return markup`<li class="${i < at ? '' : i === at ? 'broken' : 'after'}"><span>${call.t.study.links[name]}</span> <span class="soft">${when}</span></li>`;
  });
}
