// Where one user stands: entries, errors, pipeline, trips and documents.

import { distanceText } from '../diary/day-words.ts';
import { oneLine } from '../log/text.ts';
import type { JsonObject } from '../model/json.ts';
import { keys } from '../model/keys.ts';
import { addDays, localDay } from '../model/time.ts';
import { refusalOf, type UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import type { CommandContext } from './context.ts';
import { counted, table } from './output.ts';
import { agoText, errorKeyText, minuteText } from './wording.ts';

/** The state of a user; times are seconds since the epoch. */
export type UserStatus = Awaited<ReturnType<typeof userStatus>>;

/** Reads the state of a user at time `now`. */
export async function userStatus(store: Store, user: UserRecord, now: number) {
  const { uuid } = user;
  const [waiting, errors, timeseries, pipeline, lease, trips, documents, tokens, profile] = await Promise.all([
    store.usercache.summary(uuid),
    store.errors.summary(uuid),
    store.timeseries.summary(uuid),
    store.pipeline.get(uuid),
    store.leases.get(uuid),
    store.trips.summary(uuid),
    store.documents.list(uuid),
    store.tokens.list(uuid),
    store.profiles.get(uuid),
  ]);
  const { observed: _, ...state } = pipeline; // holds the last location of the phone
  const newest = documents.at(-1);
  const { key: newest_key = null, write_ts: newest_write_ts = null } = newest ?? {};
  return {
    ...{ ...user, waiting, errors, timeseries, pipeline: state, lease },
    trips: { ...trips, recent: await recentDays(store, uuid, trips.end_ts) },
    documents: { count: documents.length, newest_key, newest_write_ts },
    tokens: tokens.filter((token) => refusalOf(token, now) === null).length,
    limit_met: limitMet(profile),
    last_refusal: lastRefusal(profile),
  };
}

/** The limit for one caller that the user met last, as the server noted it in the profile; null: none. */
export function limitMet(profile: JsonObject | null): { limit: string; ts: number } | null {
  const { last_limit: limit, last_limit_ts: ts } = profile ?? {};
  return typeof limit === 'string' && typeof ts === 'number' ? { limit, ts } : null;
}

/** The token with which the user, or somebody in their name, was refused last, as the server noted it; null: none. */
export function lastRefusal(profile: JsonObject | null): { refusal: string; ts: number } | null {
  const { last_refusal: refusal, last_refusal_ts: ts } = profile ?? {};
  return typeof refusal === 'string' && typeof ts === 'number' ? { refusal, ts } : null;
}

/** The last seven days with trips, at most eight days before the newest trip. Distances in m. */
async function recentDays(store: Store, userId: string, lastTs: number | null) {
  if (lastTs === null) return [];
  const last = localDay(lastTs, 'UTC');
  const records = await store.trips.byDay(userId, { from: addDays(last, -7), to: addDays(last, 1) });
  const days = new Map<string, { day: string; trips: number; distance: number }>();
  for (const { day, trip } of records) {
    if (trip === null) continue;
    const { trips, distance } = days.get(day) ?? { trips: 0, distance: 0 };
    days.set(day, { day, trips: trips + 1, distance: distance + trip.distance });
  }
  return [...days.values()].slice(-7);
}

/** The state of a user as people read it. */
export function userStatusText(status: UserStatus, { zone, now }: CommandContext): string {
  const when = (ts: number | null): string =>
    ts === null ? 'never' : `${minuteText(ts, zone)} (${agoText(ts, now())})`;
  const span = (first: number | null, last: number | null): string =>
    when(first) === when(last) ? when(first) : `${when(first)} to ${when(last)}`;
  const { waiting, pipeline, lease, trips, documents, errors, limit_met, last_refusal, timeseries } = status;
  const located = timeseries.find((row) => row.key === keys.location)?.last_ts ?? null;
  const failures = errors.map(({ key, reason, count }) => `${count} × ${errorKeyText(key)}: ${oneLine(reason)}`);
  const total = errors.reduce((sum, { count }) => sum + count, 0);
  const written = `${counted(waiting.count, 'entry', 'entries')}, written ${span(waiting.oldest_ts, waiting.newest_ts)}`;
  const newest = `${documents.count}, newest ${documents.newest_key} of ${when(documents.newest_write_ts)}`;
  const rows = [
    ['user', `${status.user_email}  ${status.uuid}`],
    ['updated', when(status.update_ts)],
    ['tokens', String(status.tokens)],
    ['waiting', waiting.count === 0 ? 'nothing' : written],
    ['errors', total === 0 ? 'none' : `${total}: ${failures.join('; ')}`],
    ...(last_refusal === null ? [] : [['refused', `${last_refusal.refusal}; last ${when(last_refusal.ts)}`]]),
    ...(limit_met === null ? [] : [['limit met', `${limit_met.limit}, ${when(limit_met.ts)}`]]),
    ['last location', when(located)],
    ['last run', when(pipeline.last_run_ts)],
    ...(pipeline.last_error === null ? [] : [['failed', pipeline.last_error]]),
    ['at work', lease === null ? 'nobody' : `${lease.owner}, until ${when(lease.expires_ts)}`],
    ['to analyse', pipeline.changed === null ? 'nothing' : `from ${when(pipeline.changed.from)} on`],
    ['final until', when(pipeline.complete_until)],
    ['trips', trips.count === 0 ? 'none' : `${trips.count}, from ${span(trips.start_ts, trips.end_ts)}`],
    ...trips.recent.map((day) => ['', `${day.day}  ${counted(day.trips, 'trip')}, ${distanceText(day.distance)}`]),
    ['documents', documents.count === 0 ? 'none' : newest],
  ];
  const series = timeseries.map((row) => [`  ${row.key}`, String(row.count), when(row.last_ts)]);
  return series.length === 0 ? table(rows) : `${table(rows)}\n\nTIMESERIES\n${table(series, [1])}`;
}
