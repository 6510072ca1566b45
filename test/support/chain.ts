// What every chain of trips promises: no overlaps, no holes, and shared places or untracked time in between.
import { distance } from '../../src/model/geo/distance.ts';
import type { Position, TripRecord } from '../../src/model/trip.ts';

const metres = (a: Position, b: Position): number =>
  distance({ longitude: a[0], latitude: a[1] }, { longitude: b[0], latitude: b[1] });

/** Everything that is wrong with a chain, in words; empty when nothing is. */
export function chainProblems(records: readonly TripRecord[]): string[] {
  const problems: string[] = [];
  const say = (record: TripRecord, what: string) => problems.push(`link at ${record.chain_ts}: ${what}`);
  let before: TripRecord | null = null;
  records.forEach((record, i) => {
    const previous = records[i - 1];
    if (previous && !(record.chain_ts > previous.chain_ts)) say(record, 'chain_ts does not ascend');
    if (previous && previous.settled_ts === null && record.settled_ts !== null)
      say(record, 'is settled, but follows a link that is not');
    if (record.settled_ts !== null && record.settled_ts < record.end_ts) say(record, 'is settled before it ended');
    if ((record.kind === 'trip') !== (record.trip !== null)) say(record, 'kind and trip do not fit');
    if (!record.trip) return;
    for (const what of tripProblems(record)) say(record, what);
    if (before) for (const what of linkProblems(before, record)) say(record, what);
    before = record;
  });
  return problems;
}

function tripProblems({ trip: maybe, ...record }: TripRecord): string[] {
  const trip = maybe!;
  const wrong: string[] = [];
  if (record.start_ts !== trip.start_ts || record.end_ts !== trip.end_ts) wrong.push('times differ from the trip');
  if (!(trip.end_ts > trip.start_ts)) wrong.push('does not last');
  if (trip.duration !== trip.end_ts - trip.start_ts) wrong.push('duration is wrong');
  if (metres(trip.start_loc, trip.start_place.location) > 0) wrong.push('does not begin at its start place');
  if (metres(trip.end_loc, trip.end_place.location) > 0) wrong.push('does not end at its end place');
  if (trip.end_place.enter_ts !== trip.end_ts) wrong.push('its end place was not entered when it ended');
  if (trip.end_place.ending_trip !== trip.id) wrong.push('its end place names another trip');
  const { enter_ts } = trip.start_place;
  if (enter_ts !== null && enter_ts > trip.start_ts) wrong.push('begins before its start place was entered');
  const [first, last] = [trip.sections[0], trip.sections.at(-1)];
  if (!first || !last) return [...wrong, 'has no sections'];
  if (first.start_ts !== trip.start_ts || last.end_ts !== trip.end_ts) wrong.push('sections do not fill it');
  const parts = [...trip.sections, ...trip.stops];
  if (Math.abs(parts.reduce((sum, part) => sum + part.distance, 0) - trip.distance) > 1e-6)
    wrong.push('distance is wrong');
  for (const section of trip.sections) {
    const { coordinates, altitudes, times, speeds, distances } = section;
    if ([altitudes, times, speeds, distances].some((list) => list.length !== coordinates.length))
      wrong.push('lists differ');
    if (times.some((ts, i) => i > 0 && !(ts > times[i - 1]!))) wrong.push('times do not ascend');
    if (times[0] !== section.start_ts || times.at(-1) !== section.end_ts) wrong.push('vertices do not fill a section');
    if (![...times, ...speeds, ...distances, ...coordinates.flat()].every(Number.isFinite)) wrong.push('not finite');
  }
  trip.stops.forEach((stop, i) => {
    const [a, b] = [trip.sections[i]!, trip.sections[i + 1]];
    if (stop.ending_section !== a.id || stop.starting_section !== b?.id) wrong.push('a stop names other sections');
    if (stop.enter_ts !== a.end_ts || stop.exit_ts !== b?.start_ts)
      wrong.push('a stop does not lie between its sections');
    if (stop.duration < 0) wrong.push('a stop ends before it begins');
  });
  return wrong;
}

function linkProblems(before: TripRecord, record: TripRecord): string[] {
  const wrong: string[] = [];
  const [left, reached] = [before.trip!, record.trip!];
  if (reached.start_ts < left.end_ts) wrong.push('overlaps the trip before');
  if (reached.start_place.id === left.end_place.id) {
    if (record.untracked) wrong.push('untracked time at a place that was never left');
    if (reached.start_place.enter_ts !== left.end_ts) wrong.push('its start place was entered at another time');
    if (metres(reached.start_place.location, left.end_place.location) > 0) wrong.push('its start place has moved');
    if (reached.start_place.ending_trip !== left.id) wrong.push('another trip ended at its start place');
  } else if (!record.untracked) wrong.push('begins at another place than the trip before ended, and nothing says why');
  const { untracked } = record;
  if (untracked && (untracked.end_ts < untracked.start_ts || untracked.end_ts > reached.start_ts))
    wrong.push('untracked time does not lie before it');
  if (untracked && reached.start_place.enter_ts !== untracked.end_ts)
    wrong.push('its place was not entered after the untracked time');
  return wrong;
}
