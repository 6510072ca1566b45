// What people state about their days: a trip that did not happen, was two or was one with another, the name of a place;
// and taking it back. Each becomes an entry, which counts from the next run of the pipeline on.
import { correctionEntry } from '../corrections/entry.ts';
import { putBatch } from '../intake/put-batch.ts';
import type { Correction, CorrectionStanding } from '../model/correction.ts';
import { maxTime } from '../model/time.ts';
import type { Trip } from '../model/trip.ts';
import { type DayItem, type ShownDay, zoneOfDay } from '../pages/day-items.ts';
import { type MarkupValue, markup } from '../pages/markup.ts';
import type { Texts } from '../pages/texts/texts.ts';
import {
  csrfField,
  faultPage,
  formButton,
  isShownDay,
  type PersonCall,
  redirect,
  type WebAnswer,
  type WebRoute,
} from './web.ts';

const middle = (from: number, to: number): number => Math.round((from + to) / 2);

/** The buttons below a trip. `before`: the trip before it, where both could be one. */
export function tripCorrections(call: PersonCall, trip: Trip, before: Trip | null, day: string): MarkupValue {
  const { t } = call;
  const ts = String(middle(trip.start_ts, trip.end_ts));
  const stop = [...trip.stops].sort((a, b) => b.duration - a.duration)[0];
  const proposed = t.clock(stop === undefined ? Number(ts) : middle(stop.enter_ts, stop.exit_ts), trip.start_zone);
  const join =
    before !== null &&
    formButton(call, '/me/correct', t.me.join, { day, kind: 'join', ts: String(middle(before.end_ts, trip.start_ts)) });
  return markup`<p class="small soft">${t.me.changeTrip}</p><div class="acts">${formButton(call, '/me/correct', t.me.drop, { day, kind: 'drop', ts })}${join}</div>
<form method="post" action="/me/correct">${csrfField(call)}<input type="hidden" name="day" value="${day}"><input type="hidden" name="kind" value="split"><input type="hidden" name="trip_ts" value="${ts}">
<label><span>${t.me.splitAt}</span><input type="time" name="clock" required value="${proposed}"></label><button>${t.me.split}</button></form>`;
}

/** The form that names the place of a stay, where nobody named it. */
export function nameOfStay(call: PersonCall, stay: Extract<DayItem, { kind: 'stay' }>, day: string): MarkupValue {
  const { t } = call;
  if (stay.place.isNamed) return null;
  const ts = middle(stay.from, stay.to);
  return markup`<details><summary><span>${t.me.giveName}<span class="vh"> ${stay.place.name}</span></span></summary>
<form method="post" action="/me/correct">${csrfField(call)}<input type="hidden" name="day" value="${day}"><input type="hidden" name="kind" value="place_name"><input type="hidden" name="ts" value="${ts}">
<label><span>${t.me.placeName}</span><input name="name" maxlength="60" required autocomplete="off"></label><button class="go">${t.me.save}</button></form></details>`;
}

/** What was stated about the day, each with a button that takes it back. */
export function statedOnDay(call: PersonCall, shown: ShownDay, standings: readonly CorrectionStanding[]): MarkupValue {
  const { t } = call;
  const { day } = shown.observed;
  const own = standings.filter((one) => one.day === day && one.effect !== 'undone' && one.correction.kind !== 'undo');
  if (own.length === 0) return null;
  const rows = own.map(({ correction }) => {
    const undo = formButton(call, '/me/correct', t.me.undo, { day, kind: 'undo', of: String(correction.write_ts) });
    return markup`<li class="stated"><span>${statedText(correction, shown, t)}</span>${undo}</li>`;
  });
  return markup`<section><h2>${t.me.statedTitle}</h2><ul>${rows}</ul></section>`;
}

function statedText(correction: Correction, shown: ShownDay, t: Texts): string {
  const ts = 'ts' in correction ? correction.ts : 'start_ts' in correction ? correction.start_ts : 0;
  return t.me.stated(
    t.clock(ts, zoneOfDay(shown, ts)),
    t.me.statedKinds[correction.kind],
    'name' in correction ? correction.name : '',
  );
}

/** What a form states; null: it is none of ours. `dayOf`: the time of a clock on the day of the trip that is meant. */
function statedBy(form: PersonCall['form'], splitAt: number | null): Correction | null {
  const ts = timeIn(form.ts);
  const of = timeIn(form.of);
  const name = (form.name ?? '').trim().slice(0, 60);
  if (form.kind === 'undo') return of === null ? null : { kind: 'undo', of };
  if (form.kind === 'split') return splitAt === null ? null : { kind: 'split', ts: splitAt };
  if (ts === null) return null;
  if (form.kind === 'drop' || form.kind === 'join') return { kind: form.kind, ts };
  return form.kind === 'place_name' && name !== '' ? { kind: 'place_name', ts, name } : null;
}

/** A time as the forms write it: seconds since the epoch, up to the year 9999; null for anything else. */
const timeIn = (text = ''): number | null =>
  /^\d+(\.\d+)?$/.test(text) && Number(text) <= maxTime ? Number(text) : null;

async function correct(call: PersonCall): Promise<WebAnswer> {
  const { t, form, store, user, now, log } = call;
  const { day = '', clock = '', trip_ts = '' } = form;
  if (!isShownDay(day)) return faultPage(400, t);
  const link = await store.trips.previous(user.uuid, Number(trip_ts) || now);
  const splitAt = link?.trip && /^\d\d:\d\d$/.test(clock) ? timeWithin(link.trip, clock, t) : null;
  const correction = statedBy(form, splitAt);
  if (correction === null) return form.kind === 'split' ? redirect(`/me/day/${day}?done=outside`) : faultPage(400, t);
  const isKnown = async (of: number): Promise<boolean> =>
    (await store.trips.corrections(user.uuid)).some((one) => one.correction.write_ts === of);
  if (correction.kind === 'undo' && !(await isKnown(correction.of))) return faultPage(400, t);
  const author = { now, origin: { program: 'my days' }, ...(link?.trip && { zone: link.trip.start_zone }) };
  const entry = await correctionEntry(store, user.uuid, correction, author);
  await putBatch(user.uuid, [entry], { store, now: () => now, log, inProfile: false });
  return redirect(`/me/day/${day}?done=stated`);
}

/** The minute of a trip at which clocks showed this; null: none did. */
function timeWithin({ start_ts, end_ts, start_zone }: Trip, clock: string, t: Texts): number | null {
  for (let ts = Math.ceil(start_ts / 60) * 60; ts < end_ts; ts += 60) if (t.clock(ts, start_zone) === clock) return ts;
  return null;
}

/** What the forms do. */
export const correctionRoutes: readonly WebRoute[] = [
  { method: 'POST', path: '/me/correct', who: 'person', answer: correct },
];
