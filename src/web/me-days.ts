// My days: a participant looks at a day or a month and labels trips.

import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { readCorrections } from '../diary/corrections/read-corrections.ts';
import { labelEntries, labelWord } from '../diary/labels/label-entries.ts';
import { readObservedDays } from '../diary/observed-time.ts';
import type { DayStore } from '../diary/read-days.ts';
import { writeTime } from '../intake/write-time.ts';
import { addDays, daysOfMonth, localDateTime, localDay, startOfDay } from '../model/time.ts';
import type { Trip } from '../model/trip.ts';
import type { UserRecord } from '../model/user.ts';
import { correctionList, flagAnswers, placeNameForm, tripCorrections, undoButton } from './me-corrections.ts';
import { type ShownDay, settledUntil } from './pages/day-items.ts';
import { barPatterns, type DayActions, dayView } from './pages/day-view.ts';
import { Markup, type MarkupValue, markup } from './pages/markup.ts';
import {
  type DayRow,
  dayRow,
  dayRows,
  dayTitle,
  monthSteps,
  type NeighbourLink,
  stepHeading,
  weekStrip,
} from './pages/overview.ts';
import { shell } from './pages/shell.ts';
import { shownDays } from './pages/shown-days.ts';
import { ownValue, type Texts } from './pages/texts/texts.ts';
import { baseMapOf } from './tiles.ts';
import {
  answerOf,
  banner,
  faultPage,
  formButton,
  formOf,
  isShownDay,
  type PersonCall,
  redirect,
  type WebAnswer,
  type WebRoute,
} from './web.ts';

const mePages = { days: '/me', month: '/me/month', data: '/me/data' } as const;

/** A page of a participant. */
export async function mePage(
  call: PersonCall,
  title: string,
  current: keyof typeof mePages,
  body: MarkupValue,
): Promise<WebAnswer> {
  const { t, user, store } = call;
  const signOut = formButton(call, '/me/sign-out', t.signOut);
  const links = Object.entries(mePages).map(([name, href]) => ({
    href,
    words: t.me[name as typeof current],
    isCurrent: name === current,
  }));
  const study = user.study === undefined ? null : await store.studies.byName(user.study);
  const foot = markup`<p>${study === null ? t.me.noStudy : study.show_names ? t.me.underName : t.me.underCode}</p>`;
  return answerOf(shell({ t, title, brand: user.study ?? t.service, links, signOut, foot, body }));
}

/** The bounds of the days that a page can show. */
interface KnownDays {
  zone: string;
  today: string;
  /** The first day with a trip. */
  first: string | null;
  /** The last day with data. */
  last: string;
}

async function readKnownDays(store: DayStore, userId: string, now: number): Promise<KnownDays> {
  const earliest = await correctedTrips(store).next(userId, -Number.MAX_VALUE);
  const last = await correctedTrips(store).previous(userId, Number.MAX_VALUE);
  const { observed } = await store.pipeline.get(userId);
  const zone = last?.trip?.end_zone ?? 'UTC';
  const today = localDay(now, zone);
  const known = Math.min(now, Math.max(last?.end_ts ?? 0, observed?.seen.ts ?? 0));
  const first = earliest && localDay(earliest.start_ts, zone);
  return { zone, today, first, last: known > 0 ? localDay(known, zone) : today };
}

/** A day of a person without forms, with links to the days beside it. */
export interface ReadDay {
  shown: ShownDay;
  first: string | null;
  /** The heading with links to the days before and after, and the week as links. */
  heading: Markup;
  strip: Markup;
}

/** The day to read, and for whom. */
export interface WhichDay {
  /** Default: the last day with data. */
  day: string | undefined;
  isOwn: boolean;
  /** The address of a day. */
  href: (day: string) => string;
}

/** Reads a day and its week. */
export async function readDay(
  { store: source, now, t }: Pick<PersonCall, 'store' | 'now' | 't'>,
  user: UserRecord,
  { day: asked, isOwn, href }: WhichDay,
): Promise<ReadDay> {
  const store = { ...source, corrections: await readCorrections(source, user.uuid) };
  const { zone, today, first, last } = await readKnownDays(store, user.uuid, now);
  const day = asked ?? last;
  const monday = addDays(day, -localDateTime(startOfDay(day, 'UTC'), 'UTC').weekday);
  const week = await readObservedDays(store, user.uuid, { from: monday, to: addDays(monday, 6), zone });
  const { value } = await shownDays(store, user, { from: day, to: day }, { t, now, isOwn }).next();
  const shown = value!;
  const strip = week.days.map((observed) => ({
    observed,
    metres: week.links.reduce((sum, { day: own, trip }) => sum + (own === observed.day ? (trip?.distance ?? 0) : 0), 0),
    isFinal: settledUntil({ ...shown, observed }) >= observed.to,
  }));
  const beside = [addDays(day, -1), addDays(day, 1)].map((other) =>
    other > today || first === null || other < first ? null : { href: href(other), words: t.day(other) },
  ) as [NeighbourLink | null, NeighbourLink | null];
  return {
    shown,
    first,
    heading: stepHeading(dayTitle(day, t), beside, isOwn ? 'h1' : 'h2'),
    strip: weekStrip(strip, { day, today, href, now }, t),
  };
}

const dayPath = (day: string): string => `/me/day/${day}`;

async function showDay(call: PersonCall): Promise<WebAnswer> {
  const { t, params, query, user, store } = call;
  if (params.day !== undefined && !isShownDay(params.day)) return faultPage(404, t);
  const { shown, first, heading, strip } = await readDay(call, user, { day: params.day, isOwn: true, href: dayPath });
  const { day, from, to } = shown.observed;
  const messages: Record<string, string> = { saved: t.me.saved, stated: t.me.statedNow, later: t.me.statedLater };
  const wrong: Record<string, string> = { outside: t.me.outside, gone: t.me.tripGone, full: t.me.full };
  const failed = ownValue(wrong, query.done);
  const done = failed === undefined ? banner(ownValue(messages, query.done)) : banner(`${t.error} ${failed}`, 'bad');
  const before = (trip: Trip): Trip | null => shown.trips[shown.trips.indexOf(trip) - 1] ?? null;
  const actions: DayActions = {
    base: baseMapOf(call, '/me'),
    ofTrip: (trip) =>
      trip.id === query.correct ? correction(call, trip, before(trip), shown) : correctionLink(trip, day, t),
    ofStay: (stay) => placeNameForm(call, stay, day),
    ofFlag: (flag) => flagAnswers(call, flag, shown),
  };
  const standings = await correctedTrips(store).corrections(user.uuid, { from, to });
  const undo = undoButton(call, standings, day);
  const body = markup`${barPatterns(shown.trips)}${done}${undo}${heading}${strip}${first === null && banner(t.me.empty)}
${dayView(shown, t, actions)}${correctionList(call, shown, standings)}`;
  return mePage(call, t.day(day), 'days', body);
}

async function showMonth(call: PersonCall): Promise<WebAnswer> {
  const { t, params, user, store, now } = call;
  const { today, first, last } = await readKnownDays(store, user.uuid, now);
  const month = params.month ?? last.slice(0, 7);
  const { from, to: end } = daysOfMonth(month);
  if (!isShownDay(from)) return faultPage(404, t);
  const rows: DayRow[] = [];
  for await (const day of shownDays(store, user, { from, to: end < today ? end : today }, { t, now, isOwn: true }))
    rows.push(dayRow(day, dayPath(day.observed.day), t));
  const bounds = { first: (first ?? today).slice(0, 7), last: today.slice(0, 7) };
  const steps = monthSteps(month, '/me/month', bounds, t);
  const title = t.month(from);
  const body = markup`${barPatterns(null)}${stepHeading(title, steps)}${first === null && banner(t.me.empty)}
${rows.length > 0 ? dayRows(rows, t) : banner(t.me.future)}`;
  return mePage(call, title, 'month', body);
}

// ---------------------------------------------------------------- labels

/** A link to the forms of a trip: the forms of all trips would make the page of a busy day too long. */
const correctionLink = (trip: Trip, day: string, t: Texts): Markup =>
  markup`<a class="fold" href="${dayPath(day)}?correct=${trip.id}#trip-${trip.id}">${correctWords(trip, t)}</a>`;

const correctWords = ({ start_ts, start_zone }: Trip, t: Texts): Markup =>
  markup`<span>${t.me.correct}<span class="vh">${t.me.correctWhich(t.clock(start_ts, start_zone))}</span></span>`;

const CHECKED = new Markup(' checked');
const SELECTED = new Markup(' selected');

/** The forms of a trip: its label, and its corrections. */
function correction(call: PersonCall, trip: Trip, before: Trip | null, { observed, labels }: ShownDay): Markup {
  const { t } = call;
  const { day } = observed;
  const { mode_confirm: mode, purpose_confirm: purpose } = labels.ofTrip(trip.start_ts).user_input;
  const purposes = Object.entries(t.labelPurposes).map(
    ([value, words]) => markup`<option value="${value}"${value === purpose && SELECTED}>${words}</option>`,
  );
  const modes = Object.entries(t.labelModes).map(
    ([value, words]) =>
      markup`<label class="tile2"><input type="radio" name="mode" value="${value}"${value === mode && CHECKED}><span>${words}</span></label>`,
  );
  const form = markup`<fieldset><legend>${t.me.how}</legend><div class="tiles">${modes}</div></fieldset>
<label><span>${t.me.what}</span><select name="purpose"><option value="">${t.me.unsaid}</option>${purposes}</select></label>
<div class="acts"><button class="go">${t.me.save}</button></div><p class="small soft">${t.me.promise}</p>`;
  return markup`<details open><summary>${correctWords(trip, t)}</summary>
${formOf(call, '/me/label', { day, trip: trip.id }, form)}${tripCorrections(call, trip, before, day)}</details>`;
}

async function label(call: PersonCall): Promise<WebAnswer> {
  const { t, form, store, now, user } = call;
  const { day = '', trip: id = '' } = form;
  if (!isShownDay(day)) return faultPage(400, t);
  const near = await correctedTrips(store).byDay(user.uuid, { from: addDays(day, -2), to: addDays(day, 1) });
  const trip = near.find((one) => one.trip?.id === id)?.trip ?? null;
  if (trip === null) return redirect(`${dayPath(day)}?done=gone`);
  const words: { mode?: string; purpose?: string } = {};
  for (const name of ['mode', 'purpose'] as const) {
    const word = labelWord(form[name] ?? '');
    if (word !== null) words[name] = word;
  }
  const entries = labelEntries(trip, words, { origin: { program: 'my days' }, now: writeTime(now) });
  const { rejected } = entries.length > 0 ? await call.put(user, entries) : { rejected: 0 };
  if (rejected > 0) return redirect(`/me/day/${day}?done=full`);
  return redirect(`/me/day/${day}?done=saved#trip-${trip.id}`);
}

/** The pages of days. */
export const dayRoutes: readonly WebRoute[] = [
  { method: 'GET', path: '/me', who: 'person', answer: showDay },
  { method: 'GET', path: '/me/day/:day', who: 'person', answer: showDay },
  { method: 'GET', path: '/me/month', who: 'person', answer: showMonth },
  { method: 'GET', path: '/me/month/:month', who: 'person', answer: showMonth },
  { method: 'POST', path: '/me/label', who: 'person', answer: label },
];
