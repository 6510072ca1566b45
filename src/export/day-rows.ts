import { flagNames } from '../diary/flags.ts';
import { type Day, observedFigures } from '../diary/read-days.ts';
import { distanceColumn, plainMode } from '../model/modes.ts';
import { localDay } from '../model/time.ts';
import { estimatedOf } from '../model/trip-fields.ts';
import { leftOf } from '../model/user.ts';
import type { ShownTrip } from './coarse.ts';
import type { memberships, Row } from './columns.ts';
import type { Source } from './exported-trips.ts';
import { isoWeekday } from './instants.ts';

const noTrips = { trips: 0, duration_s: 0, distance_m: 0, estimated_m: 0 };
const noMetres = { walking_m: 0, bicycling_m: 0, car_m: 0, public_transport_m: 0, other_m: 0 };
const notObserved = { observed_s: 0, silent_s: 0, off_s: 0, inferred_stay_s: 0, moved_unobserved_m: 0 };
const notKnown = { ...notObserved, time_zone: null as string | null, draft: false, flags: '' };

/** Coarse exports round to 15 minutes: exact seconds could show when stays began and ended. */
export const shownSeconds = (seconds: number, coarse: number | undefined): number =>
  coarse === undefined ? seconds : Math.round(seconds / 900) * 900;

/** Call `addTrip` for all trips, then `addDay` for all days, then `rows`. */
export async function collectDays({ store, person, coarse }: Source) {
  const left_ts = leftOf(await store.tokens.list(person.uuid));
  const dayIn = (ts: number | null | undefined, zone: string) => (ts == null ? null : localDay(ts, zone));
  const days = new Map<string, Row & typeof noTrips & typeof noMetres & typeof notKnown>();
  const rowOf = (day: string) => {
    const row = days.get(day) ?? { day, weekday: isoWeekday(day), ...noTrips, ...noMetres, ...notKnown };
    days.set(day, row);
    return row;
  };
  const addTrip = (localDay: string, trip: ShownTrip): void => {
    const row = rowOf(localDay);
    row.trips += 1;
    row.draft ||= trip.draft ?? false;
    row.duration_s += trip.duration;
    row.distance_m += trip.distance;
    row.estimated_m += estimatedOf(trip);
    for (const section of trip.sections) row[distanceColumn(plainMode(section.sensed_mode))] += section.distance;
  };
  const shown = (seconds: number): number => shownSeconds(seconds, coarse);
  const addDay = ({ day, observed, flagged }: Day): void => {
    const { observed_s, silent_s, off_s } = observedFigures(observed);
    const { zone, inferred_stay_s, moved_unobserved_m: moved } = observed;
    const times = {
      observed_s: shown(observed_s),
      silent_s: shown(silent_s),
      off_s: shown(off_s),
      inferred_stay_s: shown(inferred_stay_s),
      moved_unobserved_m: coarse === undefined ? moved : Math.round(moved / coarse) * coarse,
    };
    const membership = membershipOn(day, { joined: dayIn(person.joined_ts, zone), left: dayIn(left_ts, zone) });
    Object.assign(rowOf(day), times, { time_zone: zone, membership, flags: flagNames(flagged).join(' ') });
  };
  return { addTrip, addDay, rows: (): Row[] => [...days.keys()].sort().map((day) => days.get(day)!) };
}

type Membership = (typeof memberships)[number];

/** `joined` and `left` are local days; null: the person did not join or leave. */
function membershipOn(day: string, { joined, left }: Record<'joined' | 'left', string | null>): Membership {
  if (joined !== null && day < joined) return 'before_joining';
  return left !== null && day > left ? 'after_leaving' : 'member';
}
