import { everyStatus } from '../diary/status/all-statuses.ts';
import type { PersonState } from '../diary/status/breakages.ts';
import { troubles } from '../diary/status/person-status.ts';
import { shownName } from '../model/user.ts';
import { factList, type MarkupValue, markup } from './pages/markup.ts';
import { shell } from './pages/shell.ts';
import { ownValue } from './pages/texts/texts.ts';
import { needsReminder } from './study-people.ts';
import { answerOf, formButton, type ManagerCall, type WebAnswer } from './web.ts';

const gibibyte = 1024 ** 3;

const mostNamed = 50; // the most people with refused phones that the page lists

async function sumFigures({ store, now }: ManagerCall) {
  const sum = { people: 0, reminders: 0, waiting: 0, setAside: 0, faults: 0, failed: 0, lastRun: 0, lag: 0 };
  const states = new Map<PersonState, number>();
  const leaving: { name: string; ts: number; uuid: string }[] = [];
  const turnedAway: { name: string; code: 'refused' | 'limited'; since: number | null }[] = [];
  for await (const status of everyStatus(store, { now })) {
    const { user, state, figures, faults, lag_s, broken } = status;
    states.set(state, (states.get(state) ?? 0) + 1);
    sum.people += 1;
    sum.reminders += needsReminder(status, now) ? 1 : 0;
    sum.waiting += figures.waiting.count;
    sum.setAside += figures.set_aside.reduce((total, { count }) => total + count, 0);
    sum.faults += faults;
    sum.failed += figures.state.last_error === null ? 0 : 1;
    sum.lastRun = Math.max(sum.lastRun, figures.state.last_run_ts ?? 0);
    sum.lag = Math.max(sum.lag, lag_s ?? 0);
    const { erasure_asked_ts: ts } = figures.profile;
    const name = shownName(user.user_email);
    if (typeof ts === 'number') leaving.push({ name, ts, uuid: user.uuid });
    if (broken?.code === 'refused' || broken?.code === 'limited')
      turnedAway.push({ name, code: broken.code, since: broken.since });
  }
  return { sum, states, leaving, turnedAway };
}

export async function showServer(call: ManagerCall): Promise<WebAnswer> {
  const { t, store, now, zone, checks, version } = call;
  const words = t.operator;
  const works = await store
    .ping()
    .then(() => true)
    .catch(() => false);
  const [{ bytes, free }, found, { sum, states, leaving, turnedAway }] = await Promise.all([
    store.disk(),
    checks(),
    sumFigures(call),
  ]);
  const { number } = t;
  const size = (n: number): string => `${number(n / gibibyte, 1)} GiB`;
  const ago = (ts: number): string => (ts === 0 ? words.never : t.lately(ts, now, zone));
  const facts: [string, MarkupValue][] = [
    [words.store, works ? words.storeWorks : words.storeFails],
    [words.disk, free === null ? size(bytes) : words.diskText(size(bytes), size(free))],
    [words.version, version ?? '–'],
    [t.study.people, number(sum.people)],
    ...troubles
      .filter((state) => states.has(state))
      .map((state): [string, string] => [t.study.states[state](null), number(states.get(state)!)]),
    [words.waiting, number(sum.waiting)],
    [words.lag, sum.lag === 0 ? '–' : t.span(sum.lag)],
    [words.lastRun, ago(sum.lastRun)],
    [words.failed, number(sum.failed)],
    [words.setAside, words.setAsideText(number(sum.setAside), number(sum.faults))],
  ];
  const left = leaving.map(({ name, ts, uuid }) => {
    return markup`<li class="note">${words.asked(name, t.date(ts, zone))} <code>mobility erase --user ${uuid}</code></li>`;
  });
  const away = turnedAway
    .slice(0, mostNamed)
    .map(({ name, code, since }) => markup`<li class="stated">${words.away[code](name, ago(since ?? 0))}</li>`);
  const wrong = found.filter(({ ok }) => !ok);
  const cards = wrong.map(({ name }) => {
    const [title, remedy] = ownValue(words.checks, name) ?? [name, words.more];
    return markup`<section class="note bad"><h2>${title}</h2><p>${withCommands(remedy)}</p></section>`;
  });
  const isFine = works && wrong.length === 0;
  const body = markup`<h1>${words.title} <span class="asof">${t.moment(now, zone)}, ${t.zoneName(now, zone)}</span></h1>
<p class="lead"><b>${isFine ? words.works : works ? words.needsYou(wrong.length) : words.broken}</b> ${sum.reminders === 0 ? words.noReminder : t.study.needReminder(sum.reminders)}</p>
${cards}${left.length > 0 && markup`<ul>${left}</ul>`}${factList(facts)}
${away.length > 0 && markup`<h2>${words.turnedAway}</h2><ul>${away}</ul>${turnedAway.length > mostNamed && markup`<p>${words.others(turnedAway.length - mostNamed)}</p>`}<p class="small soft">${withCommands(words.doctor)}</p>`}<p class="soft small">${withCommands(words.more)}</p>`;
  const links = [
    { href: '/operator', words: words.title, isCurrent: true },
    { href: '/study', words: t.study.studies },
  ];
  const signOut = formButton(call, '/sign-out/study', t.signOut);
  return answerOf(shell({ t, title: words.title, links, signOut, isNarrow: true, body }));
}

/** Shows the parts of a text that are in backticks as commands. */
const withCommands = (text: string): MarkupValue =>
  text.split('`').map((part, i) => (i % 2 === 0 ? part : markup`<code>${part}</code>`));
