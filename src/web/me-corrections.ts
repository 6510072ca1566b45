import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { correctionEntry } from '../diary/corrections/new-correction.ts';
import { concernedTime, readCorrections, repeatsNewest, withoutUndone } from '../diary/corrections/read-corrections.ts';
import { ridesOf } from '../diary/corrections/stated-mode.ts';
import { labelEntries, labelWord, undoOfLabels } from '../diary/labels/label-entries.ts';
import { readLabels } from '../diary/labels/load-labels.ts';
import { readInputs } from '../diary/labels/read-inputs.ts';
import { beyondBounds } from '../intake/stated-times.ts';
import { writeTime } from '../intake/write-time.ts';
import { firstTimeShowing } from '../model/clock-times.ts';
import { type Correction, type CorrectionStanding, longestDistance } from '../model/correction.ts';
import type { Entry } from '../model/entry.ts';
import { plainMode, statedModes } from '../model/modes.ts';
import { addDays, maxTime, startOfDay, type TimeRange } from '../model/time.ts';
import { dayPath, modeField, readChoices, statedModeOf } from './me-forms.ts';
import { dayItems, labelTexts, type ShownDay, zoneOfDay } from './pages/day-items.ts';
import { type MarkupValue, markup } from './pages/markup.ts';
import type { Texts } from './pages/texts/texts.ts';
import type { FormFields, PersonCall, WebAnswer } from './web.ts';
import { banner, faultPage, formButton, formOf, isShownDay, redirect } from './web.ts';

const origin = { program: 'my days' };

const mostUndone = 50; // statements that one form undoes

/** `id`: the `write_ts` of a correction, or the `match_id` of labels. */
type Stated = { id: string; words: string };

export function statedOn(shown: ShownDay, standings: readonly CorrectionStanding[], t: Texts): Stated[] {
  const { from, to } = shown.observed;
  const isOf = (time: TimeRange): boolean => time.from < to && time.to >= from;
  const corrections = standings.flatMap(({ effect, correction }) =>
    effect !== 'undone' && correction.kind !== 'undo' && isOf(concernedTime(correction)) && holds(correction, shown, t)
      ? [{ id: String(correction.write_ts), words: correctionText(correction, shown, t) }]
      : [],
  );
  const labels = shown.trips.flatMap((trip) => {
    const inputs = shown.labels.ofTrip(trip.start_ts);
    return [...new Set(Object.values(inputs.label_ids ?? {}))].map((id) => {
      const own = Object.entries(inputs.user_input).filter(([name]) => inputs.label_ids?.[name] === id);
      const texts = labelTexts({ ...inputs, user_input: Object.fromEntries(own), additions: [] }, t, shown.labelWords);
      return { id, words: t.me.stated.label(t.clock(trip.start_ts, trip.start_zone), texts.join(' · ')) };
    });
  });
  return [...corrections, ...labels];
}

function correctionText(correction: Correction, shown: ShownDay, t: Texts): string {
  const ts = 'ts' in correction ? correction.ts : 'start_ts' in correction ? correction.start_ts : 0;
  const place = 'name' in correction ? nameInWords(correction.name, t) : placeAt(ts, shown);
  const words = correction.kind === 'mode' ? t.me.mode(correction.mode) : place;
  return t.me.stated[correction.kind](t.clock(ts, zoneOfDay(shown, ts)), words);
}

const nameInWords = (name: string, t: Texts): string => (name.toLowerCase() === 'home' ? t.me.home : name);

function placeAt(ts: number, shown: ShownDay): string {
  const item = dayItems(shown).find(({ kind, from, to }) => kind === 'stay' && from <= ts + 1 && to > ts);
  return item?.kind === 'stay' ? item.place.name : '';
}

/** False for a correction that names a place which has another name now. */
const holds = (one: Correction, shown: ShownDay, t: Texts): boolean =>
  one.kind !== 'place_name' || ['', nameInWords(one.name, t)].includes(placeAt(one.ts, shown));

export function statedList(call: PersonCall, stated: readonly Stated[], day: string): MarkupValue {
  const { t } = call;
  if (stated.length === 0) return null;
  const rows = stated.map(({ id, words }) => {
    const undo = formButton(call, '/me/correct', t.me.undo, { day, kind: 'undo', of: id });
    return markup`<li class="stated"><span>${words}</span>${undo}</li>`;
  });
  return markup`<section id="stated"><h2>${t.me.statedTitle}</h2><ul>${rows}</ul></section>`;
}

export function savedBanner(call: PersonCall, stated: readonly Stated[], message: string, day: string): MarkupValue {
  const { t } = call;
  const ids = new Set((call.query.saved ?? '').split(','));
  const saved = stated.filter(({ id }) => ids.has(id));
  const words = [message, ...saved.map((one) => `${one.words}.`)].join(' ');
  const undo = { day, kind: 'undo', of: call.query.saved ?? '' };
  return markup`<div class="saved">${banner(words)}${saved.length > 0 && formButton(call, '/me/correct', t.me.undo, undo)}</div>`;
}

export function previewBanner(call: PersonCall, correction: Correction, shown: ShownDay): MarkupValue {
  const { t } = call;
  const { day } = shown.observed;
  const { kind, ...fields } = correction as { kind: string } & Record<string, string | number>;
  const content = markup`<div class="acts"><button class="go">${t.me.save}</button><a class="btn" href="${dayPath(day)}">${t.me.cancel}</a></div>`;
  return markup`${banner(t.me.preview(correctionText(correction, shown, t)))}${formOf(call, '/me/correct', { day, kind, ...fields }, content)}`;
}

/** `outside`, `length`: the time or the length is out of bounds; null: the form is invalid. */
type Statement = Correction | 'outside' | 'length' | null;

export async function readStatement({ store, user, now }: PersonCall, form: FormFields): Promise<Statement> {
  const { kind } = form;
  const [ts, start_ts, end_ts] = [parseTime(form.ts), parseTime(form.start_ts), parseTime(form.end_ts)];
  const mode = statedModes.find((one) => one === form.mode);
  if (kind === 'split' && form.clock !== undefined) {
    const trip = (await correctedTrips(store).previous(user.uuid, Number(form.trip_ts) || now))?.trip;
    const at = trip && firstTimeShowing(form.clock, { from: trip.start_ts, to: trip.end_ts }, trip.start_zone);
    return at == null ? 'outside' : { kind, ts: at };
  }
  if (kind === 'set_aside' || kind === 'at_place' || kind === 'add') {
    if (start_ts === null || end_ts === null || end_ts <= start_ts) return null;
    if (kind === 'set_aside') return { kind, start_ts, end_ts };
    if (kind === 'at_place') return { kind, start_ts, end_ts, at: form.at === 'next' ? 'next' : 'before' };
    if (mode === undefined) return null;
    const km = form.km?.trim().replace(',', '.');
    const distance = km ? Number(km) * 1000 : form.distance ? Number(form.distance) : null;
    if (distance !== null && !(distance > 0 && distance <= longestDistance)) return 'length';
    const own = { kind, mode, ...(distance !== null && { distance }) } as const;
    if (form.from === undefined || form.to === undefined) return { ...own, start_ts, end_ts };
    const zone = (await correctedTrips(store).previous(user.uuid, start_ts + 1))?.trip?.end_zone ?? 'UTC';
    // The form has whole minutes, so its first minute may begin before the gap.
    const bounds = { from: Math.floor(start_ts / 60) * 60, to: Math.floor(end_ts / 60) * 60 + 60 };
    const begin = firstTimeShowing(form.from, bounds, zone);
    const end = firstTimeShowing(form.to, bounds, zone);
    if (begin === null || end === null || end <= begin) return 'outside';
    return { ...own, start_ts: Math.max(begin, start_ts), end_ts: Math.min(end, end_ts) };
  }
  if (ts === null) return null;
  if (kind === 'mode') return mode === undefined ? null : { kind, ts, mode };
  if (kind === 'split' || kind === 'drop' || kind === 'join') return { kind, ts };
  const name = (form.name ?? '').trim().slice(0, 60);
  return kind === 'place_name' && name !== '' ? { kind, ts, name } : null;
}

const parseTime = (text = ''): number | null =>
  /^\d+(\.\d+)?$/.test(text) && Number(text) <= maxTime ? Number(text) : null;

export async function correctDay(call: PersonCall): Promise<WebAnswer> {
  const { t, form, store, user, now } = call;
  const { day = '', kind = '' } = form;
  if (!isShownDay(day)) return faultPage(400, call);
  if (kind === 'undo') return undo(call, day);
  const found = await readStatement(call, form);
  if (typeof found === 'string') return redirect(`${dayPath(day)}?done=${found}`);
  if (found === null) return faultPage(400, call);
  // The word for "home" in the language of the page makes the place the home.
  const isHome = found.kind === 'place_name' && found.name.toLowerCase() === t.me.home.toLowerCase();
  const correction = isHome ? { ...found, name: 'home' } : found;
  const done = `${dayPath(day)}?done=${correction.kind === 'set_aside' ? 'later' : 'stated'}`;
  // A form that is sent twice stores one correction.
  if (repeatsNewest(await readCorrections(store, user.uuid), correction)) return redirect(done);
  const entry = await correctionEntry(store, user.uuid, correction, { now: writeTime(now), origin });
  if (beyondBounds(entry, now) !== null) return faultPage(400, call);
  return putAndShow(call, day, [entry], `${done}&saved=${entry.metadata.write_ts}`);
}

async function putAndShow(call: PersonCall, day: string, entries: readonly Entry[], to: string): Promise<WebAnswer> {
  const { rejected } = entries.length > 0 ? await call.put(call.user, entries) : { rejected: 0 };
  return redirect(rejected > 0 ? `${dayPath(day)}?done=full` : to);
}

async function undo(call: PersonCall, day: string): Promise<WebAnswer> {
  const { form, store, user } = call;
  const stated = await readCorrections(store, user.uuid);
  const around = { from: startOfDay(addDays(day, -1), 'UTC'), to: startOfDay(addDays(day, 2), 'UTC') };
  const inputs = await readInputs(store, user.uuid, around, { isBounded: true });
  const entries: Entry[] = [];
  for (const id of [...new Set((form.of ?? '').split(','))].slice(0, mostUndone)) {
    const now = writeTime(call.now);
    const correction = stated.find(({ write_ts }) => String(write_ts) === id);
    const undone = undoOfLabels(inputs, id, { origin, now });
    if (correction !== undefined)
      entries.push(await correctionEntry(store, user.uuid, { kind: 'undo', of: correction.write_ts }, { now, origin }));
    else if (undone.length === 0) return faultPage(400, call);
    entries.push(...undone);
  }
  const isLater = stated.some(({ kind, write_ts }) => kind === 'set_aside' && form.of === String(write_ts));
  return putAndShow(call, day, entries, `${dayPath(day)}?done=${isLater ? 'later' : 'undone'}`);
}

/** Stores the answers of a form about a trip that differ from the earlier answers. */
export async function labelTrip(call: PersonCall): Promise<WebAnswer> {
  const { t, form, store, user } = call;
  const { day = '', trip: id = '' } = form;
  if (!isShownDay(day)) return faultPage(400, call);
  const near = await correctedTrips(store).byDay(user.uuid, { from: addDays(day, -2), to: addDays(day, 1) });
  const trip = near.find((one) => one.trip?.id === id)?.trip ?? null;
  if (trip === null) return redirect(`${dayPath(day)}?done=gone`);
  const { modeOf } = await readChoices(store, user, t);
  const labels = await readLabels(store, user.uuid, { from: trip.start_ts, to: trip.end_ts });
  const { mode_confirm, purpose_confirm } = labels.ofTrip(trip.start_ts).user_input;
  const rides = ridesOf(trip.sections);
  const asked = { mode: labelWord(form.mode ?? ''), purpose: labelWord(form.purpose ?? '') };
  const words: Parameters<typeof labelEntries>[1] = {
    ...(rides.length === 1 && asked.mode !== null && asked.mode !== mode_confirm && { mode: asked.mode }),
    ...(asked.purpose !== null && asked.purpose !== purpose_confirm && { purpose: asked.purpose }),
  };
  const entries = labelEntries(trip, words, { origin, now: writeTime(call.now) });
  const add = async (correction: Correction): Promise<void> => {
    entries.push(await correctionEntry(store, user.uuid, correction, { now: writeTime(call.now), origin }));
  };
  for (const [i, { start_ts, end_ts, sensed_mode }] of rides.entries()) {
    const isOf = (ts: number): boolean => ts >= start_ts && ts <= end_ts;
    const mode = statedModeOf(modeOf(form[modeField(rides, i)] ?? ''));
    if (rides.length > 1 && mode !== null && plainMode(mode) !== plainMode(sensed_mode))
      await add({ kind: 'mode', ts: (start_ts + end_ts) / 2, mode });
    // Corrections take precedence over labels, so a new label undoes earlier corrections of the mode.
    const earlier = words.mode === undefined ? [] : withoutUndone(await readCorrections(store, user.uuid));
    for (const one of earlier) if (one.kind === 'mode' && isOf(one.ts)) await add({ kind: 'undo', of: one.write_ts });
  }
  const saved = [...new Set(entries.map(({ metadata }) => metadata.write_ts))].join(',');
  return putAndShow(call, day, entries, `${dayPath(day)}?done=saved&saved=${saved}#trip-${trip.id}`);
}
