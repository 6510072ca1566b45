// Explains a day with the rules and probabilities that are stored with trips and gaps.
import { type Candidate, candidateLimits as rests } from '../../analysis/clean/candidates.ts';
import { gapLimits } from '../../analysis/clean/gaps.ts';
import { lookAround } from '../../analysis/segmenter.ts';
import { linkLimits } from '../../analysis/trips/chain-links.ts';
import { journeyLimits, type StopReason } from '../../analysis/trips/journeys.ts';
import { type BoundaryRule, boundLimits } from '../../analysis/trips/trip-bounds.ts';
import { interpretEntry } from '../../intake/converters/convert.ts';
import { firstTimeShowing } from '../../model/clock-times.ts';
import { dataTime, type Entry } from '../../model/entry.ts';
import { keys } from '../../model/keys.ts';
import { fastestIn, knownAverage } from '../../model/modes.ts';
import { motionTypes, transitions } from '../../model/payloads.ts';
import { formatForPeople, justAfter, type TimeRange } from '../../model/time.ts';
import type { Section, TransitLine, Trip, TripEvidence, TripRecord } from '../../model/trip.ts';
import { estimatedOf, zoneWithin } from '../../model/trip-fields.ts';
import { everyEntry } from '../../store/paging.ts';
import type { Store } from '../../store/store.ts';
import { isAdded } from '../corrections/apply.ts';
import { lineText, modeText } from '../mode-text.ts';
import { clockText, distanceText, durationText } from '../number-text.ts';
import type { ObservedDay, TimeSpan, UnobservedReason } from '../observed-time.ts';

export interface PhoneReading {
  ts: number;
  kind: 'location' | 'motion' | 'phone';
  word: string; // such as `walking`, `exited geofence` or `location`
}

export interface Reason {
  about: 'start' | 'end' | 'ended by' | 'next trip' | 'wait' | 'mode' | 'length' | 'left out' | 'settled' | 'why';
  rule: string | null; // the name of the stored rule; null: the reason is a measurement
  text: string;
  /** Times in seconds since the epoch, `_s` in s, `_m` in m, probabilities 0 to 1. */
  values: Record<string, number | string>;
  readings?: PhoneReading[]; // recorded around the reason, in order of time; absent: not read
}

/** Parts may overlap: a stay includes movement that was not a trip. */
export interface ExplainedPart extends TimeRange {
  kind: 'trip' | 'no trip' | 'moved unseen' | 'staying' | 'unobserved';
  zone: string; // the time zone in which the times of the part are shown
  title: string; // such as `walking, bus, 6.3 km`
  reasons: Reason[];
}

export interface ExplainSource {
  records: readonly TripRecord[]; // the links that touch the day, in order
  observed: ObservedDay;
  zone: string; // the time zone of a day without trips
  readings?: readonly PhoneReading[]; // around the day, ascending; absent: not read
}

export function explainDay({ records, observed, zone, readings }: ExplainSource): ExplainedPart[] {
  const trips = records.flatMap(({ trip }) => trip ?? []);
  const zoneAt = (ts: number): string =>
    trips.findLast(({ end_ts }) => end_ts <= ts)?.end_zone ?? trips[0]?.start_zone ?? zone;
  const isOnDay = ({ from, to }: TimeRange): boolean => from < observed.to && Math.max(to, from + 1) > observed.from;
  const links = records.flatMap((record) => linkParts(record, nextTrip(records, record), zoneAt, readings));
  const spans = observed.spans.flatMap((span) => spanParts(span, zoneAt(span.from), readings));
  return [...links, ...spans].filter(isOnDay).sort((a, b) => a.from - b.from || a.to - b.to);
}

export function partsAt(parts: readonly ExplainedPart[], clock: string): ExplainedPart[] {
  return parts.filter(
    ({ from, to, zone }) => firstTimeShowing(clock, { from: from - (from % 60), to: justAfter(to) }, zone) !== null,
  );
}

const nextTrip = (records: readonly TripRecord[], { chain_ts }: TripRecord): Trip | null =>
  records.find((one) => one.trip !== null && one.chain_ts > chain_ts)?.trip ?? null;

function linkParts(
  record: TripRecord,
  next: Trip | null,
  zoneAt: (ts: number) => string,
  readings: ExplainSource['readings'],
): ExplainedPart[] {
  const { trip, untracked, start_ts: from, end_ts: to } = record;
  const zone = trip?.start_zone ?? zoneAt(from);
  const parts: ExplainedPart[] = [];
  if (untracked !== null) {
    const { start_ts, end_ts } = untracked;
    const seconds = end_ts - start_ts;
    const reasons = [reason('why', 'untracked', untrackedText, { unseen_s: seconds })];
    parts.push({ kind: 'moved unseen', from: start_ts, to: end_ts, zone, title: durationText(seconds), reasons });
  }
  if (trip === null) {
    const reasons = [reason('why', record.dropped ?? null, noTripTexts[record.dropped ?? ''] ?? '')];
    return [...parts, { kind: 'no trip', from, to, zone, title: record.dropped ?? '', reasons }];
  }
  const modes = [...new Set(trip.sections.map(({ sensed_mode }) => modeText(sensed_mode)))].join(', ');
  const title = `${modes}, ${distanceText(trip.distance)}`;
  return [...parts, { kind: 'trip', from, to, zone, title, reasons: tripReasons(record, trip, next, readings) }];
}

const untrackedText =
  'the next location was at another place, and too far for the time or after a restart: the path was not recorded, or a correction removed it';

const noTripTexts: Record<string, string> = {
  'no travel': 'the user did not travel: the phone was at rest and its receiver drifted',
  'too short': `the phone recorded less than ${linkLimits.shortestTrip} m of the trip`,
  failed: 'the program failed on the trip: see the log of the pipeline',
  corrected: 'a correction removed the trip, or joined it with the trip before',
};

function tripReasons(record: TripRecord, trip: Trip, next: Trip | null, readings: ExplainSource['readings']): Reason[] {
  const { evidence, sections, start_zone, end_zone } = trip;
  const { settled_ts, chain_ts } = record;
  const near = (ts: number): Pick<Reason, 'readings'> =>
    readings === undefined ? {} : { readings: readings.filter((one) => Math.abs(one.ts - ts) <= aroundBoundary) };
  const settled = settled_ts === null ? null : formatForPeople(settled_ts, end_zone, 'D MMMM HH:mm');
  const modes = sections.map((section) => modeReason(section, zoneWithin(trip, section.start_ts)));
  if (isAdded(trip)) return [reason('why', 'corrected', addedText), ...modes, lengthReason(trip, addedLength)];
  return [
    ...(trip.corrected === true ? [reason('why', 'corrected', correctedText)] : []),
    ...(evidence === undefined ? [] : evidenceReasons(evidence)),
    ...modes,
    lengthReason(trip),
    ...Object.entries(evidence?.left_out ?? {}).map(([rule, count]) =>
      reason('left out', rule, `${count} of the candidate group's locations: ${leftOutTexts[rule] ?? rule}`, { count }),
    ),
    settled === null
      ? reason('settled', null, trip.draft ? draftText : endedText)
      : reason('settled', null, `decided by data up to ${settled}`, { settled_ts: settled_ts! }),
  ];

  function evidenceReasons({ start, end, ended_by, waits = [], parted_by }: TripEvidence): Reason[] {
    const began = `${startTexts[start as BoundaryRule]}; its first location is from ${clockText(chain_ts, start_zone)}`;
    return [
      reason('start', start, began, { first_location_ts: chain_ts }, near(trip.start_ts)),
      reason('end', end, endTexts[end as BoundaryRule] ?? end, {}, near(trip.end_ts)),
      reason('ended by', ended_by, endedByTexts[ended_by as Candidate['endedBy']]),
      nextReason(parted_by, trip, next),
      ...waits.map(({ start_ts, end_ts, reason: rule }) => {
        const times = `${clockText(start_ts, start_zone)}-${clockText(end_ts, start_zone)}`;
        const text = `${times} is a wait within one trip: ${stopTexts[rule as StopReason]}`;
        return reason('wait', rule, text, { start_ts, end_ts });
      }),
    ];
  }
}

const addedText = 'a correction added the trip';
const addedLength = 'as the correction states, or along the straight line';
const correctedText = 'a correction changed the trip: the reasons of its start and end are those from before';

const aroundBoundary = 300; // s; readings this long before and after a start or end are listed

const draftText = 'draft: no data after the trip yet, so later data may change it';
const endedText = `the trip has ended; only data of the ${durationText(lookAround)} after it could still join it with another trip`;

const startTexts: Record<BoundaryRule, string> = {
  location:
    'the trip began when the user left the place, estimated from the path to the first location and the usual speed',
  movement: `the trip began where the model first sees movement, at most ${durationText(boundLimits.reach)} from the time that the path gives`,
  geofence: `the phone, silent for more than ${durationText(boundLimits.silence)}, reported that the user had left the place; phones notice this late`,
  'walking readings': 'the trip began with a walk that only motion readings show',
  readings: "only the phone's motion readings show when the trip began",
  'trip before':
    'the trip began no earlier: until then the user was on another trip or at the place, tracking was off, or the path was not recorded',
  'trip after': '',
};

const endTexts: Partial<Record<BoundaryRule, string>> = {
  location: 'the trip ended at its last location: no movement was estimated near this location',
  movement: `the trip ended where the model last sees movement, between ${durationText(boundLimits.reach)} before the arrival that the path gives and ${durationText(boundLimits.reach)} after the last location`,
  'trip after':
    'the trip ended no later: then the next trip began, the phone reported that it no longer moved, or tracking ended',
};

const endedByTexts: Record<Candidate['endedBy'], string> = {
  dwell: `for ${durationText(rests.timeThreshold)} all locations lay within ${rests.timeDistance} m of each other: the user rested`,
  gap: `no location for more than ${durationText(rests.gapThreshold)}, and a speed across the gap that is too low for travel: the user rested`,
  restart: 'the phone was restarted, or its tracking stopped',
  phone: 'the phone reported that it no longer moved, or an imported trip ended; nothing came afterwards',
  'no data': 'the trip has not ended: no later data show whether it continues',
  length: `the trip had more than ${rests.longestTrip.toLocaleString('en-US')} locations and was cut`,
};

const stopTexts: Record<StopReason, string> = {
  'change of vehicle': 'the features of the stop suggest a change of vehicle',
  'walk to a vehicle': 'the user walked to the stop and continued in a vehicle',
  'ride to a vehicle': 'the user cycled to the stop and continued in a vehicle',
  'no vehicle next': 'people do not wait before they walk or cycle',
  restart: 'the phone was restarted, or its tracking stopped, in between',
  'too long': `the stop was longer than ${durationText(journeyLimits.longestWait)}: people do not wait that long for a vehicle`,
  'turned back': 'the user turned back: the stop was an errand',
  parked: 'a car was parked and driven on: the stop was an errand',
  stay: 'the features of the stop suggest a stay',
};

function nextReason(parted_by: string | undefined, trip: Trip, next: Trip | null): Reason {
  if (parted_by === undefined)
    return reason('next trip', null, 'no travel followed soon enough to belong to this trip');
  const stop: Record<string, number> = next === null ? {} : { stop_s: next.start_ts - trip.end_ts };
  const after = next === null ? '' : `, after ${durationText(next.start_ts - trip.end_ts)},`;
  const text = `the next trip${after} is a separate trip: ${stopTexts[parted_by as StopReason] ?? parted_by}`;
  return reason('next trip', parted_by, text, stop);
}

function modeReason(section: Section, zone: string): Reason {
  const { start_ts, end_ts, sensed_mode, mode_confidence, mode_probabilities = {}, distance, duration } = section;
  const speed = duration > 0 ? (3.6 * distance) / duration : 0;
  const others = Object.entries(mode_probabilities)
    .filter(([name, p]) => modeText(name) !== modeText(sensed_mode) && p >= leastShown)
    .sort(([, a], [, b]) => b - a);
  const shown = [...(mode_confidence === undefined ? [] : [[sensed_mode, mode_confidence] as const]), ...others];
  const chances = shown.map(([name, p]) => `${modeText(name)} ${p.toFixed(2)}`);
  const times = `${clockText(start_ts, zone)}-${clockText(end_ts, zone)}`;
  const known = chances.length > 0 ? `probability of ${chances.join(', ')}` : 'no probability is known';
  const why = section.source === 'correction' ? 'a correction states the mode' : known;
  const exempt = speed > 3.6 * fastestIn(sensed_mode) && knownAverage(distance, duration) === 0 ? exemptText : '';
  const text = `${times} ${modeText(sensed_mode)}: ${why}; on average ${Math.round(speed)} km/h${exempt}${lineReason(section.transit)}`;
  const values = { start_ts, end_ts, mode: modeText(sensed_mode), average_km_h: Math.round(10 * speed) / 10 };
  const probabilities = Object.fromEntries(shown.map(([name, p]) => [modeText(name), p]));
  return reason('mode', null, text, { ...values, ...probabilities });
}

function lineReason(line: TransitLine | undefined): string {
  if (line === undefined) return '';
  const { probability, to_stop, alternatives, feed_age_days } = line;
  const others = alternatives.length === 0 ? '' : `, or ${alternatives.join(' or ')}`;
  const old = feed_age_days === undefined ? '' : `; the nearest valid day of the feed is ${feed_age_days} days away`;
  return `; line ${lineText(line)} to ${to_stop}, probability ${probability.toFixed(2)}${others}${old}`;
}

const exemptText = ', which excludes no mode over so short a distance';
const leastShown = 0.01; // modes with a lower probability are not listed

function lengthReason(trip: Trip, how = 'along the smoothed path through the locations'): Reason {
  const estimated = estimatedOf(trip);
  const part = estimated < 1 ? '' : `; ${distanceText(estimated)} of it is estimated, because locations are missing`;
  const text = `${distanceText(trip.distance)} ${how}${part}`;
  return reason('length', null, text, { distance_m: trip.distance, estimated_m: estimated });
}

const leftOutTexts: Record<string, string> = {
  repeats: 'stale repeats of the previous location',
  spikes: 'spikes, which lead far away and back',
  strays: 'outliers, where the user cannot have been',
};

const unobservedTexts: Record<UnobservedReason, string> = {
  'tracking off': 'the phone reported that tracking was switched off',
  'no permission': 'the phone reported an error of tracking, such as a missing permission',
  'phone off': 'the phone had been off: it was started afterwards',
  silent: `nothing came for more than ${durationText(gapLimits.longest)}. This time is not a stay, for at least one reason: the phone had not armed its geofence; it had sent locations at rest; it was more than ${gapLimits.near} m away in between or afterwards; the gap was longer than a day`,
  'no location': `motion readings show continuous movement for ${durationText(gapLimits.unlocated)} or more, but the phone sent no location until the end of this time`,
  moved: `nothing came for more than ${durationText(gapLimits.longest)}, and the next location is more than ${gapLimits.near} m away: the user moved, and nothing shows how`,
  'nothing received': 'no later data were processed yet: none came, or they are pending',
  'before the first location': 'the first location of the user came later',
  'before joining': 'the person joined the study later',
  'after leaving': 'all tokens of the person had been revoked or had expired',
  'clock wrong': "the phone's clock was ahead: entries came before the time that they state",
  'not yet': 'this time lies in the future',
  'taken out': 'a correction excludes the data of this time',
};

function spanParts(span: TimeSpan, zone: string, readings: ExplainSource['readings']): ExplainedPart[] {
  const { kind, reason: rule, from, to } = span;
  if (kind === 'moving') return [];
  const why = rule === null ? stayReason(span, readings) : reason('why', rule, unobservedTexts[rule]);
  return [{ kind, from, to, zone, title: durationText(to - from), reasons: [why] }];
}

function stayReason({ from, to }: TimeSpan, readings: ExplainSource['readings']): Reason {
  const text = `no trip and no gap over ${durationText(gapLimits.longest)}, except gaps with an armed geofence that end at the same place`;
  if (readings === undefined) return reason('why', 'stay', text);
  const own = readings.filter(({ ts }) => ts >= from && ts <= to);
  const times = [from, ...own.map(({ ts }) => ts), to];
  const gaps = times.slice(1).map((ts, i) => ts - times[i]!);
  const longest = Math.max(...gaps);
  const since = times[gaps.indexOf(longest)]!;
  const before_silence = readings.findLast(({ kind, ts }) => kind === 'phone' && ts <= since)?.word ?? 'nothing';
  const count = (wanted: PhoneReading['kind']) => own.filter((one) => one.kind === wanted).length;
  const values = { locations: count('location'), motions: count('motion'), longest_silence_s: longest, before_silence };
  const words = `the stay was seen by ${values.locations} locations and ${values.motions} motion readings; longest gap ${durationText(longest)}; last event before it: ${before_silence}`;
  return reason('why', 'stay', `${text}; ${words}`, values);
}

const reason = (
  about: Reason['about'],
  rule: string | null,
  text: string,
  values: Reason['values'] = {},
  more: Pick<Reason, 'readings'> = {},
): Reason => ({ about, rule, text, values, ...more });

/** Reads readings without coordinates, ascending. `locations`: the key of the locations. */
export async function readReadings(
  { timeseries }: Pick<Store, 'timeseries'>,
  userId: string,
  { from, to }: TimeRange,
  locations: string,
): Promise<PhoneReading[]> {
  const wanted = [locations, keys.motionActivity, keys.activity, keys.transition];
  const readings: PhoneReading[] = [];
  for await (const entry of everyEntry(timeseries, userId, { keys: wanted, time: 'ts', from, to, limit: 5000 })) {
    const reading = readingIn(interpretEntry(entry));
    if (reading !== null) readings.push(reading);
  }
  return readings;
}

function readingIn({ metadata: { key }, data }: Entry): PhoneReading | null {
  const ts = dataTime(data);
  if (ts === null) return null;
  if (key === keys.transition) return { ts, kind: 'phone', word: nameOf(transitions, data.transition) };
  const isMotion = key === keys.motionActivity || key === keys.activity;
  if (isMotion) return { ts, kind: 'motion', word: nameOf(motionTypes, data.type) };
  return { ts, kind: 'location', word: 'location' };
}

/** Returns the name of a code in words, such as `exited geofence` for `EXITED_GEOFENCE`. */
function nameOf(codes: Record<string, number>, code: unknown): string {
  const [name = 'unknown code'] = Object.entries(codes).find(([, one]) => one === code) ?? [];
  return name.toLowerCase().replaceAll('_', ' ');
}
