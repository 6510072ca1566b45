// Rows for researchers: raw locations, people, answers to surveys, and waits within trips.
import { locationFields, whyUnusable } from '../analysis/clean/observations.ts';
import { everyCorrectedLink } from '../diary/corrections/corrected-trips.ts';
import { readLabels } from '../diary/labels/load-labels.ts';
import { answersInForm } from '../diary/labels/survey-answers.ts';
import { type Day, observedFigures } from '../diary/read-days.ts';
import { interpretEntry } from '../intake/converters/convert.ts';
import type { Entry } from '../model/entry.ts';
import { isJsonObject } from '../model/json.ts';
import { keys } from '../model/keys.ts';
import { plainMode } from '../model/modes.ts';
import { sourceOf } from '../model/sources.ts';
import { isTimeZone } from '../model/time.ts';
import { zoneWithin } from '../model/trip-fields.ts';
import { isForPages, leftOf } from '../model/user.ts';
import { numberOrNull, type Row, textOrNull } from './columns.ts';
import { shownSeconds } from './day-rows.ts';
import { entryRows } from './entry-rows.ts';
import type { Source } from './exported-trips.ts';
import { round } from './geometry.ts';
import { localText, timesRow } from './instants.ts';
import { isTransit, type TripRows } from './trip-rows.ts';

/** iPhones send -1 for an unknown number. */
const known = (value: unknown): number | null => (typeof value === 'number' && value >= 0 ? value : null);

const fixFields = [...locationFields, 'bearing', 'reported'];

export async function* fixRows({ store, person, days }: Source): AsyncGenerator<Row> {
  const outliers = new Set<number>();
  for await (const { carry } of everyCorrectedLink(store, person.uuid))
    for (const ts of carry?.left_out ?? []) outliers.add(ts);
  for await (const entry of entryRows(store, person.uuid, days, [keys.location])) {
    const { metadata, data } = interpretEntry(entry, fixFields);
    const { ts, latitude, longitude } = data;
    if (typeof ts !== 'number' || typeof latitude !== 'number' || typeof longitude !== 'number') continue;
    const zone = isTimeZone(metadata.time_zone) ? metadata.time_zone : 'UTC';
    const source = sourceOf(entry);
    const reason = whyUnusable({ metadata, data }, source) ?? (outliers.has(ts) ? 'outlier' : null);
    yield {
      tracked_at: ts,
      tracked_local: localText(ts, zone),
      time_zone: zone,
      longitude: round(longitude),
      latitude: round(latitude),
      altitude_m: numberOrNull(data.altitude),
      accuracy_m: known(data.accuracy),
      speed_ms: known(data.sensed_speed),
      bearing_deg: known(data.bearing),
      source: source.replace(/^other\//, ''),
      used: reason === null,
      reason,
      geometry: { type: 'Point', coordinates: [longitude, latitude] },
    };
  }
}

const completeDay = 20 * 3600; // seconds of observed time

/** Call `addDay` for all days, then `row`. */
export function collectPerson({ store, person: { uuid, joined_ts }, coarse }: Source) {
  const sums = { observed_s: 0, observed_days: 0, complete_days: 0, trips: 0 };
  let [first, last]: (string | null)[] = [null, null];
  let span = { from: Infinity, to: -Infinity };
  const addDay = ({ day, observed, records }: Day): void => {
    const observed_s = shownSeconds(observedFigures(observed).observed_s, coarse);
    const trips = records.filter(({ trip }) => trip !== null);
    if (observed_s > 0 || trips.length > 0) [first, last] = [first ?? day, day];
    sums.observed_s += observed_s;
    sums.observed_days += observed_s > 0 ? 1 : 0;
    sums.complete_days += observed_s >= completeDay ? 1 : 0;
    sums.trips += trips.length;
    for (const { start_ts, end_ts } of trips)
      span = { from: Math.min(span.from, start_ts), to: Math.max(span.to, end_ts) };
  };
  const row = async (): Promise<Row> => {
    const profile = (await store.profiles.get(uuid)) ?? {};
    const tokens = await store.tokens.list(uuid);
    const kinds = new Set(tokens.filter((token) => !isForPages(token)).map(({ kind }) => kind));
    const labelled = sums.trips === 0 ? 0 : (await readLabels(store, uuid, span)).labelledTrips;
    const located = await store.timeseries.find(uuid, { keys: [keys.location], time: 'write_ts', limit: 1 });
    const [source = null] = located.entries.map(sourceOf);
    const program = source?.startsWith('other/') ? source.slice('other/'.length) : null;
    return {
      joined_at: joined_ts ?? null,
      left_at: leftOf(tokens),
      app: program ?? (source === null ? [...kinds].join(' ') || null : 'e-mission'),
      app_version: textOrNull(profile.client_app_version),
      platform: textOrNull(profile.curr_platform) ?? (program === null ? source : null),
      first_day: first,
      last_day: last,
      ...sums,
      labelled_share: sums.trips === 0 ? null : labelled / sums.trips,
    };
  };
  return { addDay, row };
}

const surveys = ['demographic_survey', 'survey', 'trip_user_input', 'trip_addition_input', 'place_user_input'];
const answerKeys = surveys.map((name) => `manual/${name}`);

export async function* answerRows({ store, person, days }: Source): AsyncGenerator<Row> {
  for await (const entry of entryRows(store, person.uuid, days, answerKeys)) {
    const { metadata, data } = interpretEntry(entry);
    for (const [question, answer] of answersOf(data))
      yield {
        survey: textOrNull(data.name),
        key: metadata.key,
        about_from: numberOrNull(data.start_ts),
        about_to: numberOrNull(data.end_ts),
        question,
        answer,
        written_at: metadata.write_ts,
      };
  }
}

/**
 * The answers in a form, without the fields that describe the form:
 *
 * { data: { a: { age: '30', bikes: ['1', '2'] }, meta: {…} } }  ->  a.age 30, a.bikes 1, a.bikes 2
 */
function answersOf({ jsonDocResponse: form, label }: Entry['data']): [question: string, answer: string][] {
  if (!isJsonObject(form)) return typeof label === 'string' ? [['label', label]] : [];
  const { data: inner } = form;
  const answers = answersInForm(isJsonObject(inner) ? inner : form);
  return answers.map(([path, answer]) => [path.join('.'), answer]);
}

export const stopRows: TripRows = ({ record: { trip, stops }, stated }) =>
  stops.map((stop, i) => {
    const [before, after] = [stated.sections[i], stated.sections[i + 1]].map((one) => one?.sensed_mode ?? '');
    return {
      stop_id: stop.id,
      trip_id: trip.id,
      number: i + 1,
      ...timesRow(stop.enter_ts, stop.exit_ts, zoneWithin(trip, stop.enter_ts), zoneWithin(trip, stop.exit_ts)),
      duration_s: stop.duration,
      distance_m: stop.distance,
      ending_section_id: stop.ending_section,
      starting_section_id: stop.starting_section,
      mode_before: plainMode(before!),
      mode_after: plainMode(after!),
      transfer: isTransit(before!) || isTransit(after!),
      geometry: { type: 'Point', coordinates: stop.enter_loc },
    };
  });
