// My days: a participant looks at a day, goes to others, and says what a trip was.
import { type ObservedDay, readObservedDays } from '../diary/observed-time.ts';
import { readPlaces } from '../diary/places.ts';
import { putBatch } from '../intake/put-batch.ts';
import { labelEntries, labelWord } from '../labels/label-entries.ts';
import { readLabels } from '../labels/labels-of.ts';
import { addDays, localDateTime, localDay, startOfDay } from '../model/time.ts';
import type { Trip } from '../model/trip.ts';
import { namedPlaces, type ShownDay } from '../pages/day-items.ts';
import { barPatterns, dayView } from '../pages/day-view.ts';
import { Markup, type MarkupValue, markup } from '../pages/markup.ts';
import { type HeadLink, shell } from '../pages/shell.ts';
import type { Texts } from '../pages/texts/texts.ts';
import { weekStrip } from '../pages/week-strip.ts';
import type { Store } from '../store/store.ts';
import { nameOfStay, statedOnDay, tripCorrections } from './me-corrections.ts';
import {
  answerOf,
  csrfField,
  faultPage,
  formButton,
  isShownDay,
  type PersonCall,
  redirect,
  type WebAnswer,
  type WebRoute,
} from './web.ts';

/** The pages of a participant. */
function meLinks(t: Texts, current: 'days' | 'data'): HeadLink[] {
  return [
    { href: '/me', words: t.me.days, isCurrent: current === 'days' },
    { href: '/me/data', words: t.me.data, isCurrent: current === 'data' },
  ];
}

/** A page of a participant. */
export async function mePage(
  call: PersonCall,
  title: string,
  current: 'days' | 'data',
  body: MarkupValue,
): Promise<WebAnswer> {
  const { t, user, store } = call;
  const signOut = formButton(call, '/me/sign-out', t.signOut);
  const study = user.study === undefined ? null : await store.studies.byName(user.study);
  const foot = markup`<p>${study === null ? t.me.noStudy : study.show_names ? t.me.underName : t.me.underCode}</p>`;
  return answerOf(shell({ t, title, brand: user.study ?? t.service, links: meLinks(t, current), signOut, foot, body }));
}

/** The zone in which a person is: that of the end of their last trip. */
async function lastTrip({ trips }: Pick<Store, 'trips'>, userId: string): Promise<Trip | null> {
  return (await trips.previous(userId, Number.MAX_VALUE))?.trip ?? null;
}

/** A week of a person, and one day of it to show. */
export interface ReadWeek {
  shown: ShownDay;
  /** Monday to Sunday. */
  week: { observed: ObservedDay; metres: number; isFinal: boolean }[];
  /** The first day with a trip, and today. */
  first: string | null;
  today: string;
}

/** Reads the week of a day; without a day that of the last one of which something is known. `isOwn`: for its person. */
export async function readWeek(
  { store, now, t }: Pick<PersonCall, 'store' | 'now' | 't'>,
  userId: string,
  asked?: string,
  isOwn = false,
): Promise<ReadWeek> {
  const last = await lastTrip(store, userId);
  const { complete_until: completeUntil, observed: seen } = await store.pipeline.get(userId);
  const zone = last?.end_zone ?? 'UTC';
  const today = localDay(now, zone);
  const known = Math.min(now, Math.max(last?.end_ts ?? 0, seen?.seen.ts ?? 0));
  const day = asked ?? (known > 0 ? localDay(known, zone) : today);
  const monday = addDays(day, -localDateTime(startOfDay(day, 'UTC'), 'UTC').weekday);
  const range = { from: monday, to: addDays(monday, 6) };
  const records = await store.trips.byDay(userId, range);
  const { days: observedDays } = await readObservedDays(store, userId, { ...range, zone });
  const observed = observedDays.find((one) => one.day === day)!;
  const chained = (ts: number): Promise<Trip | null> =>
    store.trips.previous(userId, ts).then((link) => link?.trip ?? null);
  const ofDay = records.flatMap(({ day: own, trip }) => (own === day && trip !== null ? [trip] : []));
  const earlier = await chained(records.find((one) => one.day === day)?.chain_ts ?? observed.to);
  const reaches = earlier !== null && earlier.end_ts > observed.from;
  const trips = reaches ? [earlier, ...ofDay] : ofDay;
  const before = reaches ? ((await chained(earlier.start_ts)) ?? null) : earlier;
  const after =
    (await store.trips.next(userId, records.findLast((one) => one.day === day)?.chain_ts ?? observed.to))?.trip ?? null;
  const labels = await readLabels(store, userId, { from: observed.from, to: observed.to });
  const summary = await store.trips.summary(userId);
  return {
    shown: {
      observed,
      trips,
      before,
      after,
      completeUntil,
      labels,
      placeAt: namedPlaces(await readPlaces(store, userId), t, isOwn),
      now,
    },
    week: observedDays.map((one) => ({
      observed: one,
      metres: records.reduce((sum, { day: own, trip }) => sum + (own === one.day ? (trip?.distance ?? 0) : 0), 0),
      isFinal: completeUntil !== null && completeUntil >= one.to - 1,
    })),
    first: summary.start_ts === null ? null : localDay(summary.start_ts, zone),
    today,
  };
}

/** The heading of a day, between the days beside it. */
export function dayHeading(
  day: string,
  { first, today }: ReadWeek,
  href: (day: string) => string,
  t: Texts,
  level: 'h1' | 'h2' = 'h1',
): Markup {
  const tag = new Markup(level);
  const beside = (other: string, sign: string, rel: string): MarkupValue =>
    other > today || first === null || other < first
      ? markup`<span class="step"></span>`
      : markup`<a class="step" rel="${rel}" href="${href(other)}" aria-label="${t.day(other)}">${sign}</a>`;
  return markup`<div class="hd">${beside(addDays(day, -1), '‹', 'prev')}<${tag}><time datetime="${day}">${t.day(day)} <span class="soft yr">${day.slice(0, 4)}</span></time></${tag}>${beside(addDays(day, 1), '›', 'next')}</div>`;
}

async function showDay(call: PersonCall): Promise<WebAnswer> {
  const { t, params, query, user, store } = call;
  const asked = params.day;
  if (asked !== undefined && !isShownDay(asked)) return faultPage(404, t);
  const read = await readWeek(call, user.uuid, asked, true);
  const { shown, week, first } = read;
  const { day } = shown.observed;
  const href = (other: string): string => `/me/day/${other}`;
  const said: Record<string, string> = { saved: t.me.saved, stated: t.me.statedLater };
  const saved =
    query.done === 'outside'
      ? markup`<p class="note bad" role="alert">${t.error} ${t.me.outside}</p>`
      : Object.hasOwn(said, query.done ?? '') && markup`<p class="note quiet" role="status">${said[query.done!]}</p>`;
  const before = (trip: Trip): Trip | null => shown.trips[shown.trips.indexOf(trip) - 1] ?? null;
  const actions = {
    ofTrip: (trip: Trip) => correction(call, trip, before(trip), day),
    ofStay: (stay: Parameters<typeof nameOfStay>[1]) => nameOfStay(call, stay, day),
  };
  const standings = await store.trips.corrections(user.uuid);
  const empty = first === null && markup`<p class="note quiet">${t.me.empty}</p>`;
  const body = markup`${barPatterns(shown.trips)}${saved}${dayHeading(day, read, href, t)}
${weekStrip(week, { day, today: read.today, href, now: call.now }, t)}${empty}
${dayView(shown, t, actions)}${statedOnDay(call, shown, standings)}`;
  return mePage(call, t.day(day), 'days', body);
}

// ---------------------------------------------------------------- labels

/** The form that says what a trip was; folded until it is wanted. */
function correction(call: PersonCall, trip: Trip, before: Trip | null, day: string): Markup {
  const { t } = call;
  const purposes = Object.entries(t.labelPurposes).map(
    ([value, words]) => markup`<option value="${value}">${words}</option>`,
  );
  const modes = Object.entries(t.labelModes).map(
    ([value, words]) =>
      markup`<label class="tile2"><input type="radio" name="mode" value="${value}"><span>${words}</span></label>`,
  );
  return markup`<details><summary><span>${t.me.correct}<span class="vh">${t.me.correctWhat} ${t.clock(trip.start_ts, trip.start_zone)}</span></span></summary>
<form method="post" action="/me/label">${csrfField(call)}<input type="hidden" name="day" value="${day}"><input type="hidden" name="trip" value="${trip.id}">
<fieldset><legend>${t.me.how}</legend><div class="tiles">${modes}</div></fieldset>
<label><span>${t.me.what}</span><select name="purpose"><option value="">${t.me.unsaid}</option>${purposes}</select></label>
<div class="acts"><button class="go">${t.me.save}</button></div><p class="small soft">${t.me.promise}</p></form>${tripCorrections(call, trip, before, day)}</details>`;
}

async function label(call: PersonCall): Promise<WebAnswer> {
  const { t, form, store, now, user, log } = call;
  const { day = '', trip: id = '' } = form;
  if (!isShownDay(day)) return faultPage(400, t);
  const near = await store.trips.byDay(user.uuid, { from: addDays(day, -2), to: addDays(day, 1) });
  const trip = near.find((one) => one.trip?.id === id)?.trip ?? null;
  if (trip === null) return faultPage(404, t);
  const words: { mode?: string; purpose?: string } = {};
  for (const name of ['mode', 'purpose'] as const) {
    const word = labelWord(form[name] ?? '');
    if (word !== null) words[name] = word;
  }
  const entries = labelEntries(trip, words, { origin: { program: 'my days' }, now });
  if (entries.length > 0) await putBatch(user.uuid, entries, { store, now: () => now, log, inProfile: false });
  return redirect(`/me/day/${day}?done=saved#trip-${trip.id}`);
}

/** The pages of days. */
export const dayRoutes: readonly WebRoute[] = [
  { method: 'GET', path: '/me', who: 'person', answer: showDay },
  { method: 'GET', path: '/me/day/:day', who: 'person', answer: showDay },
  { method: 'POST', path: '/me/label', who: 'person', answer: label },
];
