import type { Flag, Flagged } from '../../diary/flags.ts';
import { answersIn, type SurveyAnswer } from '../../diary/labels/survey-answers.ts';
import { lineName, modeTotals } from '../../diary/mode-text.ts';
import { metresPerDegree } from '../../model/geo/distance.ts';
import { formatTime } from '../../model/time.ts';
import type { Position, Section, Trip } from '../../model/trip.ts';
import { estimatedOf } from '../../model/trip-fields.ts';
import { dayBar } from './day-bar.ts';
import type { DayItem, ShownDay, ShownPlace } from './day-items.ts';
import { dayItems, isOutside, itemId, labelTexts, recordedTime, settledUntil, zoneOfDay } from './day-items.ts';
import { type BaseMap, dayMap, type MapPlace } from './day-map.ts';
import { factList, html, Markup, type MarkupValue, markup } from './markup.ts';
import { icon, modeLine, modePatterns, modeStyles, styleOf } from './mode-styles.ts';
import type { Texts } from './texts/texts.ts';

export type ItemOf<Kind extends DayItem['kind']> = Extract<DayItem, { kind: Kind }>;

export interface DayActions {
  ofTrip?: (trip: Trip) => MarkupValue;
  ofStay?: (stay: ItemOf<'stay'>) => MarkupValue;
  ofGap?: (gap: ItemOf<'gap'>) => MarkupValue;
  ofFlag?: (flag: Flagged) => MarkupValue;
  base?: BaseMap | null;
}

/** `id`: a prefix for the ids of headings, for pages with several days. */
export function dayView(day: ShownDay, t: Texts, actions: DayActions = {}, id = ''): Markup {
  const items = dayItems(day);
  const own = items.flatMap((item) => (item.kind === 'trip' ? [item.trip] : []));
  if (items.every(isOutside)) {
    const [gap] = items;
    const why = day.observed.from > day.now || gap?.kind !== 'gap' ? t.me.future : t.me.reasons[gap.reason];
    return markup`<p class="lead"><b>${why}</b></p>`;
  }
  const map = drawMap(day, own, t, actions);
  const which = id === '' ? '' : `: ${t.day(day.observed.day)}`;
  return markup`<p class="lead">${summary(day, own, items, t)}</p>
${modeLegend(own, t)}${items.length > 0 && dayBar(day, items, t)}
<p class="small soft">${observedText(day, own, t)}</p>${flagNotes(day, ({ of }) => of === 'day', t, actions)}
<div class="cols">${map !== '' && markup`<section class="mapc" aria-labelledby="${id}map"><h2 class="vh" id="${id}map">${t.me.map}${which}</h2>${new Markup(map)}</section>`}
<section class="list" aria-labelledby="${id}list"><h2 class="vh" id="${id}list">${t.me.list}${which}</h2><ol class="rail">
${items.map((item) => {
  if (item.kind === 'trip') return tripItem(day, item, t, actions);
  return item.kind === 'stay' ? stayItem(day, item, t, actions) : gapItem(day, item, t, actions);
})}
</ol></section></div>`;
}

export function modeLegend(trips: readonly Trip[], t: Texts, more: MarkupValue = null): MarkupValue {
  const modes = modeTotals(trips).map(({ sensed_mode, metres }) => {
    const line = new Markup(modeLine(styleOf(sensed_mode), 'M3 5h28'));
    return markup`<li><svg class="key" viewBox="0 0 34 10" aria-hidden="true">${line}</svg>${t.me.mode(sensed_mode)} ${t.length(metres)}</li>`;
  });
  return (modes.length > 0 || more) && markup`<ul class="legend">${modes}${more}</ul>`;
}

/** Flags that a day shows once, not at every trip in the time range. */
const ofTime: ReadonlySet<Flag> = new Set(['sources_disagree', 'clock_moved', 'correction_contradicted']);

function flagNotes(day: ShownDay, isShown: (flag: Flagged) => boolean, t: Texts, { ofFlag }: DayActions): MarkupValue {
  return day.flagged
    .filter((one) => isShown(one) && (one.of === 'day' || !ofTime.has(one.flag)))
    .map((one) => {
      const [fact, question] = t.me.flags[one.flag];
      return markup`<div class="note"><b>${fact}</b> ${question}${ofFlag?.(one)}</div>`;
    });
}

/** `trips` null: the patterns of all modes. A page with bars must contain the patterns once. */
export function barPatterns(trips: readonly Trip[] | null): Markup {
  const used = trips?.flatMap(({ sections }) => sections.map(({ sensed_mode }) => styleOf(sensed_mode).name));
  return new Markup(modePatterns(new Set(used ?? modeStyles.map(({ name }) => name))));
}

function summary(day: ShownDay, trips: readonly Trip[], items: readonly DayItem[], t: Texts): Markup {
  const gaps = items.flatMap((item) => (item.kind === 'gap' ? [item] : []));
  const [most] = gaps.sort((a, b) => b.to - b.from - (a.to - a.from));
  const places = new Set(items.flatMap((item) => (item.kind === 'stay' ? [item.place.name] : [])));
  const atRest = places.size === 1 ? t.me.atAllDay([...places][0]!) : t.me.noTrips;
  const known = markup`<b>${trips.length === 0 ? atRest : tripsInWords(trips, t)}</b>`;
  if (most === undefined || recordedTime(day.observed, day.now).share >= 0.5) return known;
  const missing = markup`<b>${t.me.mostlyNot(t.me.reasons[most.reason])}</b>`;
  return trips.length === 0 ? missing : markup`${missing} ${known}`;
}

export function tripsInWords(trips: readonly Trip[], t: Texts): string {
  const sum = (pick: (trip: Trip) => number): number => trips.reduce((total, trip) => total + pick(trip), 0);
  const length = t.length(sum(({ distance }) => distance));
  return t.me.summary(t.trips(trips.length), length, t.span(sum(({ duration }) => duration)));
}

function observedText(day: ShownDay, trips: readonly Trip[], t: Texts): string {
  const { observed, now } = day;
  if (observed.from > now) return t.me.future;
  const { recorded, past, share } = recordedTime(observed, now);
  const until = settledUntil(day);
  const zones = new Set(
    trips.flatMap((trip) => [t.zoneName(trip.start_ts, trip.start_zone), t.zoneName(trip.end_ts, trip.end_zone)]),
  );
  const texts = [t.me.recorded(recorded < 1 ? '0 min' : t.span(recorded), t.span(past), t.share(share))];
  if (trips.length > 0) texts.push(t.me.zone([...zones]));
  const draft = t.me.draft(until > observed.from ? t.clock(until, zoneOfDay(day, until)) : null);
  texts.push(until >= observed.to ? t.me.final : draft);
  return texts.join(' ');
}

function drawMap(day: ShownDay, trips: readonly Trip[], t: Texts, { base = null, ofTrip }: DayActions): string {
  const places: (MapPlace & { name: string })[] = [];
  for (const position of trips.flatMap(({ start_loc, end_loc }) => [start_loc, end_loc])) {
    const { mark, name } = day.placeAt(position);
    if (!places.some((one) => one.name === name)) places.push({ position, mark, name });
  }
  const isHome = ({ name }: { name: string }): number => Number(name === t.me.home);
  places.sort((a, b) => isHome(b) - isHome(a)); // the map shows distances from the first place
  const [first, ...others] = places;
  if (first === undefined) return '';
  const title = t.me.mapInWords(others.map((one) => whereIs(one, first, t)).join(' '));
  const paths = base === null ? (day.others ?? []) : [];
  const words = [t.me.ringsOf(first.name), paths.length > 0 ? t.me.othersOf : '', base?.attribution ?? ''];
  const layers = { others: paths, isLinked: ofTrip !== undefined };
  return `${dayMap(trips, places, { title, north: t.me.north, length: t.roundLength }, base, layers)}<p class="small soft">${html(words.filter((one) => one !== '').join(' '))}</p>`;
}

type NamedPosition = { name: string; position: Position };

function whereIs({ name, position }: NamedPosition, from: NamedPosition, t: Texts): string {
  const { metres, bearing } = vectorBetween(from.position, position);
  return t.me.isFrom(name, t.length(metres), t.me.compass[Math.round(bearing / 45) % 8]!, from.name);
}

/** Returns where the place is, seen from the nearest place with a name; null if none has a name. */
function whereUnnamed({ trips, placeAt }: ShownDay, { name, isNamed, isGuess }: ShownPlace, t: Texts): string | null {
  if (isNamed || isGuess) return null;
  const ends = trips.flatMap(({ start_loc, end_loc }) => [start_loc, end_loc]);
  const places = ends.map((position) => ({ position, ...placeAt(position) }));
  const here = places.find((one) => one.name === name);
  if (here === undefined) return null;
  const metres = (one: NamedPosition): number => vectorBetween(one.position, here.position).metres;
  const [nearest] = places.filter((one) => one.isNamed).sort((a, b) => metres(a) - metres(b));
  return nearest === undefined ? null : whereIs(here, nearest, t);
}

/** Returns m, and degrees from north, on a flat earth, which is exact enough for a town. */
function vectorBetween([lonA, latA]: Position, [lonB, latB]: Position): { metres: number; bearing: number } {
  const east = (((lonB - lonA + 540) % 360) - 180) * Math.cos((((latA + latB) / 2) * Math.PI) / 180);
  return {
    metres: Math.hypot(east, latB - latA) * metresPerDegree,
    bearing: ((Math.atan2(east, latB - latA) * 180) / Math.PI + 360) % 360,
  };
}

const row = (kind: string, time: Markup | null, line: string, content: MarkupValue): Markup =>
  markup`<div class="row ${kind}"><span class="t">${time}</span><span class="ln ${line}" aria-hidden="true"></span><div class="c">${content}</div></div>`;

const timeTag = (ts: number, zone: string, t: Texts): Markup =>
  markup`<time datetime="${formatTime(Math.round(ts), zone)}">${t.clock(ts, zone)}</time>`;

export const answerList = (answers: readonly SurveyAnswer[], t: Texts): MarkupValue =>
  answers.length > 0 && markup`<details><summary><span>${t.me.answers}</span></summary>${factList(answers)}</details>`;

function stayItem(day: ShownDay, item: ItemOf<'stay'>, t: Texts, actions: DayActions): Markup {
  const { from, to, place, since } = item;
  const isHere = (flag: Flagged) => flag.of === 'place' && flag.from < to && flag.to > from;
  const ends = to >= day.observed.to ? t.me.untilEnd : to >= day.now ? t.me.untilNow : null;
  const inputs = day.labels.ofStay(since ?? from, to);
  const note = since !== null ? t.me.since(t.weekdayAndClock(since, zoneOfDay(day, from))) : ends;
  const notes = [note, whereUnnamed(day, place, t)].filter(Boolean).join('. ');
  const content = markup`<h3>${place.name}</h3><span class="d">${t.span(to - from)}</span>${notes && markup`<p class="soft small">${notes}</p>`}${flagNotes(day, isHere, t, actions)}${answerList(answersIn(inputs), t)}${actions.ofStay?.(item)}`;
  return markup`<li id="${itemId(item)}">${row('stay', timeTag(from, zoneOfDay(day, from), t), place.look, content)}</li>`;
}

function gapItem(day: ShownDay, item: ItemOf<'gap'>, t: Texts, actions: DayActions): Markup {
  const { from, to, reason, here, there, parts, byAir } = item;
  const isBare = here === null || there === null || reason === 'nothing received' || isOutside(item);
  const before = isBare ? '' : ` ${t.me.between(here.name, there.name)}`;
  const long = parts === 1 ? t.span(to - from) : t.me.inParts(t.span(to - from), parts);
  const content = markup`<h3>${t.me.notRecorded}</h3><span class="d">${long}</span><p class="small">${t.me.reasons[reason]}${before}${byAir && ` ${t.me.flew}`}</p>${actions.ofGap?.(item)}`;
  return markup`<li id="${itemId(item)}">${row('gap', timeTag(from, zoneOfDay(day, from), t), '', content)}</li>`;
}

function tripItem(day: ShownDay, { trip }: ItemOf<'trip'>, t: Texts, actions: DayActions): Markup {
  const { start_ts, end_ts, start_zone, start_loc, end_loc, sections, stops, duration, distance } = trip;
  const [from, to] = [day.placeAt(start_loc).name, day.placeAt(end_loc).name];
  const figures = (seconds: number, metres: number) => `${t.span(seconds)} · ${t.length(metres)}`;
  const name = from === to ? t.me.roundTrip(to) : t.me.trip(to);
  const inputs = day.labels.ofTrip(start_ts);
  const labels = labelTexts(inputs, t, day.labelWords);
  const estimated = estimatedOf(trip);
  const notes = [
    start_ts < day.observed.from && t.me.beganOn(t.weekdayAndClock(start_ts, start_zone)),
    trip.draft === true && t.me.draftTrip,
    labels.length > 0 && t.me.yourLabel(labels.join(' · ')),
    estimated >= Math.max(100, distance / 5) && t.me.estimated(t.length(estimated)),
  ].filter((one) => one !== false);
  const asks = (id: string): MarkupValue =>
    trip.corrected !== true && flagNotes(day, (one) => one.id === id, t, actions);
  const answers = answerList(answersIn(inputs), t);
  const note = markup`${notes.length > 0 && markup`<p class="soft small">${notes.join(' · ')}</p>`}${answers}${asks(trip.id)}`;
  const last = actions.ofTrip?.(trip);
  const onMap = last && markup`<a class="fold map-link" href="#way-${trip.id}"><span>${t.me.onMap}</span></a>`;
  const foot = row(last ? 'foot' : 'foot bare', null, 'thin', markup`${last}${onMap}`);
  const id = `trip-${trip.id}`;
  const line = ({ transit }: Section): MarkupValue =>
    transit &&
    markup`<span class="soft small">${t.me.line(lineName(transit), transit.agency, transit.from_stop)}</span>`;
  const [only] = sections;
  if (sections.length === 1 && only !== undefined) {
    const { name: look } = styleOf(only.sensed_mode);
    const words = from === to ? name : t.me.byMode(t.me.section(only.sensed_mode), to);
    const content = markup`<h3 class="m">${icon(look)}${words}</h3><span class="d">${figures(duration, distance)}</span>${line(only)}${note}${asks(only.id)}`;
    const head = row('head sec', timeTag(start_ts, start_zone, t), look, content);
    return markup`<li class="trip" id="${id}" tabindex="-1">${head}${foot}</li>`;
  }
  const parts = sections.flatMap((section, i) => {
    const { name: look } = styleOf(section.sensed_mode);
    const content = markup`<span class="m">${icon(look)}${t.me.section(section.sensed_mode)}</span><span class="d">${figures(section.end_ts - section.start_ts, section.distance)}</span>${line(section)}${asks(section.id)}`;
    const part = row('sec', timeTag(section.start_ts, start_zone, t), look, content);
    const stop = stops[i];
    if (stop === undefined || stop.duration < 60) return [part];
    const wait = markup`<span class="m soft">${icon('waiting')}${t.me.waited}</span><span class="d">${t.span(stop.duration)}</span>`;
    return [part, row('sec', timeTag(stop.enter_ts, start_zone, t), 'thin', wait)];
  });
  const title = markup`<h3>${name}</h3><span class="d">${figures(end_ts - start_ts, distance)}</span>${note}`;
  return markup`<li class="trip" id="${id}" tabindex="-1">${row('head', null, 'thin', title)}${parts}${foot}</li>`;
}
