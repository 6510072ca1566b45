// The forms with which people correct their days: the mode of a section, a trip to drop, to split or to join, time to
// ignore, the name of a place, and the undo of each. A correction is an entry. Pages show it at once; only ignored time
// waits for the next run of the pipeline.

import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { correctionEntry } from '../diary/corrections/new-correction.ts';
import { concernedTime, isNewest, readCorrections } from '../diary/corrections/read-corrections.ts';
import type { Flagged } from '../diary/flags.ts';
import { beyondBounds } from '../intake/stated-times.ts';
import { writeTime } from '../intake/write-time.ts';
import { firstTimeShowing } from '../model/clock-times.ts';
import type { Correction, CorrectionStanding } from '../model/correction.ts';
import { plainMode, statedModes } from '../model/modes.ts';
import { maxTime, type TimeRange } from '../model/time.ts';
import type { Section, Trip } from '../model/trip.ts';
import { type DayItem, type ShownDay, zoneOfDay } from './pages/day-items.ts';
import { Markup, type MarkupValue, markup } from './pages/markup.ts';
import type { Texts } from './pages/texts/texts.ts';
import {
  faultPage,
  formButton,
  formOf,
  isShownDay,
  type PersonCall,
  redirect,
  type WebAnswer,
  type WebRoute,
} from './web.ts';

const middle = (from: number, to: number): number => Math.round((from + to) / 2);

/** The form for the mode of a section. */
function modeForm(call: PersonCall, { start_ts, end_ts, sensed_mode }: Section, zone: string, day: string): Markup {
  const { t } = call;
  const own = plainMode(sensed_mode);
  const options = statedModes.map(
    (mode) => markup`<option value="${mode}"${plainMode(mode) === own && SELECTED}>${t.me.mode(mode)}</option>`,
  );
  const other = !statedModes.some((mode) => plainMode(mode) === own);
  const content = markup`<label><span>${t.me.howBetween(t.clock(start_ts, zone), t.clock(end_ts, zone))}</span><select name="mode" required>${other && markup`<option value="">${t.me.mode(sensed_mode)}</option>`}${options}</select></label><button>${t.me.save}</button>`;
  return formOf(call, '/me/correct', { day, kind: 'mode', ts: (start_ts + end_ts) / 2 }, content);
}

const SELECTED = new Markup(' selected');

const dropButton = (call: PersonCall, { start_ts, end_ts }: Trip, day: string): Markup =>
  formButton(call, '/me/correct', call.t.me.drop, { day, kind: 'drop', ts: middle(start_ts, end_ts) });

/** The forms below a trip. `before`: the trip before it if the two can be joined, else null. */
export function tripCorrections(call: PersonCall, trip: Trip, before: Trip | null, day: string): MarkupValue {
  const { t } = call;
  const ts = middle(trip.start_ts, trip.end_ts);
  const stop = [...trip.stops].sort((a, b) => b.duration - a.duration)[0];
  const proposed = t.clock(stop === undefined ? ts : middle(stop.enter_ts, stop.exit_ts), trip.start_zone);
  const join =
    before !== null &&
    formButton(call, '/me/correct', t.me.join, { day, kind: 'join', ts: middle(before.end_ts, trip.start_ts) });
  const split = markup`<label><span>${t.me.splitAt}</span><input type="time" name="clock" required value="${proposed}"></label><button>${t.me.split}</button>`;
  return markup`<p class="small soft">${t.me.changeTrip}</p>${trip.sections.map((one) => modeForm(call, one, trip.start_zone, day))}
<div class="acts">${dropButton(call, trip, day)}${join}</div>${formOf(call, '/me/correct', { day, kind: 'split', trip_ts: ts }, split)}`;
}

/** The answers to the question of a flag: another mode, a trip to drop, time to ignore. */
export function flagAnswers(call: PersonCall, { flag, of, id, from, to }: Flagged, shown: ShownDay): MarkupValue {
  const { t } = call;
  const { day, ...bounds } = shown.observed;
  if (flag === 'correction_contradicted') return markup`<a href="#stated">${t.me.statedTitle}</a>`;
  const trip = shown.trips.find((one) => one.id === id || one.sections.some((section) => section.id === id));
  if (trip === undefined || of === 'place') {
    const time = { start_ts: Math.max(from, bounds.from), end_ts: Math.min(to, bounds.to) };
    return (
      time.end_ts > time.start_ts && formButton(call, '/me/correct', t.me.takeOut, { day, kind: 'set_aside', ...time })
    );
  }
  const [longest] = [...trip.sections].sort((a, b) => b.distance - a.distance);
  const section = trip.sections.find((one) => one.id === id) ?? longest;
  return markup`${section && modeForm(call, section, trip.start_zone, day)}${dropButton(call, trip, day)}`;
}

/** The form that names the place of a stay without a name. */
export function placeNameForm(call: PersonCall, stay: Extract<DayItem, { kind: 'stay' }>, day: string): MarkupValue {
  const { t } = call;
  if (stay.place.isNamed) return null;
  const content = markup`<label><span>${t.me.placeName}</span><input name="name" maxlength="60" required autocomplete="off"></label><button class="go">${t.me.save}</button>`;
  return markup`<details><summary><span>${t.me.giveName}<span class="vh"> ${stay.place.name}</span></span></summary>
${formOf(call, '/me/correct', { day, kind: 'place_name', ts: middle(stay.from, stay.to) }, content)}</details>`;
}

/** The corrections of a day, each with a button to undo it. */
export function correctionList(
  call: PersonCall,
  shown: ShownDay,
  standings: readonly CorrectionStanding[],
): MarkupValue {
  const { t } = call;
  const { day, from, to } = shown.observed;
  const isOf = (time: TimeRange): boolean => time.from < to && time.to >= from;
  const own = standings.filter(
    ({ effect, correction }) => effect !== 'undone' && correction.kind !== 'undo' && isOf(concernedTime(correction)),
  );
  if (own.length === 0) return null;
  const rows = own.map(({ correction }) => {
    const undo = formButton(call, '/me/correct', t.me.undo, { day, kind: 'undo', of: correction.write_ts });
    return markup`<li class="stated"><span>${correctionText(correction, shown, t)}</span>${undo}</li>`;
  });
  return markup`<section id="stated"><h2>${t.me.statedTitle}</h2><ul>${rows}</ul></section>`;
}

/** The button below a banner that undoes the correction just saved; nothing if it no longer holds. */
export function undoButton(call: PersonCall, standings: readonly CorrectionStanding[], day: string): MarkupValue {
  const saved = standings.find(
    ({ effect, correction }) => effect !== 'undone' && String(correction.write_ts) === call.query.saved,
  );
  if (saved === undefined) return null;
  return formButton(call, '/me/correct', call.t.me.undo, { day, kind: 'undo', of: saved.correction.write_ts });
}

function correctionText(correction: Correction, shown: ShownDay, t: Texts): string {
  const ts = 'ts' in correction ? correction.ts : 'start_ts' in correction ? correction.start_ts : 0;
  const name = correction.kind === 'mode' ? t.me.mode(correction.mode) : 'name' in correction ? correction.name : '';
  return t.me.stated[correction.kind](t.clock(ts, zoneOfDay(shown, ts)), name);
}

/**
 * The correction that a form states; null for a form that no page has. `splitAt`: the time of the form's clock within
 * its trip.
 */
function toCorrection(form: PersonCall['form'], splitAt: number | null): Correction | null {
  const ts = parseTime(form.ts);
  const of = parseTime(form.of);
  const name = (form.name ?? '').trim().slice(0, 60);
  if (form.kind === 'undo') return of === null ? null : { kind: 'undo', of };
  if (form.kind === 'split') return splitAt === null ? null : { kind: 'split', ts: splitAt };
  const [start_ts, end_ts] = [parseTime(form.start_ts), parseTime(form.end_ts)];
  if (form.kind === 'set_aside')
    return start_ts === null || end_ts === null || end_ts <= start_ts ? null : { kind: 'set_aside', start_ts, end_ts };
  if (ts === null) return null;
  const mode = statedModes.find((one) => one === form.mode);
  if (form.kind === 'mode') return mode === undefined ? null : { kind: 'mode', ts, mode };
  if (form.kind === 'drop' || form.kind === 'join') return { kind: form.kind, ts };
  return form.kind === 'place_name' && name !== '' ? { kind: 'place_name', ts, name } : null;
}

/** A time as the forms write it: seconds since the epoch, up to the year 9999; null for anything else. */
const parseTime = (text = ''): number | null =>
  /^\d+(\.\d+)?$/.test(text) && Number(text) <= maxTime ? Number(text) : null;

async function correct(call: PersonCall): Promise<WebAnswer> {
  const { t, form, store, user, now } = call;
  const { day = '', clock = '', trip_ts = '' } = form;
  if (!isShownDay(day)) return faultPage(400, t);
  const link = await correctedTrips(store).previous(user.uuid, Number(trip_ts) || now);
  const splitAt = link?.trip ? timeWithin(link.trip, clock) : null;
  const correction = toCorrection(form, splitAt);
  if (correction === null) return form.kind === 'split' ? redirect(`/me/day/${day}?done=outside`) : faultPage(400, t);
  const stated = await readCorrections(store, user.uuid);
  if (correction.kind === 'undo' && !stated.some((one) => one.write_ts === correction.of)) return faultPage(400, t);
  const concerned = correction.kind === 'undo' ? stated.find((one) => one.write_ts === correction.of)! : correction;
  const done = redirect(`/me/day/${day}?done=${concerned.kind === 'set_aside' ? 'later' : 'stated'}`);
  // A form that is sent twice stores one correction.
  if (isNewest(stated, correction)) return done;
  const author = {
    now: writeTime(now),
    origin: { program: 'my days' },
    ...(link?.trip && { zone: link.trip.start_zone }),
  };
  const entry = await correctionEntry(store, user.uuid, correction, author);
  if (beyondBounds(entry, now) !== null) return faultPage(400, t);
  const { rejected } = await call.put(user, [entry]);
  if (rejected > 0) return redirect(`/me/day/${day}?done=full`);
  return correction.kind === 'undo' ? done : redirect(`${done.headers!.Location}&saved=${entry.metadata.write_ts}`);
}

const timeWithin = ({ start_ts, end_ts, start_zone }: Trip, clock: string): number | null =>
  firstTimeShowing(clock, { from: start_ts, to: end_ts }, start_zone);

/** The routes of the forms. */
export const correctionRoutes: readonly WebRoute[] = [
  { method: 'POST', path: '/me/correct', who: 'person', answer: correct },
];
