import { correctedTrips, everyCorrectedLink } from '../diary/corrections/corrected-trips.ts';
import { readCorrections } from '../diary/corrections/read-corrections.ts';
import { type SurveyAnswer, surveyAnswers } from '../diary/labels/survey-answers.ts';
import { readObservedDays } from '../diary/observed-time.ts';
import type { DayStore } from '../diary/read-days.ts';
import { studyTexts } from '../model/study-texts.ts';
import { addDays, daysOfMonth, daysOfWeek, localDay, monthBeside, type TimeRange } from '../model/time.ts';
import type { Position, Trip } from '../model/trip.ts';
import type { UserRecord } from '../model/user.ts';
import { everyEntry } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { previewBanner, readStatement, savedBanner, statedList, statedOn } from './me-corrections.ts';
import { dayPath, flagAnswers, gapForms, readChoices, stayForms, tripForms, tripLink, tripWhy } from './me-forms.ts';
import { type ShownDay, settledUntil } from './pages/day-items.ts';
import { answerList, barPatterns, type DayActions, dayView } from './pages/day-view.ts';
import { type MarkupValue, markup } from './pages/markup.ts';
import type { DayRow, NeighbourLink } from './pages/overview.ts';
import { dayRow, dayTitle, listByWeek, monthSteps, monthSummary, stepHeading, weekStrip } from './pages/overview.ts';
import { type Shell, shell } from './pages/shell.ts';
import { ownValue, type Texts } from './pages/texts/texts.ts';
import { shownDays } from './shown-days.ts';
import { baseMapOf } from './tiles.ts';
import type { MePage, PersonCall, WebAnswer } from './web.ts';
import { answerOf, banner, faultPage, formButton, isShownDay, meLinks } from './web.ts';

async function frameOf(call: PersonCall, current?: MePage): Promise<Partial<Shell>> {
  const { t, user, store } = call;
  const signOut = formButton(call, '/me/sign-out', t.signOut);
  const links = meLinks(t, current);
  const study = user.study === undefined ? null : await store.studies.byName(user.study);
  const brand = study === null ? t.service : studyTexts(study, call.preferred).name;
  const foot = markup`<p>${study === null ? t.me.noStudy : study.show_names ? t.me.underName : t.me.underCode}</p>`;
  return { brand, links, signOut, foot };
}

export async function mePage(call: PersonCall, title: string, current: MePage, body: MarkupValue): Promise<WebAnswer> {
  // A link to another language could not send the form again.
  const query = call.form.kind === undefined ? {} : null;
  return answerOf(shell({ t: call.t, title, ...(await frameOf(call, current)), query, body }));
}

async function readKnownDays(store: DayStore, userId: string, now: number) {
  const [draft] = await correctedTrips(store).drafts(userId);
  const earliest = (await correctedTrips(store).next(userId, -Number.MAX_VALUE)) ?? draft ?? null;
  const last = await correctedTrips(store).previous(userId, Number.MAX_VALUE);
  const { observed } = await store.pipeline.get(userId);
  const zone = (last ?? draft)?.trip?.end_zone ?? 'UTC';
  const today = localDay(now, zone);
  const known = Math.min(now, Math.max(last?.end_ts ?? 0, observed?.seen.ts ?? 0));
  const first = earliest && localDay(earliest.start_ts, zone);
  return { zone, today, first, last: known > 0 ? localDay(known, zone) : today };
}

export async function readDay(
  { store: source, now, t }: Pick<PersonCall, 'now' | 't'> & { store: DayStore },
  user: UserRecord,
  { day: asked, isOwn, href }: { day: string | undefined; isOwn: boolean; href: (day: string) => string },
) {
  const store = { ...source, corrections: await readCorrections(source, user.uuid) };
  const { zone, today, first, last } = await readKnownDays(store, user.uuid, now);
  const day = asked ?? last;
  const week = await readObservedDays(store, user.uuid, { ...daysOfWeek(day), zone });
  const { value } = await shownDays(store, user, { from: day, to: day }, { t, now, isOwn }).next();
  const shown = isOwn ? { ...value!, others: await readOtherPaths(store, user.uuid, value!) } : value!;
  const strip = week.days.map((observed) => ({
    observed,
    metres: week.links.reduce((sum, { day: own, trip }) => sum + (own === observed.day ? (trip?.distance ?? 0) : 0), 0),
    isFinal: settledUntil({ ...shown, observed }) >= observed.to,
  }));
  const link = (other: string): NeighbourLink | null =>
    other > today || first === null || other < first ? null : { href: href(other), words: t.day(other) };
  const [before, after] = [addDays(day, -1), addDays(day, 1)];
  // A day without neighbours leads to the nearest day that may have data.
  const beside = [link(before > today ? last : before), link(first !== null && after < first ? first : after)] as const;
  return {
    shown,
    first,
    heading: stepHeading(dayTitle(day, t), beside, isOwn ? 'h1' : 'h2'),
    strip: weekStrip(strip, { day, today, href, now }, t),
  };
}

const pathsReach = 30 * 86_400; // s; a map also shows the trips of this time before the end of the day

async function readOtherPaths(store: DayStore, userId: string, { observed, trips }: ShownDay): Promise<Position[][]> {
  if (trips.length === 0) return [];
  const range = { from: observed.to - pathsReach, to: observed.to };
  const paths: Position[][] = [];
  for await (const { trip } of everyCorrectedLink(store, userId, range)) {
    if (trip === null || trips.some(({ id }) => id === trip.id)) continue;
    paths.push(...trip.sections.map(({ coordinates }) => coordinates));
  }
  return paths.reverse();
}

const surveyKeys = ['manual/survey', 'manual/demographic_survey'];

async function readAnswers({ usercache, timeseries }: Store, userId: string, range: TimeRange) {
  const query = { keys: surveyKeys, time: 'ts', ...range } as const;
  const found = new Map<number, SurveyAnswer[]>();
  for (const part of [usercache, timeseries])
    for await (const entry of everyEntry(part, userId, query)) found.set(entry.metadata.write_ts, surveyAnswers(entry));
  return [...found.values()].flat();
}

function dayDownload(day: string, t: Texts): MarkupValue {
  const links = Object.entries(t.mine.formats).map(([format, words]) => {
    const query = new URLSearchParams({ from: day, to: day, format });
    return markup`<a class="btn" href="${`/me/data/download?${query}`}">${words}</a>`;
  });
  return markup`<section><p class="small soft">${t.me.downloadDay}</p><div class="acts">${links}</div></section>`;
}

export async function showDay(call: PersonCall): Promise<WebAnswer> {
  const { t, params, query, user, store, now } = call;
  if (params.day !== undefined && !isShownDay(params.day)) return faultPage(404, call, { frame: await frameOf(call) });
  const isPreview = call.form.kind !== undefined;
  const wanted = isPreview ? await readStatement(call, call.form) : null;
  if (isPreview && wanted === null) return faultPage(400, call);
  const which = { day: params.day, isOwn: true, href: dayPath };
  if (wanted !== null && typeof wanted === 'object') {
    const stated = { ...wanted, write_ts: now, received_ts: now };
    const corrections = [...(await readCorrections(store, user.uuid)), stated];
    const { shown, heading } = await readDay({ ...call, store: { ...store, corrections } }, user, which);
    const body = markup`${barPatterns(shown.trips)}${heading}${previewBanner(call, wanted, shown)}${dayView(shown, t)}`;
    return mePage(call, t.day(shown.observed.day), 'days', body);
  }
  const { shown, first, heading, strip } = await readDay(call, user, which);
  const { day, from, to } = shown.observed;
  const choices = await readChoices(store, user, t);
  const before = (trip: Trip): Trip | null => shown.trips[shown.trips.indexOf(trip) - 1] ?? null;
  const actions: DayActions = {
    base: baseMapOf(call, '/me'),
    ofTrip: (trip) => {
      const forms = trip.id === query.correct && tripForms(call, trip, before(trip), shown, choices);
      const why = trip.id === query.why && tripWhy(trip, t);
      return [forms || tripLink(day, trip, 'correct', t), why || tripLink(day, trip, 'why', t)];
    },
    ofStay: (stay) => stayForms(call, stay, shown),
    ofGap: (gap) => gapForms(call, gap, shown),
    ofFlag: (flag) => flagAnswers(call, flag, shown),
  };
  const standings = await correctedTrips(store).corrections(user.uuid, { from, to });
  const stated = statedOn(shown, standings, t);
  const wrong = wanted === 'outside' && call.form.kind === 'add' ? t.me.outsideStay : null;
  const failed = wrong ?? ownValue(t.me.failed, wanted ?? query.done);
  const message = ownValue(t.me.done, query.done);
  const saved = message !== undefined && savedBanner(call, stated, message, day);
  const done = failed === undefined ? saved : banner(`${t.error} ${failed}`, 'bad');
  const body = markup`${barPatterns(shown.trips)}${done}${heading}${strip}${first === null && banner(t.me.empty)}
${dayView(shown, t, actions)}${answerList(await readAnswers(store, user.uuid, { from, to }), t)}${statedList(call, stated, day)}${shown.trips.length > 0 && dayDownload(day, t)}`;
  return mePage(call, t.day(day), 'days', body);
}

/** A form with a wrong time or length is shown again as it was sent. */
export const previewDay = (call: PersonCall): Promise<WebAnswer> =>
  showDay({ ...call, params: { day: call.form.day ?? '' }, query: call.form });

const lastDays = 30;

export async function showMonth(call: PersonCall): Promise<WebAnswer> {
  const { t, params, user, store, now } = call;
  const { month } = params;
  if (month !== undefined && !isShownDay(`${month}-01`)) return faultPage(404, call, { frame: await frameOf(call) });
  const { today, first, last } = await readKnownDays(store, user.uuid, now);
  const latest = last < addDays(today, -lastDays) ? last : today;
  const usual = { from: addDays(latest, 1 - lastDays), to: latest };
  const { from, to: end } = month === undefined ? usual : daysOfMonth(month);
  const rows: DayRow[] = [];
  for await (const day of shownDays(store, user, { from, to: end < today ? end : today }, { t, now, isOwn: true }))
    rows.push(dayRow(day, dayPath(day.observed.day), t));
  const [earliest, newest] = [(first ?? today).slice(0, 7), today.slice(0, 7)];
  const before = addDays(from, -1).slice(0, 7);
  const steps = monthSteps(monthBeside(before, 31), '/me/month', earliest, month === undefined ? before : newest, t);
  const title = month === undefined ? t.me.lastDays(lastDays) : t.month(from);
  const body = markup`${barPatterns(null)}${stepHeading(title, steps)}${first === null && banner(t.me.empty)}
${rows.length > 0 ? markup`${monthSummary(rows, t)}${listByWeek(rows, t)}` : banner(t.me.reasons['not yet'])}`;
  return mePage(call, title, 'month', body);
}
