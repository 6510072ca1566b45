// Stores the figures of the last two complete months of a user, so that pages of a study read one row for each person.
//
//   trips      ----|--|---|---|--|--|-----------|---|---|---|----
//   month      |---- October ----|
//   decide     |----- and `margin` -----------|                  trips, labels and corrections of this time
//   until                                               ^        the third trip after it
//
// A run that changes only links after `until` leaves the row as it is.
import { type ChainStore, correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { monthKey, readPersonMonth, toKept } from '../figures/month-report.ts';
import type { JsonObject } from '../model/json.ts';
import { day, daysOfMonth, justAfter, localDay, monthBeside, startOfDay } from '../model/time.ts';
import type { TripRecord } from '../model/trip.ts';
import type { RunContext } from './stage.ts';

/** s; a label may be up to a week earlier or later than its trip, and local times differ by up to a day */
const margin = 9 * day;

/** s; a month is stored this much later, because the trips that decide its figures are often derived again at first */
const settling = 2 * day;

const monthOf = (ts: number): string => localDay(ts, 'UTC').slice(0, 7);

interface Kept {
  month: string;
  figures: JsonObject;
  until: number;
}

export async function keepMonths(context: RunContext, moved: ChainStore, last: TripRecord | null): Promise<void> {
  const { store, userId, state, lease, changedTrips, unchangedUntil = Number.POSITIVE_INFINITY } = context;
  const { months } = state;
  const first = monthOf(state.observed?.from ?? 0);
  const before = last === null ? '' : monthBeside(monthOf(last.start_ts - margin - settling), -1);
  const newest = before < first ? null : before;
  const isValid = months === null || (changedTrips !== null && months.until <= unchangedUntil);
  if (isValid && (months?.newest ?? null) === newest) return;
  const kept: Kept[] = [];
  for (const month of newest === null ? [] : [newest, monthBeside(newest, -1)]) {
    const one = month < first ? null : await readKept(context, moved, month);
    if (one !== null) kept.push(one);
    else if (month === newest && isValid) return; // too few trips follow the month: a later run stores its figures
  }
  const found = kept[0] && { newest: kept[0].month, until: Math.max(...kept.map(({ until }) => until)) };
  state.months = found ?? null;
  await store.trips.apply(userId, { put: [], remove: [], months: kept }, { months: state.months }, lease());
}

/** Reads the figures of a month for storing. null: too few trips have followed the month. */
async function readKept({ store, userId }: RunContext, moved: ChainStore, month: string): Promise<Kept | null> {
  const days = daysOfMonth(month);
  const [from, to] = [startOfDay(days.from, 'UTC') - margin, startOfDay(days.to, 'UTC') + day + margin];
  const nextTrips = async (ts: number): Promise<number[]> =>
    (await store.trips.neighbours(userId, ts)).flatMap(({ chain_ts }) => (chain_ts >= ts ? [chain_ts] : []));
  const [next = Number.POSITIVE_INFINITY] = await nextTrips(to);
  if ((await nextTrips(justAfter(next))).length < 3) return null; // the usual case, found without reading the month
  const { end_ts = to } = (await correctedTrips(moved).previous(userId, to - margin)) ?? {};
  const range = { from, to: Math.max(to, end_ts + margin) };
  const deciding = await correctedTrips(moved).lastDeciding(userId, range);
  const until = (await nextTrips(justAfter(deciding)))[2];
  if (until === undefined) return null;
  const { users, studies, pipeline } = store;
  const study = (await users.byUuid(userId))?.study;
  const key = monthKey((study === undefined ? null : await studies.byName(study))?.config ?? null);
  const figures = toKept(key, await readPersonMonth({ ...moved, users, studies, pipeline }, userId, month, 'mode'));
  return { month, until, figures };
}
