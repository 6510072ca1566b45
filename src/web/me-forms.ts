// The forms of a day. A form that changes more than one answer first shows a preview.
import { ridesOf } from '../diary/corrections/stated-mode.ts';
import type { Flagged } from '../diary/flags.ts';
import { modeOfLabel, plainMode, statedModes } from '../model/modes.ts';
import { type LabelOption, labelModes, studyLabels } from '../model/study-labels.ts';
import type { Section, Trip } from '../model/trip.ts';
import { zoneWithin } from '../model/trip-fields.ts';
import type { UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import type { DayItem, ShownDay, ShownPlace } from './pages/day-items.ts';
import { dayItems, isOutside, itemId, zoneOfDay } from './pages/day-items.ts';
import type { ItemOf } from './pages/day-view.ts';
import { type Markup, type MarkupValue, markup, optionList } from './pages/markup.ts';
import { icon, styleOf } from './pages/mode-styles.ts';
import { ownValue, type Texts } from './pages/texts/texts.ts';
import { formButton, formOf, type PersonCall } from './web.ts';

export const dayPath = (day: string): string => `/me/day/${day}`;

const middle = (from: number, to: number): number => Math.round((from + to) / 2);

/** Returns the labels of the person's study, else the usual labels. `modeOf`: the mode of a label. */
export async function readChoices({ studies }: Store, { study }: UserRecord, t: Texts) {
  const config = study === undefined ? null : (await studies.byName(study))?.config;
  const usual = (words: Record<string, string>): LabelOption[] =>
    Object.entries(words).map(([value, words]) => ({ value, words }));
  const { modes = usual(t.labelModes), purposes = usual(t.labelPurposes) } = studyLabels(config, t.language) ?? {};
  return { modes, purposes, modeOf: labelModes(config) };
}
export type Choices = Awaited<ReturnType<typeof readChoices>>;

const previewPath = '/me/preview';

/** The link replaces a form: the forms of all items would make the page too long. */
const addLink = (day: string, item: string, t: Texts): Markup =>
  markup`<a class="fold" href="${dayPath(day)}?correct=${item}#${item}"><span>${t.me.madeTrip}</span></a>`;

export const tripLink = (day: string, trip: Trip, what: 'correct' | 'why', t: Texts): Markup =>
  markup`<a class="fold" href="${dayPath(day)}?${what}=${trip.id}#trip-${trip.id}"><span>${tripWords(trip, what, t)}</span></a>`;

/** The words name the trip for screen readers. */
const tripWords = ({ start_ts, start_zone }: Trip, what: 'correct' | 'why', t: Texts): Markup =>
  markup`${what === 'why' ? t.me.why.title : t.me.correct}<span class="vh">${t.me.correctWhich(t.clock(start_ts, start_zone))}</span>`;

export const tripWhy = (trip: Trip, t: Texts): Markup =>
  markup`<details open><summary><span>${tripWords(trip, 'why', t)}</span></summary><ul class="small why">${tripReasons(trip, t).map((one) => markup`<li>${one}</li>`)}</ul></details>`;

/** The current answer is preselected. `given`: the label, if the trip has one. */
function modeQuestion(t: Texts, name: string, legend: string, ride: Section, choices: Choices, given?: string): Markup {
  const { sensed_mode } = ride;
  const { modes, modeOf } = choices;
  const present = plainMode(sensed_mode);
  const same = modes.filter(({ value }) => modeOf(value) === present);
  const chosen = same.length === 1 ? same[0] : same.find(({ words }) => words === t.me.section(sensed_mode));
  const known = given ?? chosen?.value ?? '';
  const isListed = modes.some(({ value }) => value === known);
  const words = given === undefined ? t.me.section(sensed_mode) : (ownValue(t.labelModes, given) ?? given);
  const options = [...(isListed ? [] : [{ value: known, words }]), ...modes];
  const tiles = options.map(({ value, words }) => {
    const look = value === '' ? sensed_mode : (modeOf(value) ?? '');
    return markup`<label class="tile2"><input type="radio" name="${name}" value="${value}"${value === known && markup` checked`}>${icon(styleOf(look).name)}<span>${words}</span></label>`;
  });
  return markup`<fieldset><legend>${legend}</legend><div class="tiles">${tiles}</div></fieldset>`;
}

export const modeField = (rides: readonly Section[], i: number): string => (rides.length === 1 ? 'mode' : `mode_${i}`);

export function tripForms(call: PersonCall, trip: Trip, before: Trip | null, shown: ShownDay, choices: Choices) {
  const { t, query } = call;
  const { day } = shown.observed;
  const { mode_confirm: mode, purpose_confirm: purpose } = shown.labels.ofTrip(trip.start_ts).user_input;
  const rides = ridesOf(trip.sections);
  const isOne = rides.length === 1;
  // With several rides, the answer becomes a correction, which needs a mode.
  const modes = choices.modes.filter(({ value }) => isOne || statedModeOf(choices.modeOf(value)) !== null);
  const questions = rides.map((ride, i) => {
    const times = [t.clock(ride.start_ts, trip.start_zone), t.clock(ride.end_ts, trip.start_zone)] as const;
    const given = isOne && typeof mode === 'string' ? mode : undefined;
    const question = isOne ? t.me.how : t.me.howBetween(...times);
    return modeQuestion(t, modeField(rides, i), question, ride, { ...choices, modes }, given);
  });
  const other = typeof purpose === 'string' && !choices.purposes.some(({ value }) => value === purpose);
  const form = markup`${questions}
<label><span>${t.me.what}</span><select name="purpose"><option value="">${t.me.unsaid}</option>${other && markup`<option value="${purpose}" selected>${purpose}</option>`}${optionList(choices.purposes, purpose)}</select></label>
<div class="acts"><button class="go">${t.me.save}</button>${cancelLink(call, day, `trip-${trip.id}`)}</div><p class="small soft">${t.me.promise}</p>`;
  const ts = middle(trip.start_ts, trip.end_ts);
  const stop = [...trip.stops].sort((a, b) => b.duration - a.duration)[0];
  const proposed = t.clock(stop === undefined ? ts : middle(stop.enter_ts, stop.exit_ts), trip.start_zone);
  const split = markup`<label><span>${t.me.splitAt}</span><input type="time" name="clock" required value="${query.clock ?? proposed}"></label><button>${t.me.split}</button>`;
  const joined = before && { day, kind: 'join', ts: middle(before.end_ts, trip.start_ts) };
  const join = joined && formButton(call, previewPath, t.me.join, joined);
  const isOpen = query.clock !== undefined && markup` open`;
  return markup`<details open><summary><span>${tripWords(trip, 'correct', t)}</span></summary>
${formOf(call, '/me/label', { day, trip: trip.id }, form)}<details${isOpen}><summary><span>${t.me.more}</span></summary>
<div class="acts">${formButton(call, previewPath, t.me.drop, { day, kind: 'drop', ts })}${join}</div>
${formOf(call, previewPath, { day, kind: 'split', trip_ts: ts, correct: trip.id }, split)}</details></details>`;
}

const cancelLink = ({ t }: PersonCall, day: string, item: string): Markup =>
  markup`<a class="btn" href="${dayPath(day)}#${item}">${t.me.cancel}</a>`;

export const statedModeOf = (mode: string | null): string | null =>
  (mode !== null && statedModes.find((one) => modeOfLabel(one) === mode)) || null;

export function flagAnswers(call: PersonCall, { flag, of, id, from, to }: Flagged, shown: ShownDay): MarkupValue {
  const { t } = call;
  const { day, ...bounds } = shown.observed;
  if (flag === 'correction_contradicted') return markup` <a href="#stated">${t.me.statedTitle}</a>`;
  const trip = shown.trips.find((one) => one.id === id || one.sections.some((section) => section.id === id));
  if (trip === undefined || of === 'place') {
    const [start_ts, end_ts] = [Math.max(from, bounds.from), Math.min(to, bounds.to)];
    const time = { day, kind: 'set_aside', start_ts, end_ts };
    return end_ts > start_ts && formButton(call, '/me/correct', t.me.takeOut, time);
  }
  const [longest] = [...trip.sections].sort((a, b) => b.distance - a.distance);
  const section = trip.sections.find((one) => one.id === id) ?? longest;
  const ts = middle(trip.start_ts, trip.end_ts);
  return markup`${section && modeForm(call, section, trip.start_zone, day)}${formButton(call, previewPath, t.me.drop, { day, kind: 'drop', ts })}`;
}

function modeForm(call: PersonCall, { start_ts, end_ts, sensed_mode }: Section, zone: string, day: string): Markup {
  const { t } = call;
  const own = plainMode(sensed_mode);
  const other = !statedModes.some((mode) => plainMode(mode) === own);
  const content = markup`<label><span>${t.me.howBetween(t.clock(start_ts, zone), t.clock(end_ts, zone))}</span>${modeSelect(t, own, other && markup`<option value="">${t.me.mode(sensed_mode)}</option>`)}</label><button>${t.me.save}</button>`;
  return formOf(call, '/me/correct', { day, kind: 'mode', ts: (start_ts + end_ts) / 2 }, content);
}

function modeSelect(t: Texts, chosen: string | undefined, first: MarkupValue): Markup {
  const modes = statedModes.map((value) => ({ value, words: t.me.mode(value) }));
  const own = statedModes.find((mode) => plainMode(mode) === chosen);
  return markup`<select name="mode" required>${first}${optionList(modes, own)}</select>`;
}

export function stayForms(call: PersonCall, stay: ItemOf<'stay'>, shown: ShownDay): MarkupValue {
  const { t, query } = call;
  const { day } = shown.observed;
  const { name, isNamed } = stay.place;
  if (query.correct === itemId(stay)) return addForm(call, stay, shown);
  const ts = middle(stay.from, stay.to);
  const content = markup`<label><span>${t.me.placeName}</span><input name="name" maxlength="60" required autocomplete="off"${isNamed && markup` value="${name}"`}></label><button class="go">${t.me.save}</button>`;
  const isFirst = dayItems(shown).find((one) => one.kind === 'stay' && one.place.isGuess)?.from === stay.from;
  const home = { day, kind: 'place_name', ts, name: 'home' };
  const confirm = isFirst && formButton(call, '/me/correct', t.me.isHome, home);
  return markup`${confirm}<div class="acts"><details><summary><span>${isNamed ? t.me.rename : t.me.giveName}<span class="vh"> ${name}</span></span></summary>
${formOf(call, '/me/correct', { day, kind: 'place_name', ts }, content)}</details>${addLink(day, itemId(stay), t)}</div>`;
}

export function gapForms(call: PersonCall, gap: ItemOf<'gap'>, shown: ShownDay): MarkupValue {
  const { t, query } = call;
  const { day } = shown.observed;
  if (isOutside(gap) || gap.reason === 'nothing received') return null;
  if (query.correct === itemId(gap)) return addForm(call, gap, shown);
  const time = { start_ts: gap.from, end_ts: gap.to };
  const wasAt = (place: ShownPlace | null, at: string): MarkupValue =>
    place && formButton(call, previewPath, t.me.wasAt(place.name), { day, kind: 'at_place', ...time, at });
  const isSame = gap.here?.name === gap.there?.name;
  return markup`<div class="acts">${wasAt(gap.here, 'before')}${!isSame && wasAt(gap.there, 'next')}</div>
${addLink(day, itemId(gap), t)}`;
}

function addForm(call: PersonCall, item: DayItem, shown: ShownDay): Markup {
  const { t, query } = call;
  const { day } = shown.observed;
  const clock = (ts: number): string => t.clock(ts, zoneOfDay(shown, ts));
  const field = (name: string, words: string, proposed: number): Markup =>
    markup`<label><span>${words}</span><input type="time" name="${name}" required value="${query[name] ?? clock(proposed)}"></label>`;
  const content = markup`${field('from', t.me.begins, item.from)}${field('to', t.me.ends, item.to)}
<label><span>${t.me.how}</span>${modeSelect(t, query.mode === undefined ? undefined : plainMode(query.mode), null)}</label>
<label><span>${t.me.howFar}</span><input name="km" inputmode="decimal" maxlength="6" pattern="[0-9]+([.,][0-9]+)?" value="${query.km ?? ''}"></label>
<div class="acts"><button class="go">${t.me.show}</button>${cancelLink(call, day, itemId(item))}</div>`;
  const bounds = { day, kind: 'add', start_ts: item.from, end_ts: item.to, correct: itemId(item) };
  return markup`<details open><summary><span>${t.me.madeTrip}</span></summary>${formOf(call, previewPath, bounds, content)}</details>`;
}

// Explains a trip to the person who made it, from the evidence that is stored with the trip.
//
//   start "movement", bus 0.91   ->   It begins where your phone began to move.
//                                     07:57 to 08:09: bus 91 %, train 6 %. On average 29 km/h.
const leastShown = 0.05; // a mode with a lower probability is not named

function tripReasons(trip: Trip, t: Texts): string[] {
  const { evidence, sections, start_zone, corrected } = trip;
  const words = t.me.why;
  const texts: (string | undefined)[] = [corrected === true && evidence ? words.corrected : undefined];
  if (evidence !== undefined) {
    const { start, end, ended_by, parted_by, waits = [], left_out } = evidence;
    texts.push(ownValue(words.start, start), ownValue(words.end, end), ownValue(words.endedBy, ended_by));
    for (const { start_ts, end_ts, reason } of waits)
      texts.push(words.wait(t.clock(start_ts, start_zone), t.clock(end_ts, start_zone), ownValue(words.waits, reason)));
    texts.push(ownValue(words.parted, parted_by));
    const ignored = Object.values(left_out).reduce((sum, count) => sum + count, 0);
    if (ignored > 0) texts.push(words.ignored(ignored));
  }
  texts.push(...sections.map((section) => modeReason(section, zoneWithin(trip, section.start_ts), t)));
  return texts.filter((one) => one !== undefined);
}

function modeReason({ sensed_mode, source, ...section }: Section, zone: string, t: Texts): string {
  const { start_ts, end_ts, distance, duration, mode_confidence, mode_probabilities = {} } = section;
  const others = Object.entries(mode_probabilities)
    .filter(([name, p]) => plainMode(name) !== plainMode(sensed_mode) && p >= leastShown)
    .sort(([, a], [, b]) => b - a);
  const named = (mode: string, p?: number): string => `${t.me.mode(mode)}${p === undefined ? '' : ` ${t.share(p)}`}`;
  const listed = [named(sensed_mode, mode_confidence), ...others.map(([name, p]) => named(name, p))].join(', ');
  const chances = source === 'label' || source === 'correction' ? t.me.why.stated(listed) : listed;
  const speed = t.number(duration > 0 ? (3.6 * distance) / duration : 0);
  return t.me.why.mode(t.clock(start_ts, zone), t.clock(end_ts, zone), chances, speed);
}
