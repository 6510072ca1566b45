// Where one user stands: entries, errors, pipeline, trips and documents.
import { oneLine } from '../log/text.ts';
import type { JsonObject } from '../model/json.ts';
import { keys } from '../model/keys.ts';
import { addDays, localDay } from '../model/time.ts';
import type { UserRecord } from '../model/user.ts';
import type { Lease, PipelineState, Store } from '../store/store.ts';
import type { CommandContext } from './context.ts';
import { counted, table } from './output.ts';
import { agoText, distanceText, errorKeyText, minuteText } from './wording.ts';

/** Everything the store has about a user's state. Times are seconds since the epoch. */
export interface UserStatus extends UserRecord {
  waiting: { count: number; oldest_ts: number | null; newest_ts: number | null };
  errors: { key: string | null; reason: string; count: number }[];
  timeseries: { key: string; count: number; first_ts: number | null; last_ts: number | null }[];
  pipeline: PipelineState;
  lease: Lease | null;
  trips: { count: number; start_ts: number | null; end_ts: number | null; recent: RecentDay[] };
  documents: { count: number; newest_key: string | null; newest_write_ts: number | null };
  tokens: number;
  /** The limit for one caller that the user met last, and when; null: none. */
  limit_met: { limit: string; ts: number } | null;
}

interface RecentDay {
  day: string;
  trips: number;
  /** m */
  distance: number;
}

/** Reads where a user stands. */
export async function userStatus(store: Store, user: UserRecord): Promise<UserStatus> {
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
  const newest = documents.at(-1);
  return {
    ...user,
    waiting,
    errors,
    timeseries,
    pipeline,
    lease,
    trips: { ...trips, recent: await recentDays(store, uuid, trips.end_ts) },
    documents: {
      count: documents.length,
      newest_key: newest?.key ?? null,
      newest_write_ts: newest?.write_ts ?? null,
    },
    tokens: tokens.length,
    limit_met: limitMet(profile),
  };
}

/** The limit for one caller that the server noted last in the user's profile. */
export function limitMet(profile: JsonObject | null): UserStatus['limit_met'] {
  const { last_limit: limit, last_limit_ts: ts } = profile ?? {};
  return typeof limit === 'string' && typeof ts === 'number' ? { limit, ts } : null;
}

/** The last seven days with trips, at most eight days before the newest trip. */
async function recentDays(store: Store, userId: string, lastTs: number | null): Promise<RecentDay[]> {
  if (lastTs === null) return [];
  const last = localDay(lastTs, 'UTC');
  const records = await store.trips.byDay(userId, { from: addDays(last, -7), to: addDays(last, 1) });
  const days = new Map<string, RecentDay>();
  for (const { day, trip } of records) {
    const known = days.get(day) ?? { day, trips: 0, distance: 0 };
    days.set(day, { day, trips: known.trips + 1, distance: known.distance + (trip?.distance ?? 0) });
  }
  return [...days.values()].slice(-7);
}

/** The state of a user as people read it. */
export function userStatusText(status: UserStatus, context: CommandContext): string {
  const when = (ts: number | null): string =>
    ts === null ? 'never' : `${minuteText(ts, context.zone)} (${agoText(ts, context.now())})`;
  const { waiting, pipeline, lease, trips, documents } = status;
  const rows = [
    ['user', `${status.user_email}  ${status.uuid}`],
    ['updated', when(status.update_ts)],
    ['tokens', String(status.tokens)],
    ['waiting', waitingText(waiting, when)],
    ['errors', errorsText(status.errors)],
    ...(status.limit_met === null ? [] : [['limit met', `${status.limit_met.limit}, ${when(status.limit_met.ts)}`]]),
    ['last location', when(lastLocation(status))],
    ['last run', when(pipeline.last_run_ts)],
    ...(pipeline.last_error === null ? [] : [['failed', pipeline.last_error]]),
    ['at work', lease === null ? 'nobody' : `${lease.owner}, until ${when(lease.expires_ts)}`],
    ['to analyse', pipeline.changed === null ? 'nothing' : `from ${when(pipeline.changed.from)} on`],
    ['final until', when(pipeline.complete_until)],
    ['trips', tripsText(trips, when)],
    ...trips.recent.map((day) => ['', `${day.day}  ${counted(day.trips, 'trip')}, ${distanceText(day.distance)}`]),
    [
      'documents',
      documents.count === 0
        ? 'none'
        : `${documents.count}, newest ${documents.newest_key} of ${when(documents.newest_write_ts)}`,
    ],
  ];
  const series = status.timeseries.map((row) => [
    `  ${row.key}`,
    String(row.count),
    row.last_ts === null ? '' : when(row.last_ts),
  ]);
  const long = series.length === 0 ? '' : `\n\nTIMESERIES\n${table(series, [1])}`;
  return table(rows) + long;
}

function lastLocation({ timeseries }: UserStatus): number | null {
  return timeseries.find((row) => row.key === keys.location)?.last_ts ?? null;
}

function waitingText(
  { count, oldest_ts, newest_ts }: UserStatus['waiting'],
  when: (ts: number | null) => string,
): string {
  if (count === 0) return 'nothing';
  const [oldest, newest] = [when(oldest_ts), when(newest_ts)];
  return `${counted(count, 'entry', 'entries')}, written ${oldest === newest ? oldest : `${oldest} to ${newest}`}`;
}

function errorsText(errors: UserStatus['errors']): string {
  if (errors.length === 0) return 'none';
  const total = errors.reduce((sum, { count }) => sum + count, 0);
  const parts = errors.map(({ key, reason, count }) => `${count} × ${errorKeyText(key)}: ${oneLine(reason)}`);
  return `${total}: ${parts.join('; ')}`;
}

function tripsText({ count, start_ts, end_ts }: UserStatus['trips'], when: (ts: number | null) => string): string {
  return count === 0 ? 'none' : `${count}, from ${when(start_ts)} to ${when(end_ts)}`;
}
